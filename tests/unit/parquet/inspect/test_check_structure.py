"""Rules on the schema of a file: a schema that breaks each, and what is reported."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from broken_files import LEVEL, METADATA, STRUCTURES, VALUE, required, struct, typed, write_raw
from shredlake.parquet.format.schema import SchemaNode
from shredlake.parquet.inspect.check import check
from shredlake.parquet.inspect.check_structure import check_structure, value_repetitions
from shredlake.shredding.schema import ARRAY_ELEMENT


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


def test_two_fields_of_one_name(tmp_path: Path) -> None:
    type_ = struct(METADATA, VALUE, typed(struct(required("a", VALUE), required("a", VALUE))))
    file = write_raw(pa.schema([("v", type_)]).empty_table(), tmp_path / "f", ("v",))
    assert [breach.rule for breach in check(file)] == ["duplicate-field"]


def leaf(name: str, repetition: str = "optional") -> SchemaNode:
    return SchemaNode(name, repetition, "binary", None, (), ("v", name), 1, 0)


def test_a_later_version_of_the_annotation_is_reported_and_the_rest_checked() -> None:
    parts = (leaf("metadata", "required"), leaf("value"))
    group = SchemaNode("v", "optional", None, "VARIANT(2)", parts, ("v",), 0, None)
    found = [(breach.rule, breach.found) for breach in check_structure(group)]
    assert [rule for rule, _ in found] == ["annotation", "value-repetition"]
    assert found[0][1] == "annotation VARIANT(2)"


def test_a_group_without_columns_breaks_what_it_lacks() -> None:
    group = SchemaNode("v", "optional", None, "VARIANT(1)", (), ("v",), 0, None)
    assert [breach.rule for breach in check_structure(group)] == ["metadata-column", "no-value"]


@pytest.mark.parametrize(
    ("steps", "shredded", "allowed"),
    [
        ((), False, ("required",)),
        ((), True, ("optional",)),
        (("a",), False, ("optional",)),
        (("a",), True, ("optional",)),
        (("a", ARRAY_ELEMENT), False, ("required", "optional")),
        ((ARRAY_ELEMENT,), True, ("optional",)),
    ],
)
def test_where_a_value_may_be_null(
    steps: tuple[object, ...], shredded: bool, allowed: tuple[str, ...]
) -> None:
    assert value_repetitions(steps, shredded=shredded) == allowed  # type: ignore[arg-type]
