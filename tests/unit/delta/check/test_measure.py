"""The true statistics of a file: what contradicts them is found, what is only unknown is not."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import variants
from shredlake.delta.check.measure import Measure, Measured
from shredlake.delta.schema.types import from_arrow
from shredlake.delta.stats.parsed import SIDES
from shredlake.delta.stats.z85 import encode_variant
from shredlake.parquet.variant_columns import ColumnLayout
from shredlake.shredding.schema import ShreddingSchema


def test_nan_beside_a_recorded_maximum_is_found(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path / "t", pa.schema([("x", pa.float64())]))
    table.append(pa.table({"x": [1.0, float("nan")]}))
    assert table.check().ok
    path = tmp_path / "t" / "_delta_log" / f"{1:020}.json"
    path.write_text(path.read_text().replace('\\"maxValues\\":{}', '\\"maxValues\\":{\\"x\\":1.0}'))
    [finding] = sl.check_table(tmp_path / "t").findings
    assert "NaN" in finding.problem


def measured(array: pa.Array, *more: pa.Array) -> Measure:
    found = Measure()
    for one in (array, *more):
        found.add(one)
    return found


def bounds(found: Measure) -> list[Any]:
    return [None if one is None else one.as_py() for one in map(found.bound, SIDES)]


@pytest.mark.parametrize(
    ("arrays", "nulls", "values", "expected"),
    [
        ([pa.array([], pa.int64())], 0, 0, [None, None]),
        ([pa.array([None, None], pa.int64())], 2, 0, [None, None]),
        ([pa.array([3, None]), pa.array([], pa.int64()), pa.array([1, 2])], 1, 3, [1, 3]),
        ([pa.array(["b", "a"]), pa.array(["é"])], 0, 3, ["a", "é"]),
        ([pa.array([True, False])], 0, 2, [False, True]),
        ([pa.array([[1], None])], 1, 1, [None, None]),
        ([pa.nulls(2)], 2, 0, [None, None]),
        ([variants([1, ...])], 1, 1, [None, None]),
    ],
    ids=["empty", "nulls", "three batches", "texts", "booleans", "lists", "void", "variants"],
)
def test_counts_and_bounds_over_batches(
    arrays: list[pa.Array], nulls: int, values: int, expected: list[Any]
) -> None:
    found = measured(*arrays)
    assert (found.nulls, found.values, found.has_nan, bounds(found)) == (nulls, values, False, expected)


def test_nan_is_no_bound_but_is_remembered() -> None:
    found = measured(pa.array([1.5, None, float("nan")]), pa.array([0.5]))
    assert (found.nulls, found.values, found.has_nan, bounds(found)) == (1, 3, True, [0.5, 1.5])
    assert found.statistics().has_nan
    assert bounds(measured(pa.array([float("nan")]))) == [None, None]


SCHEMA = pa.schema(
    [
        ("p", pa.string()),
        ("id", pa.int64()),
        ("s", pa.struct([("x y", pa.string())])),
        ("at", pa.timestamp("us", "UTC")),
        ("v", sl.variant()),
    ]
)
MOMENT = datetime(2026, 1, 1, microsecond=1500, tzinfo=UTC)


def problems(
    *rows: dict[str, Any], exact_nulls: bool = True, layout: str | None = None, **stats: Any
) -> list[str]:
    """The problems of statistics with rows; `p` is the partition column."""
    columns = {
        name: variants([row.get("v", ...) for row in rows])
        if name == "v"
        else pa.array([row.get(name) for row in rows], SCHEMA.field(name).type)
        for name in SCHEMA.names
    }
    layouts = {} if layout is None else {"v": ColumnLayout(ShreddingSchema.parse(layout), frozenset())}
    found = Measured(from_arrow(SCHEMA), ("p",), json.dumps(stats), layouts)
    for batch in pa.table(columns, SCHEMA).to_batches(max_chunksize=1):
        found.add(batch)
    assert found.rows == len(rows)
    return list(found.problems(exact_nulls=exact_nulls))


def path_bounds(**values: Any) -> dict[str, str]:
    return {"v": encode_variant(sl.Variant.of({f"$['{name}']": value for name, value in values.items()}))}


def test_absent_statistics_contradict_nothing() -> None:
    assert problems({"id": 1, "v": {"a": 1}}) == []
    assert (
        problems({"id": 1}, numRecords=1, minValues={}, maxValues={"id": None}, nullCount={"other": 5}) == []
    )


@pytest.mark.parametrize(
    ("row", "stats", "expected"),
    [
        ({"id": 5}, {"minValues": {"id": 5}, "maxValues": {"id": 5}, "nullCount": {"id": 0}}, None),
        ({"id": 5}, {"minValues": {"id": 6}}, "id has a value smaller than the recorded minimum 6"),
        ({"id": 5}, {"maxValues": {"id": 4}}, "id has a value greater than the recorded maximum 4"),
        ({"id": None}, {"nullCount": {"id": 0}}, "id has 1 nulls, the statistics say 0"),
        ({"s": {"x y": "b"}}, {"minValues": {"s": {"x y": "c"}}}, "s.x y has a value smaller than"),
        ({"s": None}, {"nullCount": {"s": {"x y": 1}}}, None),
        ({"at": MOMENT}, {"maxValues": {"at": "2026-01-01T00:00:00.001Z"}}, None),
        ({"at": MOMENT}, {"maxValues": {"at": "2026-01-01T00:00:00.000Z"}}, "at has a value greater than"),
        ({"at": MOMENT}, {"minValues": {"at": "+29999-01-01T00:00:00Z"}}, "recorded minimum '29999-01-01"),
        ({"v": {"a": 3}}, {"minValues": path_bounds(a=3), "maxValues": path_bounds(a=3)}, None),
        ({"v": {"a": 3}}, {"minValues": path_bounds(a=4)}, "v, path $['a'] has a value smaller than"),
        ({"v": {"a": "x"}}, {"minValues": path_bounds(a=4)}, "v, path $['a'] has bounds, and values of"),
        ({"v": {"a": None}}, {"minValues": path_bounds(a=4)}, None),
        ({"v": {"b": 1}}, {"minValues": path_bounds(a=4)}, None),
        ({"v": 7}, {"minValues": path_bounds(a=4), "nullCount": {"v": 0}}, None),
        ({"v": ...}, {"nullCount": {"v": 0}}, "v has 1 nulls, the statistics say 0"),
        ({"p": "x"}, {"minValues": {"p": "z"}, "nullCount": {"p": 9}}, None),
    ],
)  # fmt: skip
def test_one_row_against_its_statistics(
    row: dict[str, Any], stats: dict[str, Any], expected: str | None
) -> None:
    found = problems(row, **stats)
    assert len(found) == (expected is not None)
    assert expected is None or expected in found[0]


def test_null_counts_of_a_file_with_deleted_rows_may_be_old() -> None:
    stats: dict[str, Any] = {"nullCount": {"id": 3}, "minValues": {"id": 9}}
    assert problems({"id": 5}, exact_nulls=False, **stats) == [
        "id has a value smaller than the recorded minimum 9"
    ]


def test_facts_are_those_that_a_writer_has() -> None:
    layout = {
        "v": ColumnLayout(ShreddingSchema.parse("struct<a bigint, b string, c array<int>>"), frozenset())
    }
    found = Measured(from_arrow(SCHEMA), ("p",), None, layout)
    values = variants([{"a": 1, "b": "x", "c": [1]}, {"a": 2, "b": 7}, ...])
    columns = {"id": [3, None, 1], "s": [None] * 3, "at": [None] * 3, "p": ["x"] * 3, "v": values}
    found.add(pa.table(columns, SCHEMA.empty_table().select(list(columns)).schema).to_batches()[0])
    facts = found.facts("f.parquet", 99)
    assert (facts.path, facts.size, facts.num_rows) == ("f.parquet", 99, 3)
    assert set(facts.leaves) == {"id", "s.x y", "at"}
    [v] = facts.variants.values()
    assert (v.null_count, v.residual, set(v.leaves)) == (1, frozenset({"$['b']"}), {"$['a']", "$['b']"})
    assert [v.leaves["$['a']"].minimum.as_py(), v.leaves["$['a']"].maximum.as_py()] == [1, 2]


def test_nulls_of_lists_and_maps_are_counted_by_physical_name() -> None:
    schema = pa.schema([("l", pa.list_(pa.int64())), ("n", pa.int64())])
    found = Measured(from_arrow(schema), (), None, {})
    found.add(pa.table({"l": [[1], None, []], "n": [1, 2, 3]}, schema).to_batches()[0])
    assert found.container_nulls() == {("l",): 1}
