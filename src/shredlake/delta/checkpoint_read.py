"""Reading checkpoints: single columns of file actions, as needed; everything else once.

A checkpoint is a table of actions with one column per kind of action, so a row for a file has `add` filled
and all others null. A part here is one Parquet file that holds file actions: a classic checkpoint, one of
several, a v2 manifest without sidecars, or a sidecar.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shredlake.delta.log import SIDECARS, Checkpoint
from shredlake.delta.storage import Storage, decode_path
from shredlake.errors import CorruptLog

# Actions that are not files: a handful of rows each.
_SMALL = ("metaData", "protocol", "txn", "domainMetadata", "sidecar", "checkpointMetadata")
_BATCH = 1 << 16


class CheckpointPart:
    """One Parquet file of file actions, its columns read on demand.

    Row numbers count the file actions of one kind only, `add` unless said otherwise.
    """

    def __init__(self, storage: Storage, path: str) -> None:
        self.storage = storage
        self.path = path

    @cached_property
    def file(self) -> pq.ParquetFile:
        try:
            return pq.ParquetFile(self.storage.open_input(self.path))
        except FileNotFoundError:
            raise CorruptLog(
                f"{self.storage.uri}: the checkpoint names {self.path}, which is not there; "
                "the log was cleaned up or copied only in part"
            ) from None
        except (pa.ArrowException, OSError) as error:
            raise CorruptLog(f"{self.storage.uri}: {self.path} is not a Parquet file ({error})") from None

    @cached_property
    def leaves(self) -> frozenset[str]:
        """Dotted names of the leaf columns."""
        schema = self.file.schema
        return frozenset(schema.column(i).path for i in range(len(schema)))

    def has(self, column: str) -> bool:
        """Whether a column, or a group of columns, is in the file."""
        return column in self.leaves or any(leaf.startswith(f"{column}.") for leaf in self.leaves)

    def type_of(self, column: str) -> pa.DataType | None:
        """The Arrow type of a column or group, None where the file lacks it."""
        if not self.has(column):
            return None
        return _descend_type(self.file.schema_arrow, column.split(".", 1))

    def is_all_null(self, leaf: str) -> bool:
        """Whether a leaf column holds no value, as the statistics of all its chunks say."""
        if leaf not in self.leaves:
            return True
        schema, metadata = self.file.schema, self.file.metadata
        index = next(i for i in range(len(schema)) if schema.column(i).path == leaf)
        return all(_all_null(metadata.row_group(g).column(index)) for g in range(metadata.num_row_groups))

    @cached_property
    def add_masks(self) -> list[np.ndarray[Any, Any]]:
        """Per row group, which rows are `add` actions."""
        return self._masks("add", "add.size")

    def _masks(self, kind: str, probe: str) -> list[np.ndarray[Any, Any]]:
        """The presence of an action is in the validity of its struct; the smallest leaf shows it."""
        masks = []
        for group in range(self.file.num_row_groups):
            if not self.has(probe):
                masks.append(np.zeros(self.file.metadata.row_group(group).num_rows, dtype=bool))
                continue
            column = self.file.read_row_group(group, columns=[probe]).column(kind)
            masks.append(pc.is_valid(column).to_numpy())
        return masks

    @cached_property
    def num_adds(self) -> int:
        return int(sum(mask.sum() for mask in self.add_masks))

    def read_adds(self, column: str, keep: np.ndarray[Any, Any] | None = None) -> pa.ChunkedArray | None:
        """One field of the `add` actions (`path`, `stats_parsed.minValues.id`), or None where there is none.

        With `keep`, a mask over this part's adds, only those rows, and only the row groups they lie in.
        """
        if not self.has(f"add.{column}"):
            return None
        chunks: list[pa.Array] = []
        kind: pa.DataType | None = None
        start = 0
        for group, mask in enumerate(self.add_masks):
            count = int(mask.sum())
            wanted = None if keep is None else keep[start : start + count]
            start += count
            if wanted is not None and not wanted.any():
                continue
            found = self._field(group, f"add.{column}")
            kind = found.type
            if count < len(mask):
                found = found.filter(pa.array(mask))
            if wanted is not None and not wanted.all():
                found = found.filter(pa.array(wanted))
            chunks.extend(found.chunks)
        if kind is None:
            kind = _descend_type(self.file.schema_arrow, ("add", column))
        return pa.chunked_array(chunks, type=kind)

    def _field(self, group: int, dotted: str) -> pa.ChunkedArray:
        table = self.file.read_row_group(group, columns=[dotted])
        found: pa.ChunkedArray = table.column(0)
        for step in _steps(found.type, dotted.partition(".")[2]):
            found = pc.struct_field(found, [step])
        return found

    def read_tombstones(self, columns: Sequence[str]) -> pa.Table:
        """Fields of the `remove` actions; those that the file lacks are null."""
        present = [name for name in columns if self.has(f"remove.{name}")]
        pieces = []
        masks = self._masks("remove", "remove.path")
        for group, mask in enumerate(masks):
            if not mask.any():
                continue
            table = self.file.read_row_group(group, columns=[f"remove.{name}" for name in present])
            rows = table.column("remove").filter(pa.array(mask)).combine_chunks()
            pieces.append(pa.Table.from_arrays([pc.struct_field(rows, [n]) for n in present], names=present))
        return pa.concat_tables(pieces, promote_options="permissive") if pieces else pa.table({})

    def small_actions(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Everything that is not a file, as (name, fields)."""
        present = [name for name in _SMALL if self.has(name)]
        if not present:
            return
        for batch in self.file.iter_batches(
            batch_size=_BATCH, columns=present, row_groups=self._groups(present)
        ):
            for name in present:
                column = batch.column(batch.schema.get_field_index(name))
                if column.null_count == len(column):
                    continue
                for row in column.drop_null().to_pylist(maps_as_pydicts="strict"):
                    yield name, {key: value for key, value in row.items() if value is not None}

    def _groups(self, names: Sequence[str]) -> list[int]:
        """Row groups that may hold one of the actions: those whose statistics do not say all null."""
        metadata = self.file.metadata
        wanted = []
        for group in range(metadata.num_row_groups):
            columns = (metadata.row_group(group).column(i) for i in range(metadata.num_columns))
            ours = [column for column in columns if column.path_in_schema.split(".")[0] in names]
            if not all(_all_null(column) for column in ours):
                wanted.append(group)
        return wanted


def _all_null(column: Any) -> bool:
    statistics = column.statistics
    return (
        statistics is not None
        and bool(statistics.has_null_count)
        and statistics.null_count == column.num_values
    )


def _steps(kind: pa.DataType, dotted: str) -> list[str]:
    """Splits a dotted name by what the type holds: names may contain dots themselves."""
    steps = []
    while dotted:
        name = next(
            (item.name for item in kind if dotted == item.name or dotted.startswith(f"{item.name}.")), None
        )
        if name is None:
            raise KeyError(dotted)
        steps.append(name)
        kind = kind.field(name).type
        dotted = dotted[len(name) + 1 :]
    return steps


def _descend_type(schema: pa.Schema, names: Sequence[str]) -> pa.DataType:
    """The type below a top-level column; `names` is that column and the dotted rest."""
    kind = schema.field(names[0]).type
    for step in _steps(kind, names[1] if len(names) > 1 else ""):
        kind = kind.field(step).type
    return kind


def open_checkpoint(
    storage: Storage, checkpoint: Checkpoint, raw_json: Iterator[tuple[str, dict[str, Any]]] | None = None
) -> tuple[list[tuple[str, dict[str, Any]]], list[CheckpointPart]]:
    """The small actions of a checkpoint and the parts that hold its files.

    `raw_json` is the content of a v2 manifest in JSON; file actions inside it are the caller's to read.
    """
    if raw_json is not None:
        small = [(name, fields) for name, fields in raw_json if name in _SMALL]
        parts: list[CheckpointPart] = []
    else:
        parts = [CheckpointPart(storage, entry.path) for entry in checkpoint.files]
        small = [action for part in parts for action in part.small_actions()]
    sidecars = [_sidecar_path(fields["path"]) for name, fields in small if name == "sidecar"]
    if sidecars:
        parts = [CheckpointPart(storage, path) for path in sidecars]
    return small, parts


def _sidecar_path(path: str) -> str:
    decoded = decode_path(path)
    return decoded if "/" in decoded else f"{SIDECARS}/{decoded}"
