"""The Variants of a file, found by annotation or shape; and layouts as the log describes them."""

from __future__ import annotations

import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shredlake.errors import InvalidSchema
from shredlake.kernels import shredded_type, variant
from shredlake.parquet.format.footer import read_footer
from shredlake.parquet.format.schema import SchemaNode
from shredlake.parquet.variant_columns import (
    ColumnLayout,
    VariantColumn,
    has_variant_shape,
    is_known_layout,
    layout_json,
    list_element,
    parse_layout_json,
    scalar_of,
    variant_column,
    variant_columns,
)
from shredlake.shredding.schema import ARRAY_ELEMENT, ShreddingSchema

METADATA = pa.field("metadata", pa.binary(), nullable=False)
VALUE = pa.field("value", pa.binary())


def tree(schema: pa.Schema) -> SchemaNode:
    sink = io.BytesIO()
    pq.write_table(pa.table([pa.nulls(0, field.type) for field in schema], schema=schema), sink)
    return read_footer(sink).schema


def group_of(*fields: pa.Field) -> SchemaNode:
    return tree(pa.schema([("v", pa.struct(list(fields)))])).find(("v",))


def shredded(ddl: str) -> VariantColumn:
    [column] = variant_columns(tree(pa.schema([("v", shredded_type(ShreddingSchema.parse(ddl)))])))
    return column


@pytest.mark.parametrize(
    "ddl",
    [
        "bigint",
        "decimal(9,2)",
        "decimal(18,2)",
        "decimal(38,2)",
        "uuid",
        "timestamp_nanos",
        "struct<a bigint, `b.c` struct<d date>>",
        "array<struct<x array<string>>>",
        "struct<a variant>",
    ],
)
def test_the_schema_of_a_file_is_the_one_it_was_written_with(ddl: str) -> None:
    column = shredded(ddl)
    assert str(column.schema) == ddl
    assert column.name == "v"
    assert not column.annotated


def test_levels_are_found_by_their_steps() -> None:
    column = shredded("struct<a array<struct<b int>>>")
    assert [level.path for level in column.levels()] == ["$", "$['a']", "$['a'][*]", "$['a'][*]['b']"]
    level = column.level(("a", ARRAY_ELEMENT, "b"))
    assert level is not None
    assert level.typed is not None
    assert level.typed.dotted == "v.typed_value.a.typed_value.list.element.typed_value.b.typed_value"
    assert column.level(()) is column.root
    for steps in (("b",), ("a", "b"), (ARRAY_ELEMENT,), ("a", ARRAY_ELEMENT, "b", "c")):
        assert column.level(steps) is None


def test_variants_in_structs_lists_and_maps_but_not_in_variants() -> None:
    schema = pa.schema(
        [
            ("s", pa.struct([("v", variant()), ("n", pa.int8())])),
            ("l", pa.list_(variant())),
            ("m", pa.map_(pa.string(), variant())),
            ("w", shredded_type(ShreddingSchema.parse("struct<x bigint>"))),
            ("n", pa.int8()),
        ]
    )
    found = variant_columns(tree(schema))
    assert [column.name for column in found] == ["s.v", "l.list.element", "m.key_value.value", "w"]
    assert [column.schema is None for column in found] == [True, True, True, False]


@pytest.mark.parametrize(
    ("fields", "shape"),
    [
        ((METADATA, VALUE), True),
        ((METADATA, pa.field("typed_value", pa.int8()), pa.field("_x", pa.int8())), True),
        ((METADATA,), False),
        ((VALUE,), False),
        ((METADATA, VALUE, pa.field("other", pa.int8())), False),
        ((pa.field("metadata", pa.string()), VALUE), False),
        ((METADATA, pa.field("value", pa.string())), False),
        ((METADATA, pa.field("_value", pa.binary())), False),
    ],
)
def test_the_shape_of_a_variant(fields: tuple[pa.Field, ...], shape: bool) -> None:
    assert has_variant_shape(group_of(*fields)) == shape
    assert len(list(variant_columns(tree(pa.schema([("v", pa.struct(list(fields)))]))))) == shape


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ((VALUE,), "v: a Variant needs a binary column `metadata`, found value"),
        ((METADATA, pa.field("other", pa.int8())), "v: expected a group of metadata, value, typed_value"),
        ((METADATA, pa.field("value", pa.int8())), "v.value: value must be binary"),
        ((METADATA, pa.field("typed_value", pa.uint8())), "v.typed_value: no Variant type is shredded as"),
        (
            (METADATA, pa.field("typed_value", pa.map_(pa.string(), pa.int8()))),
            "v.typed_value: expected a three-level list",
        ),
        (
            (METADATA, pa.field("typed_value", pa.struct([("a", pa.int8())]))),
            "v.typed_value.a: expected a group of value, typed_value, found no fields",
        ),
    ],
)
def test_layouts_that_the_specification_does_not_allow(fields: tuple[pa.Field, ...], message: str) -> None:
    with pytest.raises(InvalidSchema) as caught:
        variant_column(group_of(*fields))
    assert message in str(caught.value)


def leaf(physical: str, annotation: str | None, length: int | None = None) -> SchemaNode:
    return SchemaNode("typed_value", "optional", physical, annotation, (), ("v", "typed_value"), 1, 0, length)


@pytest.mark.parametrize(
    ("physical", "annotation", "length", "ddl"),
    [
        ("int32", None, None, "int"),
        ("int32", "INT(32, true)", None, "int"),
        ("int32", "INT(32, false)", None, None),
        ("int64", "TIMESTAMP(true, MILLIS)", None, None),
        ("int64", "TIME(true, MICROS)", None, None),
        ("int96", None, None, None),
        ("fixed_len_byte_array", "UUID", 16, "uuid"),
        ("fixed_len_byte_array", "UUID", 8, None),
        ("fixed_len_byte_array", "DECIMAL(38, 0)", 16, "decimal(38,0)"),
        ("int32", "DECIMAL(39, 0)", None, None),
        ("int32", "DECIMAL(2, 3)", None, None),
        ("double", "DECIMAL(9, 2)", None, None),
        ("binary", "JSON", None, None),
    ],
)
def test_types_of_leaves(physical: str, annotation: str | None, length: int | None, ddl: str | None) -> None:
    found = scalar_of(leaf(physical, annotation, length))
    assert (found and str(ShreddingSchema(found))) == ddl


def test_only_lists_of_three_levels_have_an_element() -> None:
    element = SchemaNode("element", "required", None, None, (), ("l", "list", "element"), 2, None)
    repeated = SchemaNode("list", "repeated", None, None, (element,), ("l", "list"), 1, None)
    assert list_element(SchemaNode("l", "optional", None, "LIST", (repeated,), ("l",), 0, None)) is element
    two = SchemaNode("array", "repeated", "int32", None, (), ("l", "array"), 1, 0)
    assert list_element(SchemaNode("l", "optional", None, "LIST", (two,), ("l",), 0, None)) is None
    assert list_element(SchemaNode("l", "optional", None, "MAP", (repeated,), ("l",), 0, None)) is None


LAYOUT = ColumnLayout(ShreddingSchema.parse('struct<`a"b` bigint>'), frozenset({"$", "$['é']"}))


@pytest.mark.parametrize("objects", [None, frozenset(), frozenset({"$"})])
def test_layouts_of_the_log_are_read_as_written(objects: frozenset[str] | None) -> None:
    layouts = {"v.w": ColumnLayout(LAYOUT.schema, LAYOUT.residual, objects), "ü": LAYOUT}
    text = layout_json(layouts)
    assert parse_layout_json(text) == layouts
    assert is_known_layout(text)
    assert "objects" not in json.loads(text)["ü"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"v":5}',
        '{"v":{}}',
        '{"v":{"shredding":"no type","residual":[]}}',
        '{"v":{"shredding":"bigint","residual":5}}',
        '{"v":{"shredding":7,"residual":[]}}',
        '{"v":{"shredding":"bigint","residual":[[]]}}',
        "[" * 100_000,
    ],
    ids=lambda text: text[:30],
)
def test_a_text_that_does_not_describe_a_layout_is_an_error(text: str) -> None:
    with pytest.raises(InvalidSchema, match="not the description of a file's layout"):
        parse_layout_json(text)
    assert is_known_layout(text)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ('{"version":1}', True),
        ('{"version":2}', False),
        ('{"version":{"shredding":"bigint","residual":[]}}', True),
        ('"version"', True),
        ('{"version":', True),
    ],
)
def test_versions_of_the_description(text: str, known: bool) -> None:
    assert is_known_layout(text) == known
