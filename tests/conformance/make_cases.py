"""Writes `data/`: small Parquet files of legal and illegal layouts, and `cases.json` with what they hold.

    python tests/conformance/make_cases.py

The files owe nothing to shredlake's writer: Variant bytes are put together here by hand, pyarrow writes the
columns, and only the VARIANT annotation, which pyarrow can't write, is added to the footer. Each case names
the rows as JSON (null for SQL NULL), or the rules that `check` must report, or both.
"""

from __future__ import annotations

import datetime
import decimal
import json
import sys
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from shredlake.parquet.format.footer import annotate, footer_bytes, read_footer

DATA = Path(__file__).parent / "data"

METADATA = pa.field("metadata", pa.binary(), nullable=False)
VALUE = pa.field("value", pa.binary())


@dataclass(frozen=True)
class Case:
    """A file and what is expected of it."""

    name: str
    type: pa.DataType
    rows: list[Any]
    """The raw groups."""
    json: list[str | None] | None = None
    """Each row as JSON; None where the file can't be read."""
    rules: list[str] = field(default_factory=list)
    """The violations that `check` reports."""
    annotated: bool = True
    options: dict[str, Any] = field(default_factory=dict)
    """For pyarrow's writer."""


# Variant bytes by hand. Every dictionary is sorted, every offset has one byte.


def names(*keys: str) -> bytes:
    """A dictionary: version 1, sorted."""
    ends = [sum(len(key) for key in keys[:count]) for count in range(len(keys) + 1)]
    return bytes([0x11, len(keys), *ends]) + "".join(keys).encode()


def text(value: str) -> bytes:
    return bytes([len(value) << 2 | 1]) + value.encode()


def int8(value: int) -> bytes:
    return bytes([0x0C, value])


def obj(*fields: tuple[int, bytes]) -> bytes:
    """An object: number of fields, their ids, offsets, values."""
    ends = [sum(len(value) for _, value in fields[:count]) for count in range(len(fields) + 1)]
    return bytes([2, len(fields), *(number for number, _ in fields), *ends]) + b"".join(v for _, v in fields)


def array(*values: bytes) -> bytes:
    ends = [sum(len(value) for value in values[:count]) for count in range(len(values) + 1)]
    return bytes([3, len(values), *ends]) + b"".join(values)


NULL = b"\x00"
EMPTY = names()
A = names("a")
AB = names("a", "b")


# Arrow types of groups.


def typed(type_: pa.DataType, **options: Any) -> pa.Field:
    return pa.field("typed_value", type_, **options)


def group(name: str, *fields: pa.Field) -> pa.Field:
    return pa.field(name, pa.struct(fields), nullable=False)


def variant(*fields: pa.Field) -> pa.DataType:
    return pa.struct([METADATA, *fields])


LEVEL = (VALUE, typed(pa.int64()))
UNSHREDDED = variant(VALUE.with_nullable(False))
BIGINT = variant(*LEVEL)
OBJECT = variant(VALUE, typed(pa.struct([group("a", *LEVEL)])))
ARRAY = variant(VALUE, typed(pa.list_(group("element", *LEVEL))))


def row(value: bytes | None = None, typed_value: Any = None, metadata: bytes = AB) -> dict[str, Any]:
    return {"metadata": metadata, "value": value, "typed_value": typed_value}


UTC = datetime.UTC
INSTANT = datetime.datetime(2024, 2, 29, 12, 34, 56, 789012, UTC)
LOCAL = INSTANT.replace(tzinfo=None)

# Every type that a field can be shredded as: a value, and its JSON.
SCALARS: list[tuple[str, pa.DataType, Any, str]] = [
    ("boolean", pa.bool_(), True, "true"),
    ("int8", pa.int8(), -128, "-128"),
    ("int16", pa.int16(), 32767, "32767"),
    ("int32", pa.int32(), -(2**31), "-2147483648"),
    ("int64", pa.int64(), 2**63 - 1, "9223372036854775807"),
    ("float", pa.float32(), 1.5, "1.5"),
    ("double", pa.float64(), -0.25, "-0.25"),
    ("decimal4", pa.decimal128(9, 2), decimal.Decimal("-1234567.89"), "-1234567.89"),
    ("decimal8", pa.decimal128(18, 3), decimal.Decimal("123456789012345.678"), "123456789012345.678"),
    ("decimal16", pa.decimal128(38, 1), decimal.Decimal("1234567890123456789.5"), "1234567890123456789.5"),
    ("date", pa.date32(), datetime.date(2024, 2, 29), '"2024-02-29"'),
    ("time", pa.time64("us"), datetime.time(12, 34, 56, 789012), '"12:34:56.789012"'),
    ("timestamp", pa.timestamp("us", "UTC"), INSTANT, '"2024-02-29 12:34:56.789012+00:00"'),
    ("timestamp_ntz", pa.timestamp("us"), LOCAL, '"2024-02-29 12:34:56.789012"'),
    (
        "timestamp_nanos",
        pa.timestamp("ns", "UTC"),
        1_709_210_096_789_012_345,
        '"2024-02-29 12:34:56.789012345+00:00"',
    ),
    ("timestamp_ntz_nanos", pa.timestamp("ns"), 1_709_210_096_789_012_345, '"2024-02-29 12:34:56.789012345"'),
    ("string", pa.string(), "grüße", '"grüße"'),
    ("binary", pa.binary(), b"\x00\xff", '"AP8="'),
    ("uuid", pa.uuid(), uuid.UUID(int=0x1234).bytes, '"00000000-0000-0000-0000-000000001234"'),
]


def shredded_scalars() -> list[Case]:
    """A field of each type: with a value, null, of another type, missing, and in a row that is NULL."""
    found = []
    for name, type_, value, as_json in SCALARS:
        other, other_json = (int8(5), "5") if name == "string" else (text("x"), '"x"')
        rows = [
            row(None, {"a": {"typed_value": value}}, A),
            row(None, {"a": {"value": NULL}}, A),
            row(None, {"a": {"value": other}}, A),
            row(None, {"a": {}}, A),
            None,
        ]
        texts = [f'{{"a":{as_json}}}', '{"a":null}', f'{{"a":{other_json}}}', "{}", None]
        layout = variant(VALUE, typed(pa.struct([group("a", VALUE, typed(type_))])))
        found.append(Case(f"shredded-{name}", layout, rows, texts))
    return found


NESTED = variant(
    VALUE, typed(pa.struct([group("a", VALUE, typed(pa.struct([group("b", *LEVEL)]))), group("b", *LEVEL)]))
)
LIST_OF_LISTS = variant(
    VALUE,
    typed(pa.list_(group("element", VALUE, typed(pa.list_(group("element", *LEVEL)))))),
)

LEGAL = [
    Case(
        "unshredded",
        UNSHREDDED,
        [
            {"metadata": AB, "value": obj((0, int8(1)), (1, array(text("x"), NULL)))},
            {"metadata": EMPTY, "value": NULL},
            None,
        ],
        ['{"a":1,"b":["x",null]}', "null", None],
    ),
    Case(
        "scalar",
        BIGINT,
        [row(None, 34), row(text("n/a")), row(NULL), None],
        ["34", '"n/a"', "null", None],
    ),
    Case(
        "object",
        OBJECT,
        [
            row(None, {"a": {"typed_value": 1}}),
            row(obj((1, text("left"))), {"a": {"typed_value": 1}}),
            row(text("no object")),
            row(obj((1, NULL)), {"a": {}}),
        ],
        ['{"a":1}', '{"a":1,"b":"left"}', '"no object"', '{"b":null}'],
    ),
    Case(
        "object-in-object",
        NESTED,
        [
            row(None, {"a": {"typed_value": {"b": {"typed_value": 1}}}, "b": {"typed_value": 2}}),
            row(None, {"a": {"value": int8(3)}, "b": {}}),
            row(None, {"a": {"typed_value": {"b": {}}}, "b": {"value": NULL}}),
        ],
        ['{"a":{"b":1},"b":2}', '{"a":3}', '{"a":{},"b":null}'],
    ),
    Case(
        "array",
        ARRAY,
        [row(None, [{"typed_value": 1}, {"value": text("x")}, {"value": NULL}]), row(None, []), row(int8(7))],
        ['[1,"x",null]', "[]", "7"],
    ),
    Case(
        "array-of-arrays",
        LIST_OF_LISTS,
        [row(None, [{"typed_value": [{"typed_value": 1}]}, {"typed_value": []}, {"value": int8(2)}])],
        ["[[1],[],2]"],
    ),
    Case(
        "elements-without-a-type",
        variant(VALUE, typed(pa.list_(group("element", VALUE.with_nullable(False))))),
        [row(None, [{"value": int8(1)}, {"value": obj((0, NULL))}])],
        ['[1,{"a":null}]'],
    ),
    Case(
        "ignored-fields",
        variant(*LEVEL, pa.field("_extra", pa.int8())),
        [row(None, 1) | {"_extra": 9}],
        ["1"],
    ),
    Case(
        "draft",
        pa.struct([pa.field("untyped_value", pa.binary()), typed(pa.int64())]),
        [{"typed_value": 5}, {"untyped_value": EMPTY + text("x")}, None],
        ["5", '"x"', None],
        annotated=False,
    ),
]

# One or more for each rule that the footer alone shows. No rows: the layout is what is wrong.
STRUCTURES: list[tuple[str, str, pa.DataType]] = [
    ("metadata-column", "missing", pa.struct(LEVEL)),
    ("metadata-column", "string", pa.struct([pa.field("metadata", pa.string(), nullable=False), *LEVEL])),
    ("metadata-required", "optional", pa.struct([METADATA.with_nullable(True), *LEVEL])),
    ("value-column", "missing", variant(typed(pa.int64()))),
    ("value-type", "string", variant(pa.field("value", pa.string()), typed(pa.int64()))),
    ("value-repetition", "optional-alone", variant(VALUE)),
    ("value-repetition", "required-beside", variant(VALUE.with_nullable(False), typed(pa.int64()))),
    ("typed-value-repetition", "required", variant(VALUE, typed(pa.int64(), nullable=False))),
    ("typed-value-type", "uint32", variant(VALUE, typed(pa.uint32()))),
    ("typed-value-type", "millis", variant(VALUE, typed(pa.timestamp("ms")))),
    ("typed-value-type", "fixed", variant(VALUE, typed(pa.binary(4)))),
    ("typed-value-type", "map", variant(VALUE, typed(pa.map_(pa.string(), pa.int8())))),
    ("no-value", "neither", variant(pa.field("_x", pa.int8()))),
    ("unknown-field", "root", variant(*LEVEL, pa.field("other", pa.int8()))),
    ("duplicate-field", "object", variant(VALUE, typed(pa.struct([group("a", VALUE), group("a", VALUE)])))),
    ("field-group", "optional", variant(VALUE, typed(pa.struct([pa.field("a", pa.struct(LEVEL))])))),
    ("element-group", "optional", variant(VALUE, typed(pa.list_(pa.field("element", pa.struct(LEVEL)))))),
]

DRAFT_LEVEL = [pa.field("untyped_value", pa.binary()), typed(pa.int64())]
DRAFT_SCALAR = pa.struct(DRAFT_LEVEL)
DRAFT_OBJECT = pa.struct(
    [DRAFT_LEVEL[0], pa.field("object", pa.struct([pa.field("a", DRAFT_SCALAR)])), DRAFT_LEVEL[1]]
)
DRAFT_ARRAY = pa.struct([DRAFT_LEVEL[0], pa.field("array", pa.list_(pa.field("element", DRAFT_SCALAR)))])

# One or more for each rule that only the rows show.
ROWS: list[tuple[str, str, pa.DataType, dict[str, Any]]] = [
    ("malformed-metadata", "version", BIGINT, row(None, 1, b"\x02\x00\x00")),
    ("malformed-metadata", "not-utf-8", BIGINT, row(None, 1, b"\x01\x01\x00\x01\xff")),
    ("malformed-value", "cut-short", BIGINT, row(b"\x0d")),
    ("malformed-value", "empty", BIGINT, row(b"")),
    ("key-order", "descending", BIGINT, row(obj((1, NULL), (0, NULL)))),
    ("key-order", "twice", BIGINT, row(obj((1, NULL), (1, NULL)))),
    ("malformed-typed-value", "time", variant(VALUE, typed(pa.time64("us"))), row(None, 86_400_000_000)),
    ("missing-name", "field", OBJECT, row(None, {"a": {"typed_value": 5}}, EMPTY)),
    ("conflict", "scalar", BIGINT, row(NULL, 34)),
    ("conflict", "array", ARRAY, row(NULL, [])),
    ("conflict", "field", OBJECT, row(None, {"a": {"value": NULL, "typed_value": 5}})),
    ("missing-value", "root", BIGINT, row()),
    ("missing-element", "array", ARRAY, row(None, [{}])),
    ("residual-not-object", "text", OBJECT, row(text("a"), {"a": {}})),
    ("field-in-value", "both", OBJECT, row(obj((0, int8(7))), {"a": {"typed_value": 5}})),
    ("field-in-value", "value-only", OBJECT, row(obj((0, int8(7))), {"a": {}})),
    ("object-not-shredded", "empty", OBJECT, row(obj())),
    ("array-not-shredded", "empty", ARRAY, row(array())),
    ("draft-malformed", "version", DRAFT_SCALAR, {"untyped_value": b"\x02\x00\x00\x00"}),
    ("draft-alternatives", "both", DRAFT_OBJECT, {"object": {"a": None}, "typed_value": 5}),
    ("draft-conflict", "scalar", DRAFT_SCALAR, {"untyped_value": EMPTY + NULL, "typed_value": 5}),
    ("draft-residual", "number", DRAFT_OBJECT, {"untyped_value": EMPTY + int8(1), "object": {"a": None}}),
    (
        "draft-field-twice",
        "both",
        DRAFT_OBJECT,
        {"untyped_value": A + obj((0, int8(7))), "object": {"a": {"typed_value": 5}}},
    ),
    ("draft-not-shredded", "array", DRAFT_ARRAY, {"untyped_value": EMPTY + array()}),
    ("draft-missing", "element", DRAFT_ARRAY, {"array": [{}]}),
]


def cases() -> list[Case]:
    """All cases, the legal ones first."""
    other_names = pa.list_(group("item", *LEVEL))
    return [
        *LEGAL,
        *shredded_scalars(),
        *(Case(f"bad-{rule}-{name}", type_, [], rules=[rule]) for rule, name, type_ in STRUCTURES),
        Case(
            "bad-three-level-list-item",
            variant(VALUE, typed(other_names)),
            [],
            rules=["three-level-list"],
            options={"use_compliant_nested_type": False},
        ),
        Case("bad-annotation-missing", UNSHREDDED, [], rules=["annotation"], annotated=False),
        Case(
            "bad-draft-layout-other",
            pa.struct([*DRAFT_LEVEL, pa.field("other", pa.int8())]),
            [],
            rules=["draft-layout"],
            annotated=False,
        ),
        *(
            Case(f"bad-{rule}-{name}", type_, [bad], rules=[rule], annotated=not rule.startswith("draft-"))
            for rule, name, type_, bad in ROWS
        ),
    ]


def write(case: Case, path: Path) -> None:
    """Writes the file of a case."""
    column = _with_extensions(pa.array(case.rows, _storage(case.type)), case.type)
    table = pa.table([column], schema=pa.schema([("v", case.type)]))
    pq.write_table(
        table,
        path,
        compression="none",
        store_schema=False,
        store_decimal_as_integer=True,
        use_dictionary=False,
        write_statistics=False,
        **case.options,
    )
    if case.annotated:
        with path.open("r+b") as file:
            footer = read_footer(file)
            file.seek(footer.start)
            file.write(footer_bytes(annotate(footer, [("v",)]).raw))
            file.truncate()


def _storage(type_: pa.DataType) -> pa.DataType:
    """The type with plain types in place of extension types, of which pyarrow makes no nested arrays."""
    if isinstance(type_, pa.BaseExtensionType):
        return type_.storage_type
    if pa.types.is_struct(type_):
        return pa.struct([item.with_type(_storage(item.type)) for item in type_])
    return type_


def _with_extensions(array: pa.Array, type_: pa.DataType) -> pa.Array:
    if isinstance(type_, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type_, array)
    if not pa.types.is_struct(type_):
        return array
    inner = [_with_extensions(array.field(at), item.type) for at, item in enumerate(type_)]
    return pa.StructArray.from_arrays(inner, fields=list(type_), mask=array.is_null())


def main(folder: Path = DATA) -> None:
    folder.mkdir(exist_ok=True)
    listed = []
    for case in cases():
        write(case, folder / f"{case.name}.parquet")
        listed.append({"name": case.name, "rows": case.json, "rules": case.rules})
    text_of = ",\n".join(json.dumps(each, ensure_ascii=False) for each in listed)
    (folder / "cases.json").write_text(f"[\n{text_of}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
