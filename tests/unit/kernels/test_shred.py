"""Shredding whole columns: containers, layouts, numbers, errors; compiled, and by the reference."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from shredlake.errors import InvalidSchema, MalformedVariant, ShreddingConflict
from shredlake.kernels import is_variant, reshred, shred, shredded_type, shredding_schema, unshred, variant
from shredlake.kernels.arrow import shredded as sources
from shredlake.shredding import ShreddingSchema
from shredlake.variant import Variant, VariantType
from shredlake.variant.scalars import (
    Decimal4,
    Decimal8,
    Decimal16,
    Float32,
    Int8,
    Int16,
    Int32,
    Int64,
    TimestampNanos,
)

pytestmark = pytest.mark.usefixtures("kernels")


def arrow(values: list[Any], *, nulls: tuple[int, ...] = ()) -> pa.StructArray:
    rows = [Variant.of(value) for value in values]
    return pa.array(
        [
            None if index in nulls else {"metadata": row.metadata, "value": row.value}
            for index, row in enumerate(rows)
        ],
        variant(),
    )


def python(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    return [row and Variant(row["metadata"], row["value"]).to_python() for row in column.to_pylist()]


def schema(ddl: str) -> ShreddingSchema:
    return ShreddingSchema.parse(ddl)


# ---------------------------------------------------------------- numbers

KEEPS = "stays in value"


@pytest.mark.parametrize(
    ("value", "ddl", "typed"),
    [
        (Int8(123), "bigint", 123),
        (Int64(123), "tinyint", 123),
        (Int64(128), "tinyint", KEEPS),
        (Int16(-128), "tinyint", -128),
        (Int64(-129), "tinyint", KEEPS),
        (Int32(2**31 - 1), "int", 2**31 - 1),
        (Int64(2**31), "int", KEEPS),
        (Int8(123), "decimal(9,2)", Decimal("123.00")),
        (Int8(123), "decimal(4,2)", KEEPS),
        (Int64(2**63 - 1), "decimal(38,19)", Decimal(f"{2**63 - 1}.{'0' * 19}")),
        (Int64(2**63 - 1), "decimal(38,20)", KEEPS),
        (Decimal4("1.23"), "bigint", KEEPS),
        (Decimal4("1.00"), "bigint", 1),
        (Decimal16("-5"), "smallint", -5),
        (Decimal16(str(2**63)), "bigint", KEEPS),
        (Decimal16(str(-(2**63))), "bigint", -(2**63)),
        (Decimal4("1.5"), "decimal(38,10)", Decimal("1.5000000000")),
        (Decimal8("1.50"), "decimal(2,1)", Decimal("1.5")),
        (Decimal8("1.55"), "decimal(2,1)", KEEPS),
        (Decimal8("0.00"), "decimal(1,1)", Decimal("0.0")),
        (Decimal16("9" * 38), "decimal(38,0)", Decimal("9" * 38)),
        (Decimal16("9" * 38), "decimal(37,0)", KEEPS),
        (Decimal16("-1e-38"), "decimal(38,38)", Decimal("-1e-38")),
        # Nothing else is cast.
        ("123", "bigint", KEEPS),
        (1.0, "bigint", KEEPS),
        (1, "double", KEEPS),
        (Float32(1.5), "double", KEEPS),
        (1.5, "float", KEEPS),
        (1.5, "decimal(2,1)", KEEPS),
        (True, "bigint", KEEPS),
        (b"x", "string", KEEPS),
        ("x", "binary", KEEPS),
        (TimestampNanos(1000), "timestamp", KEEPS),
        ("2024-01-01", "date", KEEPS),
        (None, "string", KEEPS),
    ],
)
def test_exact_numbers_move_and_nothing_else_does(value: Any, ddl: str, typed: Any) -> None:
    column = arrow([value])
    shredded = shred(column, schema(ddl))
    assert shredded.field("typed_value").to_pylist() == [None if typed is KEEPS else typed]
    assert shredded.field("value").to_pylist() == [Variant.of(value).value if typed is KEEPS else None]
    assert python(unshred(shredded, strict=True)) == [value]


@pytest.mark.parametrize(
    ("value", "ddl", "moves"),
    [
        (Int64(5), "bigint", True),
        (Int8(5), "bigint", False),
        (Decimal4("1.50"), "decimal(9,2)", True),
        (Decimal4("1.5"), "decimal(9,2)", False),
        (Decimal8("1.50"), "decimal(9,2)", False),
        (Decimal8("1.50"), "decimal(18,2)", True),
        (Int8(5), "decimal(9,0)", False),
        ("x", "string", True),
    ],
)
def test_exact_types_forbid_even_that(value: Any, ddl: str, moves: bool) -> None:
    shredded = shred(arrow([value]), schema(ddl), exact_types=True)
    assert (shredded.field("typed_value").null_count == 0) == moves
    (row,) = unshred(shredded).to_pylist()
    assert Variant(row["metadata"], row["value"]).type is Variant.of(value).type


def test_exact_types_hold_for_columns_that_are_shredded_already() -> None:
    shredded = shred(arrow([Int64(5)]), schema("bigint"))
    assert shred(shredded, schema("int")).field("typed_value").to_pylist() == [5]
    assert shred(shredded, schema("int"), exact_types=True).field("typed_value").to_pylist() == [None]


def test_a_column_has_the_type_of_its_schema_when_read_back() -> None:
    (row,) = unshred(shred(arrow([5]), schema("bigint"))).to_pylist()
    assert Variant(row["metadata"], row["value"]).type is VariantType.INT64


# ---------------------------------------------------------------- containers

VALUES: list[Any] = [
    {"a": 1, "t": ["x", 2]},
    {"a": "no"},
    None,
    [],
    {"b": {"c": 1.5}},
    {"a": 2, "t": []},
    "s",
    {},
]
WIDE = schema("struct<a bigint, t array<string>, b struct<c double, d variant>>")


def test_an_array_gives_an_array_and_chunks_give_chunks() -> None:
    column = arrow(VALUES, nulls=(2,))
    assert isinstance(shred(column, WIDE), pa.StructArray)
    chunked = pa.chunked_array([column.slice(0, 3), column.slice(3, 0), column.slice(3)])
    shredded = shred(chunked, WIDE)
    assert isinstance(shredded, pa.ChunkedArray)
    assert shredded.combine_chunks().equals(shred(column, WIDE))
    assert isinstance(unshred(shredded), pa.ChunkedArray)
    assert python(unshred(shredded)) == python(column)


@pytest.mark.parametrize("first", range(len(VALUES)))
def test_slices(first: int) -> None:
    column = arrow(VALUES, nulls=(2, 5))
    for length in range(len(VALUES) - first + 1):
        part = column.slice(first, length)
        shredded = shred(part, WIDE)
        assert shredded.equals(shred(column, WIDE).slice(first, length))
        assert python(unshred(shred(column, WIDE).slice(first, length))) == python(part)


@pytest.mark.parametrize(
    "ddl", ["variant", "bigint", "array<array<string>>", "struct<a struct<b array<uuid>>>"]
)
def test_no_rows_at_all(ddl: str) -> None:
    for empty in (pa.array([], variant()), pa.chunked_array([], variant())):
        shredded = shred(empty, schema(ddl))
        assert shredded.type == shredded_type(schema(ddl))
        assert len(shredded) == 0
        assert unshred(shredded).type == variant()
        assert len(unshred(shredded)) == 0


def test_all_rows_null() -> None:
    shredded = shred(pa.nulls(5, variant()), WIDE)
    shredded.validate(full=True)
    assert shredded.null_count == 5
    assert unshred(shredded).to_pylist() == [None] * 5


def test_metadata_is_shared_not_copied() -> None:
    column = arrow(VALUES)
    before, after = column.field("metadata").buffers(), shred(column, WIDE).field("metadata").buffers()
    assert [buffer and buffer.address for buffer in before] == [buffer and buffer.address for buffer in after]


def test_threads_give_the_same_column(kernels: str) -> None:
    if kernels == "reference":
        pytest.skip("too slow: 160,000 rows")
    column = pa.concat_arrays([arrow(VALUES, nulls=(2,))] * 20_000)
    assert column.nbytes > 2 << 20
    one, two = shred(column, WIDE, threads=1), shred(column, WIDE, threads=2)
    assert one.equals(two)
    assert unshred(one, threads=1).equals(unshred(two, threads=2))


def test_a_schema_as_deep_as_schemas_go() -> None:
    value: Any = 1
    ddl = "bigint"
    for level in range(99):
        value, ddl = ({"a": value}, f"struct<a {ddl}>") if level % 2 else ([value], f"array<{ddl}>")
    column = arrow([value, None, value])
    shredded = shred(column, schema(ddl))
    assert shredded.field("value").to_pylist() == [None, b"\x00", None]
    assert python(unshred(shredded, strict=True)) == [value, None, value]


def test_values_deeper_than_the_schema() -> None:
    value: Any = None
    for _ in range(900):
        value = {"a": [value]}
    column = arrow([value])
    shredded = shred(column, schema("struct<a array<struct<a variant>>>"))
    assert unshred(shredded, strict=True).field("value").to_pylist()[0]
    (row,) = unshred(shredded, strict=True).to_pylist()
    assert Variant(row["metadata"], row["value"]) == Variant.of(value)


def test_objects_of_many_fields_and_large_arrays() -> None:
    wide = {f"k{number}": number for number in range(300)}
    long = list(range(3_000))
    column = arrow([wide, {"k7": long}, {**wide, "text": "x" * 70_000}])
    for ddl in [
        "struct<k7 int>",
        "struct<k7 array<int>>",
        f"struct<{', '.join(f'k{n} int' for n in range(299))}>",
    ]:
        assert python(unshred(shred(column, schema(ddl)), strict=True)) == python(column)


def test_an_array_that_outgrows_its_offsets_becomes_chunks(
    monkeypatch: pytest.MonkeyPatch, kernels: str
) -> None:
    if kernels == "reference":
        pytest.skip("the reference does not cut arrays")
    shredded = shred(
        arrow([{"a": number, "b": "x" * 50} for number in range(100)]), schema("struct<a int, b string>")
    )
    monkeypatch.setattr(sources, "LARGEST_ARRAY", 1000)
    monkeypatch.setattr("shredlake.kernels.threads.LARGEST_ARRAY_BYTES", 1000)
    whole = unshred(shredded)
    assert isinstance(whole, pa.ChunkedArray)
    assert whole.num_chunks > 5
    assert python(whole) == [{"a": number, "b": "x" * 50} for number in range(100)]


# ---------------------------------------------------------------- layouts of other writers


def test_unshredded_columns_read_as_they_are() -> None:
    column = arrow(VALUES, nulls=(2,))
    assert python(unshred(column)) == python(column)
    assert unshred(arrow([1, 2])).equals(arrow([1, 2]))


def test_a_null_value_of_a_row_that_is_not_null_is_variant_null() -> None:
    column = pa.array([{"metadata": b"\x01\x00\x00", "value": None}, None], variant())
    assert unshred(column).field("value").to_pylist() == [b"\x00", None]
    shredded = shred(column, schema("bigint"))
    assert shredded.field("value").to_pylist() == [b"\x00", None]
    assert shredded.is_valid().to_pylist() == [True, False]


@pytest.mark.parametrize(
    "binary", [pa.large_binary(), pa.binary_view(), pa.dictionary(pa.int32(), pa.binary())]
)
def test_other_binary_layouts(binary: pa.DataType) -> None:
    column = arrow(VALUES, nulls=(2,))
    other = pa.StructArray.from_arrays(
        [column.field("metadata").cast(binary), column.field("value").cast(binary)],
        fields=[pa.field("metadata", binary, nullable=False), pa.field("value", binary)],
        mask=column.is_null(),
    )
    assert is_variant(other.type)
    assert shred(other, WIDE).equals(shred(column, WIDE))
    assert unshred(other).equals(unshred(column))


def test_other_layouts_of_shredded_columns() -> None:
    element = pa.struct([("typed_value", pa.string_view())])
    type_ = pa.struct(
        [
            pa.field(
                "typed_value",
                pa.struct(
                    [
                        ("d", pa.struct([("typed_value", pa.decimal64(9, 2)), ("value", pa.large_binary())])),
                        ("s", pa.struct([("typed_value", pa.dictionary(pa.int8(), pa.string()))])),
                        ("t", pa.struct([("typed_value", pa.large_list(element))])),
                        ("w", pa.struct([("typed_value", pa.timestamp("us", tz="Europe/Berlin"))])),
                        ("x", pa.struct([("typed_value", pa.decimal256(38, 0))])),
                    ]
                ),
            ),
            ("_internal", pa.int8()),
            pa.field("metadata", pa.binary_view(), nullable=False),
        ]
    )
    metadata = Variant.of(dict.fromkeys("dstwx")).metadata
    rows = [
        {
            "metadata": metadata,
            "typed_value": {
                "d": {"typed_value": Decimal("1.50")},
                "s": {"typed_value": "x"},
                "t": {"typed_value": [{"typed_value": "a"}, {"typed_value": "b"}]},
                "w": {"typed_value": 1_000_000},
                "x": {"typed_value": Decimal("7")},
            },
        },
        {"metadata": metadata, "typed_value": {"d": None, "s": None, "t": {}, "w": None, "x": {}}},
        None,
    ]
    column = pa.array(rows, type_)
    assert str(shredding_schema(type_)) == (
        "struct<d decimal(9,2), s string, t array<string>, w timestamp, x decimal(38,0)>"
    )
    first, second, third = python(unshred(column))
    assert first["w"].timestamp() == 1
    assert {**first, "w": None} == {
        "d": Decimal("1.50"),
        "s": "x",
        "t": ["a", "b"],
        "w": None,
        "x": Decimal(7),
    }
    assert (second, third) == ({}, None)
    schema = shredding_schema(type_)
    assert schema is not None
    plain = reshred(column, schema)
    assert plain.type == shredded_type(schema)
    assert python(unshred(plain)) == python(unshred(column))


@pytest.mark.parametrize(
    "lists", [pa.list_view, pa.large_list_view, pa.large_list, lambda field: pa.list_(field, 2)]
)
def test_other_layouts_of_lists(lists: Any) -> None:
    element = pa.field(
        "element", pa.struct([("value", pa.binary()), ("typed_value", pa.int8())]), nullable=False
    )
    type_ = pa.struct([pa.field("metadata", pa.binary(), nullable=False), ("typed_value", lists(element))])
    pairs = [[{"typed_value": 1}, {"typed_value": 2}], None, [{"typed_value": 3}, {"value": b"\x00"}]]
    rows = [{"metadata": b"\x01\x00\x00", "typed_value": pair} for pair in pairs]
    assert python(unshred(pa.array(rows, type_))) == [[1, 2], None, [3, None]]
    assert python(unshred(pa.array(rows, type_)[1:])) == [None, [3, None]]
    assert python(unshred(reshred(pa.array(rows, type_), schema("array<bigint>")))) == [
        [1, 2],
        None,
        [3, None],
    ]


def test_columns_that_are_no_variants() -> None:
    for function in (unshred, lambda column: shred(column, WIDE)):
        with pytest.raises(InvalidSchema, match="not a Variant column"):
            function(pa.nulls(1, pa.int8()))
    with pytest.raises(InvalidSchema, match="found a list"):
        shred([1], WIDE)
    with pytest.raises(InvalidSchema, match="found a str"):
        shred(arrow([1]), "bigint")  # type: ignore[arg-type]


# ---------------------------------------------------------------- names that the metadata lacks


def nameless() -> pa.StructArray:
    """Two rows whose shredded fields are not, or not all, in the metadata."""
    rows = [
        {"metadata": b"\x01\x00\x00", "value": None, "typed_value": {"b": {"typed_value": 1}, "a": {}}},
        {
            "metadata": b"\x11\x02\x00\x01\x02bz",
            "value": b"\x02\x01\x01\x00\x01\x00",
            "typed_value": {"b": {"typed_value": 2}, "a": {"typed_value": "x"}},
        },
        None,
    ]
    return pa.array(rows, shredded_type(schema("struct<b bigint, a string>")))


def test_missing_names_are_added_to_the_metadata() -> None:
    whole = unshred(nameless())
    assert python(whole) == [{"b": 1}, {"a": "x", "b": 2, "z": None}, None]
    for row in whole.to_pylist()[:2]:
        Variant(row["metadata"], row["value"]).validate()
    moved = reshred(nameless(), schema("struct<a bigint, z int>"))
    assert python(unshred(moved)) == python(whole)


def test_names_are_not_added_to_metadata_that_is_damaged() -> None:
    row = {"metadata": b"\x01\x00\x00trailing", "typed_value": {"b": {"typed_value": 1}, "a": {}}}
    with pytest.raises(MalformedVariant, match="row 0: the names end at byte 3"):
        unshred(pa.array([row], nameless().type))


def test_missing_names_fail_in_strict_reading() -> None:
    with pytest.raises(ShreddingConflict, match=r"row 0, \$\['b'\]: the field's name is not in the metadata"):
        unshred(nameless(), strict=True)


# ---------------------------------------------------------------- errors


def test_errors_name_row_and_path() -> None:
    good = Variant.of({"a": {"b": ["x"]}})
    bad = good.value.replace(b"x", b"\xff")
    rows = [{"metadata": good.metadata, "value": good.value}] * 3 + [
        {"metadata": good.metadata, "value": bad}
    ]
    column = pa.array(rows, variant())
    with pytest.raises(MalformedVariant, match=r"row 3: .*not UTF-8.*at \$\['a'\]\['b'\]\[0\]"):
        shred(column, schema("struct<a struct<b array<string>>>"))
    with pytest.raises(MalformedVariant, match=r"row 3: .*not UTF-8"):
        shred(pa.chunked_array([column[:2], column[2:]]), schema("struct<a struct<b array<string>>>"))


@pytest.mark.parametrize(
    ("metadata", "value", "problem"),
    [
        (b"", b"\x00", "metadata is empty"),
        (b"\x02\x00\x00", b"\x00", "version 2"),
        (b"\x01\x00\x00", b"", "the value is empty"),
        (b"\x01\x00\x00", b"\x02\x01\x00\x00\x01\x00", "field id 0 in a dictionary of 0 names"),
        (b"\x01\x01\x00\x01a", b"\x02\x02\x00\x00\x00\x01\x02\x00\x00", "two fields named 'a'"),
        (b"\x01\x01\x00\x01a", b"\x02\x01\x00\x00\x09\x0c\x01", "the values end"),
    ],
)
def test_malformed_rows(metadata: bytes, value: bytes, problem: str) -> None:
    column = pa.array([{"metadata": metadata, "value": value}], variant())
    with pytest.raises(MalformedVariant, match=problem):
        shred(column, schema("struct<a bigint>"))


@pytest.mark.parametrize("size", range(1, 26))
def test_strings_are_utf8_to_the_last_byte(size: int) -> None:
    """A string column of Arrow may hold nothing else; checked in words, so every size and place counts."""
    for odd in (
        b"\xff",
        b"\x80",
        b"\xc3",
        "é".encode(),
        "\uffff".encode(),
        "\U0010ffff".encode(),
        b"\xed\xa0\x80",
    ):
        for at in range(size - len(odd) + 1):
            text = b"a" * at + odd + b"a" * (size - at - len(odd))
            row = {"metadata": b"\x01\x00\x00", "value": bytes([len(text) << 2 | 1]) + text}
            column = pa.array([row], variant())
            try:
                expected = text.decode()
            except UnicodeDecodeError:
                with pytest.raises(MalformedVariant, match="not UTF-8"):
                    shred(column, schema("string"))
            else:
                assert shred(column, schema("string")).field("typed_value").to_pylist() == [expected]


def test_malformed_residuals() -> None:
    type_ = shredded_type(schema("struct<a bigint>"))
    row = {
        "metadata": b"\x01\x02\x00\x01\x02ab",
        "value": b"\x02\x01\x05\x00\x01\x00",
        "typed_value": {"a": {}},
    }
    with pytest.raises(MalformedVariant, match="row 1: field id 5"):
        unshred(pa.array([None, row], type_))
    for value in (b"", b"\x18\x00"):
        with pytest.raises(MalformedVariant, match="row 0"):
            unshred(pa.array([{**row, "value": None, "typed_value": {"a": {"value": value}}}], type_))


def test_malformed_columns() -> None:
    text = pa.array([b"\xff"], pa.binary()).view(pa.string())
    column = pa.StructArray.from_arrays(
        [pa.array([b"\x01\x00\x00"]), text], names=["metadata", "typed_value"]
    )
    with pytest.raises(MalformedVariant, match=r"row 0: .*not UTF-8"):
        unshred(column)
    late = pa.array([86_400_000_000], pa.int64()).view(pa.time64("us"))
    column = pa.StructArray.from_arrays(
        [pa.array([b"\x01\x00\x00"]), late], names=["metadata", "typed_value"]
    )
    with pytest.raises(MalformedVariant, match="row 0: a time of day of 86400000000 microseconds"):
        unshred(column)


def test_types_of_newer_writers_stay_as_they_are() -> None:
    metadata = Variant.of({"a": 0, "b": 0}).metadata
    newer = bytes([40 << 2, 1, 2, 3])  # a primitive id that does not exist yet, with three bytes of data
    value = b"\x02\x02\x00\x01\x00\x04\x06" + newer + b"\x0c\x07"
    column = pa.array([{"metadata": metadata, "value": value}], variant())
    for ddl in ["struct<a bigint>", "struct<b bigint>", "struct<a variant, b string>"]:
        shredded = shred(column, schema(ddl))
        residual = shredded.to_pylist()[0]
        assert newer in (residual["value"] or b"") + (
            residual["typed_value"].get("a", {}).get("value") or b""
        )
        (row,) = unshred(shredded).to_pylist()
        assert newer in row["value"]
