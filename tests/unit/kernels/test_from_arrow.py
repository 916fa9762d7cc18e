"""from_arrow: each row of the table in its docstring, and everything nested in everything."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from shredlake import (
    Float32,
    InvalidSchema,
    InvalidValue,
    ShreddingSchema,
    TimestampNanos,
    TimestampNtzNanos,
    Variant,
    VariantType,
    from_arrow,
    from_json,
    shred,
    to_json,
    to_python,
    validate,
)
from shredlake.kernels import variant
from variant_columns import column_of, rows

pytestmark = pytest.mark.usefixtures("kernels")

NOON = dt.datetime(2024, 5, 17, 12)
ZONED = NOON.replace(tzinfo=dt.UTC)
T = VariantType

SCALARS: list[tuple[pa.DataType, Any, VariantType, Any]] = [
    (pa.bool_(), True, T.BOOLEAN, True),
    (pa.bool_(), False, T.BOOLEAN, False),
    (pa.int8(), -5, T.INT8, -5),
    (pa.int16(), 5, T.INT16, 5),
    (pa.int32(), 5, T.INT32, 5),
    (pa.int64(), 5, T.INT64, 5),
    (pa.uint8(), 255, T.INT16, 255),
    (pa.uint16(), 65535, T.INT32, 65535),
    (pa.uint32(), 2**32 - 1, T.INT64, 2**32 - 1),
    (pa.uint64(), 7, T.INT64, 7),
    (pa.uint64(), 2**63 - 1, T.INT64, 2**63 - 1),
    (pa.uint64(), 2**64 - 1, T.DECIMAL16, Decimal(2**64 - 1)),
    (pa.float16(), 1.5, T.FLOAT, 1.5),
    (pa.float32(), 0.5, T.FLOAT, 0.5),
    (pa.float64(), 0.1, T.DOUBLE, 0.1),
    (pa.decimal32(5, 2), Decimal("1.10"), T.DECIMAL4, Decimal("1.10")),
    (pa.decimal64(18, 4), Decimal("12345678901234.5678"), T.DECIMAL8, Decimal("12345678901234.5678")),
    (pa.decimal128(38, 0), Decimal("9" * 38), T.DECIMAL16, Decimal("9" * 38)),
    (pa.decimal256(50, 2), Decimal("1.10"), T.DECIMAL4, Decimal("1.10")),
    (pa.decimal128(5, -2), Decimal("300"), T.DECIMAL4, Decimal("300")),
    (pa.string(), "é", T.STRING, "é"),
    (pa.large_string(), "x" * 100, T.STRING, "x" * 100),
    (pa.string_view(), "view", T.STRING, "view"),
    (pa.binary(), b"\x00\xff", T.BINARY, b"\x00\xff"),
    (pa.large_binary(), b"", T.BINARY, b""),
    (pa.binary_view(), b"view", T.BINARY, b"view"),
    (pa.binary(3), b"abc", T.BINARY, b"abc"),
    (pa.date32(), dt.date(2024, 5, 17), T.DATE, dt.date(2024, 5, 17)),
    (pa.date64(), dt.date(1969, 5, 17), T.DATE, dt.date(1969, 5, 17)),
    (pa.time32("s"), dt.time(1, 2, 3), T.TIME, dt.time(1, 2, 3)),
    (pa.time32("ms"), dt.time(1, 2, 3, 4000), T.TIME, dt.time(1, 2, 3, 4000)),
    (pa.time64("us"), dt.time(1, 2, 3, 4), T.TIME, dt.time(1, 2, 3, 4)),
    (pa.time64("ns"), dt.time(1, 2, 3, 4), T.TIME, dt.time(1, 2, 3, 4)),
    (pa.timestamp("s"), NOON, T.TIMESTAMP_NTZ, NOON),
    (pa.timestamp("ms", "UTC"), ZONED, T.TIMESTAMP, ZONED),
    (pa.timestamp("us"), NOON, T.TIMESTAMP_NTZ, NOON),
    (pa.timestamp("us", "Asia/Tokyo"), ZONED, T.TIMESTAMP, ZONED),
    (pa.timestamp("ns"), 5, T.TIMESTAMP_NTZ_NANOS, TimestampNtzNanos(5)),
    (pa.timestamp("ns", "UTC"), -5, T.TIMESTAMP_NANOS, TimestampNanos(-5)),
    (pa.uuid(), UUID(int=7), T.UUID, UUID(int=7)),
]


@pytest.mark.parametrize(("type_", "value", "kind", "expected"), SCALARS, ids=lambda x: str(x)[:20])
def test_each_type_becomes_what_the_table_says(
    type_: pa.DataType, value: Any, kind: VariantType, expected: Any
) -> None:
    storage = pa.array([value.bytes, None], pa.binary(16)) if isinstance(value, UUID) else None
    array = (
        pa.array([value, None], type_) if storage is None else pa.ExtensionArray.from_storage(type_, storage)
    )
    one, null = rows(from_arrow(array))
    assert null is None
    assert one is not None
    assert one.type is kind
    assert one.to_python() == expected
    one.validate()
    nested = from_arrow(pa.StructArray.from_arrays([array], ["x"]))
    assert to_python(nested) == [{"x": expected}, {"x": None}]


def test_structs_lists_and_maps_nest() -> None:
    type_ = pa.struct(
        [
            ("id", pa.int32()),
            ("tags", pa.list_(pa.string())),
            ("where", pa.struct([("lat", pa.float64()), ("lon", pa.float64())])),
            ("counts", pa.map_(pa.string(), pa.list_(pa.int8()))),
        ]
    )
    values = [
        {
            "id": 1,
            "tags": ["a", None],
            "where": {"lat": 1.5, "lon": None},
            "counts": [("z", [1]), ("a", None)],
        },
        {"id": None, "tags": [], "where": None, "counts": []},
        None,
    ]
    column = from_arrow(pa.array(values, type_))
    assert to_json(column).to_pylist() == [
        '{"counts":{"a":null,"z":[1]},"id":1,"tags":["a",null],"where":{"lat":1.5,"lon":null}}',
        '{"counts":{},"id":null,"tags":[],"where":null}',
        None,
    ]
    assert validate(column).num_rows == 0


@pytest.mark.parametrize(
    "make", [pa.list_, pa.large_list, pa.list_view, pa.large_list_view, lambda item: pa.list_(item, 2)]
)
def test_slices_of_lists_in_every_layout(make: Any) -> None:
    values = [[1, 2], None, [3, None], [4, 5], None, [6, 7]]
    array = pa.array(values, make(pa.int8()))
    for start in range(len(values)):
        assert to_python(from_arrow(array.slice(start))) == values[start:]
        nested = pa.StructArray.from_arrays([array], ["x"]).slice(start)
        assert to_python(from_arrow(nested)) == [{"x": value} for value in values[start:]]


def test_encoded_columns_are_as_what_they_hold() -> None:
    plain = pa.array(["a", "b", "a", None])
    assert to_python(from_arrow(plain.dictionary_encode())) == ["a", "b", "a", None]
    assert to_python(from_arrow(pc.run_end_encode(plain))) == ["a", "b", "a", None]
    assert to_python(from_arrow(pa.chunked_array([plain, plain.slice(2)]))) == [
        "a",
        "b",
        "a",
        None,
        "a",
        None,
    ]


def test_variants_within() -> None:
    values = [{"q": [1, {"a": None}]}, "x", None, {"a": {"b": 1}}]
    variants = column_of(values)
    outer = pa.StructArray.from_arrays([pa.array([1, 2, 3, 4]), variants], ["a", "v"])
    expected = [{"a": index + 1, "v": value} for index, value in enumerate(values)]
    assert to_python(from_arrow(outer)) == expected
    shredded = shred(variants, ShreddingSchema.parse("struct<a struct<b bigint>>"))
    assert (
        to_python(from_arrow(pa.StructArray.from_arrays([outer.field(0), shredded], ["a", "v"]))) == expected
    )
    assert to_python(from_arrow(variants)) == values


def test_the_bytes_are_those_of_the_builder() -> None:
    column = from_arrow(pa.array([{"b": "x", "a": [1.5, None]}, {"b": None, "a": []}]))
    assert rows(column) == [Variant.of({"b": "x", "a": [1.5, None]}), Variant.of({"b": None, "a": []})]
    assert column.field("value").to_pylist() == [row.value for row in rows(column) if row]
    assert column[0]["metadata"].as_py() == Variant.of({"b": "x", "a": []}).metadata
    assert rows(from_arrow(pa.array([0.5], pa.float32()))) == [Variant.of(Float32(0.5))]


def test_no_rows_and_rows_of_nothing() -> None:
    assert from_arrow(pa.array([], pa.int8())).type == variant()
    assert from_arrow(pa.nulls(2)).null_count == 2
    assert to_python(from_arrow(pa.array([{}, None], pa.struct([])))) == [{}, None]
    assert to_python(from_arrow(pa.array([[None, None]], pa.list_(pa.null())))) == [[None, None]]
    assert isinstance(from_arrow(pa.chunked_array([], pa.int8())), pa.ChunkedArray)


@pytest.mark.parametrize(
    ("type_", "problem"),
    [
        (pa.duration("s"), r"\$: duration\[s\] has no Variant type"),
        (pa.struct([("a", pa.list_(pa.month_day_nano_interval()))]), r"\$\['a'\]\[0\]: month_day_nano"),
        (pa.map_(pa.int8(), pa.int8()), "the map's keys are int8, but an object's keys are strings"),
        (pa.struct([("a", pa.int8()), ("a", pa.int8())]), "two fields named 'a'"),
    ],
    ids=str,
)
def test_types_without_a_variant_are_named_with_their_path(type_: pa.DataType, problem: str) -> None:
    with pytest.raises(InvalidSchema, match=problem):
        from_arrow(pa.nulls(1, type_))


def test_values_without_a_variant_name_their_row() -> None:
    repeated = pa.array([[("a", 1)], [("k", 1), ("k", 2)]], pa.map_(pa.string(), pa.int8()))
    with pytest.raises(InvalidValue, match="row 1: the key 'k' occurs twice"):
        from_arrow(repeated)
    broken = pa.array([b"ok", b"\xff"]).view(pa.string())
    with pytest.raises(InvalidValue, match=r"row 1: the string is not UTF-8: b'\\xff'"):
        from_arrow(broken)
    with pytest.raises(InvalidValue, match="time64"):
        from_arrow(pa.array([1], pa.time64("ns")))
    with pytest.raises(InvalidValue, match="decimal256"):
        from_arrow(pa.array([Decimal("9" * 45)], pa.decimal256(50, 0)))


def test_numbers_that_arrow_does_not_check() -> None:
    many = pa.py_buffer((10**38).to_bytes(16, "little") + (10**38 - 1).to_bytes(16, "little"))
    digits = pa.Array.from_buffers(pa.decimal128(38, 0), 2, [None, many])
    with pytest.raises(InvalidValue, match=r"row 0: the decimal 10+ has more than 38 digits"):
        from_arrow(digits)
    assert to_python(from_arrow(digits.slice(1))) == [Decimal("9" * 38)]
    times = pa.array([0, 86_399_999_999, 86_400_000_000, -1]).view(pa.time64("us"))
    assert to_python(from_arrow(times.slice(0, 2))) == [dt.time(), dt.time.max]
    for first in (2, 3):
        with pytest.raises(InvalidValue, match=r"row 0: .* microseconds is not a time of day"):
            from_arrow(times.slice(first))


def test_parsed_json_and_its_arrow_form_mean_the_same() -> None:
    texts = ['{"a":1,"b":["x",null],"c":{"d":true}}', '{"a":-7,"b":[],"c":{"d":false}}']
    arrow = pa.array([{"a": 1, "b": ["x", None], "c": {"d": True}}, {"a": -7, "b": [], "c": {"d": False}}])
    assert rows(from_arrow(arrow)) == rows(from_json(pa.array(texts)))
