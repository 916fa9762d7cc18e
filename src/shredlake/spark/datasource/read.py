"""Batch read. The planning process prunes files by the log; the workers prune row groups and pages.

```
options ─ TableScan ─▶ files ─ packed by bytes ─▶ partitions ─ one task each ─▶ Arrow batches
             ▲ pushed filters
```

Spark passes filters to a Python data source, but not the columns of a query. Only those in the option
`columns` are read; without it all columns are, even for `select("id")`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from shredlake.delta.log.files import as_adds
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Add
from shredlake.delta.read.data_file import DataFile, Query
from shredlake.delta.read.scan import NEEDED_TO_READ, TableScan
from shredlake.expr import Expr, all_of
from shredlake.expr.parse import read_condition
from shredlake.jobs.packing import OPENING_COST, pack_to_read
from shredlake.spark.datasource.filters import converted
from shredlake.spark.datasource.opened import (
    arrow_schema_of,
    cast_options,
    check_has_columns,
    check_schema,
    for_spark,
    opened,
    spark_schema,
)
from shredlake.spark.datasource.options import SourceOptions
from shredlake.spark.worker import prepare_worker

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

LARGEST_PARTITION: Final = 64 << 20
SMALLEST_PARTITION: Final = 4 << 20
"""The maximum and the minimum number of bytes of files that a task reads."""


@dataclass(frozen=True)
class Files(InputPartition):
    """The files of one task."""

    adds: tuple[Add, ...] = ()


def partitioned(adds: Sequence[Add], wanted: int | None) -> list[InputPartition]:
    """The files, packed into tasks by their bytes.

    Without a wanted size there are at least as many tasks as this machine has cores, if the files allow it.
    """
    if wanted is None:
        total = sum(add.size + OPENING_COST for add in adds)
        share = total // max(2 * (os.cpu_count() or 1), 1)
        wanted = max(SMALLEST_PARTITION, min(LARGEST_PARTITION, share))
    return [Files(files) for files in pack_to_read(adds, wanted)] or [Files()]


def scan_of(
    snapshot: Snapshot, options: SourceOptions, filters: Sequence[Expr] = (), *, columns: str | None = None
) -> TableScan:
    """The scan that the options describe, restricted further by filters."""
    casts = cast_options(options)
    where = read_condition(options["where"], casts)
    parts = [*([] if where is None else [where]), *filters]
    scan = TableScan(snapshot, columns or options["columns"], all_of(parts), options=casts)
    check_has_columns(scan.schema)
    return scan


class TableReader(DataSourceReader):
    """Reads one version of a table."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options = options
        snapshot = opened(options)
        self._scan: TableScan | None = scan_of(snapshot, options)
        check_schema(spark_schema(self._scan.query, snapshot), schema)
        self._rows = RowReader(snapshot.without_files(), self._scan.query, arrow_schema_of(schema))

    def __getstate__(self) -> dict[str, object]:
        """The state that the workers need; the list of files stays on the driver."""
        return {**self.__dict__, "_scan": None}

    def partitions(self) -> Sequence[InputPartition]:
        assert self._scan is not None
        table = self._scan.snapshot.files.table(NEEDED_TO_READ, self._scan.verdict.keep)
        return partitioned(as_adds(table), self._options["partitionBytes"])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Files)
        return self._rows.read(partition.adds)

    def restrict(self, filters: Sequence[Expr]) -> None:
        """Adds filters that every row must match."""
        assert self._scan is not None
        self._scan = scan_of(self._scan.snapshot, self._options, filters)
        self._rows = RowReader(self._rows.snapshot, self._scan.query, self._rows.schema)


class FilteringReader(TableReader):
    """Reads one version of a table, and takes Spark's filters.

    Spark refuses a reader with this method if `spark.sql.python.filterPushdown.enabled` is false.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        assert self._scan is not None
        found = [(pushed, converted(pushed, self._scan.query)) for pushed in filters]
        self.restrict([expr for _, expr in found if expr is not None])
        return [pushed for pushed, expr in found if expr is None]


@dataclass(frozen=True)
class RowReader:
    """Reads the rows of files in a worker."""

    snapshot: Snapshot
    query: Query
    schema: pa.Schema

    def read(self, adds: Iterable[Add]) -> Iterator[pa.RecordBatch]:
        """The rows in the form that Spark expects."""
        prepare_worker()
        for add in adds:
            data = DataFile(self.snapshot, add)
            try:
                batches = (batch for batch in data.batches(self.query) if batch.num_rows)
                yield from for_spark(batches, self.schema)
            finally:
                data.file.close()
