"""A file read in batches, in the memory of a batch."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shredlake.errors import InvalidFile
from shredlake.parquet.io.source import Source, open_input
from shredlake.parquet.read.stream import _SourceFile, batches, parquet_file


def source_of(table: pa.Table) -> Source:
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=40, compression="none", write_page_checksum=True)
    return open_input(sink)


TABLE = pa.table({"id": range(100), "s": pa.array([{"x": n, "y": str(n)} for n in range(100)])})


def test_batches_know_their_first_row() -> None:
    source = source_of(TABLE)
    with parquet_file(source) as file:
        found = list(batches(source, file, ["id"], 30))
    assert [first for first, _ in found] == [batch["id"][0].as_py() for _, batch in found]
    assert max(batch.num_rows for _, batch in found) <= 30
    assert pa.Table.from_batches([batch for _, batch in found]) == TABLE.select(["id"])


def test_columns_are_chosen_by_their_dotted_name() -> None:
    source = source_of(TABLE)
    with parquet_file(source) as file:
        first, batch = next(batches(source, file, ["s.y"], 10))
        assert list(batches(source_of(TABLE.slice(0, 0)), file, ["id"], 10))
    assert (first, batch.schema.names, batch["s"].type.names) == (0, ["s"], ["y"])


def test_no_rows_are_no_batches() -> None:
    source = source_of(TABLE.slice(0, 0))
    with parquet_file(source) as file:
        assert list(batches(source, file, ["id"], 10)) == []


def test_a_footer_that_was_read_before_is_not_read_again() -> None:
    source = source_of(TABLE)
    footer = source.footer()
    before = source.bytes_read
    with parquet_file(source, footer) as file:
        assert file.metadata.num_rows == 100
    assert source.bytes_read == before


def test_a_damaged_page_is_an_error_that_says_where(tmp_path: Path) -> None:
    source = source_of(TABLE)
    raw = bytearray(source.read([(0, source.size)])[0])
    texts = raw.index(b"\x02\x00\x00\x0055")
    raw[texts + 4] ^= 1
    path = tmp_path / "f.parquet"
    path.write_bytes(raw)
    refused = pytest.raises(InvalidFile, match=r"f\.parquet can't be read after row \d+: .*CRC")
    with open_input(path) as damaged, parquet_file(damaged) as file, refused:
        list(batches(damaged, file, ["s.y"], 10))


def test_what_is_not_a_file_of_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f.parquet").write_bytes(b"nothing of the kind")
    with open_input(tmp_path / "f.parquet") as source, pytest.raises(InvalidFile), parquet_file(source):
        pass


def test_a_source_reads_as_an_open_file() -> None:
    file = _SourceFile(source_of(TABLE))
    size = file.seek(0, os.SEEK_END)
    assert (file.tell(), file.read(), file.read(5)) == (size, b"", b"")
    file.seek(-4, os.SEEK_END)
    assert file.read(100) == b"PAR1"
    file.seek(0)
    file.seek(2, os.SEEK_CUR)
    assert file.read(2) == b"R1"
    file.seek(0)
    assert len(file.read()) == size
    assert file.readable()
    assert file.seekable()
