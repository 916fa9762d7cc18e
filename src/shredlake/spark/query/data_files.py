"""The data files that a scan reads, as Arrow columns: a table of many files has no Python object per file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.log.files import as_adds
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Add
from shredlake.delta.protocol.layout_tag import LAYOUT_TAG
from shredlake.delta.schema import partitions
from shredlake.delta.schema.types import Field
from shredlake.spark.arrow import hadoop_path

FIELDS: Final = ("path", "partitionValues", "size", "modificationTime", "deletionVector")
"""The fields of an `add` action that reading its file takes. Statistics are not among them."""

MOST_FILES: Final = 500_000
"""The most files in all entries of one cache of a session, unless a single entry has more.

In Python, a list of 100,000 takes about 25 MB, and an index of them in the JVM 60 MB.
"""

NOT_PLAIN: Final = r"[%:\x00]|^/|//|(^|/)\.\.?(/|$)|/$"
"""Matches paths of the log that must be decoded, or are not relative to the table."""
HIDDEN: Final = r"/[_.][^/]*$|\._COPYING_$"
"""Matches files that Spark silently leaves out."""


@dataclass(frozen=True, eq=False)
class DataFiles:
    """Some of the files of one version of a table."""

    snapshot: Snapshot
    table: pa.Table
    """`FIELDS` of the files."""
    layouts: pa.ChunkedArray
    """How each file shreds its Variants, as the log says it; null for files of other writers."""

    @classmethod
    def of(cls, snapshot: Snapshot, keep: Any) -> DataFiles:
        """The files at the places in `keep`."""
        found = snapshot.files.table([*FIELDS, "tags"], keep)
        layouts = pc.map_lookup(found.column("tags"), pa.scalar(LAYOUT_TAG), "first")
        return cls(snapshot, found.select(FIELDS), layouts.dictionary_encode())

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def filter(self, mask: pa.Array) -> DataFiles:
        """The files where `mask` is true."""
        if pc.all(mask).as_py():
            return self  # no second copy of a long list
        return DataFiles(self.snapshot, self.table.filter(mask), self.layouts.filter(mask))

    @cached_property
    def adds(self) -> tuple[Add, ...]:
        """The files as actions, for workers and for other work on few files."""
        return tuple(as_adds(self.table))

    @cached_property
    def digest(self) -> bytes:
        """Differs whenever the files, their partition values or their deletion vectors do.

        Size and time tell apart the files of a table that another writer made again under the same names.
        """
        sink = pa.BufferOutputStream()
        table = self.table.combine_chunks()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        place = self.snapshot.storage.uri.encode()
        return hashlib.blake2b(sink.getvalue(), key=hashlib.sha256(place).digest()).digest()

    @cached_property
    def size(self) -> int:
        """The bytes of all files."""
        return int(pc.sum(self.table.column("size")).as_py() or 0)

    # ── where they are ──────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def paths(self) -> pa.Array:
        """The paths at which Spark finds the files."""
        storage, paths = self.snapshot.storage, self.table.column("path").combine_chunks()
        if pc.any(pc.match_substring_regex(paths, NOT_PLAIN)).as_py():
            return pa.array([hadoop_path(storage, path) for path in paths.to_pylist()], pa.string())
        root = hadoop_path(storage, "f").removesuffix("/f")
        return pc.binary_join_element_wise(root, paths, "/")

    @cached_property
    def folders(self) -> pa.Array:
        """The folder of each file."""
        return pc.replace_substring_regex(self.paths, r"/[^/]*$", "")

    @cached_property
    def names(self) -> pa.Array:
        """The last part of each path, as in `_metadata.file_name`."""
        return pc.replace_substring_regex(self.paths, r"^.*/", "")

    @cached_property
    def invisible(self) -> pa.Array:
        """Marks the files that Spark leaves out: those of hidden names, and those without bytes."""
        empty = pc.less_equal(self.table.column("size").combine_chunks(), 0)
        return pc.or_(pc.match_substring_regex(self.paths, HIDDEN), empty)

    # ── facts from the log ──────────────────────────────────────────────────────────────────────

    @property
    def partition_fields(self) -> list[Field]:
        schema = self.snapshot.schema
        found = (schema.get(name) for name in self.snapshot.metadata.partition_columns)
        return [field for field in found if field is not None]

    @cached_property
    def partition_values(self) -> dict[str, pa.Array]:
        """The typed values of each partition column, by `value_name`."""
        maps = self.table.column("partitionValues").combine_chunks()
        return {value_name(field.name): partitions.looked_up(maps, field) for field in self.partition_fields}

    @cached_property
    def deleted_rows(self) -> pa.Array:
        """How many rows the deletion vector of each file deletes; null without a vector."""
        vectors = self.table.column("deletionVector").combine_chunks()
        return pc.struct_field(vectors, ["cardinality"])


def value_name(column: str) -> str:
    """The name of a partition column between scan and query, which no column of a file has."""
    return f"\u0000partition {column}"
