"""Vacuum: what it deletes, what it leaves, and by which names it knows the files of the log."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import pyarrow as pa
import pytest

import shredlake as sl
from deletion_vectors import stored, with_vector
from delta_tables import (
    FEED,
    ID_AND_VARIANT,
    age,
    ids,
    numbered,
    paths,
    write_commit,
)
from shredlake.delta.storage.storage import Storage, decode_path
from shredlake.delta.write.vacuum import vacuum

SCHEMA = pa.schema([("id", pa.int64())])
OLD = time.time() - 30 * 86_400


def vacuumed(root: Path) -> list[str]:
    return sl.Table(root).vacuum(retention_hours=0, enforce_retention=False, dry_run=False)


def old_file(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (OLD, OLD))
    return path


def table_spelled(root: Path, name: str, spell: Callable[[Path, Path], str]) -> Path:
    """A table whose one file is called `name`, and spelled in the log as `spell(root, file)` says."""
    table = sl.Table.create(root, SCHEMA)
    table.append(pa.table({"id": [1]}))
    log = root / "_delta_log" / f"{1:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    [add] = [action["add"] for action in actions if "add" in action]
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    (root / add["path"]).rename(file)
    os.utime(file, (OLD, OLD))
    add["path"] = spell(root, file)
    log.write_text("".join(json.dumps(action) + "\n" for action in actions))
    return root


SPELLINGS: dict[str, tuple[str, Callable[[Path, Path], str]]] = {
    "dot": ("x.parquet", lambda root, file: "./x.parquet"),
    "dot inside": ("d/x.parquet", lambda root, file: "d/./x.parquet"),
    "two slashes": ("d/x.parquet", lambda root, file: "d//x.parquet"),
    "absolute": ("x.parquet", lambda root, file: str(file)),
    "absolute with two slashes": ("x.parquet", lambda root, file: f"{root}//x.parquet"),
    "absolute with two dots": ("x.parquet", lambda root, file: f"{root}/../{root.name}/x.parquet"),
    "URL with two dots": ("x.parquet", lambda root, file: f"file://{root}/../{root.name}/x.parquet"),
    "URL with a host": ("x.parquet", lambda root, file: f"file://localhost{file}"),
    "URL in capitals": ("x.parquet", lambda root, file: f"FILE://{file}"),
    "percent in the name": ("a%41b.parquet", lambda root, file: "a%2541b.parquet"),
    "percent in the name of a URL": ("a%41b.parquet", lambda root, file: f"file://{quote(str(file))}"),
    "more encoded than needed": ("a-b.parquet", lambda root, file: "a%2Db.parquet"),
    "hidden name": ("_x.parquet", lambda root, file: "_x.parquet"),
}


@pytest.mark.parametrize("case", SPELLINGS)
def test_a_live_file_stays_however_the_log_spells_it(tmp_path: Path, case: str) -> None:
    root = table_spelled(tmp_path / "t", *SPELLINGS[case])
    assert sl.Table(root).scan().to_arrow()["id"].to_pylist() == [1]
    assert vacuumed(root) == []
    assert sl.Table(root).scan().to_arrow()["id"].to_pylist() == [1]


def test_a_live_file_stays_though_its_folder_has_two_names(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    for name, made_in, opened_in in (("a", "real", "alias"), ("b", "alias", "real")):
        table_spelled(tmp_path / made_in / name, "x.parquet", lambda root, file: str(file))
        assert vacuumed(tmp_path / opened_in / name) == []
        assert sl.Table(tmp_path / opened_in / name).scan().count() == 1


def test_a_live_file_stays_though_the_log_names_a_link_to_it(tmp_path: Path) -> None:
    root = table_spelled(tmp_path / "t", "d/x.parquet", lambda root, file: "link/x.parquet")
    (root / "link").symlink_to(root / "d")
    assert vacuumed(root) == []
    assert sl.Table(root).scan().to_arrow()["id"].to_pylist() == [1]


def test_a_path_that_was_not_encoded_keeps_its_file(tmp_path: Path) -> None:
    root = table_spelled(tmp_path / "t", "a%41b.parquet", lambda root, file: "a%41b.parquet")
    assert vacuumed(root) == []


def test_links_are_not_followed(tmp_path: Path) -> None:
    thesis = old_file(tmp_path / "home" / "thesis.parquet", "years of work")
    root = tmp_path / "t"
    sl.Table.create(root, SCHEMA)
    (root / "link").symlink_to(tmp_path / "home")
    (root / "one.parquet").symlink_to(thesis)
    assert vacuumed(root) == []
    assert thesis.read_text() == "years of work"
    assert vacuum(sl.Table(root).snapshot).links == ["link", "one.parquet"]


def test_only_files_of_delta_writers_are_deleted(tmp_path: Path) -> None:
    sl.Table.create(tmp_path, SCHEMA)
    token, identity = uuid4().hex, uuid4()
    gone = [
        f".part-1.parquet.{token}.tmp",
        "_change_data/cdc-1.parquet",
        f"_delta_log/.{2:020}.checkpoint.parquet.{token}.tmp",
        f"_delta_log/{2:020}.json#1",
        f"_staging/job-1/{identity}.parquet",
        ".part-2.parquet.crc",
        "day=1/part-2.parquet",
        f"deletion_vector_{identity}.bin",
    ]
    kept = ["d1.ndjson", "raw/notes.txt", ".hidden", "_mine/x.parquet", "deletion_vector_1.bin", "x.tmp"]
    for name in (*gone, *kept):
        old_file(tmp_path / name)
    found = vacuum(sl.Table(tmp_path).snapshot)
    assert sorted(found.files) == sorted(gone)
    assert sorted(found.foreign) == ["d1.ndjson", "deletion_vector_1.bin", "raw/notes.txt", "x.tmp"]
    assert all((tmp_path / name).exists() for name in gone), "a dry run, by default"
    assert sorted(vacuumed(tmp_path)) == sorted(gone)
    assert not any((tmp_path / name).exists() for name in gone)
    assert all((tmp_path / name).exists() for name in kept)


def test_temporaries_of_writers_at_work_stay(tmp_path: Path) -> None:
    sl.Table.create(tmp_path, SCHEMA)
    young = tmp_path / f".part-1.parquet.{uuid4().hex}.tmp"
    young.write_text("x")
    assert sl.Table(tmp_path).vacuum() == []


def test_checksum_files_stay_with_their_files(tmp_path: Path) -> None:
    root = table_spelled(tmp_path / "t", "d/x.parquet", lambda root, file: "link/x.parquet")
    (root / "link").symlink_to(root / "d")
    old_file(root / "d" / ".x.parquet.crc")
    assert vacuumed(root) == []


@pytest.mark.parametrize("hours", [-1, -0.001, float("nan"), float("inf"), float("-inf")])
def test_a_retention_that_can_not_be(tmp_path: Path, hours: float) -> None:
    table = sl.Table.create(tmp_path, SCHEMA)
    with pytest.raises(sl.TableError, match="a retention is a number of hours, 0 or more"):
        table.vacuum(retention_hours=hours, enforce_retention=False)


@pytest.mark.parametrize("hours", [1e15, 1e308, 10**400])
def test_a_retention_of_ages_keeps_everything(tmp_path: Path, hours: float) -> None:
    table = sl.Table.create(tmp_path, SCHEMA)
    table.append(pa.table({"id": [1]}))
    table.delete("id = 1")
    old_file(tmp_path / "x.parquet")
    assert table.vacuum(retention_hours=hours, dry_run=False) == []


def test_a_property_of_ages_keeps_everything(tmp_path: Path) -> None:
    forever = "interval 99999999999999 weeks"
    table = sl.Table.create(tmp_path, SCHEMA, properties={"delta.deletedFileRetentionDuration": forever})
    table.append(pa.table({"id": [1]}))
    table.delete("id = 1")
    table.checkpoint()
    old_file(tmp_path / "x.parquet")
    assert sl.Table(tmp_path).vacuum(dry_run=False) == []


def test_a_table_inside_of_the_folder_keeps_its_files(tmp_path: Path) -> None:
    outer = sl.Table.create(tmp_path, SCHEMA)
    inner = sl.Table.create(tmp_path / "a" / "inner", SCHEMA)
    for table in (outer, inner):
        table.append(pa.table({"id": [1, 2]}))
    age(tmp_path, days=30)
    stray = old_file(tmp_path / "a" / "x.parquet")
    assert vacuumed(tmp_path) == ["a/x.parquet"]
    assert not stray.exists()
    assert ids(sl.Table(inner.uri)) == ids(sl.Table(outer.uri)) == [1, 2]
    old_file(tmp_path / "a" / "inner" / "x.parquet")
    assert vacuumed(tmp_path) == []
    assert vacuumed(tmp_path / "a" / "inner") == ["x.parquet"]


def test_folders_may_be_nested_deeper_than_python_calls(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, SCHEMA)
    old_file(tmp_path / "x.parquet")
    folder = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("d", dir_fd=folder)
        inner = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    assert table.vacuum() == ["x.parquet"]
    subprocess.run(["rm", "-r", tmp_path / "d"], check=True)  # shutil.rmtree calls itself for each folder


def test_a_file_of_the_far_future_is_not_old(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, SCHEMA)
    file = old_file(tmp_path / "x.parquet")
    try:
        os.utime(file, (1e12, 1e12))
    except OSError as error:
        pytest.skip(f"this file system has no such times: {error}")
    assert table.vacuum() == []


def test_object_stores(tmp_path: Path) -> None:
    uri = f"memory://vacuum/{uuid4()}"
    table = sl.Table.create(uri, SCHEMA)
    table.append(pa.table({"id": [1]}))
    Storage(uri).put("raw/d1.ndjson", b"{}")
    Storage(uri).put("lost.parquet", b"x")
    lost = Storage(uri).head("lost.parquet")
    assert lost is not None
    while time.time() <= lost.modified.timestamp() + 0.001:  # a file of this very moment is kept
        pass
    found = vacuum(table.snapshot, retention_hours=0, enforce_retention=False)
    assert (found.files, found.foreign) == (["lost.parquet"], ["raw/d1.ndjson"])


# ── A new table in a folder with other files ────────────────────────────────────────────────────────────


def test_a_folder_with_files_of_others_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d1.ndjson").write_text('{"id": 1}\n')
    with pytest.raises(
        sl.TableError, match=r"is not a table and not empty: it holds 'd1.ndjson'.*force=True"
    ):
        sl.Table.create(tmp_path, SCHEMA)
    assert not (tmp_path / "_delta_log").exists()
    assert sl.Table.create(tmp_path, SCHEMA, force=True).version == 0


@pytest.mark.parametrize("name", ["part-00000-x.c000.snappy.parquet", "year=2024/x.parquet"])
def test_a_folder_of_parquet_files_is_refused(tmp_path: Path, name: str) -> None:
    old_file(tmp_path / name)
    with pytest.raises(sl.TableError, match="not empty"):
        sl.Table.create(tmp_path, SCHEMA)


def test_a_prefix_with_objects_is_refused() -> None:
    uri = f"memory://create/{uuid4()}"
    Storage(uri).put("raw/d1.ndjson", b"{}")
    with pytest.raises(sl.TableError, match=r"it holds 'raw/d1\.ndjson'"):
        sl.Table.create(uri, SCHEMA)
    assert sl.Table.create(uri, SCHEMA, force=True).version == 0


def test_what_a_job_that_died_left_does_not_hold_the_next_one_off(tmp_path: Path) -> None:
    name = f"part-{uuid4()}.c000.zstd.parquet"
    for left in (name, f"day=1/{name}", f".{name}.{uuid4().hex}.tmp", "_delta_log/.x", ".DS_Store"):
        old_file(tmp_path / left)
    (tmp_path / "empty").mkdir()
    assert sl.Table.create(tmp_path, SCHEMA).version == 0


# ── Addresses ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_remove_means_the_file_however_it_is_spelled(tmp_path: Path) -> None:
    root = table_spelled(tmp_path / "t", "d/x.parquet", lambda root, file: "./d//x.parquet")
    commit = root / "_delta_log" / f"{2:020}.json"
    commit.write_text(json.dumps({"remove": {"path": "d/x.parquet", "dataChange": True}}) + "\n")
    assert sl.Table(root).scan().count() == 0
    assert sl.Table(root, 1).scan().count() == 1


def test_sidecars_without_a_checkpoint_are_deleted(tmp_path: Path) -> None:
    """Those that a checkpoint names stay, whatever the file of the checkpoint is called; so do young ones."""
    root = tmp_path / "t"
    table = sl.Table.create(root, SCHEMA, properties={"delta.checkpointPolicy": "v2"})
    table.append(pa.table({"id": [1]}))
    table.checkpoint()
    sidecars = root / "_delta_log" / "_sidecars"
    [named] = sidecars.iterdir()
    os.utime(named, (OLD, OLD))
    loose = [old_file(sidecars / f"{uuid4()}.parquet") for _ in range(2)]
    os.utime(loose[1])
    foreign = old_file(sidecars / "notes.txt")
    assert vacuumed(root) == [f"_delta_log/_sidecars/{loose[0].name}"]
    assert all(path.exists() for path in (named, loose[1], foreign))
    assert sl.Table(root).scan().count() == 1
    [manifest] = (root / "_delta_log").glob("*.checkpoint.*.json")
    actions = [json.loads(line) for line in manifest.read_text().splitlines()]
    for action in actions:
        if "sidecar" in action:
            action["sidecar"]["path"] = named.as_uri()
    manifest.write_text("".join(json.dumps(action) + "\n" for action in actions))
    assert vacuumed(root) == [], "an absolute path names it too"
    os.utime(loose[1], (OLD, OLD))
    manifest.write_text("{")
    assert _sidecars_deleted(table) == [], "a checkpoint that can't be read may name any"
    manifest.unlink()
    assert sorted(_sidecars_deleted(table)) == sorted(
        f"_delta_log/_sidecars/{path.name}" for path in (named, loose[1])
    )


def _sidecars_deleted(table: sl.Table) -> list[str]:
    """The dry run of a vacuum on a snapshot that was read before its checkpoint was damaged."""
    return vacuum(table.snapshot, retention_hours=0, enforce_retention=False).files


def data_files(root: Path) -> set[str]:
    return {str(file.relative_to(root)) for file in root.rglob("*.parquet") if "_delta_log" not in file.parts}


def test_vacuum_deletes_what_no_one_needs(tmp_path: Path) -> None:
    schema = pa.schema([("p", pa.string()), *ID_AND_VARIANT])
    table = sl.Table.create(tmp_path, schema, ["p"], properties=FEED)
    table.append(numbered(0, 4).append_column("p", pa.array(["x y", "a%b", None, "x y"])))
    table.delete("id = 0")
    orphan = tmp_path / "orphan.parquet"
    orphan.write_bytes(b"x")
    (tmp_path / "_mine").mkdir()
    (tmp_path / "_mine" / "keep.me").write_bytes(b"x")
    (tmp_path / ".hidden").write_bytes(b"x")
    live = {decode_path(path) for path in paths(table)}
    assert table.vacuum() == [], "everything is younger than a week"
    age(tmp_path, days=8)
    doomed = table.vacuum()
    assert set(doomed) == {
        "orphan.parquet",
        *(f for f in data_files(tmp_path) if f.startswith("_change_data")),
    }
    assert orphan.exists(), "a dry run, by default"
    assert table.vacuum(dry_run=False) == doomed
    assert not orphan.exists()
    assert data_files(tmp_path) - live, "the removed file is still within its retention"
    assert table.vacuum(dry_run=False, retention_hours=0, enforce_retention=False) != []
    assert data_files(tmp_path) == live
    assert (tmp_path / "_mine" / "keep.me").exists()
    assert (tmp_path / ".hidden").exists()
    assert ids(sl.Table(tmp_path)) == [1, 2, 3]


def test_vacuum_respects_the_retention(tmp_path: Path) -> None:
    table = sl.Table.create(
        tmp_path, ID_AND_VARIANT, properties={"delta.deletedFileRetentionDuration": "interval 2 days"}
    )
    with pytest.raises(sl.TableError) as caught:
        table.vacuum(retention_hours=1)
    assert str(caught.value) == (
        "vacuum with a retention of 1 hours would delete files that readers and writers may still need: the "
        "table "
        "keeps them 48 hours (delta.deletedFileRetentionDuration). Pass enforce_retention=False if no one "
        "else "
        "uses the table"
    )
    assert table.vacuum(retention_hours=48) == []
    (tmp_path / "orphan.parquet").write_bytes(b"x")
    age(tmp_path, days=1)
    assert table.vacuum() == []
    age(tmp_path, days=3)
    assert table.vacuum() == ["orphan.parquet"]


def test_vacuum_keeps_files_in_partitions_with_odd_names(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, pa.schema([("_p", pa.string()), ("id", pa.int64())]), ["_p"])
    table.append(pa.table({"_p": ["a", "b"], "id": [1, 2]}))
    table.delete("_p = 'a'")
    age(tmp_path, days=8)
    assert len(table.vacuum(retention_hours=0, enforce_retention=False)) == 1
    table.vacuum(retention_hours=0, enforce_retention=False, dry_run=False)
    assert ids(table) == [2]


@pytest.mark.parametrize("spelling", ["{uri}", "file:{path}", "{path}"])
def test_vacuum_knows_its_own_files_by_absolute_paths(tmp_path: Path, spelling: str) -> None:
    root = tmp_path / "my table"
    table = sl.Table.create(root, ID_AND_VARIANT)
    table.append(numbered(0, 3))
    [row] = table.files().to_pylist()
    file = root / row["path"]
    path = spelling.format(uri=file.as_uri(), path=str(file).replace(" ", "%20"))
    entry = {
        "path": path,
        "partitionValues": {},
        "size": row["size"],
        "modificationTime": 1,
        "dataChange": True,
    }
    write_commit(root, 2, [{"remove": {"path": row["path"], "dataChange": True}}, {"add": entry}])
    table = sl.Table(root)
    assert ids(table) == [0, 1, 2]
    age(root, days=8)
    assert table.vacuum(retention_hours=0, enforce_retention=False) == []


def test_vacuum_keeps_vectors(tmp_path: Path) -> None:
    table = with_vector(tmp_path, stored(tmp_path, [1]))
    age(tmp_path, days=8)
    assert table.vacuum(retention_hours=0, enforce_retention=False) == []


def test_vacuum_keeps_vectors_at_absolute_paths(tmp_path: Path) -> None:
    vector = stored(tmp_path, [1])
    file = next(tmp_path.rglob("deletion_vector_*.bin"))
    table = with_vector(tmp_path, vector | {"storageType": "p", "pathOrInlineDv": file.as_uri()})
    assert ids(table) == [0, *range(2, 10)]
    age(tmp_path, days=8)
    assert table.vacuum(retention_hours=0, enforce_retention=False) == []
