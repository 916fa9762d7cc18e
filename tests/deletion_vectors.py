"""Deletion vectors as Delta writes them, and tables with one."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

from pyroaring import BitMap64

import shredlake as sl
from delta_tables import (
    FEED,
    ID_AND_VARIANT,
    SHREDDED,
    numbered,
    write_commit,
)
from shredlake.delta.read.deletion_vectors import PORTABLE
from shredlake.delta.stats import z85


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


def inline_vector(rows: list[int]) -> dict[str, Any]:
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
