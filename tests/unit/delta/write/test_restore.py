"""Restore: the rows of an older version are restored, and no identity value is reused."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from deletion_vectors import stored, with_vector
from delta_tables import (
    FEED,
    ID_AND_VARIANT,
    SHREDDED,
    age,
    ids,
    numbered,
)


def test_restore(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=SHREDDED)
    table.append(numbered(0, 3))
    table.append(numbered(3, 6))
    table.delete("id = 1")
    table.add_column(pa.field("extra", pa.int64()))
    table.overwrite(numbered(100, 101))
    assert table.restore(2) == 6
    assert ids(table) == [0, 1, 2, 3, 4, 5]
    assert table.schema.names == ["id", "v"]
    assert table.history(1)[0]["operation"] == "RESTORE"
    assert all(json.loads(text)["minValues"]["v"] for text in table.files().column("stats").to_pylist())
    assert table.restore(version=5) == 7
    assert ids(table) == [100]
    with pytest.raises(sl.TableError, match="needs a version or a timestamp"):
        table.restore()
    with pytest.raises(sl.VersionNotFound):
        table.restore(99)


def test_restore_over_a_checkpoint(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    table.append(numbered(0, 3))
    table.append(numbered(3, 6))
    table.checkpoint()
    table.delete("id < 3")
    table.restore(2)
    assert ids(sl.Table(tmp_path)) == [0, 1, 2, 3, 4, 5]


def test_restored_files_bring_rows_back(tmp_path: Path) -> None:
    """Readers of the log must see added rows, even if a checkpoint says that nothing changed."""
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=FEED)
    table.append(numbered(0, 3))
    table.checkpoint()
    table.delete()
    table.restore(1)
    commit = (tmp_path / "_delta_log" / f"{3:020}.json").read_text().splitlines()
    [action] = [json.loads(line)["add"] for line in commit if '"add"' in line]
    assert action["dataChange"] is True
    assert sorted(row["id"] for row in table.changes(3).to_pylist()) == [0, 1, 2]


def test_restore_gives_out_no_column_id_twice(tmp_path: Path) -> None:
    properties = {"delta.columnMapping.mode": "name"}
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=properties)
    table.add_column(pa.field("x", pa.int64()))
    table.restore(0)
    assert table.schema.names == ["id", "v"]
    table.add_column(pa.field("y", pa.int64()))
    assert [field.id for field in table.snapshot.schema.fields] == [1, 2, 4]


def test_restore_what_was_vacuumed(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    table.append(numbered(0, 3))
    table.delete()
    age(tmp_path, days=8)
    table.vacuum(retention_hours=0, enforce_retention=False, dry_run=False)
    with pytest.raises(
        sl.TableError, match=r"version 1 can't be restored, 1 of its files are gone \(vacuumed\)"
    ):
        table.restore(1)


def test_restore_needs_the_vectors(tmp_path: Path) -> None:
    table = with_vector(tmp_path, stored(tmp_path, [1]))
    table.delete("id = 5")
    next(tmp_path.rglob("deletion_vector_*.bin")).unlink()
    with pytest.raises(sl.TableError, match="1 of its files are gone"):
        table.restore(2)
