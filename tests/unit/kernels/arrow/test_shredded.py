"""Shredded columns in the layouts that the kernel reads in place, and names added to dictionaries."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from shredlake.kernels import shred, shredded_type
from shredlake.kernels.arrow.flat_schema import plan_of
from shredlake.kernels.arrow.shredded import bytes_part, columns_in, extend_metadata, places_in
from shredlake.kernels.arrow.types import shredding_schema
from shredlake.shredding.schema import ShreddingSchema
from shredlake.variant.metadata import Dictionary, encode_metadata
from variant_columns import MISSING, column_of, rows

METADATA = pa.field("metadata", pa.binary(), nullable=False)


def of(typed: pa.DataType, value: pa.DataType | None = None) -> pa.StructType:
    return pa.struct([METADATA, ("value", value or pa.binary()), ("typed_value", typed)])


def places(type_: pa.StructType) -> list[tuple[int, int, int]] | None:
    schema = shredding_schema(type_)
    assert schema is not None
    return places_in(type_, plan_of(schema.root))


def test_plain_columns_are_found_by_name() -> None:
    type_ = shredded_type(ShreddingSchema.parse("struct<a bigint, b array<string>>"))
    assert places(type_) == [(0, 1, 2), (0, 0, 1), (1, 0, 1), (0, 0, 1)]
    level = pa.struct([("typed_value", pa.int64()), ("value", pa.binary())])
    backwards = pa.struct([("typed_value", pa.struct([("x", level)])), METADATA])
    assert places(backwards) == [(0, -1, 0), (0, 1, 0)]


@pytest.mark.parametrize(
    ("type_", "plain"),
    [
        (of(pa.int64()), True),
        (of(pa.int64(), pa.large_binary()), False),
        (of(pa.large_string()), False),
        (of(pa.decimal64(9, 2)), False),
        (of(pa.decimal128(9, 2)), True),
        (of(pa.timestamp("us", "Asia/Tokyo")), True),
        (of(pa.large_list(pa.struct([("typed_value", pa.int8())]))), False),
        (of(pa.list_(pa.struct([("typed_value", pa.string_view())]))), False),
        (of(pa.struct([("a", pa.struct([("value", pa.binary_view())]))])), False),
    ],
    ids=str,
)
def test_layouts_that_the_kernel_reads_in_place(type_: pa.StructType, plain: bool) -> None:
    assert (places(type_) is not None) == plain
    array = pa.nulls(2, type_)
    schema = shredding_schema(type_)
    assert schema is not None
    columns = columns_in(array, plan_of(schema.root))
    assert (columns.piece is array) == plain
    assert places(columns.piece.type) == columns.places


ROWS: list[Any] = [{"t": ["x", 5], "n": 1}, MISSING, {"n": "odd"}, [1], {"t": []}]


@pytest.mark.parametrize(("start", "count"), [(0, 5), (1, 3), (4, 1), (5, 0)])
def test_rows_and_nulls_survive_the_conversion(start: int, count: int) -> None:
    schema = ShreddingSchema.parse("struct<n bigint, t array<string>>")
    column = shred(column_of(ROWS), schema)
    element = pa.struct([("value", pa.large_binary()), ("typed_value", pa.large_string())])
    level = pa.struct([("value", pa.binary_view()), ("typed_value", pa.large_list(element))])
    number = pa.struct([("value", pa.binary()), ("typed_value", pa.int64())])
    other = pa.array(column.to_pylist(), of(pa.struct([("n", number), ("t", level)]), pa.large_binary()))
    columns = columns_in(other.slice(start, count), plan_of(schema.root))
    columns.piece.validate(full=True)
    assert rows(columns.piece) == rows(column_of(ROWS[start : start + count]))
    assert columns.piece.is_valid().to_pylist() == other.slice(start, count).is_valid().to_pylist()


def test_the_addresses_of_a_binary_array() -> None:
    array = pa.array([b"abc", None, b"de"])
    valid, offset, offsets, data, size = bytes_part(array[1:])
    validity, starts, text = array.buffers()
    assert (valid, offset, offsets, data) == (validity.address, 1, starts.address, text.address)
    assert size == text.size
    assert bytes_part(pa.array([b"abc"]))[0] == 0, "no nulls: no bitmap"


def test_missing_names_follow_the_known_ones() -> None:
    before = [encode_metadata([b"c", b"a"]), encode_metadata([]), encode_metadata([b"c", b"a"])]
    after = extend_metadata(pa.array(before), (b"a", b"b"))
    assert [Dictionary(one).names() for one in after.to_pylist()] == [
        ["c", "a", "b"],
        ["a", "b"],
        ["c", "a", "b"],
    ]


def test_complete_damaged_and_null_dictionaries_stay_as_they_are() -> None:
    damaged = b"\x02\x00\x00"
    before = pa.array([encode_metadata([b"a", b"b"]), damaged])
    assert extend_metadata(before, (b"a", b"b")).to_pylist() == before.to_pylist()
    assert extend_metadata(pa.array([None, encode_metadata([])], pa.binary()), (b"a",)).to_pylist() == [
        None,
        encode_metadata([b"a"]),
    ]
    assert extend_metadata(pa.array([], pa.binary()), (b"a",)).to_pylist() == []
