"""`get`, for any values, layout, path and type: the same as following the path and casting row by row."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shredlake.errors import CastError, MalformedVariant
from shredlake.kernels import get, shred, variant
from shredlake.kernels.arrow.raw_arrays import arrow_type, nested, plain
from shredlake.kernels.cast_options import DEFAULT, CastOptions, Dialect, spark_on
from shredlake.kernels.casts.table import cast_value
from shredlake.kernels.casts.targets import AnyVariant, target_of
from shredlake.shredding import ShreddingSchema
from shredlake.variant import Path, Variant, VariantType
from strategies import hostile_buffers, shreddable_columns, wide_variants

NOWHERE: list[str | int] = ["a", "nowhere", 0, 7]

TYPES = [
    None, pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(),
    pa.decimal128(9, 2), pa.decimal128(38, 10), pa.decimal128(38, 0), pa.string(), pa.large_string(),
    pa.binary(), pa.date32(), pa.time64("us"), pa.timestamp("us", "UTC"), pa.timestamp("us"),
    pa.timestamp("ns", "UTC"), pa.timestamp("ns"), pa.uuid(), variant(),
    pa.list_(pa.int64()), pa.map_(pa.string(), pa.string()),
    pa.struct([("a", pa.int64()), ("id", pa.string())]),
]  # fmt: skip
TEXTUAL = [
    pa.string(), pa.decimal128(38, 10), pa.list_(pa.field("element", pa.string())),
    pa.map_(pa.string(), pa.string()), pa.struct([("a", pa.string()), ("id", pa.string())]),
]  # fmt: skip
DIALECTS = [spark_on(17), spark_on(21)]
ZONES = ["UTC", "America/Los_Angeles", "+05:30"]
types = st.sampled_from(TYPES)
zones = st.sampled_from(ZONES)


def column_of(rows: list[Variant | None]) -> pa.StructArray:
    return pa.array([row and {"metadata": row.metadata, "value": row.value} for row in rows], variant())


@st.composite
def paths_into(draw: st.DrawFn, rows: list[Variant | None]) -> Path:
    """A path into one of the rows; some paths lead nowhere."""
    steps: list[str | int] = []
    current = draw(st.sampled_from([row for row in rows if row is not None] or [Variant.of(None)]))
    while draw(st.integers(0, 3)):
        if current.type is VariantType.OBJECT and len(current):
            steps.append(draw(st.sampled_from(current.keys())))
        elif current.type is VariantType.ARRAY and len(current):
            steps.append(draw(st.integers(0, len(current) - 1)))
        else:
            break
        current = current[steps[-1]]
    if draw(st.integers(0, 9)) == 0:
        steps.append(draw(st.sampled_from(NOWHERE)))
    return Path(tuple(steps))


def expected(
    rows: list[Variant | None], path: Path, type_: pa.DataType | None, options: CastOptions = DEFAULT
) -> list[Any]:
    target = AnyVariant() if type_ is None else target_of(type_)
    found = [None if row is None else row.get(path) for row in rows]
    return [None if value is None else cast_value(value, target, options) for value in found]


def assert_same(array: pa.Array | pa.ChunkedArray, want: list[Any], type_: pa.DataType | None) -> None:
    array.validate(full=True)
    target = AnyVariant() if type_ is None else target_of(type_)
    if isinstance(target, AnyVariant):
        assert [row and Variant(row["metadata"], row["value"]) for row in array.to_pylist()] == want
        return
    assert array.type == type_
    if isinstance(type_, pa.UuidType):
        assert [item and item.bytes for item in array.to_pylist()] == want
        return
    wanted = pa.array([plain(item, target) for item in want], arrow_type(target))
    same = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    assert shown(same.cast(wanted.type)) == shown(wanted)


def shown(array: pa.Array) -> str:
    """A text in which NaN equals NaN and -0.0 differs from 0.0; the fields of a null struct do not matter."""
    if pa.types.is_struct(array.type):
        fields = [pc.if_else(array.is_valid(), child, None) for child in array.flatten()]
        array = pa.StructArray.from_arrays(fields, fields=list(array.type), mask=array.is_null())
    return str(array)


@pytest.mark.slow
@settings(max_examples=200)
@given(shreddable_columns(), types, zones, st.data())
def test_get_is_the_same_on_every_layout(
    case: tuple[list[Variant | None], ShreddingSchema],
    type_: pa.DataType | None,
    zone: str,
    data: st.DataObject,
) -> None:
    rows, schema = case
    path = data.draw(paths_into(rows))
    column = column_of(rows)
    want = expected(rows, path, type_, CastOptions(timezone=zone))
    for layout in (column, shred(column, schema), shred(column, schema, exact_types=True)):
        assert_same(get(layout, path, type_, timezone=zone), want, type_)


@pytest.mark.slow
@settings(max_examples=100)
@given(shreddable_columns(), st.sampled_from(TEXTUAL), st.sampled_from(DIALECTS), st.booleans(), st.data())
def test_the_dialects_of_spark(
    case: tuple[list[Variant | None], ShreddingSchema],
    type_: pa.DataType,
    dialect: Dialect,
    strict: bool,
    data: st.DataObject,
) -> None:
    """As the reference casts them, texts compared by their bytes, which may be any."""
    rows, schema = case
    path = data.draw(paths_into(rows))
    target = target_of(type_)
    found = [None if row is None else row.get(path) for row in rows]
    options = CastOptions.of(strict=strict, dialect=dialect)
    try:
        items = [None if value is None else cast_value(value, target, options) for value in found]
    except CastError:
        return  # the test of errors is below
    wanted = nested([plain(item, target) for item in items], target).cast(arrow_type(target, pa.binary()))
    for column in (column_of(rows), shred(column_of(rows), schema)):
        same = get(column, path, type_, strict=strict, dialect=dialect)
        assert same.type == type_
        assert shown(same.cast(wanted.type)) == shown(wanted)


@pytest.mark.slow
@settings(max_examples=60)
@given(shreddable_columns(), types, st.data())
def test_slices_and_chunks(
    case: tuple[list[Variant | None], ShreddingSchema], type_: pa.DataType | None, data: st.DataObject
) -> None:
    rows, schema = case
    path = data.draw(paths_into(rows))
    start = data.draw(st.integers(0, len(rows)))
    want = expected(rows, path, type_)
    for column in (column_of(rows), shred(column_of(rows), schema)):
        assert_same(get(column.slice(start), path, type_), want[start:], type_)
        chunked = pa.chunked_array([column.slice(0, start), column.slice(start)], column.type)
        result = get(chunked, path, type_)
        assert isinstance(result, pa.ChunkedArray)
        assert_same(result, want, type_)


@pytest.mark.slow
@settings(max_examples=60)
@given(shreddable_columns(), types, st.data())
def test_strict_raises_where_a_value_does_not_cast(
    case: tuple[list[Variant | None], ShreddingSchema], type_: pa.DataType | None, data: st.DataObject
) -> None:
    rows, schema = case
    path = data.draw(paths_into(rows))
    target = AnyVariant() if type_ is None else target_of(type_)
    failing = None
    for number, row in enumerate(rows):
        found = None if row is None else row.get(path)
        try:
            if found is not None:
                cast_value(found, target, CastOptions(on_error="raise"))
        except CastError:
            failing = number
            break
    for column in (column_of(rows), shred(column_of(rows), schema)):
        if failing is None:
            assert_same(get(column, path, type_, strict=True), expected(rows, path, type_), type_)
        else:
            with pytest.raises(CastError, match=r"^row \d+, \$.* can't be cast to "):
                get(column, path, type_, strict=True)


@settings(max_examples=60)
@given(st.lists(wide_variants(), min_size=1, max_size=4), types, st.data())
def test_wider_encodings_of_other_writers(
    wide: list[tuple[Variant, Any]], type_: pa.DataType | None, data: st.DataObject
) -> None:
    rows: list[Variant | None] = [row for row, _ in wide]
    path = data.draw(paths_into(rows))
    assert_same(get(column_of(rows), path, type_), expected(rows, path, type_), type_)


@pytest.mark.slow
@settings(max_examples=100)
@given(shreddable_columns(), types, st.data())
def test_the_reference_serves_as_well(
    case: tuple[list[Variant | None], ShreddingSchema], type_: pa.DataType | None, data: st.DataObject
) -> None:
    rows, schema = case
    path = data.draw(paths_into(rows))
    want = expected(rows, path, type_)
    layouts = (column_of(rows), shred(column_of(rows), schema))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shredlake.kernels.dispatch.COMPILED", False)
        for column in layouts:
            assert_same(get(column, path, type_), want, type_)


@settings(max_examples=150)
@given(hostile_buffers(), types, st.sampled_from([Path(), Path(("a",)), Path((0,)), Path(("a", 0, "b"))]))
def test_damaged_values_are_an_error_or_a_value(
    buffers: tuple[bytes, bytes], type_: pa.DataType | None, path: Path
) -> None:
    column = pa.array([{"metadata": buffers[0], "value": buffers[1]}], variant())
    try:
        get(column, path, type_).validate(full=True)
    except MalformedVariant as error:
        found = str(error)
    else:
        found = "row 0: fine"
    assert "row 0" in found
