"""Texts: JSON, paths, expressions, types, layouts, and casts of texts."""

from __future__ import annotations

import json
import random
from typing import Any

import pyarrow as pa

from cast_values import STRINGS
from fuzz.contract import Door
from fuzz.damage import change_bytes, change_json, change_parts, change_text, pack, text_of, unpack
from shredlake import (
    InvalidJson,
    InvalidPath,
    Path,
    ShreddingSchema,
    ShredlakeError,
    Variant,
    from_json,
    get,
    shredded_type,
    shredding_schema,
    to_json,
    variant,
)
from shredlake.delta.protocol.layout_tag import parse_layout_tag
from shredlake.delta.schema.types import arrow_schema, parse_schema, schema_json
from shredlake.expr import evaluate, parse_columns, parse_predicate, parse_type, to_sql
from shredlake.expr.parse import read_columns, split_columns
from shredlake.jobs.ingest.documents import split_documents, split_elements, split_lines
from shredlake.kernels.arrow.raw_arrays import scalars
from shredlake.kernels.cast_options import CastOptions
from shredlake.kernels.casts.table import cast_value
from shredlake.kernels.casts.targets import target_of
from shredlake.shredding.schema import Scalar
from shredlake.variant.json import parse
from strategies import json_texts_gone_wrong

# ── JSON ────────────────────────────────────────────────────────────────────────────────────────────────


def enter_json(data: bytes) -> None:
    """The kernel agrees with the reference: accepted or not, the bytes, the position."""
    head, text = (*unpack(data), b"", b"")[:2]
    choice = sum(head)
    options: dict[str, Any] = {
        "duplicate_keys": ["error", "last_wins"][choice % 2],
        "max_depth": [1000, 3, 1][choice // 2 % 3],
        "max_size": [128 << 20, 200, 60][choice // 6 % 3],
    }
    column, rejects = from_json(pa.array([text], pa.binary()), on_error="collect", threads=1, **options)
    [row] = column.to_pylist()
    found = [(reject["reason"], reject["position"]) for reject in rejects.to_pylist()]
    try:
        wanted = parse(text, **options)
    except InvalidJson as error:
        if found != [(error.problem, error.position)]:
            raise AssertionError(f"the kernel says {found}, the reference {error}") from error
        raise
    assert row == {"metadata": wanted.metadata, "value": wanted.value}
    [again] = to_json(column).to_pylist()
    parse(again.encode())  # infinity became a text


def json_seeds() -> list[bytes]:
    documents = [
        b'{"a": 1, "b": [1.5, -0.0, 1e400, "x\\u00e9\\n"], "c": {"d": null, "e": true}}',
        b'[123456789012345678901234567890, 0.1, 1e-5, "\xf0\x9f\x98\x80", "\\ud83d\\ude00"]',
        json.dumps({f"key {n}": n for n in range(300)}).encode(),
        b"[" * 60 + b"]" * 60,
        b'{"a":' * 60 + b"1" + b"}" * 60,
        b'"' + b"long " * 40 + b'"',
        b"9" * 38, b"1" + b"0" * 38, b"0." + b"0" * 38 + b"1", b"-9223372036854775808", b"5e-324",
    ]  # fmt: skip
    return [pack(bytes([n % 18]), text) for n, text in enumerate(documents + json_texts_gone_wrong())]


_JSON_TOKENS = [
    '{"a":', "[", "]", "}", ",", ":", '"', "\\u", "\\ud800", "null", "true", "1e", "-", "0", ".5", "E+9", "é",
    "\x00", "\ufeff", "\U0001f600", '"a":1,', "9" * 40, "\\", "\n", "\udcff",
]  # fmt: skip


def enter_split(data: bytes) -> None:
    """Splits text into documents: lines, array elements, or concatenated documents, cut at any place."""
    head, text = (*unpack(data), b"", b"")[:2]
    final = sum(head) % 2 == 0
    for split in (split_lines, split_elements, split_documents):
        found = split(text, final=final)
        found.rows.validate(full=True)
        assert 0 <= found.taken <= len(text)
        assert len(found.starts) == len(found.rows)
        for start, row in zip(found.starts.to_pylist(), found.rows.to_pylist(), strict=True):
            assert text[start : start + len(row)] == row


# ── Paths ───────────────────────────────────────────────────────────────────────────────────────────────


def enter_path(data: bytes) -> None:
    text = text_of(data)
    for parsed in (Path.parse, Path.parse_spark):
        try:
            path = parsed(text)
        except InvalidPath:
            continue
        assert Path.parse(path.normalized()) == path
        assert Path.parse(str(path)) == path
        _VALUE.get(path)
    Path.parse(text)


_VALUE = Variant.of({"a": {"b": [1, {"c": 2}]}, "": {"": 1}})
_PATHS = [
    "$", "$.a.b[0]", "$['odd key']", '$["x\\u00e9"]', "a.b[1].c", "v:a.b[0]", "$[0][1]", "$.`a b`",
    "$['it\\'s']",
]  # fmt: skip
_PATH_TOKENS = [
    "$", ".", "..", "[", "]", "['", "']", '["', '"]', "[0]", "[-1]", "[*]", "[99999999999999999999]", "`",
    "\\",
    "\\u", "\\ud83d\\ude00", "\\'", "é", "\udcff", ":", " ", "*", "@", "\x00",
]  # fmt: skip

# ── Expressions ─────────────────────────────────────────────────────────────────────────────────────────


def _small_table() -> pa.Table:
    rows = from_json(pa.array(['{"a": 1, "s": "x"}', '{"a": "1.5", "t": "2024-01-05"}', "null", None, "[1]"]))
    return pa.table(
        {
            "id": pa.array([1, 2, None, 4, 5]),
            "x": pa.array([1.5, float("nan"), -0.0, None, float("inf")]),
            "s": pa.array(["a", "", None, "é", "z"]),
            "d": pa.array([1, 2, 3, None, 5], pa.date32()),
            "n": pa.array([{"k": 1}, None, {"k": None}, {"k": 2}, {"k": 3}]),
            "v": rows,
        }
    )


_TABLE = _small_table()


def enter_expression(data: bytes) -> None:
    """Parses the text as a condition, as columns and as a type; prints, reparses and evaluates it."""
    text = text_of(data)
    for read in (split_columns, parse_type, lambda sql: parse_columns([sql]), read_columns):
        try:
            read(text)
        except ShredlakeError:
            continue
    found = parse_predicate(text)
    try:
        evaluate(found, _TABLE)
    finally:
        printed = to_sql(parse_predicate(to_sql(found)))  # parentheses of equal operators are gone
        assert to_sql(parse_predicate(printed)) == printed


_EXPRESSIONS = [
    "v:a::bigint > 5 AND v:s::string LIKE 'x%'", "id IN (1, 2, NULL) OR NOT (x <=> double('NaN'))",
    "isnan(x)",
    "s BETWEEN 'a' AND 'z'", "d = date'2024-01-05'", "v:`odd key`.b[0]::decimal(10,2) + 1.25BD * 3 >= -id",
    "try_variant_get(v, '$.a', 'int') IS NOT NULL", "n.k <> 1",
    "CAST(v:a AS timestamp) < timestamp'2024-01-01Z'",
    "s LIKE '%\\\\_x' ESCAPE '!'", "X'ff' = v:b::binary", "id % 3 = 0", "is_variant_null(v:a)",
    "startswith(s, 'a')",
    "decimal(38,10)", "id AS x, v:a::int b", "v:a::string = 'it''s' -- comment", "1e400 > id /* c */",
]  # fmt: skip
_EXPRESSION_TOKENS = [
    " AND ", " OR ", "NOT ", "(", ")", "v:a", "::", "bigint", "string", "decimal(38,38)", "'", "''", "`",
    "id", "x",
    " = ", " <=> ", " IN (", ", ", "NULL", " IS NULL", " BETWEEN ", " LIKE ", "double('NaN')", "-", "+",
    "/", "%",
    "1", "1e9", "99999999999999999999", "X'", "date'", "timestamp'", "CAST(", " AS ", "CASE WHEN ",
    "SELECT ", ";",
    "--", "/*", "*", "[0]", ".", "variant_get(v, '$.a', 'int')", "\udcff", "é", "\x00", "${x}", "?", ":p",
    "@a",
    "array<", "struct<a:", "interval", "0.1BD", "5Y", "int", "null", "try_cast(", "EXISTS", "lambda", "->",
]  # fmt: skip

# ── Schemas ─────────────────────────────────────────────────────────────────────────────────────────────


def enter_ddl(data: bytes) -> None:
    schema = ShreddingSchema.parse(text_of(data))
    assert ShreddingSchema.parse(str(schema)) == schema
    if str(schema) != "variant":  # which is not shredded at all
        assert shredding_schema(shredded_type(schema)) == schema


_DDL = [
    "bigint", "struct<a bigint, `odd key` string, o struct<x int, y array<decimal(9,2)>>>",
    "array<array<variant>>",
    "struct<`` variant, `é` timestamp_ntz>", "decimal(38,0)", "struct<a: bigint>",
]  # fmt: skip
_DDL_TOKENS = [
    "struct<", "array<", ">", "<", "a", "`", "``", ",", " ", ":", "bigint", "string", "decimal(", "38", "0",
    ")", "variant",
    "timestamp_nanos", "uuid", "NOT NULL", "map<", "'", "99999999999999999999", "\udcff", "\x00", "é", "\n",
]  # fmt: skip


def enter_layout(data: bytes) -> None:
    parse_layout_tag(text_of(data))


_LAYOUTS = [
    '{"v":{"shredding":"struct<a bigint>","residual":["$"],"objects":["$"]}}', '{"version":2,"groups":[]}',
    '{"v":{"shredding":"array<bigint>","residual":[]},"s.w":{"shredding":"bigint","residual":["$"]}}', "{}",
]  # fmt: skip


def enter_schema(data: bytes) -> None:
    """A table's schemaString."""
    schema = parse_schema(text_of(data))
    arrow_schema(schema)
    assert parse_schema(schema_json(schema)) == schema


def schema_seeds() -> list[bytes]:
    def field(name: str, kind: object) -> dict[str, object]:
        metadata = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": f"col-{name}"}
        return {"name": name, "type": kind, "nullable": True, "metadata": metadata}

    inner = {"type": "struct", "fields": [field("x", "long"), field("y", "decimal(10,2)")]}
    kinds = [
        "string", "timestamp_ntz", inner, {"type": "array", "elementType": inner, "containsNull": True},
        {"type": "map", "keyType": "string", "valueType": "variant", "valueContainsNull": False}, "variant",
        "byte",
        {"type": "variant"}, "interval day to second",
    ]  # fmt: skip
    return [
        json.dumps(
            {"type": "struct", "fields": [field(f"c{n}", kind) for n, kind in enumerate(chosen)]}
        ).encode()
        for chosen in (kinds[:-1], kinds[:2], kinds[-1:], [])
    ]


# ── Casts ───────────────────────────────────────────────────────────────────────────────────────────────

_TYPES = [
    pa.bool_(), pa.int8(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(9, 2), pa.decimal128(38, 10),
    pa.string(), pa.binary(), pa.date32(), pa.time64("us"), pa.timestamp("us", "UTC"), pa.timestamp("us"),
    pa.timestamp("ns", "UTC"), pa.uuid(),
]  # fmt: skip
_ZONES = ("UTC", "America/Los_Angeles")


def enter_cast(data: bytes) -> None:
    """A text that is nearly a number or a date: the compiled cast judges it as the table of casts does."""
    head, text = (*unpack(data), b"", b"")[:2]
    choice = sum(head)
    type_, zone = _TYPES[choice % len(_TYPES)], _ZONES[choice // len(_TYPES) % 2]
    row = Variant.of(text.decode("utf-8", "replace"))
    column = pa.array([{"metadata": row.metadata, "value": row.value}], variant())
    target = target_of(type_)
    assert isinstance(target, Scalar)
    wanted = scalars([cast_value(row, target, CastOptions(timezone=zone))], target)
    found = get(column, "$", type_, timezone=zone, threads=1)
    assert repr(_plain(found)) == repr(_plain(wanted)), (row, type_, zone, found, wanted)
    get(column, "$", type_, timezone=zone, threads=1, strict=True)


def _plain(array: pa.Array) -> list[object]:
    """Counts in place of dates and times: Python can't hold them all."""
    if pa.types.is_temporal(array.type):
        array = array.cast(pa.int32() if pa.types.is_date32(array.type) else pa.int64())
    return array.to_pylist()


def cast_seeds() -> list[bytes]:
    dice = random.Random(1)
    return [pack(bytes([dice.randrange(2 * len(_TYPES))]), text.encode()) for text in STRINGS]


def _encoded(texts: list[str]) -> list[bytes]:
    return [text.encode("utf-8", "surrogateescape") for text in texts]


DOORS = [
    Door("json", "texts", json_seeds, enter_json, change_parts(change_bytes, change_text(_JSON_TOKENS))),
    Door(
        "json-split", "texts", json_seeds, enter_split, change_parts(change_bytes, change_text(_JSON_TOKENS))
    ),
    Door("path", "texts", lambda: _encoded(_PATHS), enter_path, change_text(_PATH_TOKENS)),
    Door(
        "expression",
        "texts",
        lambda: _encoded(_EXPRESSIONS),
        enter_expression,
        change_text(_EXPRESSION_TOKENS),
    ),
    Door("ddl", "texts", lambda: _encoded(_DDL), enter_ddl, change_text(_DDL_TOKENS)),
    Door(
        "cast",
        "texts",
        cast_seeds,
        enter_cast,
        change_parts(change_bytes, change_text(list("0159-+:. TZeE\tnaif"))),
    ),
    Door("layout-tag", "delta", lambda: _encoded(_LAYOUTS), enter_layout, change_json),
    Door("table-schema", "delta", schema_seeds, enter_schema, change_json),
]
