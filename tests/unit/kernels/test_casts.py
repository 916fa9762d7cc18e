"""Casts to structs, lists and maps, column by column, as the reference casts each row."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shredlake as sl
from shredlake.errors import CastError
from shredlake.kernels.arrow.raw_arrays import nested, plain
from shredlake.kernels.casts.table import cast_value
from shredlake.kernels.casts.targets import Target, target_of
from shredlake.shredding.schema import ShreddingSchema
from shredlake.variant import Variant
from strategies import shreddable_columns

LAYOUTS = [
    None,
    "struct<p struct<x double, y bigint>, l array<bigint>>",
    "struct<p struct<x string>, l array<struct<a bigint, s string>>>",
    "struct<p array<bigint>, l string>",
]
DOCUMENTS = [
    {"p": {"x": 1.5, "y": 2}, "l": [1, 2, None]},
    {"p": {"x": "1.25", "z": [1]}, "l": []},
    {"p": {}, "l": [{"a": 1, "s": "t", "more": 0}, {"s": {"b": 1}}, 7]},
    {"p": None, "l": None},
    {"p": [1, 2], "l": {"0": 1}},
    {"p": 3, "l": "text"},
    {},
    {"p": {"x": {"y": 1}, "y": "no"}, "l": [[1], "2", 3.5]},
]
POINT = pa.struct([("x", pa.float64()), ("y", pa.int64()), ("z", sl.variant())])
TARGETS = [
    ("$.p", POINT),
    ("$.p", pa.struct([("x", pa.string()), ("none", pa.int8())])),
    ("$.p", pa.map_(pa.string(), pa.float64())),
    ("$.l", pa.list_(pa.int64())),
    ("$.l", pa.list_(pa.string())),
    ("$.l", pa.list_(pa.struct([("a", pa.int64()), ("s", pa.string())]))),
    ("$.l[0]", pa.struct([("a", pa.int64())])),
    ("$", pa.struct([("p", POINT), ("l", pa.list_(pa.int64()))])),
]


def column(layout: str | None, rows: list[Any]) -> pa.Array:
    made = pa.array(
        [
            None if row is None else {"metadata": row.metadata, "value": row.value}
            for row in (None if row is None else Variant.of(row) for row in rows)
        ],
        sl.variant(),
    )
    return made if layout is None else sl.shred(made, ShreddingSchema.parse(layout))


def expected(rows: list[Any], path: str, target: Target) -> pa.Array:
    found = [None if row is None else Variant.of(row).get(path) for row in rows]
    return nested([None if one is None else plain(cast_value(one, target), target) for one in found], target)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("path", "kind"), TARGETS)
def test_nested_casts_are_those_of_the_reference(layout: str | None, path: str, kind: pa.DataType) -> None:
    rows = [*DOCUMENTS, None, *DOCUMENTS]
    made = column(layout, rows)
    wanted = expected(rows, path, target_of(kind))
    assert sl.get(made, path, kind).to_pylist() == wanted.to_pylist()
    assert sl.get(made.slice(3, 9), path, kind).to_pylist() == wanted.to_pylist()[3:12]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_strict_cast_names_the_first_row_that_fails(layout: str | None) -> None:
    rows = [{"p": {"x": 1.0}}, {"p": None}, {}, {"p": {"x": 2.0, "y": "no"}}, {"p": 7}]
    with pytest.raises(CastError, match=r"row 3, \$\['p'\]\['y'\]: .*no.* can't be cast to bigint"):
        sl.get(column(layout, rows), "$.p", POINT, strict=True)
    with pytest.raises(CastError, match=r"row 1, \$\['p'\]: 7 .*can't be cast to struct"):
        sl.get(column(layout, [rows[0], rows[4]]), "$.p", POINT, strict=True)
    assert sl.get(column(layout, rows[:3]), "$.p", POINT, strict=True).null_count == 2


KINDS = st.recursive(
    st.sampled_from([pa.int64(), pa.string(), pa.float64(), pa.bool_(), sl.variant()]),
    lambda inner: st.one_of(
        inner.map(pa.list_),
        inner.map(lambda kind: pa.map_(pa.string(), kind)),
        st.dictionaries(st.sampled_from(["a", "b", "key", ""]), inner, min_size=1, max_size=3).map(
            lambda fields: pa.struct(list(fields.items()))
        ),
    ),
    max_leaves=4,
)


def test_arrays_of_objects_with_a_uuid() -> None:
    """pyarrow does not flatten null lists of this type."""
    texts = ["null", '[{"u": 1}]', None, "[]", '[{"u": 2}, 3]', "7"]
    column = sl.shred(sl.from_json(pa.array(texts)), ShreddingSchema.parse("array<struct<u uuid>>"))
    wanted = [None, [None], None, [], [None, 3], None]
    assert sl.get(column, "$", pa.list_(pa.int64())).to_pylist() == wanted
    for row, one in enumerate(wanted):
        assert sl.get(column.slice(row, 1), "$", pa.list_(pa.int64())).to_pylist() == [one]


@pytest.mark.slow
@given(shreddable_columns(), KINDS)
def test_any_column_casts_as_the_reference_does(found: Any, kind: pa.DataType) -> None:
    rows, schema = found
    target = target_of(kind)
    stored = [None if row is None else {"metadata": row.metadata, "value": row.value} for row in rows]
    made = sl.shred(pa.array(stored, sl.variant()), schema)
    wanted = nested([None if row is None else plain(cast_value(row, target), target) for row in rows], target)
    assert sl.get(made, "$", kind).cast(wanted.type, safe=False).equals(wanted) or same_values(
        sl.get(made, "$", kind), wanted
    )


def same_values(one: pa.Array, other: pa.Array) -> bool:
    """Whether values are equal, with NaN equal to itself and Variants compared by value."""
    return repr(readable(one.to_pylist())) == repr(readable(other.to_pylist()))


def readable(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"metadata", "value"}:
        return Variant(value["metadata"], value["value"]).to_python()
    if isinstance(value, dict):
        return {name: readable(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [readable(item) for item in value]
    return value
