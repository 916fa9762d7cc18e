"""The draft layout: every example of its document, its rules, and conversion to the current layout."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from typer.testing import CliRunner

from shredlake.cli.app import app
from shredlake.errors import InvalidFile, InvalidSchema, MalformedVariant, ShreddingConflict
from shredlake.kernels import shred, unshred
from shredlake.parquet.inspect.check import check
from shredlake.parquet.inspect.rules import DRAFT_RULES
from shredlake.parquet.legacy.columns import from_draft, to_draft
from shredlake.parquet.legacy.convert import convert_draft, read_draft, write_draft
from shredlake.parquet.legacy.types import draft_array, draft_rows, draft_schema, draft_type
from shredlake.parquet.variant_columns import variant_columns
from shredlake.shredding.legacy import (
    DraftNode,
    DraftValue,
    current_node,
    draft_node,
    join_untyped,
    reconstruct_draft,
    shred_draft,
    split_untyped,
)
from shredlake.shredding.schema import Scalar, ShreddingSchema
from shredlake.variant.scalars import Float32, Int8, Int32
from shredlake.variant.types import VariantType
from shredlake.variant.value import Variant
from strategies import shreddable_columns
from variant_columns import MISSING, column, column_of, footer_schema, read_rows, rows

OBJECT = draft_node(ShreddingSchema.parse("struct<a bigint, b struct<c string>>"))
LEAF = DraftNode("untyped_value", typed=Scalar(VariantType.INT64), parts=("typed_value", "untyped_value"))
ARRAY = DraftNode(
    "untyped_value",
    array=DraftNode("untyped_value", object={"a": DraftNode("untyped_value", array=LEAF), "b": LEAF}),
)


def untyped(value: Any) -> bytes:
    return join_untyped(Variant.of(value))


def python(piece: bytes | None) -> Any:
    return "absent" if piece is None else split_untyped(piece).to_python()


# (value, top-level untyped_value, b's untyped_value, what is filled in a, what is filled in b.c)
FIRST_EXAMPLE: list[tuple[Any, Any, Any, str | None, str | None]] = [
    ({"a": 123, "b": {"c": "hello"}}, "absent", "absent", "typed", "typed"),
    ({"a": Decimal("1.23"), "b": {"c": "123"}}, "absent", "absent", "untyped", "typed"),
    ({"a": [1, 2, 3], "b": {"c": None}}, "absent", "absent", "untyped", "untyped"),
    ({"a": 123, "c": 456}, {"c": 456}, "absent", "typed", None),
    ({"a": 123, "b": {"c": "hello", "d": 456}}, "absent", {"d": 456}, "typed", "typed"),
    (
        [{"a": 1, "b": {"c": 2}}, {"a": 3, "b": {"c": 4}}],
        [{"a": 1, "b": {"c": 2}}, {"a": 3, "b": {"c": 4}}],
        "absent",
        None,
        None,
    ),
]


def filled(value: DraftValue | None) -> str | None:
    if value is None or value.is_missing:
        return None
    return "typed" if value.typed is not None else "untyped"


@pytest.mark.parametrize(("value", "top", "in_b", "in_a", "in_c"), FIRST_EXAMPLE)
def test_the_first_example(value: Any, top: Any, in_b: Any, in_a: str | None, in_c: str | None) -> None:
    shredded = shred_draft(Variant.of(value), OBJECT)
    assert python(shredded.untyped) == top
    fields = shredded.object or {}
    b = fields.get("b")
    assert python(b.untyped if b else None) == in_b
    assert filled(fields.get("a")) == in_a
    assert filled((b.object or {}).get("c") if b else None) == in_c
    assert reconstruct_draft(shredded, OBJECT, reject_conflicts=True) == Variant.of(value)


def test_the_first_example_in_a_file(tmp_path: Path) -> None:
    values = [value for value, *_ in FIRST_EXAMPLE]
    path = tmp_path / "f.parquet"
    write_draft(pa.table({"variant_col": column_of(values)}), path, {"variant_col": OBJECT})
    assert rows(read_draft(path, reject_conflicts=True)["variant_col"]) == rows(column_of(values))
    assert check(path) == []
    raw = pq.read_table(path)["variant_col"].to_pylist()
    assert [python(row["untyped_value"]) for row in raw] == [top for _, top, *_ in FIRST_EXAMPLE]
    assert raw[0]["object"]["a"] == {"untyped_value": None, "typed_value": 123}


def test_the_diagram_of_a_binary() -> None:
    """One name of two bytes: six bytes of metadata, the rest is the value."""
    piece = bytes([0x01, 0x01, 0x00, 0x02]) + b"hi" + bytes([0x02, 0x01, 0x00, 0x00, 0x02, 0x0C, 0x05])
    variant = split_untyped(piece)
    assert (len(variant.metadata), variant.to_python()) == (6, {"hi": 5})


def test_the_fields_that_are_left() -> None:
    """{"c": 1, "d": 2} for field b: d stays in untyped_value, c is shredded."""
    b = shred_draft(Variant.of({"b": {"c": "1", "d": 2}}), OBJECT).object["b"]  # type: ignore[index]
    assert b is not None
    assert python(b.untyped) == {"d": 2}
    assert b.object is not None
    assert b.object["c"] == DraftValue(typed="1")


FULLY = [{"a": [1, 2, 3], "b": 100}, {"a": [4, 5, 6], "b": 200}]
PARTLY = [{"a": [1, 2, 3], "b": 100, "c": "unexpected"}, {"a": [4, 5, 6], "b": 200}, "not an object"]


def test_the_nested_example(tmp_path: Path) -> None:
    fully, partly = (shred_draft(Variant.of(value), ARRAY) for value in (FULLY, PARTLY))
    assert fully.array is not None
    assert [item.untyped for item in fully.array if item] == [None, None]
    assert partly.array is not None
    assert [python(item.untyped) for item in partly.array if item] == [
        {"c": "unexpected"},
        "absent",
        "not an object",
    ]
    values = [FULLY, PARTLY, {"a": 1}, [{"a": "no array"}], [{"a": [1, "two", None]}], []]
    path = tmp_path / "f.parquet"
    write_draft(pa.table({"variant_col": column_of(values)}), path, {"variant_col": ARRAY})
    assert rows(read_draft(path, reject_conflicts=True)["variant_col"]) == rows(column_of(values))
    raw = pq.read_table(path)["variant_col"].to_pylist()
    assert python(raw[2]["untyped_value"]) == {"a": 1}
    assert raw[2]["array"] is None
    assert python(raw[3]["array"][0]["object"]["a"]["untyped_value"]) == "no array"
    facts = convert_draft(path, tmp_path / "today.parquet")
    assert str(facts.variants["variant_col"].schema) == "array<struct<a array<bigint>, b bigint>>"
    assert read_rows(tmp_path / "today.parquet", "variant_col") == rows(column_of(values))
    assert check(tmp_path / "today.parquet") == []


NUMBERS: list[tuple[str, Any, Any]] = [
    ("bigint", Int32(123), 123),
    ("decimal(9,2)", 123, 12300),
    ("decimal(9,2)", Decimal("1.5"), 150),
    ("bigint", Decimal("123.00"), 123),
    ("bigint", Decimal("1.23"), None),
    ("tinyint", 128, None),
    ("tinyint", Int8(-128), -128),
    ("decimal(3,2)", 10, None),
    ("bigint", "123", None),
    ("bigint", 123.0, None),
    ("double", Float32(1.5), None),
    ("float", 1.5, None),
    ("double", 1, None),
    ("string", 123, None),
    ("timestamp", "2024-01-01", None),
]


@pytest.mark.parametrize(("ddl", "value", "typed"), NUMBERS)
def test_numbers_move_between_exact_types_and_nothing_else_does(ddl: str, value: Any, typed: Any) -> None:
    node = draft_node(ShreddingSchema.parse(ddl))
    shredded = shred_draft(Variant.of(value), node)
    assert shredded.typed == typed
    assert (shredded.untyped is None) == (typed is not None)
    assert reconstruct_draft(shredded, node) == Variant.of(value)


def test_underscores_are_ignored_and_other_names_are_an_error(tmp_path: Path) -> None:
    level = pa.struct(
        [("untyped_value", pa.binary()), ("_spark_hint", pa.int8()), ("typed_value", pa.int64())]
    )
    row = {"untyped_value": None, "_spark_hint": 3, "typed_value": 5}
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table({"v": pa.array([row], level)}), path)
    assert rows(read_draft(path)["v"]) == [Variant.of(5)]
    assert check(path) == []
    other = pa.struct([("untyped_value", pa.binary()), ("surprise", pa.int8())])
    pq.write_table(pa.table({"v": pa.array([{"untyped_value": untyped(1)}], other)}), path)
    with pytest.raises(InvalidSchema, match=r"f.parquet: \$: unknown part 'surprise'"):
        read_draft(path)
    assert [(breach.rule, breach.path) for breach in check(path)] == [("draft-layout", "$")]
    deep = pa.struct([("untyped_value", pa.binary()), ("object", pa.struct([("a", other)]))])
    with pytest.raises(InvalidSchema, match=r"\$\['a'\]: unknown part 'surprise'"):
        draft_schema(deep)


@pytest.mark.parametrize("spelling", ["untyped_value", "variant_value"])
def test_both_spellings(spelling: str, tmp_path: Path) -> None:
    values = [{"a": 1, "z": 2}, {"a": "x"}, "odd", MISSING]
    path = tmp_path / "f.parquet"
    write_draft(pa.table({"v": column_of(values)}), path, {"v": "struct<a bigint>"}, spelling=spelling)
    assert spelling in pq.read_schema(path).field("v").type.names
    assert rows(read_draft(path)["v"]) == rows(column_of(values))


def test_parts_may_be_left_out() -> None:
    """Without untyped_value, all values are of the type or missing; without typed_value, all are binary."""
    typed_only = DraftNode(typed=Scalar(VariantType.INT64))
    assert reconstruct_draft(shred_draft(Variant.of(5), typed_only), typed_only) == Variant.of(5)
    with pytest.raises(ShreddingConflict, match="no untyped_value"):
        shred_draft(Variant.of("x"), typed_only)
    untyped_only = DraftNode("variant_value")
    array = draft_array([shred_draft(Variant.of({"x": 1}), untyped_only), None], untyped_only)
    assert rows(from_draft(array)) == [Variant.of({"x": 1}), None]


def test_several_alternatives_at_one_level() -> None:
    """A level may offer an object, an array and a scalar; the current layout keeps the first."""
    node = DraftNode(
        "untyped_value",
        object={"a": LEAF},
        array=DraftNode("untyped_value"),
        typed=Scalar(VariantType.STRING),
    )
    values = [{"a": 1, "b": 2}, [1, {"c": 2}], "text", 5, None]
    shredded = [shred_draft(Variant.of(value), node) for value in values]
    assert [value.untyped is None for value in shredded] == [False, True, True, False, False]
    array = draft_array(shredded, node)
    assert draft_schema(array.type) == node
    assert rows(from_draft(array, reject_conflicts=True)) == rows(column_of(values))
    assert str(ShreddingSchema(current_node(node))) == "struct<a bigint>"


SCALAR = draft_node(ShreddingSchema.parse("bigint"))
LIST = draft_node(ShreddingSchema.parse("array<bigint>"))
FIELDS = draft_node(ShreddingSchema.parse("struct<a bigint>"))
BOTH = DraftNode("untyped_value", object={"a": LEAF}, typed=Scalar(VariantType.INT64))

# (rule, path, node, value, what default reading makes of it: a Python value, or the error's text)
BROKEN: list[tuple[str, str, DraftNode, DraftValue, Any]] = [
    ("draft-conflict", "$", SCALAR, DraftValue(untyped=untyped("x"), typed=5), ShreddingConflict),
    ("draft-conflict", "$", SCALAR, DraftValue(untyped=untyped(None), typed=5), None),
    ("draft-conflict", "$", LIST, DraftValue(untyped=untyped(None), array=[]), ShreddingConflict),
    ("draft-alternatives", "$", BOTH, DraftValue(object={"a": None}, typed=5), ShreddingConflict),
    ("draft-residual", "$", FIELDS, DraftValue(untyped=untyped(1), object={"a": None}), ShreddingConflict),
    (
        "draft-field-twice",
        "$",
        FIELDS,
        DraftValue(untyped=untyped({"a": 7}), object={"a": DraftValue(typed=5)}),
        {"a": 5},
    ),
    ("draft-field-twice", "$", FIELDS, DraftValue(untyped=untyped({"a": 7}), object={"a": None}), {"a": 7}),
    ("draft-not-shredded", "$", FIELDS, DraftValue(untyped=untyped({})), {}),
    ("draft-not-shredded", "$", LIST, DraftValue(untyped=untyped([1])), [1]),
    ("draft-missing", "$[1]", LIST, DraftValue(array=[DraftValue(typed=1), DraftValue()]), [1, None]),
    ("draft-missing", "$[0]", LIST, DraftValue(array=[None]), [None]),
    ("draft-malformed", "$", SCALAR, DraftValue(untyped=b"\x02\x00\x00\x00"), MalformedVariant),
    ("draft-malformed", "$", SCALAR, DraftValue(untyped=b"\x01\x00\x00"), MalformedVariant),
]


@pytest.mark.parametrize(
    ("rule", "path", "node", "value", "read"), BROKEN, ids=[f"{b[0]} {i}" for i, b in enumerate(BROKEN)]
)
def test_broken_rows(
    rule: str, path: str, node: DraftNode, value: DraftValue, read: Any, tmp_path: Path
) -> None:
    good = shred_draft(Variant.of("good"), node)
    array = draft_array([good, value, good], node)
    file = tmp_path / "f.parquet"
    pq.write_table(pa.table({"v": array}), file)
    breach = check(file)[0]
    assert (breach.rule, breach.row, breach.path) == (rule, 1, path)
    if isinstance(read, type):
        with pytest.raises(read, match="row 1"):
            read_draft(file)
    else:
        assert rows(read_draft(file)["v"])[1] == Variant.of(read)
        if rule != "draft-not-shredded":
            with pytest.raises(ShreddingConflict, match="row 1"):
                read_draft(file, reject_conflicts=True)
        convert_draft(file, tmp_path / "today.parquet")
        assert check(tmp_path / "today.parquet") == []


def test_every_rule_of_the_draft_is_tested() -> None:
    assert {rule for rule, *_ in BROKEN} | {"draft-layout"} == set(DRAFT_RULES)


def test_a_missing_variant_reads_as_null(tmp_path: Path) -> None:
    array = draft_array([DraftValue(), None, DraftValue(typed=1)], SCALAR)
    assert rows(from_draft(array)) == [None, None, Variant.of(1)]
    file = tmp_path / "f.parquet"
    pq.write_table(pa.table({"v": array}), file)
    assert [(breach.rule, breach.row) for breach in check(file)] == [("draft-missing", 0)]


def test_columns_in_structs_and_lists(tmp_path: Path) -> None:
    variants = column_of([{"a": 1}, {"a": "x", "b": [1]}, 5])
    lists = pa.ListArray.from_arrays(pa.array([0, 1, None, 3], pa.int32()), variants)
    table = pa.table({"l": lists, "id": [1, 2, 3]})
    write_draft(table, tmp_path / "draft.parquet", {"l.list.element": "struct<a bigint>"})
    assert check(tmp_path / "draft.parquet") == []
    convert_draft(tmp_path / "draft.parquet", tmp_path / "today.parquet")
    read = pq.ParquetFile(tmp_path / "today.parquet").read()
    assert read["id"].to_pylist() == [1, 2, 3]
    assert rows(read["l"].combine_chunks().flatten()) == rows(variants)
    assert read["l"].is_null().to_pylist() == [False, False, True]


def test_a_file_without_the_draft_layout(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [1]}), tmp_path / "f.parquet")
    with pytest.raises(InvalidFile, match="no column in the draft layout"):
        read_draft(tmp_path / "f.parquet")


@pytest.mark.slow
@settings(max_examples=50)
@given(shreddable_columns())
def test_columns_and_reference_agree(case: Any) -> None:
    variants, schema = case
    node = draft_node(schema)
    array = to_draft(column(variants), node)
    assert array.type == draft_type(node)
    by_reference = [reconstruct_draft(row, node, reject_conflicts=True) for row in draft_rows(array, node)]
    assert by_reference == variants
    today = from_draft(array, reject_conflicts=True)
    assert rows(today) == variants
    assert unshred(today, strict=True) is not None


@pytest.mark.slow
@settings(max_examples=15)
@given(shreddable_columns())
def test_files_come_over_value_for_value(tmp_path_factory: pytest.TempPathFactory, case: Any) -> None:
    variants, schema = case
    folder = tmp_path_factory.mktemp("draft")
    write_draft(pa.table({"v": column(variants)}), folder / "draft.parquet", {"v": schema})
    assert check(folder / "draft.parquet") == []
    convert_draft(folder / "draft.parquet", folder / "today.parquet", reject_conflicts=True)
    assert read_rows(folder / "today.parquet") == variants
    assert check(folder / "today.parquet") == []


def test_values_shredded_today_and_by_the_draft_are_typed_alike() -> None:
    """Both documents' rules on numbers are one: the same values are typed."""
    values = [1, Decimal("1.50"), 1.5, "1", None, [1], {"a": 1}]
    schema = ShreddingSchema.parse("decimal(9,2)")
    today = shred(column_of(values), schema).field("typed_value").is_valid().to_pylist()
    draft = to_draft(column_of(values), draft_node(schema)).field("typed_value").is_valid().to_pylist()
    assert today == draft == [True, True, False, False, False, False, False]


def test_the_verb_migrate(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    (old / "day=1").mkdir(parents=True)
    values = [{"a": 1}, {"a": "x"}, "odd", MISSING]
    for name in ("day=1/a.parquet", "b.parquet"):
        write_draft(pa.table({"v": column_of(values)}), old / name, {"v": "struct<a bigint>"})
    done = CliRunner().invoke(app, ["migrate", str(old), str(new)])
    assert done.exit_code == 0, done.output
    assert "2 files, 8 rows" in done.output
    for name in ("day=1/a.parquet", "b.parquet"):
        assert read_rows(new / name) == rows(column_of(values))
        assert check(new / name) == []
    done = CliRunner().invoke(
        app, ["migrate", str(old / "b.parquet"), str(tmp_path / "c.parquet"), "--infer"]
    )
    assert done.exit_code == 0, done.output
    assert read_rows(tmp_path / "c.parquet") == rows(column_of(values))


def test_infer_chooses_a_new_schema_from_the_data(tmp_path: Path) -> None:
    table = pa.table({"v": column_of([{"a": 1}, {"a": 2}])})
    write_draft(table, tmp_path / "old.parquet", {"v": "struct<b string>"})
    for options, schema in ([], "struct<b string>"), (["--infer"], "struct<a bigint>"):
        new = tmp_path / "new.parquet"
        done = CliRunner().invoke(app, ["migrate", str(tmp_path / "old.parquet"), str(new), *options])
        assert done.exit_code == 0, done.output
        assert str(variant_columns(footer_schema(new))[0].schema) == schema
        assert read_rows(new) == rows(table["v"].chunk(0))
