"""Operations whose storage fails at one moment; tests/faults lets every call fail."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.delta.storage import local_files
from shredlake.delta.storage.local_files import LocalFiles
from shredlake.delta.storage.storage import Storage

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": list(ids), "p": [f"p{i % 2}" for i in ids]}, SCHEMA)


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


def data_files(root: Path) -> set[str]:
    found = (path for path in root.rglob("*.parquet") if "_delta_log" not in path.parts)
    return {str(path.relative_to(root)) for path in found}


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
            for name in ("load_snapshot", "latest_snapshot"):
                patch.setattr(f"shredlake.table.{name}", fail)
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


def failing(*_: object) -> None:
    raise OSError(errno.EIO, "the disk fails")


def test_a_commit_that_the_disk_does_not_confirm_is_uncertain(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "table"
    shutil.copytree(template, root)
    table = sl.Table(root)
    table.set_properties({"other": "1"})  # the folder of the log is known to be on disk from here on
    with monkeypatch.context() as patch:
        patch.setattr(local_files, "sync_directory", failing)
        with pytest.raises(sl.CommitUncertain, match="is in the log, but the disk did not confirm it"):
            table.set_properties({"mine": "x"})
    assert sl.Table(root).properties["mine"] == "x"


def test_vacuum_stops_if_it_can_t_tell_what_a_path_leads_to(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log names a file through a link; it must not be deleted because the link fails."""
    root = tmp_path / "table"
    shutil.copytree(template, root)
    table = sl.Table(root)
    path = table.files().column("path").to_pylist()[0]
    folder = root / path.rpartition("/")[0]
    folder.rename(root / "elsewhere")
    folder.symlink_to(root / "elsewhere")
    before = data_files(root)
    with monkeypatch.context() as patch:
        patch.setattr(LocalFiles, "identity", failing)
        with pytest.raises(sl.TableError, match="the disk fails"):
            table.vacuum(retention_hours=0, enforce_retention=False, dry_run=False)
    assert data_files(root) == before


def test_a_store_that_can_t_be_listed_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Storage("memory://unlisted/t").store
    monkeypatch.setattr("obstore.list", failing)
    with pytest.raises(sl.ShredlakeError, match=r"can't be listed: .*the disk fails"):
        sl.scan_parquet("folder/", store=store).count()
