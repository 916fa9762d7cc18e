"""Vacuum, restore, the change data feed, deletion vectors, storage."""

from __future__ import annotations

import json
import os
import pickle
import struct
import time
import zlib
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap64

import shredlake as sl
from delta_tables import (
    ID_AND_VARIANT,
    PROTOCOL,
    SHREDDED,
    metadata,
    numbered,
    paths,
    python,
    rows_of,
    write_commit,
)
from shredlake.delta.protocol.actions import DeletionVector
from shredlake.delta.protocol.durations import milliseconds
from shredlake.delta.read.deletion_vectors import PORTABLE, read_vector
from shredlake.delta.schema.type_widening import is_widening
from shredlake.delta.stats import z85
from shredlake.delta.storage.storage import Storage, decode_path, encode_path

FEED = {"delta.enableChangeDataFeed": "true"}


def ids(table: sl.Table) -> list[int]:
    return sorted(table.scan(["id"]).to_arrow().column("id").to_pylist())


def age(root: Path, days: float) -> None:
    """Makes every data file look old."""
    moment = time.time() - days * 86_400
    for file in root.rglob("*"):
        if file.is_file() and "_delta_log" not in file.parts:
            os.utime(file, (moment, moment))


def data_files(root: Path) -> set[str]:
    return {str(file.relative_to(root)) for file in root.rglob("*.parquet") if "_delta_log" not in file.parts}


# ── Vacuum ──────────────────────────────────────────────────────────────────────────────────────────────


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


def test_durations() -> None:
    assert milliseconds("interval 30 days") == 30 * 86_400_000
    assert milliseconds("interval 1 week 1 hour 30 minutes") == 604_800_000 + 5_400_000
    for text in ("", "interval", "interval 1 month", "soon"):
        with pytest.raises(sl.InvalidSchema, match="is not a duration"):
            milliseconds(text)


# ── Restore ─────────────────────────────────────────────────────────────────────────────────────────────


def test_restore(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=SHREDDED)
    table.append(numbered(0, 3))
    table.append(numbered(3, 6))
    table.delete("id = 1")
    table.add_column(pa.field("extra", pa.int64()))
    table.overwrite(numbered(100, 101))
    assert table.restore(2) == 6
    assert ids(table) == [0, 1, 2, 3, 4, 5]
    assert table.schema.names == ["id", "v"]
    assert table.history(1)[0]["operation"] == "RESTORE"
    assert all(json.loads(text)["minValues"]["v"] for text in table.files().column("stats").to_pylist())
    assert table.restore(version=5) == 7
    assert ids(table) == [100]
    with pytest.raises(sl.TableError, match="needs a version or a timestamp"):
        table.restore()
    with pytest.raises(sl.VersionNotFound):
        table.restore(99)


def test_restore_over_a_checkpoint(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    table.append(numbered(0, 3))
    table.append(numbered(3, 6))
    table.checkpoint()
    table.delete("id < 3")
    table.restore(2)
    assert ids(sl.Table(tmp_path)) == [0, 1, 2, 3, 4, 5]


def test_restored_files_bring_rows_back(tmp_path: Path) -> None:
    """Readers of the log must see added rows, even if a checkpoint says that nothing changed."""
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=FEED)
    table.append(numbered(0, 3))
    table.checkpoint()
    table.delete()
    table.restore(1)
    commit = (tmp_path / "_delta_log" / f"{3:020}.json").read_text().splitlines()
    [action] = [json.loads(line)["add"] for line in commit if '"add"' in line]
    assert action["dataChange"] is True
    assert sorted(row["id"] for row in table.changes(3).to_pylist()) == [0, 1, 2]


def test_restore_gives_out_no_column_id_twice(tmp_path: Path) -> None:
    properties = {"delta.columnMapping.mode": "name"}
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=properties)
    table.add_column(pa.field("x", pa.int64()))
    table.restore(0)
    assert table.schema.names == ["id", "v"]
    table.add_column(pa.field("y", pa.int64()))
    assert [field.id for field in table.snapshot.schema.fields] == [1, 2, 4]


def test_restore_what_was_vacuumed(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    table.append(numbered(0, 3))
    table.delete()
    age(tmp_path, days=8)
    table.vacuum(retention_hours=0, enforce_retention=False, dry_run=False)
    with pytest.raises(
        sl.TableError, match=r"version 1 can't be restored, 1 of its files are gone \(vacuumed\)"
    ):
        table.restore(1)


# ── Change data feed ────────────────────────────────────────────────────────────────────────────────────


def changes(table: sl.Table, start: int, end: int | None = None) -> list[tuple[int, str, int]]:
    rows = table.changes(start, end).to_pylist()
    return sorted((row["_commit_version"], row["_change_type"], row["id"]) for row in rows)


def test_changes(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=SHREDDED | FEED)
    table.append(numbered(0, 4))
    table.append(numbered(10, 12))
    table.delete("id = 1 or id >= 10")
    table.overwrite(numbered(20, 21))
    table.overwrite(rows_of([20, 21], [{"a": 20}, {"a": 21}]), where="id >= 20")
    assert changes(table, 1, 2) == [(1, "insert", n) for n in range(4)] + [
        (2, "insert", 10),
        (2, "insert", 11),
    ]
    assert changes(table, 3, 3) == [(3, "delete", 1), (3, "delete", 10), (3, "delete", 11)]
    assert changes(table, 4, 4) == [(4, "delete", 0), (4, "delete", 2), (4, "delete", 3), (4, "insert", 20)]
    assert changes(table, 5) == [(5, "delete", 20), (5, "insert", 20), (5, "insert", 21)]
    assert len(changes(table, 0)) == 4 + 2 + 3 + 4 + 3
    found = table.changes(3, 3)
    assert found.schema.names == ["id", "v", "_change_type", "_commit_version", "_commit_timestamp"]
    assert [row["v"]["a"] for row in python(found)] == [row["id"] for row in python(found)]
    assert found.column("_commit_timestamp")[0].as_py() == table.history()[2]["timestamp"]
    files = list((tmp_path / "_change_data").rglob("*.parquet"))
    assert files
    assert pq.read_schema(files[0]).names[-1] == "_change_type"


def test_changes_of_a_partitioned_table(tmp_path: Path) -> None:
    schema = pa.schema([("p", pa.string()), ("id", pa.int64())])
    table = sl.Table.create(tmp_path, schema, ["p"], properties=FEED)
    table.append(pa.table({"p": ["a", "a", "b"], "id": [1, 2, 3]}))
    table.delete("id <> 2")
    rows = table.changes(2).to_pylist()
    assert sorted((row["p"], row["id"], row["_change_type"]) for row in rows) == [
        ("a", 1, "delete"),
        ("b", 3, "delete"),
    ]


def test_changes_that_were_not_recorded(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    table.append(numbered(0, 4))
    with pytest.raises(
        sl.TableError, match=r"has no change data feed at version 1; set delta.enableChangeDataFeed"
    ):
        table.changes(1)
    table.set_properties(FEED)
    with pytest.raises(sl.VersionNotFound, match="changes of versions 2 to 9: the table has 0 to 2"):
        table.changes(2, 9)
    assert table.changes(2).num_rows == 0
    table.delete("id = 1")
    assert table.changes(2).column("id").to_pylist() == [1]
    # What happened before the feed was on can't be told, however late the end is.
    with pytest.raises(sl.TableError, match="has no change data feed at version 1"):
        table.changes(1, 3)
    table.set_properties({"delta.enableChangeDataFeed": None})
    with pytest.raises(sl.TableError, match="has no change data feed at version 4"):
        table.changes(2)
    assert table.changes(2, 3).column("id").to_pylist() == [1]


def test_scans_do_not_see_the_change_column(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=FEED)
    table.append(numbered(0, 4))
    table.delete("id = 1")
    assert table.scan().to_arrow().schema.names == ["id", "v"]


# ── Deletion vectors ────────────────────────────────────────────────────────────────────────────────────


def serialized(rows: list[int]) -> bytes:
    return struct.pack("<i", PORTABLE) + BitMap64(rows).serialize()


def stored(root: Path, rows: list[int]) -> dict[str, Any]:
    """A vector in a file, as Delta writes it."""
    data = serialized(rows)
    raw = b"\x01" + struct.pack(">i", len(data)) + data + struct.pack(">I", zlib.crc32(data))
    identity = bytes(range(16))
    (root / "ab").mkdir(exist_ok=True)
    name = "ab/deletion_vector_00010203-0405-0607-0809-0a0b0c0d0e0f.bin"
    (root / name).write_bytes(raw)
    return {
        "storageType": "u",
        "pathOrInlineDv": "ab" + z85.encode(identity),
        "offset": 1,
        "sizeInBytes": len(data),
        "cardinality": len(rows),
    }


def inline(rows: list[int]) -> dict[str, Any]:
    data = serialized(rows)
    return {
        "storageType": "i",
        "pathOrInlineDv": z85.encode(data),
        "sizeInBytes": len(data),
        "cardinality": len(rows),
    }


def with_vector(root: Path, vector: dict[str, Any]) -> sl.Table:
    """A table of ids 0 to 9 in one file, some of them deleted by a vector."""
    properties = SHREDDED | FEED | {"delta.enableDeletionVectors": "true"}
    table = sl.Table.create(root, ID_AND_VARIANT, properties=properties)
    table.append(numbered(0, 10))
    [row] = table.files().to_pylist()
    raw = {
        "path": row["path"],
        "partitionValues": {},
        "size": row["size"],
        "modificationTime": 1,
        "dataChange": True,
    }
    removal = {"path": row["path"], "dataChange": True, "partitionValues": {}, "size": row["size"]}
    write_commit(
        root, 2, [{"remove": removal}, {"add": raw | {"stats": row["stats"], "deletionVector": vector}}]
    )
    return sl.Table(root)


@pytest.mark.parametrize("where", ["file", "inline"])
def test_deleted_rows_are_not_read(tmp_path: Path, where: str) -> None:
    gone = [0, 3, 4, 9]
    table = with_vector(tmp_path, stored(tmp_path, gone) if where == "file" else inline(gone))
    assert ids(table) == [1, 2, 5, 6, 7, 8]
    assert table.scan().count() == 6
    assert table.scan(where="v:a::bigint >= 3").count() == 4
    found = table.scan(["id", "v:a::bigint AS a"], where="v:a::bigint between 3 and 6").to_arrow().to_pylist()
    assert found == [{"id": 5, "a": 5}, {"id": 6, "a": 6}]
    assert sorted((r["id"], r["_change_type"]) for r in table.changes(2).to_pylist()) == [
        (n, "delete") for n in gone
    ]
    table.checkpoint()
    assert ids(sl.Table(tmp_path)) == [1, 2, 5, 6, 7, 8]


def test_deleting_more_rows_rewrites_the_file(tmp_path: Path) -> None:
    table = with_vector(tmp_path, inline([0, 3]))
    table.delete("id = 5")
    assert ids(table) == [1, 2, 4, 6, 7, 8, 9]
    assert table.files().column("deletionVector").null_count == 1
    assert table.history(1)[0]["metrics"]["numDeletedRows"] == "1"
    assert sorted((r["id"], r["_change_type"]) for r in table.changes(3).to_pylist()) == [(5, "delete")]


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


def test_restore_needs_the_vectors(tmp_path: Path) -> None:
    table = with_vector(tmp_path, stored(tmp_path, [1]))
    table.delete("id = 5")
    next(tmp_path.rglob("deletion_vector_*.bin")).unlink()
    with pytest.raises(sl.TableError, match="1 of its files are gone"):
        table.restore(2)


def test_vectors_spare_the_pages_that_a_condition_rules_out(tmp_path: Path) -> None:
    properties = SHREDDED | {"delta.enableDeletionVectors": "true"}
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=properties)
    table.append(numbered(0, 5000), options=sl.WriteOptions(page_rows=500))
    [row] = table.files().to_pylist()
    raw = {"path": row["path"], "partitionValues": {}, "size": row["size"], "dataChange": True}
    added = raw | {"modificationTime": 1, "stats": row["stats"], "deletionVector": inline([7, 4001])}
    write_commit(tmp_path, 2, [{"remove": raw}, {"add": added}])
    scan = sl.Table(tmp_path).scan(["id"], where="v:a::bigint between 4000 and 4002")
    assert scan.to_arrow().column("id").to_pylist() == [4000, 4002]
    assert (scan.count(), scan.explain().rows) == (2, 2)
    assert scan.explain().pages_read < scan.explain().pages_total / 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cardinality": 5}, "deletes 4 rows, but the log says 5"),
        ({"sizeInBytes": 3}, "has another size than the log says"),
        ({"storageType": "x"}, "unknown storage type 'x'; expected u, i or p"),
        ({"pathOrInlineDv": "!"}, "is not an encoded UUID"),
        ({"pathOrInlineDv": "ab" + z85.encode(bytes(16))}, "is missing"),
    ],
)
def test_broken_vectors(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    table = with_vector(tmp_path, stored(tmp_path, [0, 3, 4, 9]) | change)
    with pytest.raises(sl.CorruptLog, match=message):
        table.scan().to_arrow()


def test_damaged_vectors(tmp_path: Path) -> None:
    table = with_vector(tmp_path, stored(tmp_path, [0, 3, 4, 9]))
    [file] = (tmp_path / "ab").glob("*.bin")
    raw = bytearray(file.read_bytes())
    raw[20] ^= 1
    file.write_bytes(bytes(raw))
    with pytest.raises(sl.CorruptLog, match="is damaged, its checksum differs"):
        table.scan().to_arrow()


def test_vectors_of_many_rows() -> None:
    rows = [*range(0, 200_000, 3), 2**33, 2**33 + 1]
    raw = inline(rows)
    found = read_vector(Storage("memory://x"), DeletionVector.from_json(raw))
    assert list(found) == rows


# ── Widened types ───────────────────────────────────────────────────────────────────────────────────────


def test_widened_types_read_as_the_wider(tmp_path: Path) -> None:
    schema = pa.schema(
        [("a", pa.int32()), ("b", pa.float32()), ("d", pa.date32()), ("m", pa.decimal128(5, 2))]
    )
    table = sl.Table.create(tmp_path, schema, properties={"delta.feature.typeWidening": "supported"})
    one = {
        "a": 1,
        "b": 0.5,
        "d": date(2026, 1, 1),
        "m": Decimal("1.25"),
    }
    table.append(pa.Table.from_pylist([one], schema=schema))
    action = json.loads((tmp_path / "_delta_log" / f"{0:020}.json").read_text().splitlines()[2])
    wider = {"a": "double", "b": "double", "d": "timestamp_ntz", "m": "decimal(12,4)"}
    parsed = json.loads(action["metaData"]["schemaString"])
    for field in parsed["fields"]:
        field["metadata"] = {
            "delta.typeChanges": [{"fromType": field["type"], "toType": wider[field["name"]]}]
        }
        field["type"] = wider[field["name"]]
    action["metaData"]["schemaString"] = json.dumps(parsed)
    write_commit(tmp_path, 2, [action])
    [row] = sl.Table(tmp_path).scan().to_arrow().to_pylist()
    assert (row["a"], row["b"], str(row["d"]), str(row["m"])) == (1.0, 0.5, "2026-01-01 00:00:00", "1.2500")
    assert (
        sl.Table(tmp_path).scan(["a"], where="a >= 1 and m = 1.25 and d = timestamp_ntz'2026-01-01'").count()
        == 1
    )


@pytest.mark.parametrize(
    ("old", "new", "fine"),
    [
        ("byte", "long", True),
        ("long", "integer", False),
        ("integer", "double", True),
        ("long", "double", False),
        ("float", "double", True),
        ("date", "timestamp_ntz", True),
        ("date", "timestamp", False),
        ("decimal(6, 2)", "decimal(10, 4)", True),
        ("decimal(6,2)", "decimal(7,4)", False),
        ("short", "decimal(10,0)", True),
        ("short", "decimal(11,2)", False),
        ("long", "decimal(20,0)", True),
        ("long", "decimal(19,0)", False),
        ("string", "variant", False),
    ],
)
def test_which_types_may_grow(old: str, new: str, fine: bool) -> None:
    assert is_widening(old, new) is fine


def test_other_type_changes_are_refused(tmp_path: Path) -> None:
    changes = [{"fromType": "long", "toType": "string"}]
    field = {"name": "a", "type": "string", "nullable": True, "metadata": {"delta.typeChanges": changes}}
    schema = json.dumps({"type": "struct", "fields": [field]})
    write_commit(tmp_path, 0, [PROTOCOL, metadata(schema=schema)])
    with pytest.raises(sl.UnsupportedFeature, match="column a changed its type from long to string"):
        sl.Table(tmp_path).scan()


# ── Storage ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(params=["local", "memory"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    return Storage(str(tmp_path / "t x%") if request.param == "local" else f"memory://care/{tmp_path.name}")


def test_put_if_absent(storage: Storage) -> None:
    storage.create("a/b.json", b"1")
    with pytest.raises(FileExistsError):
        storage.create("a/b.json", b"2")
    assert storage.get("a/b.json") == b"1"
    storage.put("a/b.json", b"3")
    assert (storage.get("a/b.json"), storage.get_range("a/b.json", 0, 1)) == (b"3", b"3")


def test_lists_heads_and_deletes(storage: Storage) -> None:
    assert storage.list() == []
    assert storage.head("x") is None
    for name in ("b", "a%41", "a/ü x", "a/c"):
        storage.put(name, name.encode())
    assert [entry.path for entry in storage.list()] == ["a%41", "a/c", "a/ü x", "b"]
    assert [entry.path for entry in storage.list("a")] == ["a/c", "a/ü x"]
    assert [entry.path for entry in storage.list(start_after="a/c")] == ["a/ü x", "b"]
    assert storage.head("b").size == 1
    storage.delete(["b", "not there"])
    assert storage.head("b") is None
    for missing in (storage.get, storage.open_input, lambda name: storage.get_range(name, 0, 1)):
        with pytest.raises(FileNotFoundError):
            missing("b")


def test_storage_travels(storage: Storage) -> None:
    storage.put("a", b"1")
    assert pickle.loads(pickle.dumps(storage)).get("a") == b"1"


@pytest.mark.parametrize(
    "name", ["plain.parquet", "a b.parquet", "100%.parquet", "ü/x=1/#?.parquet", "a+b&c.parquet"]
)
def test_paths_of_the_log(name: str) -> None:
    assert decode_path(encode_path(name)) == name


def test_absolute_paths(tmp_path: Path) -> None:
    """A shallow copy names the files of another table by their full address."""
    source = sl.Table.create(tmp_path / "source x", ID_AND_VARIANT)
    source.append(numbered(0, 3))
    source.append(numbered(3, 6))
    allowed = {"allow_paths": [tmp_path / "source x"]}
    copy = sl.Table.create(tmp_path / "copy", ID_AND_VARIANT, storage_options=allowed)
    for version, (row, scheme) in enumerate(
        zip(source.files().to_pylist(), ("file://", "file:"), strict=True), start=1
    ):
        add = {
            "path": (tmp_path / "source x" / row["path"]).as_uri().replace("file://", scheme),
            "partitionValues": {},
            "size": row["size"],
            "modificationTime": 1,
            "dataChange": True,
        }
        write_commit(tmp_path / "copy", version, [{"add": add}])
    assert ids(copy.refresh()) == [0, 1, 2, 3, 4, 5]
    copy.delete("id in (1, 4)")
    assert ids(copy) == [0, 2, 3, 5]
    assert ids(sl.Table(tmp_path / "source x")) == [0, 1, 2, 3, 4, 5]


def test_an_address_that_can_not_be() -> None:
    with pytest.raises(sl.TableError, match="could not be opened"):
        sl.Table("nothing://like/that")
