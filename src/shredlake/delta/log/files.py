"""The live files of a snapshot, as Arrow columns.

Most rows sit in the checkpoint and are read one column at a time; the commits after it are a small table on
top, and a list of keys that they replaced or removed. There is never a Python object per file of the table.

The place of a row is its position among the adds of the checkpoint's parts, followed by the recent adds.
Replaced files keep their places, so that masks match the rows of the checkpoint; reading drops them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.log.checkpoint_read import CheckpointPart, Mask
from shredlake.delta.protocol.action_types import problem_of
from shredlake.delta.protocol.actions import Add, DeletionVector
from shredlake.delta.storage.addresses import log_key, log_keys
from shredlake.errors import CorruptLog

STRING_MAP = pa.map_(pa.string(), pa.string())

VECTOR_TYPE = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)

# The fields of an `add` action, named and typed as in a checkpoint.
FILE_SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("partitionValues", STRING_MAP),
        ("size", pa.int64()),
        ("modificationTime", pa.int64()),
        ("dataChange", pa.bool_()),
        ("stats", pa.string()),
        ("tags", STRING_MAP),
        ("deletionVector", VECTOR_TYPE),
        ("baseRowId", pa.int64()),
        ("defaultRowCommitVersion", pa.int64()),
        ("clusteringProvider", pa.string()),
    ]
)


def file_rows(adds: Sequence[dict[str, Any]]) -> pa.Table:
    """`add` actions as parsed from JSON, turned into columns.

    >>> file_rows([{"path": "f", "size": 5, "partitionValues": {"p": "1"}}]).column("size").to_pylist()
    [5]
    """
    columns = []
    for item in FILE_SCHEMA:
        values = [add.get(item.name) for add in adds]
        if item.type == STRING_MAP:
            values = [None if value is None else list(value.items()) for value in values]
        columns.append(pa.array(values, type=item.type))
    return pa.Table.from_arrays(columns, schema=FILE_SCHEMA)


def keys_of(paths: pa.Array | pa.ChunkedArray, vectors: pa.Array | pa.ChunkedArray) -> Any:
    """The key of each logical file, as text: its path and, after a NUL, its deletion vector."""
    paths = log_keys(paths)
    if vectors.null_count == len(vectors):
        return paths
    offset = pc.cast(pc.struct_field(vectors, ["offset"]), pa.string())
    identity = pc.binary_join_element_wise(
        pc.struct_field(vectors, ["storageType"]), pc.struct_field(vectors, ["pathOrInlineDv"]), ""
    )
    at = pc.if_else(pc.is_valid(offset), pc.binary_join_element_wise("@", offset, ""), "")
    full = pc.binary_join_element_wise(identity, at, "")
    return pc.if_else(pc.is_valid(identity), pc.binary_join_element_wise(paths, full, "\0"), paths)


def key_of(path: str, vector: DeletionVector | None) -> str:
    """The key of one file, as in `keys_of`."""
    return log_key(path) if vector is None else f"{log_key(path)}\0{vector.unique_id}"


def logged_key(fields: Mapping[str, Any]) -> str:
    """The key of the file that an `add` or `remove` action names.

    >>> logged_key({"path": "./d//x"})
    'd/x'
    """
    vector = fields.get("deletionVector")
    return key_of(fields["path"], None if vector is None else DeletionVector.from_json(vector))


class Files:
    """The live files of one version of a table."""

    def __init__(self, parts: Sequence[CheckpointPart], recent: pa.Table, superseded: Iterable[str]) -> None:
        self.parts = list(parts)
        self.recent = recent
        self.superseded = pa.array(list(superseded), type=pa.string())

    @cached_property
    def places(self) -> int:
        """How many places there are, those of replaced files included."""
        return int(sum(part.num_adds for part in self.parts) + self.recent.num_rows)

    @cached_property
    def live(self) -> Mask | None:
        """A mask of the places that hold live files; None if all do."""
        if len(self.superseded) == 0 or not self.parts:
            return None
        masks = []
        for part in self.parts:
            keys = keys_of(*_fields_of(part, ["path", "deletionVector"], None))
            masks.append(np.invert(pc.is_in(keys, value_set=self.superseded).to_numpy()))
        masks.append(np.ones(self.recent.num_rows, dtype=bool))
        return np.concatenate(masks)

    def __len__(self) -> int:
        live = self.live
        return int(self.places if live is None else np.count_nonzero(live))

    def column(self, name: str, keep: Mask | None = None) -> pa.ChunkedArray:
        """One field of the actions over all places, or over those in `keep`."""
        return self._columns([name], keep)[0]

    def table(self, names: Sequence[str] = tuple(FILE_SCHEMA.names), keep: Mask | None = None) -> pa.Table:
        """Fields of the live files, or of those at the places in `keep`."""
        mask = keep if self.live is None else self.live if keep is None else keep & self.live
        fields = [FILE_SCHEMA.field(name) for name in names]
        return pa.Table.from_arrays(self._columns(names, mask), schema=pa.schema(fields))

    def _columns(self, names: Sequence[str], keep: Mask | None) -> list[pa.ChunkedArray]:
        kinds = [FILE_SCHEMA.field(name).type for name in names]
        chunks: list[list[pa.Array]] = [[] for _ in names]
        start = 0
        for part in self.parts:
            wanted = None if keep is None else keep[start : start + part.num_adds]
            start += part.num_adds
            for target, found in zip(chunks, _fields_of(part, names, wanted), strict=True):
                target.extend(found.chunks)
        recent = self.recent.select(list(names))
        if keep is not None:
            recent = recent.filter(pa.array(keep[start:]))
        for target, column in zip(chunks, recent.columns, strict=True):
            target.extend(column.chunks)
        return [pa.chunked_array(parts, type=kind) for parts, kind in zip(chunks, kinds, strict=True)]


def _fields_of(part: CheckpointPart, names: Sequence[str], keep: Mask | None) -> list[pa.ChunkedArray]:
    """Fields of the add actions of a part, in the types of the log; null if the part lacks them."""
    count = part.num_adds if keep is None else int(keep.sum())
    columns = []
    with part.reading():
        for name, found in zip(names, part.read_columns(names, keep), strict=True):
            if name in ("path", "size") and (found is None or found.null_count):
                raise CorruptLog(f"{part.path}: an add action lacks the field {name}")
            kind = FILE_SCHEMA.field(name).type
            columns.append(pa.chunked_array([pa.nulls(count, kind)]) if found is None else _cast(found, kind))
    return columns


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Casts columns of other writers, such as large strings, and reordered or missing struct fields."""
    if column.type == kind:
        return column
    if pa.types.is_struct(kind):
        chunks = []
        for chunk in column.chunks:
            have = {item.name for item in chunk.type}
            children = [
                pc.struct_field(chunk, [item.name]).cast(item.type)
                if item.name in have
                else pa.nulls(len(chunk), item.type)
                for item in kind
            ]
            chunks.append(pa.StructArray.from_arrays(children, fields=list(kind), mask=pc.is_null(chunk)))
        return pa.chunked_array(chunks, type=kind)
    return column.cast(kind)


def as_adds(table: pa.Table) -> list[Add]:
    """Rows of `Files.table` as actions: for the files that one operation touches."""
    rows = table.to_pylist(maps_as_pydicts="strict")
    adds = []
    for row in rows:
        fields = {key: value for key, value in row.items() if value is not None}
        problem = problem_of("add", fields)
        if problem is not None:
            raise CorruptLog(f"the checkpoint's entry for {fields.get('path')!r}: {problem}")
        adds.append(Add.from_json(fields))
    return adds
