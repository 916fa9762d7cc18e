"""Writes checkpoints: the state of a table in Parquet, one row per action.

Small actions, tombstones and files have separate row groups, so that readers find each kind without
reading the others. Files are written slice by slice; a million of them never become Python objects.

Classic: one file. V2 (`delta.checkpointPolicy=v2`): a manifest in JSON that names sidecars with the files.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.log.checkpoint_read import Mask
from shredlake.delta.log.files import FILE_SCHEMA, STRING_MAP
from shredlake.delta.log.listing import LAST_CHECKPOINT, LOG, SIDECARS
from shredlake.delta.log.snapshot import TOMBSTONE_SCHEMA, Snapshot, actions_of
from shredlake.delta.protocol.actions import Action, dumps
from shredlake.delta.schema import partitions
from shredlake.delta.schema.types import Struct, arrow_type
from shredlake.delta.stats.columns import JsonPiece, ParsedPiece, Piece
from shredlake.delta.stats.parsed import StatsColumns, shredding_of
from shredlake.delta.stats.text import texts_of
from shredlake.parquet.write.writer import ParquetWriter, WriteOptions

ROWS_PER_GROUP = 1 << 16
FILES_PER_SIDECAR = 1 << 20
_STRINGS = pa.list_(pa.field("element", pa.string()))

_SMALL_TYPES: dict[str, pa.StructType] = {
    "txn": pa.struct([("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())]),
    "metaData": pa.struct(
        [
            ("id", pa.string()),
            ("name", pa.string()),
            ("description", pa.string()),
            ("format", pa.struct([("provider", pa.string()), ("options", STRING_MAP)])),
            ("schemaString", pa.string()),
            ("partitionColumns", _STRINGS),
            ("configuration", STRING_MAP),
            ("createdTime", pa.int64()),
        ]
    ),
    "protocol": pa.struct(
        [
            ("minReaderVersion", pa.int32()),
            ("minWriterVersion", pa.int32()),
            ("readerFeatures", _STRINGS),
            ("writerFeatures", _STRINGS),
        ]
    ),
    "domainMetadata": pa.struct(
        [("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())]
    ),
}


def write_checkpoint(snapshot: Snapshot) -> str:
    """Writes a checkpoint of the snapshot's version and points `_last_checkpoint` at it; returns its key.

    >>> from shredlake.example import example_table
    >>> write_checkpoint(example_table("write-checkpoint").snapshot)
    '_delta_log/00000000000000000001.checkpoint.parquet'
    """
    with snapshot.storage.doing("written", f"{LOG}/{snapshot.version:020}.checkpoint"):
        return _write(snapshot)


def _write(snapshot: Snapshot) -> str:
    plan = _Plan(snapshot)
    if snapshot.settings.v2_checkpoints:
        path, files, size = _write_v2(snapshot, plan)
    else:
        path = f"{LOG}/{snapshot.version:020}.checkpoint.parquet"
        with plan.writer(path, _SMALL_TYPES) as writer:
            for table in (plan.small_rows(), *plan.tombstone_rows(), *plan.file_rows()):
                writer.write(table)
        files, size = plan.num_files, writer.facts.size
    last = {
        "version": snapshot.version,
        "size": plan.num_rows,
        "sizeInBytes": size,
        "numOfAddFiles": files,
    }
    snapshot.storage.put(LAST_CHECKPOINT, json.dumps(last, separators=(",", ":")).encode())
    return path


def _write_v2(snapshot: Snapshot, plan: _Plan) -> tuple[str, int, int]:
    sidecars: list[dict[str, Any]] = []
    total = 0
    for tables in plan.sidecars():
        name = f"{uuid.uuid4()}.parquet"
        with plan.writer(f"{SIDECARS}/{name}", {}) as writer:
            for table in tables:
                writer.write(table)
        total += writer.facts.size
        now = int(time.time() * 1000)
        sidecars.append({"path": name, "sizeInBytes": writer.facts.size, "modificationTime": now, "tags": {}})
    lines = [{"checkpointMetadata": {"version": snapshot.version, "tags": {}}}]
    lines += [{"sidecar": sidecar} for sidecar in sidecars]
    manifest = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()
    manifest += dumps(actions_of(snapshot))
    path = f"{LOG}/{snapshot.version:020}.checkpoint.{uuid.uuid4()}.json"
    snapshot.storage.put(path, manifest)
    return path, plan.num_files, total + len(manifest)


class _Plan:
    """The rows of a checkpoint, in order, and the columns they have."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.num_files = len(snapshot.files)
        self.tombstones = _unexpired(snapshot)
        self.small: list[Action] = list(actions_of(snapshot))
        self.stats = StatsColumns.of(snapshot) if _wants(snapshot, "Struct") else None
        self.with_json = _wants(snapshot, "Json")
        self.partition_type = _partition_type(snapshot.schema, snapshot.metadata.partition_columns)
        self.shredding = self._shredding()

    @property
    def num_rows(self) -> int:
        return int(len(self.small) + self.tombstones.num_rows + self.num_files)

    def _shredding(self) -> dict[str, str | None]:
        """How the Variant bounds are shredded, by their groups in the file; None for unshredded."""
        if self.stats is None:
            return {}
        known = shredding_of(self._pieces(), self.stats.variant_leaves)
        return {
            ".".join(("add.stats_parsed", side, *leaf.physical)): str(known[leaf]) if leaf in known else None
            for leaf in self.stats.variant_leaves
            for side in ("minValues", "maxValues")
        }

    def add_type(self) -> pa.StructType:
        fields = [item for item in FILE_SCHEMA if self.with_json or item.name != "stats"]
        if self.stats is not None:
            if self.partition_type is not None:
                fields.append(pa.field("partitionValues_parsed", self.partition_type))
            fields.append(pa.field("stats_parsed", self.stats.arrow_type()))
        return pa.struct(fields)

    def writer(self, path: str, small: Mapping[str, pa.StructType]) -> ParquetWriter:
        """A writer for a file with the file actions and the given small ones."""
        location, store = self.snapshot.storage.destination(path)
        self.schema = pa.schema(
            [("add", self.add_type()), ("remove", pa.struct(list(TOMBSTONE_SCHEMA))), *small.items()]
        )
        options = WriteOptions(row_group_rows=ROWS_PER_GROUP).quick()
        return ParquetWriter(location, self.schema, shredding=self.shredding, options=options, store=store)

    def _table(self, **columns: pa.Array) -> pa.Table:
        """Rows in which one action is set and the others are null."""
        count = len(next(iter(columns.values())))
        arrays = [
            columns[item.name] if item.name in columns else pa.nulls(count, item.type) for item in self.schema
        ]
        return pa.Table.from_arrays(arrays, schema=self.schema)

    def small_rows(self) -> pa.Table:
        """Protocol, metadata, transactions and domains."""
        lines = [json.loads(line) for line in dumps(self.small).splitlines()]
        columns = {}
        for name, kind in _SMALL_TYPES.items():
            columns[name] = pa.array([_mapped(line.get(name), kind) for line in lines], kind)
        return self._table(**columns)

    def tombstone_rows(self) -> Iterator[pa.Table]:
        for start in range(0, self.tombstones.num_rows, ROWS_PER_GROUP):
            rows = self.tombstones.slice(start, ROWS_PER_GROUP).combine_chunks()
            struct = pa.StructArray.from_arrays(
                [_one(column) for column in rows.columns], fields=list(TOMBSTONE_SCHEMA)
            )
            yield self._table(remove=struct)

    def file_rows(self) -> Iterator[pa.Table]:
        for keep, piece in self._slices():
            if keep.any():
                yield self._table(add=self._adds(keep, piece))

    def sidecars(self) -> Iterator[list[pa.Table]]:
        """The tables of each sidecar, which together have a limited number of rows."""
        waiting: list[pa.Table] = []
        self.schema = pa.schema([("add", self.add_type()), ("remove", pa.struct(list(TOMBSTONE_SCHEMA)))])
        for table in (*self.tombstone_rows(), *self.file_rows()):
            waiting.append(table)
            if sum(part.num_rows for part in waiting) >= FILES_PER_SIDECAR:
                yield waiting
                waiting = []
        if waiting:
            yield waiting

    def _slices(self) -> Iterator[tuple[Mask, Piece]]:
        """Masks over all places that choose a slice of live files, each with the slice's statistics."""
        files = self.snapshot.files
        live = np.ones(files.places, dtype=bool) if files.live is None else files.live
        start = 0
        for part in [*files.parts, None]:
            count = files.recent.num_rows if part is None else part.num_adds
            for at in range(0, count, ROWS_PER_GROUP):
                keep = np.zeros(files.places, dtype=bool)
                end = min(at + ROWS_PER_GROUP, count)
                keep[start + at : start + end] = live[start + at : start + end]
                if part is not None and part.has("add.stats_parsed.numRecords"):
                    yield keep, ParsedPiece(part, keep[start : start + count])
                else:
                    yield keep, JsonPiece.of(_one(files.column("stats", keep)))
            start += count

    def _pieces(self) -> Iterator[Piece]:
        for keep, piece in self._slices():
            if keep.any():
                yield piece

    def _adds(self, keep: Mask, piece: Piece) -> pa.StructArray:
        kind = self.add_type()
        children = []
        for item in kind:
            if item.name == "stats_parsed":
                assert self.stats is not None
                children.append(self.stats.rows(piece))
            elif item.name == "partitionValues_parsed":
                children.append(self._partition_values(keep))
            elif item.name == "dataChange":
                children.append(pa.array(np.zeros(piece.count, dtype=bool)))  # a checkpoint changes nothing
            elif item.name == "stats":
                children.append(self._json_stats(keep, piece))
            else:
                children.append(_one(self.snapshot.files.column(item.name, keep)))
        return pa.StructArray.from_arrays(children, fields=list(kind))

    def _json_stats(self, keep: Mask, piece: Piece) -> pa.Array:
        texts = _one(self.snapshot.files.column("stats", keep))
        if texts.null_count == 0 or not isinstance(piece, ParsedPiece):
            return texts
        made = texts_of(self.stats or StatsColumns.of(self.snapshot), piece)
        return pc.coalesce(texts, pa.array(made, pa.string()))

    def _partition_values(self, keep: Mask) -> pa.StructArray:
        maps = self.snapshot.files.column("partitionValues", keep)
        assert self.partition_type is not None
        children = []
        for name in self.snapshot.metadata.partition_columns:
            field = self.snapshot.schema.get(name)
            assert field is not None
            children.append(_one(partitions.looked_up(maps, field)))
        return pa.StructArray.from_arrays(children, fields=list(self.partition_type))


def _wants(snapshot: Snapshot, form: str) -> bool:
    """Whether checkpoints store statistics in this form. By default they store both forms.

    The protocol specifies `false` as the default for structs, but Delta itself writes them, and so do we.
    """
    settings = snapshot.settings
    return settings.stats_as_json if form == "Json" else settings.stats_as_struct


def _partition_type(schema: Struct, columns: tuple[str, ...]) -> pa.StructType | None:
    fields = [field for name in columns if (field := schema.get(name)) is not None]
    return pa.struct([(f.physical_name, arrow_type(f.type)) for f in fields]) if fields else None


def _unexpired(snapshot: Snapshot) -> pa.Table:
    """Tombstones that vacuum may still need."""
    horizon = int(time.time() * 1000) - snapshot.settings.file_retention_ms
    tombstones = snapshot.tombstones()
    return tombstones.filter(pc.greater(pc.fill_null(tombstones.column("deletionTimestamp"), 0), horizon))


def _one(column: Any) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _mapped(raw: Any, kind: pa.DataType) -> Any:
    """JSON objects as pyarrow takes maps: lists of pairs."""
    if raw is None:
        return None
    if pa.types.is_map(kind):
        return list(raw.items())
    if pa.types.is_struct(kind):
        return {item.name: _mapped(raw.get(item.name), item.type) for item in kind}
    return raw
