"""Concurrent commits: which ones conflict, and that no row is lost or duplicated."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, SHREDDED, numbered, rows_of
from shredlake.delta.log.files import as_adds
from shredlake.delta.log.snapshot import Snapshot, load_snapshot
from shredlake.delta.protocol.actions import Action, Add, DomainMetadata, Remove, Transaction, dumps
from shredlake.delta.storage.storage import Storage
from shredlake.delta.write import commit as committing
from shredlake.delta.write import transaction as commits
from shredlake.delta.write.commit import commit
from shredlake.delta.write.restore import restore
from shredlake.delta.write.transaction import WHOLE_TABLE, Operation, Reads, add_version

WRITE = Operation("TEST")


@pytest.fixture
def table(tmp_path: Path) -> sl.Table:
    made = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=SHREDDED)
    made.append(numbered(0, 10))
    made.append(numbered(10, 20))
    return made


def add(name: str, **fields: Any) -> Add:
    return Add(name, 1, 1, **fields)


def ids(table: sl.Table) -> list[int]:
    return sorted(sl.Table(table.uri).scan(["id"]).to_arrow().column("id").to_pylist())


def files_of(snapshot: Snapshot) -> list[Add]:
    return as_adds(snapshot.files.table())


def race(table: sl.Table, theirs: Callable[[Snapshot], int], ours: Callable[[Snapshot], int]) -> int:
    """Both plan on the same version; theirs is committed first."""
    snapshot = load_snapshot(table.snapshot.storage)
    theirs(snapshot)
    return ours(snapshot)


def test_appends_both_stand(table: sl.Table) -> None:
    version = race(
        table,
        lambda s: commit(s, [add("theirs")], WRITE),
        lambda s: commit(s, [add("ours")], WRITE),
    )
    assert version == 4
    assert {"theirs", "ours"} <= set(sl.Table(table.uri).files().column("path").to_pylist())


@pytest.mark.parametrize("property_", [{"mine": "x"}, {"delta.enableChangeDataFeed": "true"}])
def test_metadata_and_protocol_changes_conflict_with_everything(
    table: sl.Table, property_: dict[str, str]
) -> None:
    with pytest.raises(
        sl.CommitConflict, match=r"version 3, committed meanwhile, changed the table's (metadata|protocol)"
    ):
        race(
            table,
            lambda s: table.set_properties(property_),
            lambda s: commit(s, [add("ours")], WRITE),
        )


def test_two_that_remove_the_same_file(table: sl.Table) -> None:
    def removing(snapshot: Snapshot) -> int:
        return commit(snapshot, [files_of(snapshot)[0].removal(1)], WRITE)

    with pytest.raises(
        sl.CommitConflict, match=r"version 3, committed meanwhile, removed part-.* which this operation"
    ):
        race(table, removing, removing)


def test_two_that_remove_different_files(table: sl.Table) -> None:
    assert (
        race(
            table,
            lambda s: commit(s, [files_of(s)[0].removal(1)], WRITE),
            lambda s: commit(s, [files_of(s)[1].removal(1)], WRITE),
        )
        == 4
    )
    assert ids(table) == []


def test_a_file_that_was_read_and_is_gone(table: sl.Table) -> None:
    with pytest.raises(sl.CommitConflict, match="removed part-"):
        race(
            table,
            lambda s: commit(s, [files_of(s)[0].removal(1)], WRITE),
            lambda s: commit(s, [add("ours")], WRITE, Reads(frozenset({files_of(s)[0].key}))),
        )


def test_rows_that_should_have_been_read(table: sl.Table) -> None:
    with pytest.raises(sl.CommitConflict, match="added rows that this operation would have had to read"):
        race(
            table,
            lambda s: commit(s, [add("theirs")], WRITE),
            lambda s: commit(s, [add("ours")], WRITE, WHOLE_TABLE),
        )


def test_a_restore_minds_files_that_it_would_have_kept(table: sl.Table) -> None:
    """A file that both versions have, removed meanwhile, would be missing from what is restored."""
    old, current = load_snapshot(table.snapshot.storage, 1), load_snapshot(table.snapshot.storage)
    table.delete("id < 10")
    with pytest.raises(sl.CommitConflict, match="removed part-"):
        restore(current, old)
    assert table.restore(1) == 4
    assert ids(table) == list(range(10))


def test_rearranged_rows_are_not_new_rows(table: sl.Table) -> None:
    """An optimize adds files with dataChange=false: nothing that a reader would have missed."""
    version = race(
        table,
        lambda s: commit(s, [add("theirs", data_change=False)], WRITE),
        lambda s: commit(s, [add("ours")], WRITE, WHOLE_TABLE),
    )
    assert version == 4


@pytest.mark.parametrize(
    ("theirs", "clash"),
    [
        (Transaction("app", 5), True),
        (Transaction("other", 5), False),
        (DomainMetadata("d", "x"), True),
        (DomainMetadata("e", "x"), False),
    ],
)
def test_transactions_and_domains(table: sl.Table, theirs: Any, clash: bool) -> None:
    ours: list[Action] = [add("ours"), Transaction("app", 6), DomainMetadata("d", "y")]

    def run() -> int:
        return race(table, lambda s: commit(s, [theirs], WRITE), lambda s: commit(s, ours, WRITE))

    if clash:
        with pytest.raises(sl.CommitConflict, match=r"also set (Transaction 'app'|DomainMetadata 'd')"):
            run()
    else:
        assert run() == 4


def test_many_winners_are_checked_one_after_the_other(table: sl.Table) -> None:
    snapshot = load_snapshot(table.snapshot.storage)
    for number in range(5):
        commit(load_snapshot(table.snapshot.storage), [add(f"theirs-{number}")], WRITE)
    assert commit(snapshot, [add("ours")], WRITE) == 8


def test_attempts_are_bounded(table: sl.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "try_commit", lambda *_: False)
    monkeypatch.setattr(commits, "_read_back", lambda *_: b"theirs")
    with pytest.raises(
        sl.CommitConflict, match=r"gave up after 3 attempts .* Nothing was changed: try again"
    ):
        add_version(table.snapshot, [add("ours")], WRITE, max_attempts=3)


def test_a_lost_answer_is_not_a_conflict(table: sl.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store took the commit, but its answer got lost and the retry finds the version there."""
    real = commits.try_commit

    def forgetful(*arguments: Any) -> bool:
        real(*arguments)
        return False

    monkeypatch.setattr(commits, "try_commit", forgetful)
    assert commit(table.snapshot, [add("ours")], WRITE) == 3
    assert sl.Table(table.uri).version == 3


def failing_store(monkeypatch: pytest.MonkeyPatch, *, after_the_put: bool) -> None:
    """A store whose connection breaks while a commit is written."""
    real = Storage.create

    def create(self: Storage, path: str, data: bytes) -> None:
        if after_the_put:
            real(self, path, data)
        raise sl.TableError(f"{path} could not be written: connection reset")

    monkeypatch.setattr(Storage, "create", create)


@pytest.mark.parametrize("after_the_put", [True, False])
def test_a_store_that_fails_while_committing(monkeypatch: pytest.MonkeyPatch, after_the_put: bool) -> None:
    """Files of a commit that may stand are never deleted."""
    table = sl.Table.create(f"memory://commits/{uuid4()}", ID_AND_VARIANT)
    storage = table.snapshot.storage
    failing_store(monkeypatch, after_the_put=after_the_put)
    if after_the_put:
        assert table.append(numbered(0, 3)) == 1
        assert ids(table) == [0, 1, 2]
        return
    with pytest.raises(sl.CommitUncertain, match=r"version 1 may have been committed or not .*history\(\)"):
        table.append(numbered(0, 3))
    assert len([entry for entry in storage.list() if entry.path.startswith("part-")]) == 1


def test_a_disk_that_fails_while_committing(
    table: sl.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.name for path in tmp_path.glob("part-*.parquet")}
    failing_store(monkeypatch, after_the_put=False)
    with pytest.raises(sl.TableError, match="connection reset") as caught:
        table.append(numbered(0, 3))
    assert not isinstance(caught.value, sl.CommitUncertain)
    assert {path.name for path in tmp_path.glob("part-*.parquet")} == before


def test_an_interrupt_leaves_the_files_to_vacuum(table: sl.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    real = add_version

    def interrupted(*arguments: Any) -> int:
        real(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(committing, "add_version", interrupted)
    with pytest.raises(KeyboardInterrupt):
        table.append(numbered(20, 22))
    assert ids(table) == list(range(22))


def test_the_same_transaction_twice_at_a_time(table: sl.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, mark = numbered(20, 22), ("loader", 7)
    meanwhile(monkeypatch, table, lambda: sl.Table(table.uri).append(rows, transaction=mark))
    assert table.append(rows, transaction=mark) == 3
    assert ids(table) == list(range(22))


# ── Plans that are made again ───────────────────────────────────────────────────────────────────────────


def test_a_delete_is_planned_again_when_rows_come_that_it_must_take(
    table: sl.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    meanwhile(monkeypatch, table, lambda: sl.Table(table.uri).append(numbered(5, 7)))
    table.delete("v:a::bigint between 5 and 6")
    assert ids(table) == [n for n in range(20) if n not in (5, 6)]


def test_a_delete_does_not_mind_rows_that_it_would_not_take(
    table: sl.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans = meanwhile(monkeypatch, table, lambda: sl.Table(table.uri).append(numbered(100, 110)))
    table.delete("v:a::bigint between 5 and 6")
    assert len(plans) == 1, "statistics of the new file rule it out"
    assert ids(table) == [n for n in [*range(20), *range(100, 110)] if n not in (5, 6)]


def test_two_deletes_of_the_same_file(table: sl.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    meanwhile(monkeypatch, table, lambda: sl.Table(table.uri).delete("id = 3"))
    table.delete("id = 4")
    assert ids(table) == [n for n in range(20) if n not in (3, 4)]


def test_an_overwrite_is_planned_again(table: sl.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    meanwhile(monkeypatch, table, lambda: sl.Table(table.uri).append(numbered(50, 52)))
    table.overwrite(numbered(7, 9))
    assert ids(table) == [7, 8]


def test_plans_are_made_a_few_times_only(
    table: sl.Table, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plans = meanwhile(monkeypatch, table, lambda: sl.Table(table.uri).append(numbered(5, 6)), always=True)
    before = {path.name for path in tmp_path.glob("part-*.parquet")}
    with pytest.raises(sl.CommitConflict, match="added rows that this operation would have had to read"):
        table.delete("id = 5")
    assert len(plans) == committing.MAX_PLANS
    left = {path.name for path in tmp_path.glob("part-*.parquet")} - before
    assert len(left) == committing.MAX_PLANS, "only what the other writer committed is left"


def meanwhile(
    monkeypatch: pytest.MonkeyPatch, table: sl.Table, other: Callable[[], object], always: bool = False
) -> list[int]:
    """Lets another writer commit between a plan and its commit; returns a list that grows by each plan."""
    real = add_version
    plans: list[int] = []

    def slow(snapshot: Snapshot, *arguments: Any, **named: Any) -> int:
        if threading.current_thread() is not threading.main_thread() or getattr(slow, "busy", False):
            return real(snapshot, *arguments, **named)
        plans.append(snapshot.version)
        if always or len(plans) == 1:
            slow.busy = True  # type: ignore[attr-defined]
            other()
            slow.busy = False  # type: ignore[attr-defined]
        return real(snapshot, *arguments, **named)

    monkeypatch.setattr(committing, "add_version", slow)
    return plans


# ── Real races ──────────────────────────────────────────────────────────────────────────────────────────


def test_racing_threads(tmp_path: Path) -> None:
    sl.Table.create(tmp_path, ID_AND_VARIANT, properties={"delta.checkpointInterval": "5"})
    failures: list[Exception] = []

    def work(worker: int) -> None:
        try:
            table = sl.Table(tmp_path)
            for number in range(5):
                start = worker * 100 + number * 10
                table.append(numbered(start, start + 3))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    table = sl.Table(tmp_path)
    assert table.version == 20
    expected = [w * 100 + n * 10 + k for w in range(4) for n in range(5) for k in range(3)]
    assert ids(table) == sorted(expected)
    operations = [entry["version"] for entry in table.history()]
    assert operations == list(range(20, -1, -1))


def _append_in_process(root: str, worker: int) -> None:
    table = sl.Table(root)
    for number in range(4):
        table.append(rows_of([worker * 10 + number], [{"a": number}]))


@pytest.mark.slow
def test_racing_processes(tmp_path: Path) -> None:
    sl.Table.create(tmp_path, ID_AND_VARIANT)
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_append_in_process, args=(str(tmp_path), n)) for n in range(3)]
    for process in workers:
        process.start()
    for process in workers:
        process.join()
    assert [process.exitcode for process in workers] == [0, 0, 0]
    assert ids(sl.Table(tmp_path)) == sorted(w * 10 + n for w in range(3) for n in range(4))


def test_racing_deletes_and_appends(tmp_path: Path) -> None:
    """Each deleter takes its own rows; appenders go on: in the end all is as if done one by one."""
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=SHREDDED)
    for start in range(0, 40, 10):
        table.append(numbered(start, start + 10))
    failures: list[Exception] = []

    def work(job: Callable[[], object]) -> None:
        try:
            job()
        except Exception as error:
            failures.append(error)

    jobs: list[Callable[[], object]] = [
        lambda: sl.Table(tmp_path).delete("id < 10 and id % 2 = 0"),
        lambda: sl.Table(tmp_path).delete("id between 20 and 29 and v:a::bigint % 2 = 1"),
        lambda: sl.Table(tmp_path).append(numbered(100, 105)),
        lambda: sl.Table(tmp_path).append(numbered(200, 205)),
    ]
    threads = [threading.Thread(target=work, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    expected = (
        [n for n in range(10) if n % 2] + list(range(10, 20)) + [n for n in range(20, 30) if n % 2 == 0]
    )
    assert ids(sl.Table(tmp_path)) == [*expected, *range(30, 40), *range(100, 105), *range(200, 205)]


# ── What a commit says ──────────────────────────────────────────────────────────────────────────────────


# ── Logs that are no longer what was read ───────────────────────────────────────────────────────────────


def _moved(root: Path) -> None:
    root.rename(root.with_name("elsewhere"))


def _created_anew(root: Path) -> None:
    shutil.rmtree(root)
    sl.Table.create(root, pa.schema([("other", pa.string())]))


def _created_anew_with_as_many_versions(root: Path) -> None:
    _created_anew(root)
    for _ in range(3):
        sl.Table(root).append(pa.table({"other": ["x"]}))


def _cleaned_up(root: Path) -> None:
    """Another writer goes on, writes a checkpoint, and removes the commits before it."""
    for start in (20, 30):
        sl.Table(root).append(numbered(start, start + 10))
    sl.Table(root).checkpoint()
    for version in range(4):
        (root / "_delta_log" / f"{version:020}.json").unlink()


@pytest.mark.parametrize("change", [_moved, _created_anew, _created_anew_with_as_many_versions, _cleaned_up])
def test_a_commit_to_a_log_that_is_another_one_is_refused(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    """It would stand alone, leave a gap in the log of another table, or be lost behind a checkpoint."""
    table = sl.Table.create(tmp_path / "t", ID_AND_VARIANT)
    table.append(numbered(0, 10))
    table.append(numbered(10, 20))
    change(tmp_path / "t")
    before = sorted(tmp_path.rglob("*.json"))
    with pytest.raises(sl.CommitConflict, match="the log no longer has version 2 as it was read"):
        commit(table.snapshot, [add("x.parquet")], WRITE)
    assert sorted(tmp_path.rglob("*.json")) == before


def test_an_open_table_finds_what_became_of_it(tmp_path: Path) -> None:
    opened = sl.Table.create(tmp_path / "t", ID_AND_VARIANT)
    opened.append(numbered(0, 10))
    opened = sl.Table(opened.uri)
    _cleaned_up(tmp_path / "t")
    opened.append(numbered(40, 50))
    assert ids(opened) == [*range(10), *range(20, 50)]
    _created_anew(tmp_path / "t")
    opened.append(pa.table({"other": ["x"]}))
    assert sl.Table(opened.uri).scan().to_arrow().to_pylist() == [{"other": "x"}]
    with pytest.raises(sl.InvalidSchema, match="the table lacks"):
        opened.append(numbered(0, 10))
    _moved(tmp_path / "t")
    with pytest.raises(sl.NotATable):
        opened.append(pa.table({"other": ["x"]}))
    assert not (tmp_path / "t").exists()


def test_commit_info(table: sl.Table) -> None:
    path = Path(table.snapshot.storage.local_root) / "_delta_log" / f"{2:020}.json"
    first = json.loads(path.read_text().splitlines()[0])["commitInfo"]
    assert first["operation"] == "WRITE"
    assert first["operationParameters"] == {"mode": "Append", "partitionBy": "[]"}
    assert first["isBlindAppend"] is True
    assert first["readVersion"] == 1
    assert first["isolationLevel"] == "Serializable"
    assert first["operationMetrics"]["numOutputRows"] == "10"
    assert first["engineInfo"].startswith("shredlake/")
    assert len(first["txnId"]) == 36


def test_in_commit_timestamps_never_go_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    enabled = {"delta.enableInCommitTimestamps": "true"}
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=enabled)
    assert "inCommitTimestamp" in (table.protocol.writer_features or ())
    first = table.history()[0]["timestamp"]
    monkeypatch.setattr(time, "time", lambda: 1000.0)  # a clock far behind
    table.append(numbered(0, 1))
    lines = (tmp_path / "_delta_log" / f"{1:020}.json").read_text().splitlines()
    assert next(iter(json.loads(lines[0]))) == "commitInfo"
    second = table.history()[0]["timestamp"]
    assert (second - first).total_seconds() == pytest.approx(0.001)


def test_a_log_of_one_checkpoint_takes_commits_that_record_their_time(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties={"delta.enableInCommitTimestamps": "true"})
    table.append(numbered(0, 10))
    table.checkpoint()
    for commit_file in (tmp_path / "_delta_log").glob("*.json"):
        commit_file.unlink()
    sl.Table(tmp_path).append(numbered(10, 20))
    assert ids(table) == list(range(20))


def test_actions_survive_json() -> None:
    raw = {
        "path": "f",
        "partitionValues": {"p": None},
        "size": 1,
        "modificationTime": 2,
        "dataChange": True,
        "stats": "{}",
        "tags": {"k": "v"},
        "deletionVector": {"storageType": "i", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 2},
        "baseRowId": 5,
        "clusteringProvider": "liquid",
    }
    action = Add.from_json(raw)
    assert action.to_json() == raw
    removal = action.removal(9)
    assert Remove.from_json(json.loads(dumps([removal]))["remove"]) == removal
    assert removal.to_json()["extendedFileMetadata"] is True
    assert removal.key == action.key == ("f", "ix")


def test_nothing_is_written_to_a_table_we_can_not_write(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    log = tmp_path / "_delta_log" / f"{0:020}.json"
    log.write_text(log.read_text().replace('"appendOnly"', '"rowTracking"'))
    before = sorted(path.name for path in tmp_path.rglob("*"))
    table = sl.Table(tmp_path)
    assert table.scan().count() == 0
    for write in (
        lambda: table.append(numbered(0, 1)),
        lambda: table.overwrite(numbered(0, 1)),
        lambda: table.delete(),
        lambda: table.add_column(pa.field("x", pa.int8())),
        lambda: table.set_properties({"a": "b"}),
        lambda: table.checkpoint(),
        lambda: table.vacuum(),
        lambda: table.restore(0),
        lambda: table.optimize(),
    ):
        with pytest.raises(sl.UnsupportedFeature, match="writer feature rowTracking"):
            write()
    assert sorted(path.name for path in tmp_path.rglob("*")) == before
