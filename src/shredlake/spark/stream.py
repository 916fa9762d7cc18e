"""Structured Streaming into a shredded table, exactly once.

Every micro-batch is an ingest whose commit carries (stream, number of the batch) in a `txn` action. Spark
repeats a batch after a restart under the same number, and the table then knows that it has it.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shredlake.delta.storage import Storage
from shredlake.spark.ingest import IngestOptions
from shredlake.spark.ingest_frame import ingest_frame
from shredlake.spark.report import IngestReport

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

STREAM_ID = "shredlake-stream-id"
"""A file beside Spark's own state that names the stream, so that a restart is the same stream."""


def stream_frame(
    source: str | DataFrame,
    spark: SparkSession,
    table: str,
    checkpoint: str,
    options: IngestOptions,
    *,
    document: str | None = None,
    files_per_batch: int | None = None,
    writers: int | None = None,
    trigger: dict[str, Any] | None = None,
    on_batch: Callable[[IngestReport], None] | None = None,
) -> StreamingQuery:
    """Starts a stream. `writers` bounds the files that one batch writes."""
    stream = stream_id(checkpoint, dict(options.storage_options))
    frame = _text_stream(spark, source, files_per_batch) if isinstance(source, str) else source

    def take(batch: DataFrame, number: int) -> None:
        if writers is not None:
            batch = batch.coalesce(writers)
        report = ingest_frame(
            batch, table, replace(options, transaction=(f"shredlake-stream-{stream}", number)), document
        )
        if on_batch is not None:
            on_batch(report)

    writing = frame.writeStream.foreachBatch(take).option("checkpointLocation", checkpoint)
    return writing.trigger(**(trigger or {"availableNow": True})).start()


def stream_id(checkpoint: str, options: dict[str, Any]) -> str:
    """The name of the stream that a checkpoint belongs to, made up when it first starts."""
    storage = Storage(checkpoint, options)
    with suppress(FileExistsError):
        storage.create(STREAM_ID, uuid.uuid4().hex.encode())
    return storage.get(STREAM_ID).decode()


def _text_stream(spark: SparkSession, source: str, files_per_batch: int | None) -> DataFrame:
    reader = spark.readStream.format("text")
    if files_per_batch is not None:
        reader = reader.option("maxFilesPerTrigger", str(files_per_batch))
    return reader.load(source)
