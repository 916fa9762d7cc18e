"""Groups of a Variant column level by level: each entry knows its row and its place in arrays."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from shredlake.kernels import shred
from shredlake.parquet.entries import (
    Entries,
    Place,
    groups_in,
    list_values,
    map_lists,
    objects_and_arrays,
)
from shredlake.parquet.format.footer import read_footer
from shredlake.parquet.variant_columns import VariantColumn, variant_columns
from shredlake.parquet.write.writer import write_parquet
from shredlake.shredding.schema import ShreddingSchema
from shredlake.variant import Variant
from variant_columns import MISSING, column_of

NESTED = [[["a"], []], None, [], [["b", "c"], None, ["d"]]]
LISTS = {
    "list": pa.list_(pa.string()),
    "large list": pa.large_list(pa.string()),
}


def test_entries_of_lists_in_lists_find_their_way_back() -> None:
    top = Place(10)
    inner, first = top.inside(pa.array(NESTED))
    values, second = first.inside(inner)
    assert values.to_pylist() == ["a", "b", "c", "d"]
    assert [second.find(index) for index in range(4)] == [
        (10, (0, 0)),
        (13, (0, 0)),
        (13, (0, 1)),
        (13, (2, 0)),
    ]
    owners = second.owners(top)
    assert owners is not None
    assert owners.to_pylist() == [0, 3, 3, 3]
    below = second.owners(first)
    assert below is not None
    assert below.to_pylist() == [0, 2, 2, 4]
    assert top.owners(top) is None
    assert second.owners(second) is None


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(("start", "count"), [(0, 4), (1, 2), (2, 2), (4, 0)])
def test_values_of_slices(name: str, start: int, count: int) -> None:
    rows = [["a"], None, ["b", None], ["c"]]
    lists = pa.array(rows, LISTS[name]).slice(start, count)
    assert list_values(lists).to_pylist() == [
        value for row in rows[start : start + count] for value in row or ()
    ]


@pytest.mark.parametrize("name", LISTS)
def test_a_null_list_that_covers_values_has_none(name: str) -> None:
    values = pa.array(["a", "hidden", "b"])
    kind = pa.int64() if name == "large list" else pa.int32()
    type_: Any = pa.LargeListArray if name == "large list" else pa.ListArray
    lists = type_.from_arrays(pa.array([0, 1, 2, 3], kind), values, mask=pa.array([False, True, False]))
    assert list_values(lists).to_pylist() == ["a", "b"]
    assert list_values(lists[1:]).to_pylist() == ["b"]


def test_values_of_fixed_size_lists_and_of_extension_types() -> None:
    fixed = pa.array([["a", "b"], None, ["c", "d"]], pa.list_(pa.string(), 2))
    assert list_values(fixed[1:]).to_pylist() == ["c", "d"]
    uuids = pa.array([b"x" * 16, b"y" * 16], pa.uuid())
    assert list_values(pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), uuids)).type == pa.uuid()


def test_maps_as_lists() -> None:
    maps = pa.array([[("a", 1)], None, [("b", 2), ("c", None)]], pa.map_(pa.string(), pa.int8()))
    keys, items = map_lists(maps)
    assert keys.to_pylist() == [["a"], None, ["b", "c"]]
    assert [part.to_pylist() for part in map_lists(maps[1:])] == [[None, ["b", "c"]], [None, [2, None]]]
    assert items.type == pa.list_(pa.int8())


def column_in(path: Any, table: pa.Table, ddl: str, name: str = "v") -> VariantColumn:
    write_parquet(table, path, shredding={name: ddl})
    with open(path, "rb") as file:
        [column] = variant_columns(read_footer(file).schema)
    return column


def test_the_walk_visits_parents_first_and_knows_where_groups_mean_something(tmp_path: Any) -> None:
    values = [{"a": 1, "l": [1, "x"]}, MISSING, "text", {"l": []}]
    ddl = "struct<a bigint, l array<bigint>>"
    column = column_in(tmp_path / "f", pa.table({"v": column_of(values)}), ddl)
    groups = shred(column_of(values), ShreddingSchema.parse(ddl))
    found = list(Entries(column.root, groups, Place(0), groups.is_valid()).walk())
    assert [entries.level.path for entries in found] == ["$", "$['a']", "$['l']", "$['l'][*]"]
    assert [entries.active.to_pylist() for entries in found] == [
        [True, False, True, True],
        [True, False, False, True],
        [True, False, False, True],
        [True, True],
    ]
    root, a, _, elements = found
    assert root.has("value").to_pylist() == [False, False, True, False]
    assert a.has("typed_value").to_pylist() == [True, False, False, False]
    assert elements.has("value").to_pylist() == [False, True]
    assert [elements.place.find(index) for index in range(2)] == [(0, (0,)), (0, (1,))]


def test_a_part_that_was_not_read_is_nowhere(tmp_path: Any) -> None:
    column = column_in(tmp_path / "f", pa.table({"v": column_of([{"a": 1}])}), "struct<a bigint>")
    group = pa.array([{"metadata": b"\x01\x00\x00"}], pa.struct([("metadata", pa.binary())]))
    [alone] = Entries(column.root, group, Place(0), group.is_valid()).walk()
    assert alone.part("value") is None
    assert alone.has("typed_value").to_pylist() == [False]


def test_groups_are_found_at_any_depth() -> None:
    variant = column_of([1])[0].as_py()
    type_ = column_of([]).type
    batch = pa.record_batch(
        {
            "s": pa.array([{"x": variant}, None], pa.struct([("x", type_)])),
            "l": pa.array([[variant], [None, variant]], pa.list_(type_)),
            "m": pa.array([[], [("k", variant)]], pa.map_(pa.string(), type_)),
        }
    )
    for path, rows in (
        (("s", "x"), [(5, ()), (6, ())]),
        (("l", "list", "element"), [(5, (0,)), (6, (0,)), (6, (1,))]),
        (("m", "key_value", "value"), [(6, (0,))]),
    ):
        groups, place = groups_in(batch, path, 5)
        assert groups.type == type_
        assert [place.find(index) for index in range(len(groups))] == rows
    assert groups_in(batch, ("s", "x"), 0)[0].is_valid().to_pylist() == [True, False]
    assert groups_in(batch, ("m", "key_value", "key"), 0)[0].to_pylist() == ["k"]


def test_headers_tell_objects_and_arrays() -> None:
    values = [Variant.of(one).value for one in ({}, {"a": 1}, [], list(range(300)), 1, "x", None)]
    objects, arrays = objects_and_arrays(pa.array([*values, b"", None], pa.binary()))
    assert objects.to_pylist() == [True, True] + [False] * 7
    assert arrays.to_pylist() == [False, False, True, True] + [False] * 5
