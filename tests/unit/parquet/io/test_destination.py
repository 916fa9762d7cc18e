"""A failed write leaves nothing under the final name, and nothing beside it; stores get whole files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import obstore
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

from shredlake.errors import InvalidFile, MalformedVariant
from shredlake.kernels import variant
from shredlake.parquet.write.writer import ParquetWriter, WriteOptions, write_parquet
from variant_columns import column_of, read_rows, rows

GOOD = pa.table({"v": column_of([{"a": 1}, {"a": "x"}])})
BAD = pa.table({"v": pa.array([{"metadata": b"\x01\x00\x00", "value": b"\x02\x01\x05"}], variant())})
SHREDDING = {"v": "struct<a bigint>"}


def test_a_malformed_row_late_in_the_stream(tmp_path: Path) -> None:
    options = WriteOptions(row_group_rows=2)
    writer = ParquetWriter(tmp_path / "f.parquet", GOOD.schema, shredding=SHREDDING, options=options)
    writer.write(GOOD)
    assert any(tmp_path.iterdir()), "the first row group is on the disk already"
    writer.write(BAD)
    with pytest.raises(MalformedVariant):
        writer.write(GOOD)
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_caller(tmp_path: Path) -> None:
    def write_and_fail() -> None:
        with ParquetWriter(tmp_path / "f.parquet", GOOD.schema) as writer:
            writer.write(GOOD)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_and_fail()
    assert list(tmp_path.iterdir()) == []


def test_the_old_file_stays_when_the_new_one_fails(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    write_parquet(GOOD, path, shredding=SHREDDING)
    before = path.read_bytes()
    with pytest.raises(MalformedVariant):
        write_parquet(BAD, path, shredding=SHREDDING)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["f.parquet"]


def test_nothing_has_the_final_name_before_the_end(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    writer = ParquetWriter(path, GOOD.schema, options=WriteOptions(row_group_rows=1))
    writer.write(GOOD)
    assert not path.exists()
    assert all(name.startswith(".") for name in os.listdir(tmp_path)), "hidden from Spark's listing"
    writer.close()
    assert os.listdir(tmp_path) == ["f.parquet"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidFile, match="Create it first"):
        write_parquet(GOOD, tmp_path / "no" / "f.parquet")


FULL_DISK = """
import resource, sys, signal
import pyarrow as pa
from shredlake.kernels import from_json
from shredlake.parquet.write.writer import ParquetWriter, WriteOptions

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
import random
random.seed(0)
texts = [f'{{"a": {random.getrandbits(60)}, "b": "{random.getrandbits(400):x}"}}' for _ in range(20_000)]
table = pa.table({"v": from_json(pa.array(texts))})
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    with ParquetWriter(sys.argv[1], table.schema, shredding={"v": "struct<a bigint>"},
                       options=WriteOptions(row_group_rows=int(sys.argv[2]))) as writer:
        writer.write(table)
except OSError as error:
    print("failed:", error)
    sys.exit(7)
"""


@pytest.mark.slow
@pytest.mark.parametrize("row_group_rows", [500, 100_000], ids=["while writing", "while closing"])
def test_a_full_disk(row_group_rows: int, tmp_path: Path) -> None:
    """A limit on file sizes stands in for a disk without room: the write fails as it does there."""
    path = tmp_path / "f.parquet"
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path), str(row_group_rows)], capture_output=True, text=True
    )
    assert done.returncode == 7, done.stdout + done.stderr
    assert "File too large" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_obstore_gets_whole_objects() -> None:
    store = obstore.store.MemoryStore()
    facts = write_parquet(GOOD, "table/f.parquet", shredding=SHREDDING, store=store)
    data = bytes(obstore.get(store, "table/f.parquet").bytes())
    assert facts.size == len(data)
    assert rows(pq.read_table(pa.BufferReader(data))["v"]) == rows(GOOD["v"])
    with pytest.raises(MalformedVariant):
        write_parquet(BAD, "table/g.parquet", shredding=SHREDDING, store=store)
    listed = [entry["path"] for batch in obstore.list(store) for entry in batch]
    assert listed == ["table/f.parquet"]


def test_pyarrow_filesystems(tmp_path: Path) -> None:
    folder = pafs.SubTreeFileSystem(str(tmp_path), pafs.LocalFileSystem())
    write_parquet(GOOD, "f.parquet", shredding=SHREDDING, store=folder)
    assert read_rows(tmp_path / "f.parquet") == rows(GOOD["v"])
    with pytest.raises(OSError, match="nowhere"):
        write_parquet(GOOD, "nowhere/f.parquet", store=folder)
    assert os.listdir(tmp_path) == ["f.parquet"]
    write_parquet(GOOD, str(tmp_path / "g.parquet"), store=pafs.LocalFileSystem())
    assert sorted(os.listdir(tmp_path)) == ["f.parquet", "g.parquet"]


def test_urls(tmp_path: Path) -> None:
    write_parquet(GOOD, f"file://{tmp_path}/f%20g.parquet", shredding=SHREDDING)
    assert read_rows(tmp_path / "f g.parquet") == rows(GOOD["v"])


def test_no_drafts_stay_in_the_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    store = obstore.store.MemoryStore()
    write_parquet(GOOD, "f.parquet", store=store)
    with pytest.raises(MalformedVariant):
        write_parquet(BAD, "g.parquet", shredding=SHREDDING, store=store)
    assert list(tmp_path.iterdir()) == []
