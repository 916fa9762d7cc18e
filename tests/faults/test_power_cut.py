"""An acknowledged commit survives a power cut, and at every moment before it the table is whole."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from faults.power import Disk
from shredlake.delta.storage import local_files
from shredlake.parquet.io import destination

if not Path("/proc/self/fd").is_dir():
    pytest.skip("needs /proc", allow_module_level=True)

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])
State = tuple[int, list[int]] | None


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": list(ids), "p": [f"p{i % 2}" for i in ids]}, SCHEMA)


def state(root: Path) -> State:
    """The version and rows of a table, or None without one. Reading shows that its files are there."""
    try:
        table = sl.Table(root)
    except sl.NotATable:
        return None
    return table.version, sorted(table.scan(threads=1).to_arrow().column("id").to_pylist())


OPERATIONS: list[Callable[[Path], object]] = [
    lambda root: sl.Table.create(root, SCHEMA, ["p"], {"delta.checkpointInterval": "2"}),
    lambda root: sl.Table(root).append(rows(1, 2)),
    lambda root: sl.Table(root).append(rows(3, 5)),
    lambda root: sl.Table(root).delete("id = 3"),
    lambda root: sl.Table(root).overwrite(rows(7), where="id >= 2"),
    lambda root: sl.Table(root).optimize(threads=1),
]


def cut_at_every_moment(folder: Path, operations: list[Callable[[Path], object]]) -> int:
    """Runs operations on a new table, and checks what a power cut leaves at every moment of them."""
    live = folder / "live"
    live.mkdir()
    local_files._synced.clear()
    disk = Disk(live)
    acknowledged: list[State] = [None]
    checked = 0
    seen: set[str] = set()
    for number, operate in enumerate(operations):
        disk.moments.clear()
        with disk.watched():
            operate(live / "deep" / "t")
        after = state(live / "deep" / "t")
        *during, done = disk.moments
        for moment in (*during, done):
            allowed = [after] if moment is done else [acknowledged[-1], after]
            for names in (False, True):
                left = folder / f"{number}-{checked}"
                moment.leave(left, names=names)
                key = f"{allowed} {_content(left)}"
                if key not in seen:
                    found = state(left / "deep" / "t")
                    assert found in allowed, f"operation {number} left {found}, not one of {allowed}"
                    checked += 1
                    left = left.rename(folder / f"checked-{number}-{checked}")
                    seen.add(key)
                else:
                    _remove(left)
        acknowledged.append(after)
    return checked


def _content(folder: Path) -> str:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return " ".join(f"{path.relative_to(folder)}:{path.stat().st_size}" for path in found)


def _remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()


def test_acknowledged_commits_survive_a_power_cut(tmp_path: Path) -> None:
    assert cut_at_every_moment(tmp_path, OPERATIONS) > 20


def no_folder_sync(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(local_files, "sync_directory", lambda path: None)


def no_commit_sync(patch: pytest.MonkeyPatch) -> None:
    def write(path: str, data: bytes) -> None:
        Path(path).write_bytes(data)

    patch.setattr(local_files, "_write", write)


def no_data_sync(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(destination, "_sync", lambda path: None)


@pytest.mark.parametrize("breaks", [no_folder_sync, no_commit_sync, no_data_sync])
def test_a_missing_sync_is_found(
    breaks: Callable[[pytest.MonkeyPatch], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaks(monkeypatch)
    with pytest.raises((AssertionError, sl.ShredlakeError)):
        cut_at_every_moment(tmp_path, OPERATIONS[:2])


def test_a_folder_that_another_process_made_is_synced(tmp_path: Path) -> None:
    """The other one was killed before it synced the name of the partition's folder."""
    live = tmp_path / "live"
    live.mkdir()
    sl.Table.create(live / "t", SCHEMA, ["p"])
    disk = Disk(live)
    os.mkdir(live / "t" / "p=p1")
    with disk.watched():
        sl.Table(live / "t").append(rows(1))
    # Commit 0 was written before the disk was watched, so its content is not known to be on it.
    inode = os.stat(live / "t" / "p=p1").st_ino
    moment = disk.moments[-1]
    assert inode in moment.synced[os.stat(live / "t").st_ino].values()
