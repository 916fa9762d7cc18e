"""The public verbs of the pipeline: ingest, stream, optimize, migrate_draft, unshred."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from shredlake.errors import PipelineError
from shredlake.spark.engine import SparkEngine
from shredlake.spark.ingest import IngestOptions, ingest_text
from shredlake.spark.optimize import OptimizeReport, optimize_table
from shredlake.spark.report import IngestReport
from shredlake.spark.session import fit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

Address = str | os.PathLike[str]


def ingest(
    spark: SparkSession,
    source: str | Iterable[str] | DataFrame,
    table: Address,
    *,
    document: str | None = None,
    **options: Any,
) -> IngestReport:
    """JSON into a shredded Delta table: NDJSON files, JSON arrays, or a DataFrame.

    `source` is a path, a glob, a directory, a list of these, or a DataFrame whose column `document` holds
    text, Variants or structs. The options are the fields of `IngestOptions`: `column`, `shredding`, `rejects`,
    `max_rejects`, `sort_by`, `partition_by`, `computed`, `job_id` and more. Bad documents go to the rejects
    table; rows in = rows written + rejects, checked before the one commit that makes the job visible.
    """
    fit(spark)
    chosen = ingest_options(options)
    if hasattr(source, "mapInArrow"):
        from shredlake.spark.ingest_frame import ingest_frame

        return ingest_frame(source, os.fspath(table), chosen, document)
    return ingest_text(SparkEngine(spark), source, os.fspath(table), chosen)


def ingest_options(given: Mapping[str, Any]) -> IngestOptions:
    """Options by name, with a helpful word for one that does not exist."""
    known = {field.name for field in fields(IngestOptions)}
    unknown = sorted(set(given) - known)
    if unknown:
        raise PipelineError(f"ingest has no option {unknown[0]!r}; it has: {', '.join(sorted(known))}")
    tuples = {name: _tuple(given[name]) for name in ("sort_by", "partition_by") if name in given}
    return IngestOptions(**{**given, **tuples})


def _tuple(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def stream(
    spark: SparkSession,
    source: str | DataFrame,
    table: Address,
    checkpoint: Address,
    *,
    document: str | None = None,
    files_per_batch: int | None = None,
    writers: int | None = None,
    trigger: Mapping[str, Any] | None = None,
    **options: Any,
) -> StreamingQuery:
    """A stream of JSON into a shredded table, exactly once over restarts from the same checkpoint.

    `source` is a directory of text files to watch, or any streaming DataFrame (Kafka's, say) whose column
    `document` holds the JSON. `writers` bounds the files a batch writes; `trigger` goes to Spark
    (`{"processingTime": "1 minute"}`), all that is there once by default.
    """
    from shredlake.spark.stream import stream_frame

    fit(spark)
    return stream_frame(
        source,
        spark,
        os.fspath(table),
        os.fspath(checkpoint),
        ingest_options(options),
        document=document,
        files_per_batch=files_per_batch,
        writers=writers,
        trigger=None if trigger is None else dict(trigger),
    )


def optimize(
    spark: SparkSession,
    table: Address,
    *,
    where: str | None = None,
    sort_by: str | Sequence[str] = (),
    shredding: Any = "infer",
    **options: Any,
) -> OptimizeReport:
    """Compacts, sorts and re-shreds a table's files in one commit that changes no row."""
    fit(spark)
    return optimize_table(
        SparkEngine(spark),
        os.fspath(table),
        where=where,
        sort_by=_tuple(sort_by),
        shredding=shredding,
        **options,
    )
