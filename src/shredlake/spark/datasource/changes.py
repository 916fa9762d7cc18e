"""Reads the change data feed: rows with `_change_type`, `_commit_version` and `_commit_timestamp`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from shredlake.delta.log.history import enabled_since
from shredlake.delta.log.listing import version_at
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Metadata
from shredlake.delta.read.changes import FileChange, change_rows
from shredlake.delta.read.data_file import Query
from shredlake.delta.schema.change_feed import CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION, check_feed
from shredlake.delta.schema.types import Field, Struct, schema_json
from shredlake.errors import PipelineError
from shredlake.expr.evaluate import evaluate, matching
from shredlake.jobs.packing import pack_to_read
from shredlake.spark.datasource.opened import (
    arrow_schema_of,
    check_schema,
    for_spark,
    spark_schema,
    storage_of,
)
from shredlake.spark.datasource.options import SourceOptions
from shredlake.spark.datasource.read import LARGEST_PARTITION, RowReader, scan_of
from shredlake.spark.datasource.stream_log import EVERYTHING, StreamLog
from shredlake.spark.snapshots import latest
from shredlake.spark.worker import prepare_worker

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

FEED_FIELDS = (
    Field(CHANGE_TYPE, "string"),
    Field(COMMIT_VERSION, "long"),
    Field(COMMIT_TIMESTAMP, "timestamp"),
)


def with_feed_columns(table: Snapshot) -> Snapshot:
    """The table as the change feed shows it: with three more columns, and without files."""
    check_feed(table.schema, table.settings)
    schema = schema_json(Struct((*table.schema.fields, *FEED_FIELDS)))
    return replace(table.without_files(), metadata=replace(table.metadata, schema_string=schema))


def query_of(table: Snapshot, options: SourceOptions) -> tuple[Query, StructType]:
    """The query over each file, and the schema of the result in Spark."""
    shown = with_feed_columns(table) if options["readChangeFeed"] else table.without_files()
    query = scan_of(shown, options).query
    return query, spark_schema(query, shown)


@dataclass(frozen=True)
class Changes(InputPartition):
    """The files of one task, and the table's definition with which they are read."""

    metadata: Metadata
    files: tuple[FileChange, ...] = ()


def change_tasks(files: Iterable[FileChange], table: Snapshot, wanted: int | None) -> list[InputPartition]:
    """The tasks that read the files of a batch."""
    return [Changes(table.metadata, task) for task in pack_to_read(files, wanted or LARGEST_PARTITION)]


@dataclass(frozen=True)
class ChangeReader:
    """Reads files of a stream in a worker: as new rows, or as changes."""

    table: Snapshot
    options: SourceOptions
    schema: pa.Schema

    def read(self, task: Changes) -> Iterator[pa.RecordBatch]:
        """The rows in the form that Spark expects."""
        prepare_worker()
        table = replace(self.table, metadata=task.metadata)
        query, _ = query_of(table, self.options)
        if not self.options["readChangeFeed"]:
            adds = [file.add for file in task.files if file.add is not None]
            yield from RowReader(table, query, self.schema).read(adds)
            return
        for file in task.files:
            for rows in change_rows(table, file):
                yield from for_spark(_answered(rows, query), self.schema)


def _answered(rows: pa.Table, query: Query) -> Iterator[pa.RecordBatch]:
    """The columns of a query, of those rows that it keeps."""
    if query.predicate is not None:
        rows = rows.filter(matching(query.predicate, rows, query.options))
    if rows.num_rows:
        made = [evaluate(one.expr, rows, query.options) for one in query.projections]
        table = pa.table([_cast(column, item.type) for column, item in zip(made, query.schema, strict=True)],
                         schema=query.schema)  # fmt: skip
        yield from table.combine_chunks().to_batches()


def _cast(column: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
    return column if column.type.equals(kind) else column.cast(kind)


class FeedReader(DataSourceReader):
    """Reads the changes of some versions as a batch."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        if options.given("version", "timestamp"):
            raise PipelineError(
                "readChangeFeed reads versions from startingVersion to endingVersion: leave version and "
                "timestamp out"
            )
        if len(options.given("endingVersion", "endingTimestamp")) == 2:
            raise PipelineError("changes end at endingVersion or endingTimestamp, not both; leave one out")
        table = latest(storage_of(options)).without_files()
        self._options = options
        self._rows = ChangeReader(table, options, arrow_schema_of(schema))
        check_schema(query_of(table, options)[1], schema)

    def partitions(self) -> Sequence[InputPartition]:
        log = StreamLog(self._rows.table, self._options)
        start = log.start()
        if start.initial:
            raise PipelineError("readChangeFeed needs startingVersion or startingTimestamp in a batch read")
        end = log.advance(start, self._last(log), EVERYTHING)
        files = log.between(start, end)
        found = change_tasks(files, self._rows.table, self._options["partitionBytes"])
        return found or [Changes(self._rows.table.metadata)]

    def _last(self, log: StreamLog) -> int:
        """The last version whose changes are read; with a timestamp, the newest that is not after it."""
        version, timestamp = self._options["endingVersion"], self._options["endingTimestamp"]
        if timestamp is not None:
            return version_at(log.table.storage, timestamp, enabled_since(log.table))
        return log.latest() if version is None else min(version, log.latest())

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Changes)
        return self._rows.read(partition)
