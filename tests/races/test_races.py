"""Concurrent writers, readers, optimize and vacuum: one order of all operations explains every observation.

Threads here, a few commits each; `make races` runs 8 processes with 25 commits each, also on S3. The second
half shows that the checker rejects stores and writers that are broken.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from races.history import NotSerialisable, Record, check, read_records
from races.worker import SCHEMA, Worker
from shredlake.delta.storage.local_files import LocalFiles
from shredlake.delta.write import transaction
from shredlake.delta.write.append import append
from shredlake.delta.write.delete import delete


@pytest.mark.parametrize("place", ["local", "memory"])
def test_a_race_is_serialisable(place: str, tmp_path: Path) -> None:
    uri = str(tmp_path / "t") if place == "local" else f"memory://races/{tmp_path.name}"
    log, done = tmp_path / "log", tmp_path / "done"
    log.mkdir()
    sl.Table.create(uri, SCHEMA, properties={"delta.checkpointInterval": "5"})
    failed: list[BaseException] = []

    def run(act: Callable[[], None]) -> threading.Thread:
        def guarded() -> None:
            try:
                act()
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=guarded)
        thread.start()
        return thread

    def worker(number: int, **more: Any) -> Worker:
        return Worker(f"w{number}", uri, str(log), seed=number, done=str(done), **more)

    writers = [run(worker(number, commits=4).write) for number in (1, 2, 3)]
    others = [run(worker(7).read), run(worker(8, hours=0.1).vacuum)]
    for thread in writers:
        thread.join()
    done.touch()
    for thread in others:
        thread.join()
    assert failed == []
    table = sl.Table(uri)
    assert (log / "vacuumed").read_text() == "0", "no file was old enough to be vacuumed"
    summary = check(table, read_records(log))
    assert summary.versions >= 12
    assert summary.reads


# ── The checker rejects what is broken ──────────────────────────────────────────────────────────────────


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": list(ids), "g": [0] * len(ids)}, SCHEMA)


def did(kind: str, version: int, **arguments: Any) -> Record:
    """An operation that lasted from now on, so that times exclude no order."""
    return Record("test", kind, 0.0, time.monotonic() + 1e6, version, {"group": 0, **arguments})


def test_a_store_that_overwrites_commits_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalFiles, "create", LocalFiles.put)
    table = sl.Table.create(tmp_path / "t", SCHEMA)
    stale = table.snapshot
    records = [did("append", table.append(rows(1)), ids=[1]), did("append", append(stale, rows(2)), ids=[2])]
    with pytest.raises(NotSerialisable, match="two operations were told version 1"):
        check(sl.Table(tmp_path / "t"), records)
    with pytest.raises(NotSerialisable, match="other rows"):
        check(sl.Table(tmp_path / "t"), records[:1])


def test_a_writer_that_ignores_conflicts_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A delete that did not see a row that was committed before it."""
    monkeypatch.setattr(transaction, "check_conflict", lambda *_: None)
    table = sl.Table.create(tmp_path / "t", SCHEMA)
    first = did("append", table.append(rows(1)), ids=[1])
    stale = table.snapshot
    second = did("append", table.append(rows(2)), ids=[2])
    third = did("delete", delete(stale, "g = 0 AND id <> -5"), tag=-5)
    with pytest.raises(NotSerialisable, match=r"other rows \(more: \[\(2, 0\)\]"):
        check(sl.Table(tmp_path / "t"), [first, second, third])


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (Record("r", "read", 6.0, 9.0, 1, {"rows": {"1": 0}}), "2 was acknowledged before"),
        (Record("r", "read", 0.0, 9.0, 2, {"rows": {"1": 0}}), "other rows"),
    ],
)
def test_a_reader_that_saw_what_never_was_is_rejected(read: Record, message: str, tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path / "t", SCHEMA)
    table.append(rows(1))
    table.append(rows(2))
    history = [
        Record("a", "append", 1.0, 2.0, 1, {"ids": [1]}),
        Record("b", "append", 3.0, 4.0, 2, {"ids": [2]}),
    ]
    seen = Record("r", "read", 6.0, 9.0, 2, {"rows": {"1": 0, "2": 0}})
    assert check(table, [*history, seen]).reads == 1
    with pytest.raises(NotSerialisable, match=message):
        check(table, [*history, read])


def test_operations_out_of_order_are_rejected(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path / "t", SCHEMA)
    table.append(rows(1))
    table.append(rows(2))
    records = [
        Record("a", "append", 3.0, 4.0, 1, {"ids": [1]}),
        Record("b", "append", 1.0, 2.0, 2, {"ids": [2]}),
    ]
    with pytest.raises(NotSerialisable, match="acknowledged before an operation with a lower version began"):
        check(table, records)
    with pytest.raises(NotSerialisable, match="no process made version 2"):
        check(table, records[:1])
