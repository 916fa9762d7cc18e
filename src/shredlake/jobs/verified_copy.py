"""Copies rows from data files to new ones and proves that nothing was lost or changed.

A task sums a checksum over whole rows while it reads them, writes them, reads them back, and compares. The
checksum does not depend on order or layout, so it also holds across a shuffle.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Add, TransactionId
from shredlake.delta.read.data_file import DataFile, whole_rows
from shredlake.errors import VerificationFailed
from shredlake.jobs.data_files import FileJob, Written, adds_from_json, adds_to_json, write_tables
from shredlake.jobs.ingest.key_paths import PathWatch
from shredlake.jobs.ingest.publish import commit_adds
from shredlake.jobs.report import IngestReport
from shredlake.kernels import from_arrow
from shredlake.kernels.arrow.types import is_variant
from shredlake.kernels.checksum import checksum


@dataclass
class RowSum:
    """A row count and a checksum that differs if any value, or its row, differs.

    >>> table = pa.table({"id": [1, 2], "name": ["a", "b"]})
    >>> mixed = pa.table({"id": [1, 2], "name": ["b", "a"]})
    >>> row_sum([table]) == row_sum([table.take([1, 0])]), row_sum([table]) == row_sum([mixed])
    (True, False)
    """

    rows: int = 0
    sum: int = 0

    def add(self, part: pa.RecordBatch) -> None:
        if part.num_rows:
            self.rows += part.num_rows
            whole = pa.StructArray.from_arrays(
                [_comparable(column) for column in part.columns], names=part.schema.names
            )
            self.sum = (self.sum + checksum(from_arrow(whole), threads=1)) % 2**64

    def __add__(self, other: RowSum) -> RowSum:
        return RowSum(self.rows + other.rows, (self.sum + other.sum) % 2**64)


def row_sum(parts: Iterable[pa.RecordBatch | pa.Table]) -> RowSum:
    """The checksum over some batches or tables."""
    total = RowSum()
    for part in parts:
        for batch in part.to_batches() if isinstance(part, pa.Table) else [part]:
            total.add(batch)
    return total


def _comparable(column: pa.Array) -> pa.Array:
    """A column as a part of one Variant per row, in which different values stay different."""
    if is_variant(column.type):
        # A missing Variant is not a Variant null.
        return pa.StructArray.from_arrays([column.is_valid(), column], names=["valid", "value"])
    if pa.types.is_map(column.type):
        # Keys of an object are strings, but those of a map need not be.
        entry = pa.struct([("key", column.type.key_type), ("value", column.type.item_type)])
        return column.cast(pa.list_(entry))
    return column


@dataclass(frozen=True)
class CopyResult:
    """The files that a task wrote, and the checksum over them."""

    adds: tuple[Add, ...]
    total: RowSum
    warnings: tuple[str, ...] = ()
    """Warnings, as in `TaskResult`."""

    def to_json(self) -> str:
        sums = {"rows": self.total.rows, "sum": self.total.sum}
        return json.dumps({"adds": adds_to_json(self.adds), **sums, "warnings": self.warnings})

    @staticmethod
    def from_json(text: str) -> CopyResult:
        raw = json.loads(text)
        return CopyResult(
            adds_from_json(raw["adds"]), RowSum(raw["rows"], raw["sum"]), tuple(raw["warnings"])
        )


def rows_in(snapshot: Snapshot, adds: Iterable[Add]) -> Iterator[pa.RecordBatch]:
    """Reads the rows of some files, without deleted rows."""
    query = whole_rows(snapshot)
    for add in adds:
        yield from DataFile(snapshot, add).batches(query)


def sum_files(snapshot: Snapshot, adds: Sequence[Add]) -> str:
    """The checksum over some files, as a task."""
    return CopyResult((), row_sum(rows_in(snapshot, adds))).to_json()


def write_and_sum(
    target: Snapshot, job: FileJob, batches: Iterable[pa.RecordBatch], written: Written | None = None
) -> CopyResult:
    """Writes rows and returns the checksum of the new files, as read back; counts them in `written`."""
    paths = PathWatch(job.paths)
    tables = paths.over(pa.Table.from_batches([batch]) for batch in batches)
    result = CopyResult(tuple(write_tables(job, tables, written)), RowSum(), paths.warnings)
    return replace(result, total=row_sum(rows_in(target, result.adds)))


def copy_files(
    source: Snapshot,
    target: Snapshot,
    job: FileJob,
    adds: Sequence[Add],
    *,
    change: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None,
) -> str:
    """Copies the rows of some files to new files, as a task; raises if the copy differs.

    `change` is applied to the rows before they are counted and written.
    """
    before = RowSum()

    def read() -> Iterator[pa.RecordBatch]:
        for found in rows_in(source, adds):
            batch = found if change is None else change(found)
            before.add(batch)
            yield batch

    result = write_and_sum(target, job, read())
    check_same(before, result.total, target.storage.uri)
    return result.to_json()


def check_same(before: RowSum, after: RowSum, where: str) -> None:
    """Raises if the copy differs from the original."""
    if before != after:
        raise VerificationFailed(
            f"{where}: the new files differ from the old ones ({before.rows:,} rows read, "
            f"{after.rows:,} written, checksums {before.sum:x} and {after.sum:x}). Nothing was committed"
        )


def publish_copy(
    snapshot: Snapshot, results: Sequence[CopyResult], transactions: Sequence[TransactionId], source: str
) -> IngestReport:
    """Commits the files of a copy, and reports what it wrote."""
    adds = [add for result in results for add in result.adds]
    version = commit_adds(snapshot, adds, transactions, source)
    rows = sum(result.total.rows for result in results)
    return IngestReport(
        table=snapshot.storage.uri,
        version=version,
        documents=rows,
        rows=rows,
        files=len(adds),
        table_bytes=sum(add.size for add in adds),
    )
