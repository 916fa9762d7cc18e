"""A scan of a table: small and large files, streams, limits and counts give the same rows and costs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake import runner
from shredlake.delta.read.scan import TableRun
from shredlake.parquet.read import plan

ROWS = 3_000


@pytest.fixture(params=[0, 1 << 40], ids=["large files", "small files"])
def table(request: pytest.FixtureRequest, tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> sl.Table:
    """Three files of 1,000 rows, which are read window by window or as a whole."""
    monkeypatch.setattr("shredlake.delta.read.data_file.LARGE_FILE", request.param)
    made = sl.Table.create(f"{tmp_path}/t", pa.schema([("id", pa.int64()), ("name", pa.string())]))
    for start in range(0, ROWS, 1000):
        ids = range(start, start + 1000)
        made.append(pa.table({"id": ids, "name": [f"name {number % 7}" for number in ids]}))
    return made


@pytest.mark.parametrize("threads", [1, 3])
def test_all_ways_of_reading_give_the_same_rows(table: sl.Table, threads: int) -> None:
    scan = table.scan(["id"], "id >= 500", threads=threads)
    expected = scan.to_arrow()["id"].to_pylist()
    assert sorted(expected) == list(range(500, ROWS))
    assert [row for batch in scan.stream(10) for row in batch["id"].to_pylist()] == expected
    assert [row for batch in scan.encoded_batches() for row in batch["id"].to_pylist()] == expected
    assert scan.count() == len(expected)
    assert scan.limit(1_100).to_arrow()["id"].to_pylist() == expected[:1_100]
    assert scan.limit(1_100).count() == 1_100


def test_the_types_of_computed_columns_are_found_once_for_all_files(
    table: sl.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Any] = []
    real = plan._output_type

    def counted(*arguments: Any) -> pa.DataType:
        found.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(plan, "_output_type", counted)
    assert table.scan(["id + 1 AS next"]).to_arrow().num_rows == ROWS
    assert not found, "the scan of the table finds them, and no file does again"


def test_the_first_batch_of_a_stream_is_small(table: sl.Table) -> None:
    sizes = [batch.num_rows for batch in table.scan(["id"]).stream(10)]
    assert sizes[0] == 10
    assert sum(sizes) == ROWS


def test_the_cost_is_reported_per_file_in_order(table: sl.Table) -> None:
    run = TableRun()
    assert sum(batch.num_rows for batch in table.scan(["id"], "id >= 1500").encoded_batches(run)) == 1_500
    assert [file.rows for file in run.files] == [1_000, 500]  # the log lists the newest file first
    found = table.scan(["id"], "id >= 1500").explain()
    assert (found.rows, found.files_read, found.files_total, found.pruned_by_statistics) == (1_500, 2, 3, 1)
    assert found.columns == ("id",)
    assert table.scan(["id"]).limit(5).explain().rows == 5
    assert table.scan(["id"]).limit(5).explain().files_read == 1


def test_small_local_scans_start_no_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = sl.Table.create(tmp_path / "t", pa.schema([("id", pa.int64())]))
    for number in range(3):
        table.append(pa.table({"id": [number]}))
    started: list[int] = []

    def pool(threads: int, thread_name_prefix: str) -> ThreadPoolExecutor:
        started.append(threads)
        return ThreadPoolExecutor(threads, thread_name_prefix)

    monkeypatch.setattr(runner, "ThreadPoolExecutor", pool)
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [0, 1, 2]
    assert started == []
    assert sorted(table.scan(threads=3).to_arrow()["id"].to_pylist()) == [0, 1, 2]
    assert started == [3]
