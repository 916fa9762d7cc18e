"""Parquet files that break a rule of `check`: the schemas, rows, and a writer that checks nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from shredlake.kernels import shredded_type
from shredlake.parquet.format.footer import annotate, footer_bytes, read_footer
from shredlake.shredding.schema import ShreddingSchema
from shredlake.variant.value import Variant

BINARY = pa.binary()
METADATA = pa.field("metadata", BINARY, nullable=False)
VALUE = pa.field("value", BINARY)
NAMES = Variant.of({"a": 1, "b": 1, "c": 1}).metadata


def write_raw(table: pa.Table, path: Path, *groups: tuple[str, ...], **options: Any) -> Path:
    """A file as pyarrow writes it, without a look at the rules, with these groups annotated."""
    pq.write_table(table, path, store_schema=False, **options)
    with path.open("r+b") as file:
        footer = read_footer(file)
        file.seek(footer.start)
        file.write(footer_bytes(annotate(footer, groups).raw))
        file.truncate()
    return path


def struct(*fields: pa.Field) -> pa.DataType:
    return pa.struct(fields)


def required(name: str, *fields: pa.Field) -> pa.Field:
    return pa.field(name, struct(*fields), nullable=False)


def typed(type_: pa.DataType, **options: Any) -> pa.Field:
    return pa.field("typed_value", type_, **options)


LEVEL = (VALUE, typed(pa.int64()))

STRUCTURES: list[tuple[str, str, str, pa.DataType]] = [
    ("metadata-column", "$", "no metadata", struct(VALUE, typed(pa.int64()))),
    ("metadata-required", "$", "optional binary", struct(pa.field("metadata", BINARY), *LEVEL)),
    ("metadata-column", "$", "STRING", struct(pa.field("metadata", pa.string(), nullable=False), *LEVEL)),
    ("value-column", "$", "no value", struct(METADATA, typed(pa.int64()))),
    ("value-type", "$", "STRING", struct(METADATA, pa.field("value", pa.string()), typed(pa.int64()))),
    ("value-repetition", "$", "where required is right", struct(METADATA, VALUE)),
    (
        "value-repetition",
        "$",
        "where optional",
        struct(METADATA, VALUE.with_nullable(False), typed(pa.int8())),
    ),
    ("typed-value-repetition", "$", "required", struct(METADATA, VALUE, typed(pa.int8(), nullable=False))),
    ("typed-value-type", "$", "INT(32, false)", struct(METADATA, VALUE, typed(pa.uint32()))),
    ("typed-value-type", "$", "MILLIS", struct(METADATA, VALUE, typed(pa.timestamp("ms")))),
    ("typed-value-type", "$", "fixed_len_byte_array(4)", struct(METADATA, VALUE, typed(pa.binary(4)))),
    ("typed-value-type", "$", "where int32 is right", struct(METADATA, VALUE, typed(pa.decimal128(5, 2)))),
    ("typed-value-type", "$", "MAP", struct(METADATA, VALUE, typed(pa.map_(pa.string(), pa.int8())))),
    ("no-value", "$", "neither", struct(METADATA, pa.field("_x", pa.int8()))),
    ("unknown-field", "$", "'other'", struct(METADATA, *LEVEL, pa.field("other", pa.int8()))),
    (
        "unknown-field",
        "$['a']",
        "'x'",
        struct(METADATA, VALUE, typed(struct(required("a", VALUE, pa.field("x", pa.int8()))))),
    ),
    (
        "field-group",
        "$['a']",
        "optional group",
        struct(METADATA, VALUE, typed(struct(pa.field("a", struct(*LEVEL))))),
    ),
    (
        "field-group",
        "$['a']",
        "required column",
        struct(METADATA, VALUE, typed(struct(pa.field("a", pa.int8(), nullable=False)))),
    ),
    (
        "element-group",
        "$[*]",
        "optional group",
        struct(METADATA, VALUE, typed(pa.list_(pa.field("element", struct(*LEVEL))))),
    ),
    (
        "element-group",
        "$[*]",
        "optional column",
        struct(METADATA, VALUE, typed(pa.list_(pa.field("element", pa.int8())))),
    ),
]


def shredded(ddl: str, *rows: Any) -> pa.Table:
    """A column with these raw parts, as (value, typed_value) or with its own metadata in front."""
    type_ = shredded_type(ShreddingSchema.parse(ddl))
    parts = [
        None
        if row is None
        else {"metadata": row[-3] if len(row) == 3 else NAMES, "value": row[-2], "typed_value": row[-1]}
        for row in rows
    ]
    return pa.table({"v": pa.array(parts, type_)})


def value(item: Any) -> bytes:
    """A value with the ids of NAMES: its names must be among a, b, c, in that order."""
    return (
        Variant.of({"a": 1, "b": 1, "c": 1, "": item})[""].value
        if not isinstance(item, dict)
        else _object(item)
    )


def _object(item: dict[str, Any]) -> bytes:
    ids = {"a": 0, "b": 1, "c": 2}
    values = [Variant.of(child).value for child in item.values()]
    ends = [sum(map(len, values[:i])) for i in range(len(values) + 1)]
    return bytes([2, len(item), *(ids[name] for name in item), *ends]) + b"".join(values)


NULL = b"\x00"
ABSENT: dict[str, Any] = {"value": None, "typed_value": None}

DATA: list[tuple[str, str, str, pa.Table]] = [
    ("malformed-metadata", "$", "version", shredded("bigint", (b"\x02\x00\x00", None, 1))),
    ("malformed-metadata", "$", "UTF-8", shredded("bigint", (b"\x01\x01\x00\x01\xff", None, 1))),
    ("malformed-value", "$", "", shredded("bigint", (b"\x0d", None))),
    ("malformed-value", "$[1]", "", shredded("string", (b"\x03\x02\x00\x01\x02\x00\xfc", None))),
    ("malformed-value", "$", "", shredded("bigint", (b"", None))),
    ("key-order", "$", "not in order", shredded("bigint", (bytes([2, 2, 1, 0, 0, 1, 2, 0, 0]), None))),
    ("key-order", "$", "two fields", shredded("bigint", (bytes([2, 2, 1, 1, 0, 1, 2, 0, 0]), None))),
    ("malformed-typed-value", "$", "microseconds", shredded("time", (None, 86_400_000_000))),
    (
        "missing-name",
        "$['d']",
        "not in the metadata",
        shredded("struct<d bigint>", (None, {"d": {"value": None, "typed_value": 5}})),
    ),
    ("conflict", "$", "value 00 beside typed_value 34", shredded("bigint", (NULL, 34))),
    ("conflict", "$", "value 00 beside", shredded("array<bigint>", (NULL, []))),
    (
        "conflict",
        "$['a']",
        "value 00 beside typed_value 5",
        shredded("struct<a bigint>", (None, {"a": {"value": NULL, "typed_value": 5}})),
    ),
    (
        "conflict",
        "$[1]",
        "value 00",
        shredded("array<bigint>", (None, [{"typed_value": 1}, {"value": NULL, "typed_value": 5}])),
    ),
    ("missing-value", "$", "both null", shredded("bigint", (None, None))),
    ("missing-element", "$[0]", "both null", shredded("array<bigint>", (None, [{}]))),
    (
        "missing-element",
        "$['a'][1][0]",
        "both null",
        shredded(
            "struct<a array<array<bigint>>>",
            (None, {"a": {"typed_value": [{"typed_value": []}, {"typed_value": [{}]}]}}),
        ),
    ),
    ("residual-not-object", "$", "value 05 61", shredded("struct<a bigint>", (value("a"), {"a": ABSENT}))),
    (
        "field-in-value",
        "$['a']",
        "'a' = 0c 07",
        shredded("struct<a bigint>", (value({"a": 7}), {"a": {"typed_value": 5}})),
    ),
    ("field-in-value", "$['a']", "'a'", shredded("struct<a bigint>", (value({"a": 7}), {"a": ABSENT}))),
    ("object-not-shredded", "$", "value 02 00 00", shredded("struct<a bigint>", (value({}), None))),
    ("array-not-shredded", "$", "value 03 00 00", shredded("array<bigint>", (value([]), None))),
]
