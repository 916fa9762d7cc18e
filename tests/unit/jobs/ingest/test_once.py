"""One rule says whether a table has the work of a job; the driver hashes new files, or tasks do."""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.delta.log.snapshot import Snapshot
from shredlake.jobs.engine import LocalEngine, SortJob, Task, Watch, Work, unwatched
from shredlake.jobs.ingest import once
from shredlake.jobs.ingest.ingest import IngestOptions, ingest_text
from shredlake.jobs.ingest.once import (
    TIME_BITS,
    Claim,
    already_done,
    claim_files,
    claim_job,
    is_contested,
    is_recorded,
)
from shredlake.jobs.ingest.sources import SourceFile, find_files
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


def table_with(place: Path, *transactions: tuple[str, int]) -> Snapshot:
    table = sl.Table.create(place, pa.schema([("id", pa.int64())]))
    for one in transactions:
        table.append(pa.table({"id": [1]}), transaction=one)
    return table.refresh().snapshot


def files(folder: Path) -> list[SourceFile]:
    (folder / "a.ndjson").write_text('{"a": 1}\n')
    return list(find_files([str(folder / "a.ndjson")], {}))


@pytest.mark.parametrize(("version", "recorded"), [(4, True), (5, True), (6, False)])
def test_a_later_version_of_an_id_includes_earlier_ones(version: int, recorded: bool, tmp_path: Path) -> None:
    snapshot = table_with(tmp_path / "t", ("app", 5))
    assert is_recorded(snapshot, ("app", version)) is recorded
    assert claim_job(("app", version)).is_done(snapshot) is recorded
    assert (already_done(snapshot, claim_job(("app", version))) is not None) is recorded
    assert not is_recorded(snapshot, ("other", version))


def test_the_content_of_a_file_decides_not_the_order_of_its_versions(tmp_path: Path) -> None:
    [(name, version)] = claim_files(
        table_with(tmp_path / "empty"), files(tmp_path), {}, LocalEngine(1)
    ).transactions
    snapshot = table_with(tmp_path / "t", (name, version))
    assert is_recorded(snapshot, (name, version ^ 1)), "only its time differs"
    for other in (version - (1 << TIME_BITS), version + (1 << TIME_BITS)):
        assert not is_recorded(snapshot, (name, other))


def test_a_table_made_meanwhile_contests_an_id_whatever_its_version(tmp_path: Path) -> None:
    snapshot = table_with(tmp_path / "t", ("app", 5))
    assert [is_contested(snapshot, [("new", 1), ("app", version)]) for version in (4, 5, 6)] == [True] * 3
    assert not is_contested(snapshot, [("new", 1)])
    assert not is_contested(snapshot, [])


def test_files_that_the_table_has_are_skipped(tmp_path: Path) -> None:
    claim = claim_files(table_with(tmp_path / "empty"), files(tmp_path), {}, LocalEngine(1))
    snapshot = table_with(tmp_path / "t", *claim.transactions)
    assert already_done(table_with(tmp_path / "other"), claim) is None
    report = already_done(snapshot, claim_files(snapshot, files(tmp_path), {}, LocalEngine(1)))
    assert report is not None
    assert (report.already_done, report.skipped, report.version) == (True, 1, snapshot.version)
    assert not Claim("key", ()).is_done(snapshot), "nothing is claimed"
