"""Writes rows to data files of a target size: in the order given, or buffered, sorted and partitioned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from shredlake.delta.protocol.actions import Add, Json
from shredlake.delta.schema import partitions
from shredlake.delta.write.data_files import DataFileWriter, FileSpec
from shredlake.expr.sort_key import parse_sort_keys, sort_indices
from shredlake.jobs.ingest.key_paths import KeyPath
from shredlake.jobs.packing import pack
from shredlake.parquet.write.writer import FileFacts

GATHER_BYTES = 256 << 20
"""Arrow bytes that a task buffers to sort rows or to split them by partition; bounds a worker's memory."""

FILE_BYTES = 128 << 20
"""The target size of a data file."""

ARROW_PER_FILE_BYTE = 4
"""The assumed ratio of compressed Variant files to their Arrow columns, used until it is measured."""

ROWS_AT_ONCE = 64 << 10
"""The number of rows between checks whether a file is full."""


@dataclass(frozen=True)
class FileJob:
    """Options for writing rows to data files."""

    spec: FileSpec
    sort_by: tuple[str, ...] = ()
    file_bytes: int = FILE_BYTES
    gather_bytes: int = GATHER_BYTES
    rows_per_file: int | None = None
    """Rows per file, if known; otherwise a file is closed when its measured size reaches the target."""
    paths: tuple[KeyPath, ...] = ()
    """Paths of sort keys and Bloom filters, which are searched for in the rows."""

    @property
    def gathers(self) -> bool:
        """Whether a task buffers rows before writing, to sort them or to split them by partition."""
        return bool(self.sort_by or self.spec.partition_columns)


@dataclass
class Written:
    """Counts what the files of a task hold, as their writers know it."""

    column: str = ""
    """The physical name of a Variant column whose bytes are counted."""
    rows: int = 0
    typed_bytes: int = 0
    """Bytes of the column in typed columns, and in all."""
    total_bytes: int = 0

    def add(self, facts: FileFacts) -> None:
        self.rows += facts.num_rows
        for name, leaf in facts.leaves.items():
            if name.startswith(f"{self.column}."):
                self.total_bytes += leaf.compressed_size
                self.typed_bytes += leaf.compressed_size if name.endswith(".typed_value") else 0


def ordered(table: pa.Table, sort_by: Sequence[str]) -> pa.Table:
    """Sorts rows by keys such as `v:t::bigint DESC`; nulls come last unless a key specifies otherwise.

    >>> import shredlake as sl
    >>> table = pa.table({"v": sl.from_json(pa.array(['{"t": 2}', '{"t": 1}']))})
    >>> sl.to_json(ordered(table, ("v:t::bigint",)).column("v")).to_pylist()
    ['{"t":1}', '{"t":2}']
    """
    if not sort_by:
        return table
    return table.take(sort_indices(parse_sort_keys(sort_by), table))


def write_tables(job: FileJob, tables: Iterable[pa.Table], written: Written | None = None) -> list[Add]:
    """Writes conformed tables to data files, and returns their actions; counts them in `written`."""
    parts: Iterable[tuple[Mapping[str, Any], pa.Table]] = (({}, table) for table in tables)
    if job.gathers:
        parts = (
            part
            for gathered in pack(tables, lambda table: int(table.nbytes), job.gather_bytes)
            for part in partitions.split(
                ordered(pa.concat_tables(gathered), job.sort_by),
                job.spec.schema,
                job.spec.partition_columns,
            )
        )
    return list(_write_parts(job, parts, Written() if written is None else written))


def _write_parts(
    job: FileJob, parts: Iterable[tuple[Mapping[str, Any], pa.Table]], written: Written
) -> Iterator[Add]:
    """Writes rows, given with their partition values, to files of the target size, one file at a time."""
    writer: DataFileWriter | None = None
    held: Mapping[str, Any] = {}
    gauge = Gauge(job)
    try:
        for values, rows in parts:
            for batch in _cut_to(gauge, rows):
                if writer is not None and (gauge.full or values != held):
                    yield _closed(writer, gauge, written)
                    writer = None
                if writer is None:
                    writer, held = DataFileWriter(job.spec, values), values
                writer.write(batch)
                gauge.wrote(batch, *writer.measured)
        if writer is not None:
            yield _closed(writer, gauge, written)
    except BaseException:
        if writer is not None:
            writer.abort()
        raise


def _closed(writer: DataFileWriter, gauge: Gauge, written: Written) -> Add:
    add = writer.close()
    gauge.closed(add.size)
    written.add(writer.facts)
    return add


def adds_to_json(adds: Iterable[Add]) -> list[Json]:
    """The files that a task wrote, as its answer holds them."""
    return [add.to_json() for add in adds]


def adds_from_json(raw: Iterable[Json]) -> tuple[Add, ...]:
    """The files in the answer of a task.

    >>> add = Add("p", 5, 0, {"day": None}, True)
    >>> adds_from_json(adds_to_json([add])) == (add,)
    True
    """
    return tuple(Add.from_json(one) for one in raw)


def _cut_to(gauge: Gauge, rows: pa.Table) -> Iterator[pa.RecordBatch]:
    """Slices rows into batches that end where a file ends."""
    for batch in rows.to_batches(max_chunksize=ROWS_AT_ONCE):
        while batch.num_rows:
            room = batch.num_rows if gauge.room is None else gauge.room
            yield batch.slice(0, room)
            batch = batch.slice(room)


class Gauge:
    """Measures how full a file is: by rows if their number is known, otherwise by bytes on disk."""

    def __init__(self, job: FileJob) -> None:
        self._job = job
        self._ratio = 1 / ARROW_PER_FILE_BYTE
        self._rows = self._arrow = 0
        self._size = 0.0

    @property
    def full(self) -> bool:
        if self._job.rows_per_file is not None:
            return self._rows >= self._job.rows_per_file
        return self._size >= self._job.file_bytes

    @property
    def room(self) -> int | None:
        """The number of rows that fit into the file, or into the next if it is full; None if not counted."""
        most = self._job.rows_per_file
        return None if most is None else most if self.full else most - self._rows

    def wrote(self, batch: pa.RecordBatch, arrow: int, size: int) -> None:
        """Records a batch written to the file, of which `arrow` bytes take `size` bytes on disk."""
        self._rows += batch.num_rows
        self._arrow += batch.nbytes
        if arrow and size:
            self._ratio = size / arrow
        self._size = size + (self._arrow - arrow) * self._ratio

    def closed(self, size: int) -> None:
        """Records the final size of a file."""
        if self._arrow:
            self._ratio = size / self._arrow
        self._rows = self._arrow = 0
        self._size = 0.0
