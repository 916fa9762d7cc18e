"""Changes as a batch, read in this process without Spark: where they begin and end."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.errors import PipelineError, VersionNotFound

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'shredlake[spark]'")

FIRST = 1_767_225_600
"""2026-01-01 00:00:00 UTC."""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Version n adds the row n, and was committed n minutes after midnight."""
    place = tmp_path / "t"
    made = sl.Table.create(
        place, pa.schema([("id", pa.int64())]), properties={"delta.enableChangeDataFeed": "true"}
    )
    for number in range(1, 5):
        made.append([{"id": number}])
    for number in range(5):
        os.utime(place / "_delta_log" / f"{number:020}.json", (FIRST + 60 * number,) * 2)
    return place


def changed(table: Path, **options: str) -> list[int]:
    from shredlake.spark.datasource.changes import FeedReader, query_of
    from shredlake.spark.datasource.opened import storage_of
    from shredlake.spark.datasource.options import READ, SourceOptions
    from shredlake.spark.snapshots import latest

    given = SourceOptions.of({"path": str(table), "readChangeFeed": "true", **options}, READ)
    reader = FeedReader(given, query_of(latest(storage_of(given)), given)[1])
    tasks = reader.partitions()
    return sorted(n for task in tasks for rows in reader.read(task) for n in rows.column("id").to_pylist())


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ({"startingVersion": "2"}, [2, 3, 4]),
        ({"startingVersion": "1", "endingVersion": "2"}, [1, 2]),
        ({"startingVersion": "1", "endingVersion": "9"}, [1, 2, 3, 4]),
        ({"startingVersion": "1", "endingTimestamp": "2026-01-01 00:02:00"}, [1, 2]),
        ({"startingVersion": "1", "endingTimestamp": "2026-01-01 00:02:59"}, [1, 2]),
        ({"startingVersion": "1", "endingTimestamp": "2100-01-01"}, [1, 2, 3, 4]),
        ({"startingTimestamp": "2026-01-01 00:01:01", "endingTimestamp": "2026-01-01 00:03:30"}, [2, 3]),
        ({"startingTimestamp": "2026-01-01 00:01:01", "endingTimestamp": "2026-01-01 00:01:02"}, []),
    ],
)
def test_where_changes_begin_and_end(table: Path, options: dict[str, str], ids: list[int]) -> None:
    assert changed(table, **options) == ids


def test_ends_that_are_refused(table: Path) -> None:
    with pytest.raises(PipelineError, match="endingVersion or endingTimestamp, not both"):
        changed(table, startingVersion="1", endingVersion="2", endingTimestamp="2026-01-01 00:02:00")
    with pytest.raises(VersionNotFound, match="no version at 2025-12-31"):
        changed(table, startingVersion="1", endingTimestamp="2025-12-31")
