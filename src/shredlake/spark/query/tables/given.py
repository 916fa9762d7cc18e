"""The table behind an address or a `Table`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.storage.storage import Storage
from shredlake.spark.snapshots import latest
from shredlake.table import Table

Given = str | os.PathLike[str] | Table
"""A table as callers name it: by its address, or as a `Table`, which keeps its version and its options."""


def snapshot_of(
    table: Given,
    storage_options: Mapping[str, Any] | None = None,
    *,
    version: int | None = None,
    timestamp: datetime | str | int | None = None,
) -> Snapshot:
    """The version that is asked for; by default the newest, or the one that a `Table` shows."""
    storage = storage_of(table, storage_options)
    if version is not None or timestamp is not None:
        return Table(storage.uri, version, timestamp, storage_options=storage.options).snapshot
    return table.snapshot if isinstance(table, Table) else latest(storage)


def storage_of(table: Given, storage_options: Mapping[str, Any] | None = None) -> Storage:
    """The place of a table. A `Table` has its own options."""
    if isinstance(table, Table):
        return table.snapshot.storage
    return Storage(table, storage_options or {})  # type: ignore[arg-type]
