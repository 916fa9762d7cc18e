"""Queries and data sources share the newest version of a table, and read it once."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import shredlake as sl
from shredlake import caches
from shredlake.delta.storage.storage import Storage
from shredlake.spark.query.tables.given import snapshot_of
from shredlake.spark.snapshots import latest


def test_a_version_is_read_once_and_then_continued(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path / "t", pa.schema([("id", pa.int64())]))
    first = snapshot_of(table.uri)
    assert latest(Storage(table.uri, {})) is first
    assert caches.sizes()["snapshots"] >= 1
    table.append(pa.table({"id": [1]}))
    assert [snapshot_of(table.uri).version, latest(Storage(table.uri, {})).version] == [1, 1]
