"""Stream read: the rows that each version adds, or with `readChangeFeed` what each version changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from shredlake.delta.log.snapshot import Snapshot
from shredlake.errors import InvalidSchema
from shredlake.spark.datasource.changes import ChangeReader, Changes, change_tasks, query_of
from shredlake.spark.datasource.opened import arrow_schema_of, check_schema, storage_of
from shredlake.spark.datasource.options import SourceOptions
from shredlake.spark.datasource.stream_log import EVERYTHING, Limits, Position, StreamLog
from shredlake.spark.snapshots import latest

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadMaxFiles,
        SupportsTriggerAvailableNow,
    )
except ImportError:  # before Spark 4.2

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """Spark 4.1 has no such class: `availableNow` is one batch."""

    ReadAllAvailable = ReadMaxFiles = None

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class TableStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a table as a stream. Spark keeps one in a process of its own while the query runs."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options = options
        table = latest(storage_of(options)).without_files()
        check_schema(query_of(table, options)[1], schema)
        self._schema = schema
        self._rows = ChangeReader(table, options, arrow_schema_of(schema))
        self._log: StreamLog | None = StreamLog(table, options)
        self._until: int | None = None
        self._at: Position | None = None

    def __getstate__(self) -> dict[str, Any]:
        """The state that the workers need."""
        return {**self.__dict__, "_log": None}

    def initialOffset(self) -> dict[str, Any]:
        self._at = self._stream.start()
        return self._offset(self._at)

    def latestOffset(self, start: dict[str, Any] | None = None, limit: Any = None) -> dict[str, Any]:
        """The offset that the next batch reaches. Before Spark 4.2 there are no arguments.

        A batch then starts where the last one ended, which `partitions` was told, also after a restart.
        """
        log = self._stream
        at = self._at if start is None else self._position(start)
        until = log.latest() if self._until is None else self._until
        if at is None:
            return self._offset(Position(until + 1))
        reached = log.advance(at, until, self._limits(start, limit))
        self._check(log.table)
        return self._offset(reached)

    def getDefaultReadLimit(self) -> Any:
        return ReadMaxFiles(self._options["maxFilesPerTrigger"])

    def reportLatestOffset(self) -> dict[str, Any] | None:
        return self._offset(Position(self._stream.latest() + 1))

    def prepareForTriggerAvailableNow(self) -> None:
        self._until = self._stream.latest()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        log = self._stream
        first, last = self._position(start), self._position(end)
        files = list(log.between(first, last))
        self._check(log.table)
        self._at = last
        return change_tasks(files, log.table, self._options["partitionBytes"])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Changes)
        return self._rows.read(partition)

    @property
    def _stream(self) -> StreamLog:
        assert self._log is not None, "only workers lack the log, and they only read"
        return self._log

    def _offset(self, position: Position) -> dict[str, Any]:
        return position.offset(self._rows.table.metadata.id)

    def _position(self, offset: dict[str, Any]) -> Position:
        return Position.of(offset, self._rows.table)

    def _limits(self, start: dict[str, Any] | None, limit: Any) -> Limits:
        """How much a batch may take: as the options say, unless Spark asks for everything."""
        everything = ReadAllAvailable is not None and isinstance(limit, ReadAllAvailable)
        # Before Spark 4.2, `availableNow` is one batch, so only limits that were asked for apply.
        if everything or (
            start is None and not self._options.given("maxFilesPerTrigger", "maxBytesPerTrigger")
        ):
            return EVERYTHING
        size = self._options["maxBytesPerTrigger"]
        return Limits(self._options["maxFilesPerTrigger"], float("inf") if size is None else size)

    def _check(self, table: Snapshot) -> None:
        """Stops the query if the table's columns are no longer those that it started with."""
        if table.metadata == self._rows.table.metadata:
            return
        try:
            check_schema(query_of(table, self._options)[1], self._schema)
        except InvalidSchema as error:
            raise InvalidSchema(
                f"{table.storage.uri}: the table's schema changed while the query ran. Start the query again "
                f"from the same checkpoint to continue with the new columns ({error})"
            ) from None
