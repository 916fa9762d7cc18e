"""Transaction ids in the log, and how long a table remembers them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import write_commit

RETENTION = "delta.setTransactionRetentionDuration"
DAY = 24 * 3600 * 1000


@pytest.mark.parametrize(
    ("retention", "kept"),
    [
        (None, {"old", "new", "timeless"}),
        ("interval 7 days", {"new", "timeless"}),
        ("interval 100 days", {"old", "new", "timeless"}),
    ],
)
def test_old_transactions_expire_where_the_table_says_so(
    tmp_path: Path, retention: str | None, kept: set[str]
) -> None:
    properties = {} if retention is None else {RETENTION: retention}
    table = sl.Table.create(tmp_path / "t", pa.schema([("id", pa.int64())]), properties=properties)
    now = int(time.time() * 1000)
    write_commit(
        tmp_path / "t",
        1,
        [
            {"txn": {"appId": "old", "version": 1, "lastUpdated": now - 30 * DAY}},
            {"txn": {"appId": "new", "version": 1, "lastUpdated": now - DAY}},
            {"txn": {"appId": "timeless", "version": 1}},
        ],
    )

    def remembered() -> Any:
        return sl.Table(table.uri).snapshot.transactions.keys()

    assert remembered() == kept
    sl.Table(table.uri).checkpoint()
    (tmp_path / "t" / "_delta_log" / f"{1:020}.json").unlink()
    assert remembered() == kept
