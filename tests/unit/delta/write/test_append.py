"""New columns on append: refused, or added where asked for."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.delta.write.append import append
from shredlake.errors import CommitConflict, InvalidSchema, ShredlakeError

SCHEMA = pa.schema([("id", pa.int64()), ("v", sl.variant())])


@pytest.fixture
def table(tmp_path: Path) -> sl.Table:
    made = sl.Table.create(tmp_path / "t", SCHEMA)
    made.append([{"id": 1, "v": {"a": 1}}])
    return made


def test_new_columns_are_refused_by_default(table: sl.Table) -> None:
    with pytest.raises(ShredlakeError, match="day"):
        table.append([{"id": 2, "day": "Monday"}])
    assert sl.Table(table.uri).version == 1


def test_new_columns_come_with_their_rows_in_one_version(table: sl.Table) -> None:
    rows = pa.table(
        {
            "w": sl.from_json(pa.array(['{"b": 2}', None])),
            "at": pa.array([0, 1], pa.timestamp("us")),
            "ID": [2, 3],
        }
    )
    assert table.append(rows, schema_mode="merge") == 2
    found = sl.Table(table.uri)
    assert found.schema.names == ["id", "v", "w", "at"]
    assert found.schema.field("w").type == sl.variant()
    columns = ["id", "v:a::int AS a", "w:b::int AS b", "at IS NULL AS none"]
    assert found.scan(columns).to_arrow().sort_by("id").to_pylist() == [
        {"id": 1, "a": 1, "b": None, "none": True},
        {"id": 2, "a": None, "b": 2, "none": False},
        {"id": 3, "a": None, "b": None, "none": False},
    ]
    assert sl.Table(table.uri, version=1).schema.names == ["id", "v"]
    assert table.append([{"id": 4}], schema_mode="merge") == 3
    assert [entry["operation"] for entry in found.refresh().history()][:2] == ["WRITE", "WRITE"]


def test_pieces_and_nothing(table: sl.Table) -> None:
    pieces = pa.RecordBatchReader.from_batches(
        pa.schema([("id", pa.int64()), ("n", pa.int32())]),
        [pa.record_batch({"id": [number], "n": pa.array([number], pa.int32())}) for number in (5, 6)],
    )
    table.append(pieces, schema_mode="merge")
    assert sorted(row["n"] or 0 for row in table.scan(["n"]).to_arrow().to_pylist()) == [0, 5, 6]
    table.append([], schema_mode="merge")
    assert table.schema.names == ["id", "v", "n"]


def test_what_a_table_can_not_take_is_refused(table: sl.Table) -> None:
    with pytest.raises(InvalidSchema, match="strict or merge"):
        table.append([{"id": 2}], schema_mode="add")  # type: ignore[arg-type]
    with pytest.raises(ShredlakeError):
        table.append(pa.table({"id": ["text"], "n": [1]}), schema_mode="merge")
    assert sl.Table(table.uri).version == 1
    data = [path.name for path in Path(table.uri.removeprefix("file://")).glob("*.parquet")]
    assert len(data) == 1  # files of refused rows are removed


def test_a_constraint_still_holds(tmp_path: Path) -> None:
    made = sl.Table.create(tmp_path / "c", SCHEMA, properties={"delta.constraints.few": "id < 10"})
    with pytest.raises(ShredlakeError, match="few"):
        made.append([{"id": 11, "x": 1}], schema_mode="merge")
    assert sl.Table(made.uri).schema.names == ["id", "v"]


def test_two_writers_that_add_columns(table: sl.Table) -> None:
    before = table.snapshot
    table.append([{"id": 2, "x": 1}], schema_mode="merge")
    with pytest.raises(CommitConflict):  # otherwise the column x would be lost
        append(before, [{"id": 3, "y": 1}], schema_mode="merge")
    sl.Table(table.uri).append([{"id": 3, "y": 1}], schema_mode="merge")
    assert sl.Table(table.uri).schema.names == ["id", "v", "x", "y"]
