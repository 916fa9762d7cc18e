"""Every rule: a file that breaks it, and what is reported. Files that keep all rules pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from shredlake.kernels import shredded_type
from shredlake.parquet.format.footer import annotate, footer_bytes, read_footer
from shredlake.parquet.inspect.check import check, violations
from shredlake.parquet.inspect.rules import ALL_RULES, DRAFT_RULES, RULES
from shredlake.parquet.write.writer import write_parquet
from shredlake.shredding.schema import ShreddingSchema
from shredlake.variant.value import Variant
from strategies import shreddable_columns
from variant_columns import column, column_of

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


@pytest.mark.parametrize(
    ("rule", "path", "found", "type_"), STRUCTURES, ids=[f"{s[0]}: {s[2]}" for s in STRUCTURES]
)
def test_structure(rule: str, path: str, found: str, type_: pa.DataType, tmp_path: Path) -> None:
    file = write_raw(pa.schema([("v", type_)]).empty_table(), tmp_path / "f.parquet", ("v",))
    breaches = check(file)
    assert [(breach.rule, breach.column, breach.path, breach.row) for breach in breaches] == [
        (rule, "v", path, None)
    ]
    assert found in breaches[0].found


@pytest.mark.parametrize("nullable", [True, False])
def test_elements_without_a_type_as_spark_writes_them(nullable: bool, tmp_path: Path) -> None:
    """No element is missing: its `value` may be required, as Spark has it, or not."""
    element = required("element", VALUE.with_nullable(nullable))
    type_ = struct(METADATA, VALUE, typed(pa.list_(element)))
    file = write_raw(pa.schema([("v", type_)]).empty_table(), tmp_path / "f.parquet", ("v",))
    assert check(file) == []


def test_lists_of_other_shapes(tmp_path: Path) -> None:
    type_ = struct(METADATA, VALUE, typed(pa.list_(pa.field("item", struct(*LEVEL), nullable=False))))
    table = pa.schema([("v", type_)]).empty_table()
    file = write_raw(table, tmp_path / "f.parquet", ("v",), use_compliant_nested_type=False)
    assert [(breach.rule, breach.found) for breach in check(file)] == [
        ("three-level-list", "groups named list and item")
    ]


def test_annotation(tmp_path: Path) -> None:
    type_ = struct(METADATA, VALUE.with_nullable(False))
    file = write_raw(
        pa.schema([("v", type_), ("s", struct(pa.field("w", type_)))]).empty_table(), tmp_path / "f"
    )
    assert [(breach.rule, breach.column) for breach in check(file)] == [
        ("annotation", "v"),
        ("annotation", "s.w"),
    ]
    other = write_raw(pa.schema([("n", struct(VALUE))]).empty_table(), tmp_path / "g")
    assert check(other) == [], "no Variant by annotation nor by shape"


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


@pytest.mark.parametrize(
    ("rule", "path", "found", "table"), DATA, ids=[f"{d[0]} {d[1]} {d[2]}" for d in DATA]
)
def test_data(rule: str, path: str, found: str, table: pa.Table, tmp_path: Path) -> None:
    good = table.slice(0, 0)
    file = write_raw(
        pa.concat_tables([good, table]), tmp_path / "f.parquet", ("v",), store_decimal_as_integer=True
    )
    breaches = check(file)
    assert [(breach.rule, breach.column, breach.path, breach.row) for breach in breaches] == [
        (rule, "v", path, 0)
    ]
    assert found in breaches[0].found


def test_the_shredded_field_of_an_object_that_is_not_shredded(tmp_path: Path) -> None:
    """Both rules are broken: the object is not in typed_value, and its field is in value."""
    file = write_raw(shredded("struct<a bigint>", (value({"a": 7}), None)), tmp_path / "f", ("v",))
    assert [breach.rule for breach in check(file)] == ["object-not-shredded", "field-in-value"]


def test_bad_strings_and_decimals(tmp_path: Path) -> None:
    strings = pa.array([b"ok", b"\xff"]).view(pa.string())
    metadata = pa.array([NAMES, NAMES])
    fields = [METADATA, VALUE, typed(pa.string())]
    group = pa.StructArray.from_arrays([metadata, pa.nulls(2, BINARY), strings], fields=fields)
    file = write_raw(pa.table({"v": group}), tmp_path / "f", ("v",))
    [breach] = check(file)
    assert (breach.rule, breach.row) == ("malformed-typed-value", 1)
    assert "UTF8" in breach.found


def test_every_rule_is_tested() -> None:
    apart = {"three-level-list", "annotation", "duplicate-field"}
    assert {rule for rule, *_ in [*STRUCTURES, *DATA]} | apart == set(RULES)
    assert ALL_RULES == RULES | DRAFT_RULES


def test_two_fields_of_one_name(tmp_path: Path) -> None:
    type_ = struct(METADATA, VALUE, typed(struct(required("a", VALUE), required("a", VALUE))))
    file = write_raw(pa.schema([("v", type_)]).empty_table(), tmp_path / "f", ("v",))
    assert [breach.rule for breach in check(file)] == ["duplicate-field"]


def test_rows_and_positions_are_those_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Violations far into the file, in the second of two lists, with batches of three rows."""
    monkeypatch.setattr("shredlake.parquet.inspect.check.BATCH_ROWS", 3)
    bad = shredded("bigint", (None, 1), (NULL, 34), (None, 2))["v"].combine_chunks()
    lists = pa.ListArray.from_arrays(pa.array([0, 0, 0, 0, 0, 1, 3], pa.int32()), bad)
    file = write_raw(pa.table({"l": lists}), tmp_path / "f", ("l", "list", "element"))
    [breach] = check(file)
    assert (breach.row, breach.position, breach.path) == (5, (0,), "$")
    assert str(breach) == "l.list.element, row 5[0], $: value 00 beside typed_value 34 [conflict]"


def test_violations_stream_and_can_be_limited(tmp_path: Path) -> None:
    file = write_raw(shredded("bigint", *[(NULL, 34)] * 50), tmp_path / "f", ("v",))
    assert len(check(file, limit=7)) == 7
    seen: list[tuple[int, int]] = []
    assert len(list(violations(file, progress=lambda done, total: seen.append((done, total))))) == 50
    assert seen[-1] == (50, 50)


def test_conformance_files(conformance: Path) -> None:
    """Files that the conformance suite calls invalid are reported, and three without a `value` of the root.

    Every reader takes these, but the annotation's definition asks for the column.
    """
    expected = {
        40: "conflict",
        41: "value-column",
        42: "conflict",
        43: "field-in-value",
        84: "field-group",
        85: "missing-element",
        87: "residual-not-object",
        125: "field-in-value",
        127: "typed-value-type",
        128: "residual-not-object",
        129: "missing-value",
        131: "value-column",
        137: "typed-value-type",
        138: "value-column",
    }
    found = {}
    for path in sorted((conformance / "parquet-testing" / "shredded_variant").glob("*.parquet")):
        rules = {breach.rule for breach in check(path)}
        if rules:
            [found[int(path.stem[5:8])]] = rules
    assert found == expected


@pytest.mark.slow
@settings(max_examples=30)
@given(shreddable_columns())
def test_what_we_write_keeps_all_rules(tmp_path_factory: pytest.TempPathFactory, case: Any) -> None:
    rows, schema = case
    path = tmp_path_factory.mktemp("check") / "f.parquet"
    table = pa.table({"v": column(rows), "l": pa.array([[]] * len(rows), pa.list_(column_of([]).type))})
    write_parquet(table, path, shredding={"v": schema, "l.list.element": schema})
    assert check(path) == []
