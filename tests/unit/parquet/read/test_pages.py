"""Pages are written with checksums, and compared with them however they are read."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from shredlake.errors import InvalidFile
from shredlake.parquet.format import thrift
from shredlake.parquet.format.footer import read_footer
from shredlake.parquet.format.thrift import Reader

CRC = 4
COMPRESSED_SIZE = 3


@pytest.fixture
def raw() -> bytes:
    """A file of several pages without compression: a changed byte changes a value and nothing else."""
    texts = pa.array([f'{{"a":{n},"s":"text {n}"}}' for n in range(400)])
    shredded = sl.shred(sl.from_json(texts), sl.ShreddingSchema.parse("struct<a bigint, s string>"))
    sink = io.BytesIO()
    pq.write_table(
        pa.table({"id": range(400), "v": shredded}), sink, write_page_checksum=True, compression="none",
        use_dictionary=False, write_page_index=True, max_rows_per_page=100,
    )  # fmt: skip
    return sink.getvalue()


def flipped(raw: bytes, text: bytes) -> io.BytesIO:
    data = bytearray(raw)
    data[raw.index(text)] ^= 1
    return io.BytesIO(bytes(data))


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"columns": ["v:s::string AS s"]},
        {"columns": ["v:s::string AS s"], "where": "id = 250"},
        {"variants": "json"},
    ],
)
def test_a_flipped_bit_is_refused(raw: bytes, query: dict[str, object]) -> None:
    damaged = flipped(raw, b"text 250")
    with pytest.raises(InvalidFile, match="CRC"):
        sl.read_parquet(damaged, **query)  # type: ignore[arg-type]


def test_verification_can_be_turned_off(raw: bytes) -> None:
    query = {"columns": ["v:s::string AS s"], "where": "id = 250", "checksums": False}
    found = sl.read_parquet(flipped(raw, b"text 250"), **query)  # type: ignore[arg-type]
    assert found.to_pylist() == [{"s": "uext 250"}]


def test_check_refuses_it_too(raw: bytes) -> None:
    with pytest.raises(InvalidFile, match="CRC"):
        sl.check(flipped(raw, b"text 250"))


def test_every_page_we_write_has_a_checksum(tmp_path: Path) -> None:
    texts = pa.array([f'{{"a":{n % 7},"s":"text {n}"}}' for n in range(1000)])
    table = pa.table({"id": range(1000), "v": sl.from_json(texts)})
    options = sl.WriteOptions(page_rows=100)
    sl.write_parquet(table, tmp_path / "f.parquet", shredding="infer", options=options)
    data = (tmp_path / "f.parquet").read_bytes()
    pages = 0
    for chunk in read_footer(io.BytesIO(data)).row_groups()[0].structs(1):
        meta = chunk.struct(3)
        assert meta is not None
        at = meta.integer(11) or meta.integer(9) or 0
        end = at + (meta.integer(7) or 0)
        while at < end:
            reader = Reader(data, at)
            header: thrift.Struct = reader.struct()
            assert CRC in header
            at = reader.position + (header.integer(COMPRESSED_SIZE) or 0)
            pages += 1
    assert pages > 20


def test_tables_verify_unless_told_not_to(tmp_path: Path) -> None:
    table = sl.Table.create(str(tmp_path / "t"), pa.schema([("s", pa.string())]))
    options = sl.WriteOptions(compression="none")
    table.append(pa.table({"s": [f"text {n}" for n in range(500)]}), options=options)
    [file] = (tmp_path / "t").glob("*.parquet")
    file.write_bytes(flipped(file.read_bytes(), b"text 250").getvalue())
    with pytest.raises(InvalidFile, match="CRC"):
        table.scan().to_arrow()
    assert "uext 250" in table.scan(checksums=False).to_arrow().column("s").to_pylist()
