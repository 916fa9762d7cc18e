"""The driver hashes new files, or tasks do where there is much to read. The hashes are the same."""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import shredlake as sl
from shredlake.jobs.engine import LocalEngine, SortJob, Task, Watch, Work, unwatched
from shredlake.jobs.ingest import once
from shredlake.jobs.ingest.ingest import IngestOptions, ingest_text
from shredlake.jobs.ingest.sources import find_files
from shredlake.jobs.report import IngestReport

FILES = 7


class OtherProcesses:
    """An engine whose tasks and results are pickled, as those of Spark are."""

    in_process = False
    parallelism = 2

    def __init__(self) -> None:
        self.jobs: list[int] = []

    def run(self, tasks: Sequence[Task], work: Work[Task], watch: Watch = unwatched) -> list[str]:
        self.jobs.append(len(tasks))
        sent = [pickle.loads(pickle.dumps(task)) for task in tasks]
        return LocalEngine(2).run(sent, pickle.loads(pickle.dumps(work)), watch)

    def check_sort_keys(self, sort_by: Sequence[str]) -> None:
        raise NotImplementedError

    def sort(self, tasks: Sequence[Task], job: SortJob[Task], watch: Watch = unwatched) -> list[str]:
        raise NotImplementedError


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"{number}.ndjson").write_text(f'{{"a": {number}}}\n' * 100)
    return folder


def ingest(engine: Any, source: Path, table: Path) -> IngestReport:
    return ingest_text(engine, str(source), str(table), IngestOptions())


def recorded(table: Path) -> dict[str, int]:
    transactions = sl.Table(str(table)).snapshot.transactions
    return {name: one.version for name, one in transactions.items()}


def test_tasks_hash_what_is_more_than_the_driver_reads(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver, workers = OtherProcesses(), OtherProcesses()
    ingest(driver, source, tmp_path / "by_driver")
    assert driver.jobs == [1]  # the job itself
    each = sum(once._cost(file) for file in find_files(str(source))) // FILES
    monkeypatch.setattr(once, "READ_BY_DRIVER", each * FILES - 1)
    monkeypatch.setattr(once, "READ_BY_TASK", each * 3)
    ingest(workers, source, tmp_path / "by_workers")
    assert workers.jobs == [3, 1]
    assert recorded(tmp_path / "by_workers") == recorded(tmp_path / "by_driver")
    assert len(recorded(tmp_path / "by_workers")) == FILES


def test_files_are_ingested_once_whoever_hashes_them(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "table"
    assert ingest(LocalEngine(2), source, table).rows == FILES * 100
    monkeypatch.setattr(once, "READ_BY_DRIVER", 0)
    for file in source.iterdir():
        os.utime(file, (1, 1))
    engine = OtherProcesses()
    assert ingest(engine, source, table).already_done
    assert engine.jobs == [1]  # hashes
    changed = source / "3.ndjson"
    changed.write_text('{"a": 9}\n' * 100)  # the same size
    report = ingest(engine, source, table)
    assert (report.rows, report.skipped) == (100, FILES - 1)
    engine.jobs.clear()
    assert ingest(engine, source, table).already_done
    assert engine.jobs == [1]  # the time of six files is not the recorded one
