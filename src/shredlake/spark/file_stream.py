"""Structured Streaming into a shredded table, exactly once.

```
folder of files ─ Spark: which files are new ─▶ ingest of those files ─┐
any other stream ─ Spark: the batch's rows ───▶ ingest of the frame ───┴▶ commit with (stream, batch) in `txn`
```

After a restart, Spark repeats a batch under the same number, with the same files or rows. The table's log
then shows that the batch is already committed. Unless a layout is pinned, it may change while the table is
small, and is kept from then on.
"""

from __future__ import annotations

import re
import uuid
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shredlake.delta.storage.storage import Storage
from shredlake.errors import CommitConflict
from shredlake.jobs.ingest.ingest import IngestOptions, at_least_one
from shredlake.jobs.ingest.sources import HADOOP_SCHEMES
from shredlake.jobs.optimize import optimize_table
from shredlake.jobs.report import IngestReport
from shredlake.spark.engine import SparkEngine
from shredlake.spark.ingest_frame import (
    check_files_ingest,
    check_frame_ingest,
    ingest_files,
    ingest_frame,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

STREAM_ID = "shredlake-stream-id"
"""A file in the checkpoint that holds the stream's identifier, so that it survives restarts."""


@dataclass(frozen=True)
class StreamOptions:
    """Options for how a stream processes its batches."""

    document: str | None = None
    files_per_batch: int | None = None
    writers: int = 1
    """The number of tasks that write a batch, and thus of files that it adds, unless the batch is large."""
    compact_every: int | None = None
    """The number of batches between two compactions of the table's small files."""
    trigger: Mapping[str, Any] | None = None
    on_batch: Callable[[IngestReport], None] | None = None

    def __post_init__(self) -> None:
        at_least_one(
            files_per_batch=self.files_per_batch, writers=self.writers, compact_every=self.compact_every
        )


def start_stream(
    source: str | DataFrame,
    spark: SparkSession,
    table: str,
    checkpoint: str,
    options: IngestOptions,
    how: StreamOptions,
) -> StreamingQuery:
    """Starts a streaming query that ingests every batch into the table.

    Options, columns and expressions are checked before, on no rows, as the first batch would check them.
    """
    if isinstance(source, str):
        check_files_ingest(spark, table, options)
    else:
        check_frame_ingest(source, table, options, how.document)
    name = f"shredlake-stream-{stream_id(checkpoint, options.storage_options)}"
    is_folder = isinstance(source, str)
    frame = _files(spark, source, how.files_per_batch) if isinstance(source, str) else source
    batches = _Batches(table, name, replace(options, keep_layout=True), how, is_folder)
    writing = frame.writeStream.foreachBatch(batches).option("checkpointLocation", checkpoint)
    return writing.trigger(**(how.trigger or {"availableNow": True})).start()


@dataclass(frozen=True)
class _Batches:
    """Ingests the batches of a stream.

    Over Connect, Spark pickles this object and calls it in a process of the server. It therefore holds no
    session, and uses the session of each batch.
    """

    table: str
    stream: str
    """The name of the stream in the table's log."""
    options: IngestOptions
    how: StreamOptions
    is_folder: bool
    """Whether the batches hold the paths of files instead of documents."""

    def __call__(self, batch: DataFrame, number: int) -> None:
        options, how = replace(self.options, transaction=(self.stream, number)), self.how
        if self.is_folder:
            report = _ingest_files(batch, self.table, options, how.writers)
        else:
            report = ingest_frame(batch.coalesce(how.writers), self.table, options, how.document)
        if report is None:
            return
        if how.compact_every and (number + 1) % how.compact_every == 0:
            _compact(batch.sparkSession, self.table, self.options)
        if how.on_batch is not None:
            how.on_batch(report)


def _compact(spark: SparkSession, table: str, options: IngestOptions) -> None:
    """Compacts small files. On a conflict with another writer, warns and waits for the next compaction."""
    try:
        optimize_table(
            SparkEngine(spark),
            table,
            shredding=options.shredding,
            file_bytes=options.file_bytes,
            storage_options=options.storage_options,
        )
    except CommitConflict as conflict:
        warnings.warn(f"{table} was not compacted: {conflict}", RuntimeWarning, stacklevel=2)


def stream_id(checkpoint: str, options: Mapping[str, Any]) -> str:
    """The identifier of the checkpoint's stream, generated when the stream first starts."""
    storage = Storage(checkpoint, options)
    with suppress(FileExistsError):
        storage.create(STREAM_ID, uuid.uuid4().hex.encode())
    return storage.get(STREAM_ID).decode()


def _files(spark: SparkSession, source: str, files_per_batch: int | None) -> DataFrame:
    """A streaming frame of the paths of new files in a folder. File contents never pass through the JVM."""
    schema = "path string, modificationTime timestamp, length bigint, content binary"
    reader = spark.readStream.format("binaryFile").schema(schema).option("recursiveFileLookup", "true")
    if files_per_batch is not None:
        reader = reader.option("maxFilesPerTrigger", str(files_per_batch))
    return reader.load(source).select("path")


def _ingest_files(batch: DataFrame, table: str, options: IngestOptions, writers: int) -> IngestReport | None:
    paths = [local_or_url(row["path"]) for row in batch.collect()]
    if not paths:
        return None
    return ingest_files(_Bounded(batch.sparkSession, writers), paths, table, options)


class _Bounded(SparkEngine):
    """A Spark engine that runs a fixed number of tasks instead of one per core."""

    def __init__(self, spark: SparkSession, tasks: int) -> None:
        super().__init__(spark)
        self._tasks = tasks

    @property
    def parallelism(self) -> int:
        return self._tasks


def local_or_url(path: str) -> str:
    """Converts Spark's path of a file to a local path or a common URL. Nothing is percent-decoded.

    >>> local_or_url("file:/data/a%20b#1?.ndjson"), local_or_url("s3a://bucket/a.ndjson")
    ('/data/a%20b#1?.ndjson', 's3://bucket/a.ndjson')
    """
    found = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):(//[^/]*)?(/.*)", path, re.DOTALL)
    if found is None or found[1] == "file":
        return path if found is None else found[3]
    return f"{HADOOP_SCHEMES.get(found[1], found[1])}:{found[2] or '//'}{found[3]}"
