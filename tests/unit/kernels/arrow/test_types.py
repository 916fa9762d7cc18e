"""The Arrow types of Variant columns: of schemas, of other writers, and types that are not Variants."""

from __future__ import annotations

import pyarrow as pa
import pytest

from shredlake.errors import InvalidSchema
from shredlake.kernels.arrow.types import (
    SCALAR_TYPES,
    group_type,
    is_binary_like,
    is_list_like,
    is_variant,
    shredded_type,
    shredding_schema,
    typed_value_type,
    variant,
)
from shredlake.shredding.schema import MAX_DEPTH, Scalar, ShreddingSchema, Untyped
from shredlake.variant.types import VariantType

METADATA = pa.field("metadata", pa.binary(), nullable=False)


@pytest.mark.parametrize(
    "ddl",
    [
        *(str(ShreddingSchema(Scalar(kind))) for kind in SCALAR_TYPES),
        "decimal(9,2)",
        "decimal(38,38)",
        "struct<a bigint, b variant>",
        "array<array<variant>>",
        "struct<`odd.name` struct<`` int>, l array<struct<a date>>>",
    ],
)
def test_a_schema_and_its_type_are_inverse(ddl: str) -> None:
    schema = ShreddingSchema.parse(ddl)
    type_ = shredded_type(schema)
    assert is_variant(type_)
    assert shredding_schema(type_) == schema
    assert type_.names == ["metadata", "value", "typed_value"]


def test_a_schema_that_shreds_nothing_has_the_type_of_a_variant() -> None:
    assert shredded_type(ShreddingSchema(Untyped())) == variant()
    assert typed_value_type(Untyped()) is None
    assert shredding_schema(variant()) is None


def test_groups_of_fields_and_elements_are_required() -> None:
    typed = shredded_type(ShreddingSchema.parse("struct<a array<int>>")).field("typed_value").type
    assert not typed.field("a").nullable
    lists = typed.field("a").type.field("typed_value").type
    assert (lists.value_field.name, lists.value_field.nullable) == ("element", False)
    assert group_type(Scalar(VariantType.INT32)).names == ["value", "typed_value"]


OTHERS = [
    (pa.large_string(), "string"),
    (pa.string_view(), "string"),
    (pa.dictionary(pa.int8(), pa.string()), "string"),
    (pa.large_binary(), "binary"),
    (pa.decimal64(9, 2), "decimal(9,2)"),
    (pa.decimal256(38, 0), "decimal(38,0)"),
    (pa.timestamp("us", "Asia/Tokyo"), "timestamp"),
    (pa.timestamp("ns", "Asia/Tokyo"), "timestamp_nanos"),
    (pa.large_list(pa.struct([("typed_value", pa.int8())])), "array<tinyint>"),
    (pa.list_view(pa.struct([("value", pa.binary())])), "array<variant>"),
    (pa.list_(pa.struct([("typed_value", pa.int8())]), 3), "array<tinyint>"),
    (pa.struct([("a", pa.struct([("typed_value", pa.date32()), ("_hint", pa.int8())]))]), "struct<a date>"),
]


@pytest.mark.parametrize(("typed", "ddl"), OTHERS, ids=[str(typed) for typed, _ in OTHERS])
def test_layouts_of_other_writers(typed: pa.DataType, ddl: str) -> None:
    """Also without `value`, in another order, and beside a field that starts with an underscore."""
    for type_ in (
        pa.struct([METADATA, ("value", pa.binary()), ("typed_value", typed)]),
        pa.struct([("typed_value", typed), ("_x", pa.int8()), METADATA]),
    ):
        assert str(shredding_schema(type_)) == ddl


def test_a_type_nested_too_deep_is_refused() -> None:
    typed: pa.DataType = pa.int8()
    for _ in range(MAX_DEPTH + 1):
        typed = pa.list_(pa.struct([("typed_value", typed)]))
    with pytest.raises(InvalidSchema, match=f"nested deeper than {MAX_DEPTH} levels"):
        shredding_schema(pa.struct([METADATA, ("typed_value", typed)]))


def test_two_fields_of_one_name_are_refused() -> None:
    level = pa.struct([("typed_value", pa.int8())])
    type_ = pa.struct([METADATA, ("typed_value", pa.struct([("a", level), ("a", level)]))])
    with pytest.raises(InvalidSchema, match="a"):
        shredding_schema(type_)
    assert not is_variant(pa.struct([METADATA, METADATA, ("value", pa.binary())]))


@pytest.mark.parametrize("type_", [pa.list_(pa.int8()), pa.large_list(pa.int8()), pa.list_(pa.int8(), 2)])
def test_lists(type_: pa.DataType) -> None:
    assert is_list_like(type_)
    assert not is_list_like(pa.map_(pa.string(), pa.int8()))


def test_bytes_of_any_length() -> None:
    assert is_binary_like(pa.dictionary(pa.int8(), pa.large_binary()))
    assert not any(map(is_binary_like, (pa.string(), pa.binary(4), pa.int8())))


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        (pa.uint8(), r"\$: uint8"),
        (pa.uint64(), r"\$: uint64"),
        (pa.binary(16), r"\$: fixed_size_binary\[16\]"),
        (pa.float16(), r"\$: halffloat"),
        (pa.timestamp("ms", tz="UTC"), r"\$: timestamp\[ms"),
        (pa.time64("ns"), r"\$: time64\[ns\]"),
        (pa.date64(), r"\$: date64"),
        (pa.decimal256(39, 0), r"\$: decimal256\(39, 0\)"),
        (pa.decimal128(9, -2), r"\$: decimal\(9,-2\)"),
        (pa.struct([]), r"\$: an object without fields"),
        (pa.struct([("a", pa.int8())]), r"\$\['a'\]: expected a group"),
        (pa.struct([("a", pa.struct([]))]), r"\$\['a'\]: expected a group"),
        (
            pa.struct([("a", pa.struct([("values", pa.binary())]))]),
            r"\$\['a'\]: expected a group .* \['values'\]",
        ),
        (
            pa.struct([("a", pa.struct([("value", pa.string())]))]),
            r"\$\['a'\]: value must be binary, found string",
        ),
        (pa.list_(pa.int8()), r"\$\[\*\]: expected a group"),
        (pa.list_(pa.struct([("typed_value", pa.uint8())])), r"\$\[\*\]: uint8"),
        (pa.map_(pa.string(), pa.int8()), r"\$: map"),
        (pa.null(), r"\$: null"),
    ],
)
def test_types_that_no_variant_is_shredded_as(typed: pa.DataType, problem: str) -> None:
    type_ = pa.struct(
        [pa.field("metadata", pa.binary(), nullable=False), ("value", pa.binary()), ("typed_value", typed)]
    )
    with pytest.raises(InvalidSchema, match=problem):
        shredding_schema(type_)


@pytest.mark.parametrize(
    "type_",
    [
        pa.int8(),
        pa.struct([("metadata", pa.binary())]),
        pa.struct([("metadata", pa.string()), ("value", pa.binary())]),
        pa.struct([("metadata", pa.binary()), ("value", pa.int8())]),
        pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("more", pa.binary())]),
        pa.struct([("value", pa.binary()), ("typed_value", pa.int8())]),
    ],
)
def test_columns_that_are_no_variants(type_: pa.DataType) -> None:
    assert not is_variant(type_)
    with pytest.raises(InvalidSchema, match="not a Variant column"):
        shredding_schema(type_)
