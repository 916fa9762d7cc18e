"""Every call to storage fails, one after the other: tables hold what they held before or hold it all."""

from __future__ import annotations

import errno
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from faulty_storage import Door, Fault, faults
from shredlake.delta.write import transaction as commits

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": list(ids), "p": [f"p{i % 2}" for i in ids]}, SCHEMA)


OPERATIONS: dict[str, Callable[[Path], object]] = {
    "append": lambda root: sl.Table(root).append(rows(10, 11)),
    "overwrite": lambda root: sl.Table(root).overwrite(rows(20)),
    "overwrite where": lambda root: sl.Table(root).overwrite(rows(4), where="id >= 3"),
    "delete": lambda root: sl.Table(root).delete("id % 3 = 1"),
    "set properties": lambda root: sl.Table(root).set_properties({"mine": "x"}),
    "add column": lambda root: sl.Table(root).add_column(pa.field("more", pa.string())),
    "restore": lambda root: sl.Table(root).restore(1),
    "checkpoint": lambda root: sl.Table(root).checkpoint(),
    "vacuum": lambda root: sl.Table(root).vacuum(retention_hours=0, enforce_retention=False, dry_run=False),
    "create": lambda root: sl.Table.create(root / "new", SCHEMA),
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four versions with partitions and change data; the next commit writes a checkpoint."""
    root = tmp_path_factory.mktemp("faults") / "template"
    properties = {"delta.enableChangeDataFeed": "true", "delta.checkpointInterval": "4"}
    table = sl.Table.create(root, SCHEMA, partition_by=["p"], properties=properties)
    table.append(rows(1, 2))
    table.append(rows(3, 4, 5))
    table.delete("id = 2")
    return root


def state(root: Path) -> object:
    """All that a table holds, or None where there is none. Reading it all shows that its files are there."""
    if root.name == "new" and not (root / "_delta_log").exists():
        return None
    try:
        table = sl.Table(root)
    except sl.NotATable:
        return None
    found = sorted(table.scan(["id"]).to_arrow().column("id").to_pylist())
    return found, table.schema.names, table.properties.get("mine")


def data_files(root: Path) -> set[str]:
    found = (path for path in root.rglob("*.parquet") if "_delta_log" not in path.parts)
    return {str(path.relative_to(root)) for path in found}


def names_in_log(root: Path) -> str:
    return "".join(path.read_text() for path in root.rglob("_delta_log/*.json"))


def attempt(root: Path, operation: Callable[[Path], object], fault: Fault | None) -> tuple[Door, object]:
    """Runs an operation; returns what went through the door, and the error if there was one."""
    with faults(fault) as door, warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            operation(root)
        except sl.ShredlakeError as error:  # anything else is a failure of the test
            return door, error
    return door, None


@pytest.mark.parametrize("when", ["before", "after", "torn", "away", "full"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_any_call_may_fail(
    name: str, when: str, template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "READ_BACK_WAITS", (0.0, 0.0, 0.0))
    operation = OPERATIONS[name]
    whole = tmp_path / "whole"
    shutil.copytree(template, whole)
    calls, error = attempt(whole, operation, None)
    assert error is None
    place = "new" if name == "create" else ""
    before, after = state(template / place), state(whole / place)
    for number, (kind, _) in enumerate(calls.calls):
        if when in ("torn", "full") and kind not in ("put", "create", "data"):
            continue
        fault = {
            "before": Fault(number),
            "after": Fault(number, "after"),
            "torn": Fault(number, "torn"),
            "away": Fault(number, "after", calls=3),
            "full": Fault(number, error=errno.ENOSPC),
        }[when]
        root = tmp_path / str(number)
        shutil.copytree(template, root)
        _, error = attempt(root, operation, fault)
        found = state(root / place)
        where = f"{name}, call {number} ({calls.calls[number]}) fails {when}: {error}"
        assert found in (before, after), where
        if error is None:
            assert found == after, where
        elif not isinstance(error, sl.CommitUncertain):
            assert found == before, where
            if kind != "delete" and when != "away":
                log = names_in_log(root)
                left = [file for file in data_files(root) if file.rpartition("/")[2] not in log]
                assert not left, where
        shutil.rmtree(root)


def test_a_store_that_stays_away_keeps_the_files(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit is in the log, nobody can see it: no certainty, so nothing is deleted."""
    monkeypatch.setattr(commits, "READ_BACK_WAITS", (0.0,))
    root = tmp_path / "table"
    shutil.copytree(template, root)
    table = sl.Table(root)
    with (
        faults(Fault(0, "after", calls=50, operation="create")),
        pytest.raises(sl.CommitUncertain, match="may have been committed or not"),
    ):
        table.append(rows(7))
    assert 7 in sl.Table(root).scan(["id"]).to_arrow().column("id").to_pylist()


def test_a_commit_whose_reload_fails_has_not_failed(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    root = tmp_path / "table"
    shutil.copytree(template, root)
    table = sl.Table(root)

    def fail(*_: object) -> None:
        raise sl.TableError("the network is down")

    with monkeypatch.context() as patch:
        real = sl.Table._moved

        def moved(self: sl.Table, version: int) -> int:
            patch.setattr("shredlake.table.load_snapshot", fail)
            return real(self, version)

        patch.setattr(sl.Table, "_moved", moved)
        assert table.append(rows(7)) == 4
        with pytest.raises(sl.TableError, match="network is down"):
            table.scan()
    assert "version 4 is committed, but could not be read: the network is down" in caplog.text
    assert table.version == 4
    assert table.scan().count() == 5


@pytest.mark.parametrize(
    "act", [lambda t: t.delete("id % 3 = 1"), lambda t: t.overwrite(rows(4), where="id >= 1")]
)
def test_a_write_that_fails_halfway_leaves_no_files(
    template: Path, tmp_path: Path, act: Callable[[sl.Table], int]
) -> None:
    """The last file is damaged, so the rewrites of those before it were in vain."""
    root = tmp_path / "table"
    shutil.copytree(template, root)
    table = sl.Table(root)
    last = table.files().column("path").to_pylist()[-1]
    (root / last).write_bytes(b"PAR1 garbage PAR1")
    before = data_files(root)
    with pytest.raises(sl.ShredlakeError):
        act(table)
    assert data_files(root) == before


def test_create_waits_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commit and each directory on the way to it are synced before the commit is acknowledged."""
    import os

    synced: list[str] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{handle}"))
        real(handle)

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("needs /proc")
    monkeypatch.setattr(os, "fsync", fsync)
    root = tmp_path / "deep" / "table"
    table = sl.Table.create(root, SCHEMA)
    assert str(tmp_path) in synced
    assert str(root / "_delta_log") in synced
    assert any(".00000000000000000000.json." in path for path in synced)
    synced.clear()
    table.append(rows(1))
    assert synced[-1] == str(root / "_delta_log")
    assert any(path.startswith(f"{root}/.part-") for path in synced)
