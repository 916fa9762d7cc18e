"""Reads checkpoints: single columns of file actions on demand, all other actions once.

A checkpoint is a table of actions with one column per kind of action, so a row for a file has `add` filled
and all others null. A part here is one Parquet file that holds file actions: a classic checkpoint, one of
several, a v2 manifest without sidecars, or a sidecar.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shredlake.delta.log.listing import SIDECARS, Checkpoint
from shredlake.delta.protocol.action_types import problem_of
from shredlake.delta.protocol.actions import raw_lines
from shredlake.delta.storage.storage import Storage, decode_path
from shredlake.errors import CorruptLog, InvalidFile, ShredlakeError
from shredlake.parquet.format.footer import read_footer
from shredlake.parquet.format.footer_check import check_footer

# Actions that are not files: a handful of rows each.
_SMALL = ("metaData", "protocol", "txn", "domainMetadata", "sidecar", "checkpointMetadata")
_BATCH = 1 << 16

# The errors that pyarrow and Python raise for malformed bytes, types and strings.
_DAMAGE = (
    pa.ArrowException,
    OSError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    MemoryError,
)

Mask: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]


class CheckpointPart:
    """One Parquet file of file actions, its columns read on demand.

    Row numbers count the file actions of one kind only, by default `add`.
    """

    def __init__(self, storage: Storage, path: str) -> None:
        self.storage = storage
        self.path = path
        self._statistics: dict[str, pa.ChunkedArray] = {}

    @cached_property
    def file(self) -> pq.ParquetFile:
        try:
            source = self.storage.open_input(self.path)
            check_footer(read_footer(source, self.path), self.path)
            return pq.ParquetFile(source, pre_buffer=False, page_checksum_verification=True)
        except FileNotFoundError:
            raise CorruptLog(
                f"{self.storage.uri}: the checkpoint names {self.path}, which is not there; "
                "the log was cleaned up or copied only in part"
            ) from None
        except (pa.ArrowException, OSError, InvalidFile) as error:
            raise CorruptLog(f"{self.storage.uri}: {self.path} is not a Parquet file ({error})") from None

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Adds the name of the file to errors that occur while it is read or cast to the log's types."""
        try:
            yield
        except ShredlakeError:
            raise
        except _DAMAGE as error:
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            raise CorruptLog(
                f"{self.storage.uri}: {self.path} is damaged or not a checkpoint ({reason})"
            ) from None

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
        """Whether a leaf column is all null by the statistics of its chunks."""
        if leaf not in self.leaves:
            return True
        schema, metadata = self.file.schema, self.file.metadata
        index = next(i for i in range(len(schema)) if schema.column(i).path == leaf)
        return all(_all_null(metadata.row_group(g).column(index)) for g in range(metadata.num_row_groups))

    @cached_property
    def add_masks(self) -> list[Mask]:
        """Per row group, which rows are `add` actions."""
        return self._masks("add", "add.size")

    def _read(self, group: int, columns: Sequence[str]) -> pa.Table:
        """Columns of a row group. Threads of pyarrow may use local files only (see `FileView`)."""
        return self.file.read_row_group(group, columns=columns, use_threads=self.storage.is_local)

    def _masks(self, kind: str, probe: str) -> list[Mask]:
        """Per row group, which rows hold an action, by the validity of its struct in the smallest leaf."""
        masks = []
        with self.reading():
            for group in range(self.file.num_row_groups):
                if not self.has(probe):
                    masks.append(np.zeros(self.file.metadata.row_group(group).num_rows, dtype=bool))
                    continue
                column = self._read(group, [probe]).column(kind)
                masks.append(pc.is_valid(column).to_numpy())
        return masks

    @cached_property
    def num_adds(self) -> int:
        return int(sum(mask.sum() for mask in self.add_masks))

    def read_adds(self, column: str, keep: Mask | None = None) -> pa.ChunkedArray | None:
        """One field of the `add` actions (`path`, `stats_parsed.minValues.id`), or None if the file lacks it.

        With `keep`, a mask over this part's adds, only those rows are returned, and only their row groups are
        read. Whole columns of statistics are cached for the next query.
        """
        if keep is None and column in self._statistics:
            return self._statistics[column]
        with self.reading():
            found = self.read_columns([column], keep)[0]
        if keep is None and found is not None and column.startswith("stats_parsed."):
            self._statistics[column] = found
        return found

    def read_columns(self, columns: Sequence[str], keep: Mask | None = None) -> list[pa.ChunkedArray | None]:
        """Several fields of the `add` actions in one pass; None for fields that the file lacks."""
        present = [column for column in columns if self.has(f"add.{column}")]
        chunks: dict[str, list[pa.Array]] = {column: [] for column in present}
        start = 0
        for group, mask in enumerate(self.add_masks if present else ()):
            count = int(mask.sum())
            wanted = None if keep is None else keep[start : start + count]
            start += count
            if wanted is not None and not wanted.any():
                continue
            table = self._read(group, [f"add.{column}" for column in present])
            rows = table.column("add")
            if count < len(mask):
                rows = rows.filter(pa.array(mask))
            if wanted is not None and not wanted.all():
                rows = rows.filter(pa.array(wanted))
            for column in present:
                found = _descend(rows, column)
                found.validate(full=True)
                chunks[column].extend(found.chunks)
        types = {column: self.type_of(f"add.{column}") for column in present}
        return [
            pa.chunked_array(chunks[column], type=_narrowed(chunks[column], types[column]))
            if column in chunks
            else None
            for column in columns
        ]

    def read_tombstones(self, columns: Sequence[str]) -> pa.Table:
        """Fields of the `remove` actions; fields that the file lacks are null."""
        present = [name for name in columns if self.has(f"remove.{name}")]
        pieces = []
        masks = self._masks("remove", "remove.path")
        for group, mask in enumerate(masks):
            if not mask.any():
                continue
            table = self._read(group, [f"remove.{name}" for name in present])
            rows = table.column("remove").filter(pa.array(mask)).combine_chunks()
            pieces.append(pa.Table.from_arrays([pc.struct_field(rows, [n]) for n in present], names=present))
        return pa.concat_tables(pieces, promote_options="permissive") if pieces else pa.table({})

    def small_actions(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Everything that is not a file, as (name, fields)."""
        with self.reading():
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
        """Row groups that may hold one of the actions: their statistics do not rule it out."""
        metadata = self.file.metadata
        wanted = []
        for group in range(metadata.num_row_groups):
            columns = (metadata.row_group(group).column(i) for i in range(metadata.num_columns))
            ours = [column for column in columns if column.path_in_schema.split(".")[0] in names]
            if not all(_all_null(column) for column in ours):
                wanted.append(group)
        return wanted


def _descend(rows: pa.ChunkedArray, dotted: str) -> pa.ChunkedArray:
    """A field of a struct column, null where the struct is."""
    for step in _steps(rows.type, dotted):
        rows = pc.struct_field(rows, [step])
    return rows


def _narrowed(chunks: list[pa.Array], whole: pa.DataType | None) -> pa.DataType | None:
    """The type of the columns that were read; it may have fewer fields than the file's."""
    return chunks[0].type if chunks else whole


def _all_null(column: Any) -> bool:
    statistics = column.statistics
    return (
        statistics is not None
        and bool(statistics.has_null_count)
        and statistics.null_count == column.num_values
    )


def _steps(kind: pa.DataType, dotted: str) -> list[str]:
    """Splits a dotted name by the fields of the type, since names may contain dots."""
    steps = []
    while dotted:
        fitting = [item.name for item in kind if dotted == item.name or dotted.startswith(f"{item.name}.")]
        if not fitting:
            raise KeyError(dotted)
        name = max(fitting, key=len)
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
    for name, fields in small:
        problem = problem_of(name, fields)
        if problem is not None:
            raise CorruptLog(f"{storage.uri}: {checkpoint.files[0].path}: {problem}")
    sidecars = [_sidecar_path(fields["path"]) for name, fields in small if name == "sidecar"]
    if sidecars:
        parts = [CheckpointPart(storage, path) for path in sidecars]
    return small, parts


def sidecars_of(storage: Storage, path: str) -> frozenset[str]:
    """The keys of the sidecars that the file of a checkpoint names."""
    part = CheckpointPart(storage, path)
    actions = raw_lines(storage.get(path), path) if path.endswith(".json") else part.small_actions()
    named = [fields for name, fields in actions if name == "sidecar"]
    for fields in named:
        problem = problem_of("sidecar", fields)
        if problem is not None:
            raise CorruptLog(f"{storage.uri}: {path}: {problem}")
    return frozenset(_sidecar_path(fields["path"]) for fields in named)


def _sidecar_path(path: str) -> str:
    """The key of a sidecar. All lie in one folder of the log, even if a checkpoint names them by an address.

    >>> _sidecar_path("file:///table/_delta_log/_sidecars/a%20b.parquet")
    '_delta_log/_sidecars/a b.parquet'
    """
    name = decode_path(path.rpartition("/")[2])
    return f"{SIDECARS}/{name.rpartition('/')[2]}"
