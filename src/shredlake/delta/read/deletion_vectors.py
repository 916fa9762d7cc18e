"""Deletion vectors: the deleted rows of a file, as a set of row numbers.

```
in a file    <size: int32, big-endian> <data> <CRC-32 of data, big-endian>     at the descriptor's offset
in the log   z85 of data
data         1681511377 (int32, little-endian), then a 64-bit Roaring bitmap in the portable format
             1681511376, then a count and, per bitmap of 32 bits, its size and bytes (an older form, in which
             the protocol's own example is written; its integers are big-endian there)
```
"""

from __future__ import annotations

import struct
import uuid
import zlib

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from shredlake.delta.protocol.actions import DeletionVector
from shredlake.delta.stats import z85
from shredlake.delta.storage.storage import Storage, decode_path
from shredlake.errors import CorruptLog, MalformedVariant

PORTABLE = 1681511377
NATIVE = 1681511376
_UUID_CHARACTERS = 20
FIRST_OFFSET = 1
"""The position of a file's first vector, after the byte that holds the version of the format."""


def vector_path(vector: DeletionVector) -> str:
    """The file that holds a vector: a key of the table, or an absolute path.

    >>> vector_path(DeletionVector("u", "ab^-aqEH.-t@S}K{vb[*k^", 40, 6, 4))
    'ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin'
    """
    if vector.storage_type == "p":
        return decode_path(vector.path_or_inline)
    prefix, encoded = vector.path_or_inline[:-_UUID_CHARACTERS], vector.path_or_inline[-_UUID_CHARACTERS:]
    try:
        name = f"deletion_vector_{uuid.UUID(bytes=z85.decode(encoded))}.bin"
    except (MalformedVariant, ValueError):
        raise CorruptLog(f"the deletion vector id {vector.path_or_inline!r} is not an encoded UUID") from None
    if ".." in prefix.split("/"):
        raise CorruptLog(f"the deletion vector id {vector.path_or_inline!r} lies outside the table")
    return f"{prefix}/{name}" if prefix else name


def read_vector(storage: Storage, vector: DeletionVector) -> BitMap64:
    """The deleted row numbers.

    >>> inline = "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"
    >>> list(read_vector(Storage("memory://doc"), DeletionVector("i", inline, 40, 6)))
    [3, 4, 7, 11, 18, 29]
    """
    match vector.storage_type:
        case "i":
            name = "an inline deletion vector"
            data = _inline(vector, name)
        case "u" | "p":
            name = vector_path(vector)
            data = _stored(storage, name, vector)
        case kind:
            raise CorruptLog(f"a deletion vector has the unknown storage type {kind!r}; expected u, i or p")
    try:
        rows = parse_bitmap(data)
    except (ValueError, IndexError, OverflowError, MemoryError, struct.error) as error:
        raise CorruptLog(f"{name} is not a deletion vector: {error}") from None
    if len(rows) != vector.cardinality:
        raise CorruptLog(f"{name} deletes {len(rows)} rows, but the log says {vector.cardinality}")
    return rows


def parse_bitmap(data: bytes) -> BitMap64:
    """The row numbers of a serialized bitmap, in either format and byte order."""
    for order in "<>":
        match struct.unpack_from(f"{order}i", data)[0]:
            case number if number == PORTABLE:
                return BitMap64.deserialize(data[4:])
            case number if number == NATIVE:
                return _native_bitmap(data, order)
    raise ValueError(f"it starts with {data[:4].hex()}, not with {PORTABLE}")


def _native_bitmap(data: bytes, order: str) -> BitMap64:
    """Converts the older form to the portable one without expanding it: long runs stay a few bytes."""
    count = struct.unpack_from(f"{order}i", data, 4)[0]
    parts = [struct.pack("<Q", count)]
    at = 8
    for high in range(count):
        size = struct.unpack_from(f"{order}i", data, at)[0]
        if not 0 <= size <= len(data) - at - 4:
            raise ValueError(f"its bitmap {high} has {size} bytes, but only {len(data) - at - 4} are left")
        parts += [struct.pack("<I", high), data[at + 4 : at + 4 + size]]
        at += 4 + size
    return BitMap64.deserialize(b"".join(parts))


def check_inside(rows: BitMap64, row_count: int, file: str) -> None:
    """Refuse a vector that deletes rows beyond the end of its file.

    >>> check_inside(BitMap64([1, 7]), 8, "a.parquet")
    """
    if len(rows) and rows.max() >= row_count:
        raise CorruptLog(f"{file} has {row_count} rows, and its deletion vector deletes row {rows.max()}")


def _inline(vector: DeletionVector, name: str) -> bytes:
    try:
        data = z85.decode(vector.path_or_inline)
    except MalformedVariant as error:
        raise CorruptLog(f"{name} is not z85 text: {error}") from None
    if not 0 <= vector.size_in_bytes <= len(data):
        raise CorruptLog(f"{name} has {len(data)} bytes, but the log says {vector.size_in_bytes}")
    return data[: vector.size_in_bytes]


def _stored(storage: Storage, name: str, vector: DeletionVector) -> bytes:
    storage, name = storage.located(name)
    start = FIRST_OFFSET if vector.offset is None else vector.offset
    if start < 0 or vector.size_in_bytes < 0:
        raise CorruptLog(f"{name}: the log places a deletion vector at {start}, {vector.size_in_bytes} bytes")
    try:
        raw = storage.get_range(name, start, 4 + vector.size_in_bytes + 4)
    except FileNotFoundError:
        raise CorruptLog(f"{storage.uri}: the deletion vector {name} is missing") from None
    data = raw[4:-4]
    if len(raw) < 8 or struct.unpack(">i", raw[:4])[0] != vector.size_in_bytes:
        raise CorruptLog(f"{name}: the deletion vector at byte {start} has another size than the log says")
    if zlib.crc32(data) != struct.unpack(">I", raw[-4:])[0]:
        raise CorruptLog(f"{name}: the deletion vector at byte {start} is damaged, its checksum differs")
    return data


def live_mask(rows: BitMap64, start: int, count: int) -> pa.BooleanArray:
    """Returns which of the `count` rows from `start` on are live.

    >>> live_mask(BitMap64([1, 7]), 0, 3).to_pylist()
    [True, False, True]
    """
    mask = np.ones(count, dtype=bool)
    inside = rows & BitMap64(range(start, start + count)) if len(rows) else rows
    mask[np.fromiter((row - start for row in inside), dtype=np.int64, count=len(inside))] = False
    return pa.array(mask)
