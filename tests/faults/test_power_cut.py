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
State = tuple[int, list[str]] | None


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": list(ids), "p": [f"p{i % 2}" for i in ids]}, SCHEMA)


def state(root: Path) -> State:
    """The version and rows of a table, or None without one. Reading shows that its files are there."""
    try:
        table = sl.Table(root)
    except sl.NotATable:
        return None
    found = table.scan(threads=1).to_arrow()
    plain = [sl.to_json(column) if sl.is_variant(column.type) else column for column in found.columns]
    return table.version, sorted(map(str, pa.table(plain, found.column_names).to_pylist()))


def rejected(root: Path) -> list[State]:
    """The rejects of the table's jobs: they are on the disk before the rows of their job are."""
    return [state(root.with_name(f"{root.name}_{name}")) for name in ("rejects", "unparsed")]


OPERATIONS: list[Callable[[Path], object]] = [
    lambda root: sl.Table.create(root, SCHEMA, ["p"], {"delta.checkpointInterval": "2"}),
    lambda root: sl.Table(root).append(rows(1, 2)),
    lambda root: sl.Table(root).append(rows(3, 5)),
    lambda root: sl.Table(root).delete("id = 3"),
    lambda root: sl.Table(root).overwrite(rows(7), where="id >= 2"),
    lambda root: sl.Table(root).optimize(threads=1),
]


TEXTS = pa.schema([("id", pa.int64()), ("p", pa.string()), ("j", pa.string()), ("v", sl.variant())])


def texts(*ids: int) -> pa.Table:
    """Rows of `TEXTS`; the text of every fifth is not JSON."""
    cut = [f'{{"n": {i}}}'[: 5 if i % 5 == 0 else None] for i in ids]
    columns = {"id": list(ids), "p": [f"p{i % 2}" for i in ids], "j": cut}
    return pa.table({**columns, "v": sl.from_json([f'{{"id": {i}}}' for i in ids])}, TEXTS)


def ingest(root: Path, number: int) -> object:
    """Ingests two files, one with a document that is not JSON, from beside the disk that is cut."""
    sources = [root.parents[2] / f"source {number}{half}.ndjson" for half in "ab"]
    for source in sources:
        source.write_text(f'{{"id": {number}}}\n')
    sources[0].write_text('{"id": 5}\n{"id": \n')
    computed = {"p": "v:id::string", "id": "v:id::bigint"}
    return sl.ingest(sources, root, threads=1, task_bytes=1, computed=computed, max_rejects=1)


JOBS: list[Callable[[Path], object]] = [
    lambda root: sl.Table.create(root, TEXTS, ["p"], {"delta.checkpointInterval": "3"}),
    lambda root: ingest(root, 1),
    lambda root: sl.Table(root).append(texts(1, 2, 5)),
    lambda root: ingest(root, 2),
    lambda root: sl.Table(root).restore(2),
    lambda root: sl.Table(root).vacuum(retention_hours=0, enforce_retention=False, dry_run=False),
    lambda root: sl.convert(root, ["j"], rejects=f"{root}_unparsed", file_bytes=1, threads=1),
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
        before = acknowledged[-1]
        disk.moments.clear()
        with disk.watched():
            operate(live / "deep" / "t")
        after = state(live / "deep" / "t")
        *during, done = disk.moments
        for moment in (*during, done):
            allowed = [after] if moment is done else [before, after]
            for names in (False, True):
                left = folder / f"{number}-{checked}"
                moment.leave(left, names=names)
                key = f"{allowed} {_content(left)}"
                if key not in seen:
                    found = state(left / "deep" / "t")
                    assert found in allowed, f"operation {number} left {found}, not one of {allowed}"
                    if found != before:
                        assert rejected(left / "deep" / "t") == rejected(live / "deep" / "t"), f"{number}"
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


def test_acknowledged_jobs_survive_a_power_cut(tmp_path: Path) -> None:
    """Ingest with rejects, restore, vacuum and convert."""
    assert cut_at_every_moment(tmp_path, JOBS) > 40


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


@pytest.mark.parametrize("breaks", [no_folder_sync, no_commit_sync, no_data_sync])
def test_a_missing_sync_of_a_job_is_found(
    breaks: Callable[[pytest.MonkeyPatch], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaks(monkeypatch)
    with pytest.raises((AssertionError, sl.ShredlakeError)):
        cut_at_every_moment(tmp_path, JOBS[:2])


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
