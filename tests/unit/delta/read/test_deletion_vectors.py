"""Impossible claims of the log about rows are detected: deletion vectors, counts, checkpoints."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyroaring import BitMap, BitMap64

import shredlake as sl
from deletion_vectors import inline_vector, stored, with_vector
from delta_tables import (
    ID_AND_VARIANT,
    SHREDDED,
    ids,
    numbered,
    write_commit,
)
from shredlake.delta.protocol.actions import DeletionVector
from shredlake.delta.read.deletion_vectors import NATIVE, PORTABLE, read_vector
from shredlake.delta.stats import z85
from shredlake.delta.storage.storage import Storage
from shredlake.errors import CorruptLog
from shredlake.parquet.format import thrift

PROPERTIES = {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"}


def table_with(folder: Path, changes: dict[str, Any]) -> str:
    """A table of two rows whose one `add` was changed in version 2."""
    table = sl.Table.create(str(folder / "t"), pa.schema([("id", pa.int64())]), properties=PROPERTIES)
    table.append(pa.table({"id": [1, 2]}))
    log = folder / "t" / "_delta_log"
    lines = (log / f"{1:020}.json").read_text().splitlines()
    add = next(json.loads(line)["add"] for line in lines if '"add"' in line)
    remove = {"path": add["path"], "deletionTimestamp": 1, "dataChange": True}
    entries = [{"remove": remove}] if "deletionVector" in changes else []
    entries.append({"add": {**add, **changes}})
    (log / f"{2:020}.json").write_text("\n".join(map(json.dumps, entries)))
    return str(folder / "t")


def portable(rows: BitMap64) -> bytes:
    data = struct.pack("<i", PORTABLE) + rows.serialize()
    return data + bytes(-len(data) % 4)


def inline(rows: BitMap64) -> dict[str, Any]:
    data = portable(rows)
    return {
        "storageType": "i",
        "pathOrInlineDv": z85.encode(data),
        "sizeInBytes": len(data),
        "cardinality": len(rows),
    }


def test_a_vector_that_deletes_rows_beyond_its_file(tmp_path: Path) -> None:
    rows = BitMap64()
    rows.add_range(0, 400_000_000)
    rows.run_optimize()
    table = sl.Table(table_with(tmp_path, {"deletionVector": inline(rows)}))
    for read in (lambda: table.scan().to_arrow(), table.scan().count, lambda: table.changes(2)):
        with pytest.raises(CorruptLog, match="has 2 rows, and its deletion vector deletes row 399999999"):
            read()


def test_changes_by_a_vector(tmp_path: Path) -> None:
    table = sl.Table(table_with(tmp_path, {"deletionVector": inline(BitMap64([1]))}))
    assert table.changes(2).select(["id", "_change_type"]).to_pylist() == [
        {"id": 2, "_change_type": "delete"}
    ]


@pytest.mark.parametrize("records", [-5, 1 << 40])
def test_counts_that_can_not_be_are_looked_up_in_the_file(tmp_path: Path, records: int) -> None:
    table = sl.Table(table_with(tmp_path, {"stats": json.dumps({"numRecords": records})}))
    assert table.scan().count() == 2


def test_a_negative_cardinality_is_refused_when_the_log_is_read(tmp_path: Path) -> None:
    vector = inline(BitMap64([1])) | {"cardinality": -1}
    with pytest.raises(CorruptLog, match="cardinality"):
        sl.Table(table_with(tmp_path, {"deletionVector": vector}))


@pytest.mark.parametrize("cardinality", [3, 1 << 40])
def test_a_cardinality_that_can_not_be_is_refused_as_scan_refuses_it(
    tmp_path: Path, cardinality: int
) -> None:
    vector = inline(BitMap64([1])) | {"cardinality": cardinality}
    table = sl.Table(table_with(tmp_path, {"deletionVector": vector}))
    for read in (table.scan().to_arrow, table.scan().count):
        with pytest.raises(CorruptLog):
            read()


def vector(data: bytes, cardinality: int = 1) -> DeletionVector:
    return DeletionVector("i", z85.encode(data + bytes(-len(data) % 4)), len(data), cardinality)


def test_runs_of_the_older_format_stay_runs() -> None:
    part = BitMap()
    part.add_range(0, 65536 * 2000)
    part.run_optimize()
    data = struct.pack("<iii", NATIVE, 1, len(part.serialize())) + part.serialize()
    assert len(read_vector(Storage("memory://x"), vector(data, 65536 * 2000))) == 65536 * 2000


@pytest.mark.parametrize(
    "bad",
    [
        DeletionVector("i", "not z85 at all!", 12, 1),
        DeletionVector("i", "\u20ac\u20ac\u20ac\u20ac\u20ac", 4, 1),
        DeletionVector("i", z85.encode(portable(BitMap64([1]))), 400, 1),
        DeletionVector("i", z85.encode(portable(BitMap64([1]))), -4, 1),
        DeletionVector("u", "ab^-aqEH.-t@S}K{vb[*k^", -40, 6, 4),
        DeletionVector("u", "ab^-aqEH.-t@S}K{vb[*k^", 40, 6, -4),
        DeletionVector("x", "", 0, 0),
        vector(b""),
        vector(struct.pack("<i", PORTABLE)),
        vector(struct.pack("<iQ", PORTABLE, 1 << 62)),
        vector(struct.pack("<iii", NATIVE, 1, -8)),
        vector(struct.pack("<iii", NATIVE, 1, 1 << 30)),
        vector(struct.pack("<ii", NATIVE, -1)),
        vector(struct.pack("<ii", NATIVE, (1 << 31) - 1)),
    ],
)
def test_vectors_that_are_none(bad: DeletionVector) -> None:
    with pytest.raises(CorruptLog):
        read_vector(Storage("memory://x"), bad)


def test_a_checkpoint_whose_footer_contradicts_itself_is_refused(tmp_path: Path) -> None:
    table = sl.Table.create(str(tmp_path / "t"), pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [1]}))
    checkpoint = tmp_path / "t" / table.checkpoint()
    raw = checkpoint.read_bytes()
    start = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    tree = thrift.read_struct(raw[start:-8])
    metas = [chunk.struct(3) for chunk in tree.structs(4)[0].structs(1)]
    sizes = [meta.struct(16) for meta in metas if meta is not None]
    next(size for size in sizes if size is not None and 3 in size).sequence(3).append(0)
    footer = thrift.write_struct(tree)
    checkpoint.write_bytes(raw[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    for commit in checkpoint.parent.glob("*.json"):  # with them, the table is read without its checkpoint
        commit.unlink()
    with pytest.raises(CorruptLog, match="histogram"):
        sl.Table(str(tmp_path / "t")).scan().to_arrow()


@pytest.mark.parametrize("where", ["file", "inline"])
def test_deleted_rows_are_not_read(tmp_path: Path, where: str) -> None:
    gone = [0, 3, 4, 9]
    table = with_vector(tmp_path, stored(tmp_path, gone) if where == "file" else inline_vector(gone))
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
    table = with_vector(tmp_path, inline_vector([0, 3]))
    table.delete("id = 5")
    assert ids(table) == [1, 2, 4, 6, 7, 8, 9]
    assert table.files().column("deletionVector").null_count == 1
    assert table.history(1)[0]["metrics"]["numDeletedRows"] == "1"
    assert sorted((r["id"], r["_change_type"]) for r in table.changes(3).to_pylist()) == [(5, "delete")]


def test_vectors_spare_the_pages_that_a_condition_rules_out(tmp_path: Path) -> None:
    properties = SHREDDED | {"delta.enableDeletionVectors": "true"}
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=properties)
    table.append(numbered(0, 5000), options=sl.WriteOptions(page_rows=500))
    [row] = table.files().to_pylist()
    raw = {"path": row["path"], "partitionValues": {}, "size": row["size"], "dataChange": True}
    added = raw | {"modificationTime": 1, "stats": row["stats"], "deletionVector": inline_vector([7, 4001])}
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
    raw = inline_vector(rows)
    found = read_vector(Storage("memory://x"), DeletionVector.from_json(raw))
    assert list(found) == rows


def test_a_vector_without_an_offset_is_the_first_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "ab").mkdir(parents=True)
    vector = stored(tmp_path, [1])
    del vector["offset"]
    assert ids(with_vector(tmp_path, vector)) == [0, *range(2, 10)]
