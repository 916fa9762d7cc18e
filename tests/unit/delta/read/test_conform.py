"""Rows are stored unchanged or refused; files are read with the current schema of the table."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.delta.protocol.actions import dumps

NOON = datetime(2026, 1, 1, 12)
NAN = float("nan")

LOSSLESS: list[tuple[pa.DataType, Any, pa.DataType, Any]] = [
    (pa.int64(), 5, pa.int8(), 5),
    (pa.uint64(), 2**63 - 1, pa.int64(), 2**63 - 1),
    (pa.int64(), 2**53, pa.float64(), 2.0**53),
    (pa.int64(), 7, pa.decimal128(5, 2), Decimal("7.00")),
    (pa.uint64(), 2**64 - 1, pa.decimal128(20, 0), Decimal(2**64 - 1)),
    (pa.float64(), 0.5, pa.float32(), 0.5),
    (pa.float64(), float("inf"), pa.float32(), float("inf")),
    (pa.float16(), 0.5, pa.float64(), 0.5),
    (pa.float64(), 3.0, pa.int32(), 3),
    (pa.float64(), 1.25, pa.decimal128(5, 2), Decimal("1.25")),
    (pa.decimal128(9, 4), Decimal("1.5000"), pa.decimal128(5, 2), Decimal("1.50")),
    (pa.decimal128(9, 4), Decimal("2.0000"), pa.int64(), 2),
    (pa.decimal256(50, 1), Decimal("1.5"), pa.decimal128(5, 2), Decimal("1.50")),
    (pa.decimal128(5, 2), Decimal("0.10"), pa.float64(), 0.1),
    (pa.large_string(), "é", pa.string(), "é"),
    (pa.string_view(), "é", pa.string(), "é"),
    (pa.dictionary(pa.int8(), pa.string()), "é", pa.string(), "é"),
    (pa.string(), "a", pa.binary(), b"a"),
    (pa.binary(), b"a", pa.string(), "a"),
    (pa.binary(2), b"ab", pa.binary(), b"ab"),
    (pa.date64(), date(2026, 1, 1), pa.date32(), date(2026, 1, 1)),
    (pa.date32(), date(2026, 1, 1), pa.timestamp("us"), datetime(2026, 1, 1)),
    (pa.timestamp("ns"), datetime(2026, 1, 1), pa.date32(), date(2026, 1, 1)),
    (pa.timestamp("s"), NOON, pa.timestamp("us"), NOON),
    (pa.timestamp("ms", "Europe/Berlin"), NOON.replace(tzinfo=UTC), pa.timestamp("us", "UTC"),
     NOON.replace(tzinfo=UTC)),
    (pa.list_view(pa.int64()), [1, 2], pa.list_(pa.int8()), [1, 2]),
    (pa.list_(pa.int64(), 2), [1, 2], pa.list_(pa.int8()), [1, 2]),
    (pa.map_(pa.string(), pa.int64()), [("a", 1)], pa.map_(pa.string(), pa.int8()), [("a", 1)]),
    (pa.null(), None, pa.date32(), None),
]  # fmt: skip

CHANGED: list[tuple[pa.DataType, Any, pa.DataType]] = [
    (pa.int64(), 300, pa.int8()),
    (pa.uint64(), 2**63, pa.int64()),
    (pa.int64(), 2**53 + 1, pa.float64()),
    (pa.int64(), 2**24 + 1, pa.float32()),
    (pa.int64(), 1000, pa.decimal128(4, 2)),
    (pa.float64(), 1e300, pa.float32()),
    (pa.float64(), 0.1, pa.float32()),
    (pa.float64(), 1.5, pa.int64()),
    (pa.float64(), NAN, pa.int64()),
    (pa.float64(), 1e30, pa.int64()),
    (pa.float64(), 1.234, pa.decimal128(5, 2)),
    (pa.float64(), NAN, pa.decimal128(5, 2)),
    (pa.decimal128(9, 4), Decimal("1.2345"), pa.decimal128(5, 2)),
    (pa.decimal128(9, 4), Decimal("1.5000"), pa.int64()),
    (pa.decimal128(38, 20), Decimal("0.12345678901234567890"), pa.float64()),
    (pa.binary(), b"\xff", pa.string()),
    (pa.timestamp("us"), NOON, pa.date32()),
    (pa.timestamp("ns"), 1, pa.timestamp("us")),
    (pa.list_(pa.int64()), [1, 300], pa.list_(pa.int8())),
    (pa.struct([("x", pa.int64())]), {"x": 300}, pa.struct([("x", pa.int8())])),
    (pa.map_(pa.string(), pa.int64()), [("a", 300)], pa.map_(pa.string(), pa.int8())),
]

REFUSED: list[tuple[pa.DataType, Any, pa.DataType, str]] = [
    (pa.int64(), 5, pa.bool_(), "integer is not converted to boolean"),
    (pa.bool_(), True, pa.int64(), "boolean is not converted to integer"),
    (pa.string(), "5", pa.int64(), "text is not converted to integer"),
    (pa.string(), "2026-01-01", pa.date32(), "text is not converted to date"),
    (pa.int64(), 5, pa.string(), "integer is not converted to text"),
    (pa.date32(), date(2026, 1, 1), pa.timestamp("us", "UTC"), "date is not converted to instant"),
    (pa.timestamp("us"), NOON, pa.timestamp("us", "UTC"), "assume_timezone"),
    (pa.timestamp("us", "UTC"), NOON, pa.timestamp("us"), "local_timestamp"),
    (pa.time64("us"), 5, pa.int64(), "time64"),
    (pa.list_(pa.int64()), [1], pa.int64(), "nested"),
    (pa.int64(), 1, pa.list_(pa.int64()), "a list is expected"),
    (pa.int64(), 1, pa.struct([("x", pa.int64())]), "a struct is expected"),
    (pa.int64(), 1, sl.variant(), "use sl.from_json"),
    (pa.struct([("y", pa.int64())]), {"y": 1}, pa.struct([("x", pa.int64())]), "unknown field y"),
]


def _table(path: Path, kind: pa.DataType) -> sl.Table:
    return sl.Table.create(path, pa.schema([("id", pa.int64()), ("c", kind)]))


@pytest.mark.parametrize(("given", "value", "kind", "stored"), LOSSLESS)
def test_lossless_conversions(
    tmp_path: Path, given: pa.DataType, value: Any, kind: pa.DataType, stored: Any
) -> None:
    table = _table(tmp_path, kind)
    column = pa.array([value, None], given.value_type if pa.types.is_dictionary(given) else given)
    table.append(pa.table({"id": [1, 2], "c": column.cast(given) if column.type != given else column}))
    assert table.scan(["c"]).to_arrow().column("c").to_pylist() == [stored, None]


@pytest.mark.parametrize(("given", "value", "kind"), CHANGED)
def test_values_that_would_change(tmp_path: Path, given: pa.DataType, value: Any, kind: pa.DataType) -> None:
    """The error names the column, and the row over all batches."""
    table = _table(tmp_path, kind)
    rows = pa.table({"id": [1, 2, 3], "c": pa.array([None, None, value], given)})
    with pytest.raises(sl.CastError, match=r"column c, row 5: .* can't be stored as .* without a change"):
        table.append(pa.concat_tables([rows.slice(0, 2), rows.slice(0, 1), rows]))
    assert sl.Table(tmp_path).version == 0


@pytest.mark.parametrize(("given", "value", "kind", "message"), REFUSED)
def test_conversions_that_need_a_decision(
    tmp_path: Path, given: pa.DataType, value: Any, kind: pa.DataType, message: str
) -> None:
    table = _table(tmp_path, kind)
    with pytest.raises(sl.InvalidSchema, match=message):
        table.append(pa.table({"id": [1], "c": pa.array([value], given)}))


@pytest.mark.parametrize("names", [["id", "ID"], ["id", "id"], ["a", "a"]])
def test_names_that_differ_in_case_only(tmp_path: Path, names: list[str]) -> None:
    table = sl.Table.create(tmp_path, pa.schema([(names[0], pa.int64())]))
    with pytest.raises(sl.InvalidSchema, match="the data has two columns called"):
        table.append(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=names))


# ── Columns that another engine dropped ─────────────────────────────────────────────────────────────────


def _redefined(path: Path, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> sl.Table:
    """A commit of another writer that changes the schema."""
    snapshot = sl.Table(path).snapshot
    schema = json.loads(snapshot.metadata.schema_string)
    schema["fields"] = change(schema["fields"])
    changed = replace(snapshot.metadata, schema_string=json.dumps(schema))
    (path / "_delta_log" / f"{snapshot.version + 1:020}.json").write_bytes(dumps([changed]))
    return sl.Table(path)


@pytest.mark.parametrize("mode", ["name", "id"])
def test_a_dropped_field_is_not_read(tmp_path: Path, mode: str) -> None:
    inner = pa.struct([("a", pa.int64()), ("b", pa.string()), ("c", sl.variant())])
    schema = pa.schema(
        [("id", pa.int64()), ("s", inner), ("l", pa.list_(inner)), ("m", pa.map_(pa.int64(), inner))]
    )
    table = sl.Table.create(tmp_path, schema, properties={"delta.columnMapping.mode": mode})
    value = {"a": 1, "b": "x", "c": None}
    table.append(pa.table({"id": [1], "s": [value], "l": [[value]], "m": [[(1, value)]]}, schema=schema))

    def drop(fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for kind in (fields[1]["type"], fields[2]["type"]["elementType"], fields[3]["type"]["valueType"]):
            kind["fields"] = [field for field in kind["fields"] if field["name"] == "a"]
        return fields

    table = _redefined(tmp_path, drop)
    expected = {"id": 1, "s": {"a": 1}, "l": [{"a": 1}], "m": [(1, {"a": 1})]}
    assert table.scan().to_arrow().to_pylist() == [expected]
    rows = table.scan().to_arrow()
    table.append(rows.set_column(0, "id", pa.array([2])))
    table.delete("s.a > 5 or id = 2")
    assert table.scan().to_arrow().to_pylist() == [expected]


@pytest.mark.parametrize("feed", [True, False])
def test_rows_are_deleted_beside_a_dropped_variant(tmp_path: Path, feed: bool) -> None:
    properties = {
        "delta.columnMapping.mode": "name",
        "delta.enableVariantShredding": True,
        "delta.enableChangeDataFeed": feed,
    }
    schema = pa.schema([("id", pa.int64()), ("v", sl.variant()), ("w", sl.variant())])
    table = sl.Table.create(tmp_path, schema, properties=properties)
    documents = sl.from_json(pa.array(['{"a": 1}', '{"a": 2}']))
    layout = {"v": "struct<a bigint>", "w": "struct<a bigint>"}
    table.append(pa.table({"id": [1, 2], "v": documents, "w": documents}), shredding=layout)
    table = _redefined(tmp_path, lambda fields: [field for field in fields if field["name"] != "v"])
    table.delete("id = 1")
    assert table.scan(["id", "w:a::int AS a"]).to_arrow().to_pylist() == [{"id": 2, "a": 2}]
