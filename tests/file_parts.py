"""Where the parts of a Parquet file lie, and single bits flipped in them."""

from __future__ import annotations

import random
from collections.abc import Iterator

from shredlake.parquet.format import footer as numbers
from shredlake.parquet.format import thrift
from shredlake.parquet.format.footer import MAGIC, TAIL, Extent
from shredlake.parquet.format.thrift import Reader, Struct

COMPRESSED_SIZE = 3  # of a PageHeader
BLOOM_OFFSET, BLOOM_LENGTH = 14, 15  # of ColumnMetaData
OFFSET_INDEX_OFFSET, OFFSET_INDEX_LENGTH = 4, 5  # of ColumnChunk
COLUMN_INDEX_OFFSET, COLUMN_INDEX_LENGTH = 6, 7  # of ColumnChunk


def file_parts(raw: bytes) -> dict[str, list[Extent]]:
    """The extents of each kind of part, by name; together they cover the whole file."""
    length = int.from_bytes(raw[-TAIL:-4], "little")
    start = len(raw) - TAIL - length
    parts: dict[str, list[Extent]] = {
        "magic": [(0, len(MAGIC)), (len(raw) - len(MAGIC), len(MAGIC))],
        "footer length": [(len(raw) - TAIL, 4)],
        "footer": [(start, length)],
    }
    for group in thrift.read_struct(raw[start:-TAIL]).structs(numbers.FILE_ROW_GROUPS):
        for chunk in group.structs(numbers.ROW_GROUP_COLUMNS):
            for name, offset, size in _places(chunk):
                parts.setdefault(name, []).append((offset, size))
            meta = chunk.struct(numbers.CHUNK_META)
            assert meta is not None
            for name, offset, size in _pages(raw, meta):
                parts.setdefault(name, []).append((offset, size))
    return parts


def _places(chunk: Struct) -> Iterator[tuple[str, int, int]]:
    meta = chunk.struct(numbers.CHUNK_META)
    assert meta is not None
    places = [
        ("offset index", chunk.integer(OFFSET_INDEX_OFFSET), chunk.integer(OFFSET_INDEX_LENGTH)),
        ("column index", chunk.integer(COLUMN_INDEX_OFFSET), chunk.integer(COLUMN_INDEX_LENGTH)),
        ("bloom filter", meta.integer(BLOOM_OFFSET), meta.integer(BLOOM_LENGTH)),
    ]
    for name, offset, size in places:
        if offset and size:
            yield name, offset, size


def _pages(raw: bytes, meta: Struct) -> Iterator[tuple[str, int, int]]:
    first = meta.integer(numbers.META_DATA_PAGE_OFFSET) or 0
    at = min(first, meta.integer(numbers.META_DICTIONARY_PAGE_OFFSET) or first)
    end = at + (meta.integer(numbers.META_COMPRESSED_SIZE) or 0)
    while at < end:
        reader = Reader(raw, at)
        size = reader.struct().integer(COMPRESSED_SIZE) or 0
        yield "page header", at, reader.position - at
        yield "page", reader.position, size
        at = reader.position + size


def flipped(
    raw: bytes, extents: list[Extent], count: int, dice: random.Random
) -> Iterator[tuple[int, bytes]]:
    """The file with one bit flipped in these extents, and the position of the byte."""
    for _ in range(count):
        offset, size = dice.choices(extents, weights=[size for _, size in extents])[0]
        at = offset + dice.randrange(size)
        data = bytearray(raw)
        data[at] ^= 1 << dice.randrange(8)
        yield at, bytes(data)
