"""Nested columns found, pruned, merged and replaced; what is not touched keeps its buffers."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from shredlake.kernels import is_variant, to_json
from shredlake.parquet.format.footer import read_footer
from shredlake.parquet.nested import (
    Replacement,
    dictionaries_fit,
    find_types,
    leaf_types,
    merge,
    prune_schema,
    replace_columns,
    replace_variants,
)
from variant_columns import column_of

SCHEMA = pa.schema(
    [
        ("a", pa.int8()),
        (
            "s",
            pa.struct([("x", pa.int8()), ("y", pa.list_(pa.struct([("z", pa.int8()), ("w", pa.int16())])))]),
        ),
        ("m", pa.map_(pa.string(), pa.int8())),
    ]
)


def test_types_are_found_but_not_inside_each_other() -> None:
    assert list(find_types(SCHEMA, pa.types.is_int8)) == [
        ("a",),
        ("s", "x"),
        ("s", "y", "list", "element", "z"),
        ("m", "key_value", "value"),
    ]
    assert list(find_types(SCHEMA, pa.types.is_struct)) == [("s",)]
    assert find_types(pa.schema([]), pa.types.is_int8) == {}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (set(), []),
        ({0}, ["a: int8"]),
        ({1}, ["s: struct<x: int8>"]),
        ({3}, ["s: struct<y: list<item: struct<w: int16>>>"]),
        ({4}, ["m: map<string, int8>"]),
        ({0, 1, 2, 3, 5}, None),
    ],
)
def test_pruning(wanted: set[int], expected: list[str] | None) -> None:
    pruned = prune_schema(SCHEMA, frozenset(wanted))
    if expected is None:
        assert pruned == SCHEMA
    else:
        assert [f"{field.name}: {field.type}" for field in pruned] == expected
    assert len(leaf_types(SCHEMA)) == 6


ROWS: list[Any] = [
    {"x": 1, "y": [{"z": 2, "w": 3}, {"z": None, "w": 4}]},
    None,
    {"x": None, "y": None},
    {"x": 5, "y": []},
]


def test_parts_of_a_column_merge_to_the_whole() -> None:
    type_ = SCHEMA.field("s").type
    whole = pa.array(ROWS, type_)
    element = type_.field("y").type.value_type
    parts = [
        pa.array(ROWS, pa.struct([type_.field("x")])),
        pa.array(ROWS, pa.struct([("y", pa.list_(pa.struct([element.field("w")])))])),
        pa.array(ROWS, pa.struct([("y", pa.list_(pa.struct([element.field("z")])))])),
    ]
    merged = merge(parts, type_)
    merged.validate(full=True)
    assert merged.type == type_
    assert merged.to_pylist() == whole.to_pylist()
    assert merge(parts[:1], type_) is parts[0]
    assert merge(parts[1:], type_).to_pylist()[0] == {"y": ROWS[0]["y"]}


def test_maps_and_leaves_are_never_parts() -> None:
    for type_ in (pa.map_(pa.string(), pa.int8()), pa.int8()):
        with pytest.raises(TypeError, match="can't be read in parts"):
            merge([pa.nulls(1, type_)] * 2, type_)


def test_replacing_leaves_the_rest_as_it_is() -> None:
    table = pa.table(
        {
            "a": pa.array([1, 2, 3, 4], pa.int8()),
            "s": pa.chunked_array([ROWS[:2], ROWS[2:]], SCHEMA.field("s").type),
        }
    ).replace_schema_metadata({"k": "v"})
    place = ("s", "y", "list", "element", "w")
    found = replace_columns(
        table,
        {
            place: Replacement(
                pa.string(), lambda array: pc.binary_join_element_wise(array.cast(pa.string()), "!", "")
            )
        },
    )
    assert found["s"].to_pylist()[0] == {"x": 1, "y": [{"z": 2, "w": "3!"}, {"z": None, "w": "4!"}]}
    assert found["s"].to_pylist()[1:] == ROWS[1:]
    assert found["s"].num_chunks == 2
    assert found.schema.metadata == {b"k": b"v"}
    assert find_types(found.schema, pa.types.is_string) == {place: pa.string()}
    assert found["a"].chunk(0).buffers()[1].address == table["a"].chunk(0).buffers()[1].address


def test_replacing_in_no_rows_still_changes_the_type() -> None:
    table = pa.schema([("l", pa.list_(pa.int8()))]).empty_table()
    place = ("l", "list", "element")
    found = replace_columns(table, {place: Replacement(pa.int64(), lambda array: array.cast(pa.int64()))})
    assert found.schema.field("l").type == pa.list_(pa.int64())


def wrong_dictionary() -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array([0, 7]), pa.array(["x"]), safe=False)


def test_indexes_out_of_range_are_found_at_any_depth() -> None:
    wrong = wrong_dictionary()
    struct = pa.StructArray.from_arrays([wrong], names=["d"])
    lists = pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), struct)
    for column in (wrong, struct, lists):
        assert not dictionaries_fit([pa.array([1, 2]), column])
    assert dictionaries_fit([struct[:1]])
    assert dictionaries_fit([pa.array(["a", None]).dictionary_encode(), pa.nulls(2, wrong.type)])
    negative = pa.DictionaryArray.from_arrays(pa.array([-1]), pa.array(["x"]), safe=False)
    assert not dictionaries_fit([negative])
    assert dictionaries_fit([])


def test_variants_are_replaced_by_structure_not_by_name() -> None:
    """pyarrow may call the levels of a list `list.element` or `list.item`; the file's names decide."""
    variants = column_of([{"a": 1}, "x", None])
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 3], pa.int32()), variants)
    maps = pa.MapArray.from_arrays(pa.array([0, 2, 3], pa.int32()), pa.array(["k", "l", "m"]), variants)
    table = pa.table(
        {"s": pa.StructArray.from_arrays([lists, maps, pa.array([1, 2])], names=["l", "m", "n"])}
    )
    sink = io.BytesIO()
    pq.write_table(table, sink, use_compliant_nested_type=False)
    node = read_footer(sink).schema.find(("s",))
    names = {("s", "l", "list", "item"), ("s", "m", "key_value", "value")}
    found = replace_variants(table["s"].chunk(0), node, names, lambda array, _: to_json(array))
    assert found.to_pylist() == [
        {"l": ['{"a":1}'], "m": [("k", '{"a":1}'), ("l", '"x"')], "n": 1},
        {"l": ['"x"', "null"], "m": [("m", "null")], "n": 2},
    ]
    assert not find_types(pa.schema([("s", found.type)]), is_variant)
    untouched = replace_variants(table["s"].chunk(0), node, set(), lambda array, _: to_json(array))
    assert untouched is table["s"].chunk(0) or untouched.equals(table["s"].chunk(0))
