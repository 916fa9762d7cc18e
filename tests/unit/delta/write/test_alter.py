"""New columns and properties: what a table becomes, and what it refuses to become."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, ids, python, variants
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Metadata, Protocol
from shredlake.delta.schema.types import Field, Struct
from shredlake.delta.storage.storage import Storage
from shredlake.delta.write.alter import (
    new_checks,
    redefined,
    with_columns,
    with_merged_columns,
    with_properties,
)
from shredlake.delta.write.create import planned
from shredlake.errors import InvalidSchema, ShredlakeError, WrongType

PLAIN = pa.schema([("id", pa.int64()), ("s", pa.string())])


def test_add_column(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [1]}))
    assert table.protocol.reader_features is None
    table.add_column(pa.field("v", sl.variant()), pa.field("s", pa.struct([("x", pa.int32())])))
    assert table.protocol.reader_features == ("variantType",)
    table.append(pa.table({"id": [2], "v": variants([{"a": 5}]), "s": [{"x": 1}]}))
    assert python(table.scan().to_arrow()) == [
        {"id": 2, "v": {"a": 5}, "s": {"x": 1}},
        {"id": 1, "v": None, "s": None},
    ]
    assert table.scan(["id"], where="v:a::bigint IS NULL").to_arrow().to_pylist() == [{"id": 1}]
    assert table.scan(["id"], where="v IS NULL and s.x IS NULL").to_arrow().to_pylist() == [{"id": 1}]
    assert table.scan(["s.x"]).to_arrow().to_pylist() == [{"x": 1}, {"x": None}]
    table.delete("id = 2")
    assert ids(table) == [1]
    with pytest.raises(sl.InvalidSchema, match="has a column 'V' already"):
        table.add_column(pa.field("V", pa.int8()))
    with pytest.raises(sl.InvalidSchema, match="is NOT NULL, but the rows that are there have no value"):
        table.add_column(pa.field("w", pa.int8(), nullable=False))


def test_set_properties(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    table.set_properties({"delta.enableVariantShredding": "true", "mine": 5})
    assert table.protocol.reader_features == ("variantShredding", "variantType")
    assert table.properties["mine"] == "5"
    table.set_properties({"mine": None})
    assert "mine" not in table.properties
    assert table.set_properties({}) == 2
    with pytest.raises(sl.InvalidSchema, match="is kept by writers"):
        table.set_properties({"delta.columnMapping.maxColumnId": "9"})
    with pytest.raises(sl.InvalidSchema, match="can't change from none to name"):
        table.set_properties({"delta.columnMapping.mode": "name"})


@pytest.fixture
def plain() -> Snapshot:
    return planned(Storage("memory://altered/t"), PLAIN, properties={"mine": "x"})


def kinds(actions: Any) -> list[type]:
    return [type(action) for action in actions]


def test_what_changes_nothing_needs_no_action(plain: Snapshot) -> None:
    assert redefined(plain, plain.schema, plain.properties) == []
    assert with_properties(plain, {}) == []
    assert with_properties(plain, {"mine": "x", "gone": None}) == []
    assert with_columns(plain, []) == []


def test_the_protocol_changes_only_where_it_must(plain: Snapshot) -> None:
    assert kinds(with_columns(plain, [pa.field("n", pa.int64())])) == [Metadata]
    protocol, metadata = with_columns(plain, [pa.field("v", sl.variant())])
    assert isinstance(protocol, Protocol)
    assert protocol.reader_features == ("variantType",)
    assert kinds([metadata]) == [Metadata]


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        (["n"], WrongType, r"an Arrow field such as pa.field\('note', pa.string\(\)\), not a str"),
        ([pa.field("ID", pa.int8())], InvalidSchema, "has a column 'ID' already"),
        ([pa.field("n", pa.int8()), pa.field("N", pa.int8())], InvalidSchema, "[nN]"),
        ([pa.field("n", pa.int8(), nullable=False)], InvalidSchema, "'n' is NOT NULL, but the rows"),
        ([pa.field("n", pa.month_day_nano_interval())], ShredlakeError, "n"),
    ],
)  # fmt: skip
def test_columns_that_can_not_be_added(
    plain: Snapshot, fields: list[Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        with_columns(plain, fields)


@pytest.mark.parametrize(
    ("key", "message"), [("CURRENT_DEFAULT", "a default"), ("delta.generationExpression", "an expression")]
)
def test_columns_with_an_expression_are_not_added(plain: Snapshot, key: str, message: str) -> None:
    field = pa.field("n", pa.int64(), metadata={key: "1"})
    with pytest.raises(InvalidSchema, match=f"'n' comes with {message}"):
        with_columns(plain, [field])


def test_columns_of_rows_are_merged_where_the_mode_says_so(plain: Snapshot) -> None:
    given = [pa.field("ID", pa.int64()), pa.field("n", pa.int64(), nullable=False)]
    assert with_merged_columns(plain, given, "strict") is plain
    assert with_merged_columns(plain, given[:1], "merge") is plain
    merged = with_merged_columns(plain, given, "merge")
    assert merged.schema.names == ["id", "s", "n"]
    assert merged.schema.fields[2].nullable
    assert kinds(merged.planned) == [Metadata]
    assert plain.planned == ()
    with pytest.raises(InvalidSchema, match="schema_mode is 'add'; it can be strict or merge"):
        with_merged_columns(plain, given, "add")  # type: ignore[arg-type]


def test_merged_variants_bring_their_feature(plain: Snapshot) -> None:
    merged = with_merged_columns(plain, [pa.field("v", sl.variant())], "merge")
    assert kinds(merged.planned) == [Protocol, Metadata]
    assert merged.protocol.reader_features == ("variantType",)


def test_properties_are_set_and_unset_together(plain: Snapshot) -> None:
    [metadata] = with_properties(
        plain, {"mine": None, "delta.appendOnly": True, "delta.feature.invariants": None}
    )
    assert isinstance(metadata, Metadata)
    assert dict(metadata.configuration) == {"delta.appendOnly": "true"}


@pytest.mark.parametrize(
    ("properties", "error", "message"),
    [
        (["mine"], WrongType, "properties are a dict"),
        ({"delta.columnMapping.maxColumnId": None}, InvalidSchema, "can't be removed"),
        ({"delta.enableInCommitTimestamps": True}, InvalidSchema, "when a table is created, not later"),
        ({"delta.columnMapping.mode": "id"}, InvalidSchema, "can't change from none to id"),
        ({"delta.dataSkippingStatsColumns": "x"}, InvalidSchema, "names 'x', which is not a column: id, s"),
        ({"delta.constraints.c": "x > 1"}, ShredlakeError, "x"),
    ],
)
def test_properties_that_a_table_refuses(
    plain: Snapshot, properties: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        with_properties(plain, properties)


def test_old_properties_that_no_longer_fit_do_not_hinder_new_ones(plain: Snapshot) -> None:
    narrow = planned(
        Storage("memory://altered/narrow"), PLAIN, properties={"delta.dataSkippingStatsColumns": "s"}
    )
    schema = Struct((Field("id", "long"),))
    assert kinds(redefined(narrow, schema, narrow.properties)) == [Metadata]


def test_new_checks_are_those_that_are_set() -> None:
    given = {"delta.constraints.a": "x > 1", "delta.constraints.b": None, "mine": "delta.constraints.c"}
    assert new_checks(given) == ["a"]
    assert new_checks({}) == []
