"""Runs the job of `shredlake ingest`: in this process, or on Spark."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
import pyarrow.dataset as ds

from shredlake.cli.engines import EngineName, running
from shredlake.cli.inputs import open_table
from shredlake.delta.log.snapshot import Snapshot
from shredlake.errors import InvalidFile, PipelineError, UnsupportedExpression
from shredlake.jobs.ingest.ingest import LARGEST_SORT, IngestOptions, ingest_text, open_or_reason
from shredlake.jobs.ingest.ingest_arrow import ingest_batches
from shredlake.jobs.ingest.sources import find_files
from shredlake.jobs.report import IngestReport

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from shredlake.spark.engine import SparkEngine

Format = Literal["json", "parquet", "csv", "delta"]

Opened = Snapshot | UnsupportedExpression | None


@dataclass(frozen=True)
class Job:
    """The sources of an ingest, and its options."""

    sources: list[str]
    format: Format
    document: str | None
    """The column of the source that has the documents; None for JSON text."""
    table: str
    options: IngestOptions


@dataclass(frozen=True)
class Cluster:
    """Where to run."""

    engine: EngineName
    master: str | None
    remote: str | None


def run(job: Job, cluster: Cluster) -> IngestReport:
    """Runs a job on the engine asked for, or on the one that suits it."""
    found = find_files(job.sources, job.options.storage_options) if job.format == "json" else []
    size = sum(file.size for file in found)
    opened = _opened(job, size) if cluster.engine == "auto" else None
    engine = "spark" if isinstance(opened, UnsupportedExpression) else cluster.engine
    table = opened if isinstance(opened, Snapshot) else None
    with running(engine, size, cluster.master, cluster.remote) as chosen:
        if chosen.in_process is False:
            return _on_spark(chosen, job)
        if job.format == "json":
            return ingest_text(chosen, job.sources, job.table, job.options, table)
        batches, schema = _batches(job.format, job.sources)
        document = job.document or job.options.column
        return ingest_batches(batches, schema, document, job.table, job.options, table)


def _opened(job: Job, size: int) -> Opened:
    """The table, or the reason why only Spark can do the job; None if the job will say what is wrong."""
    if job.options.range_partition and (job.format != "json" or size > LARGEST_SORT):
        return UnsupportedExpression("one process can't sort all rows")
    if job.format == "json":
        return open_or_reason(job.table, job.options)
    _, schema = _batches(job.format, job.sources)
    document = job.document or job.options.column
    if document not in schema.names:
        return None
    return open_or_reason(job.table, job.options, [item for item in schema if item.name != document])


def _on_spark(engine: SparkEngine, job: Job) -> IngestReport:
    from shredlake.spark.ingest_frame import ingest_files, ingest_frame
    from shredlake.spark.query.api import read

    if job.format == "json":
        return ingest_files(engine, job.sources, job.table, job.options)
    frame: DataFrame
    if job.format == "delta":
        frame = read(engine.spark, _single(job.sources))
    else:
        frame = engine.spark.read.format(job.format).option("header", "true").load(job.sources)
    return ingest_frame(frame, job.table, job.options, job.document)


def _batches(kind: Format, sources: list[str]) -> tuple[Iterable[pa.RecordBatch], pa.Schema]:
    if kind == "delta":
        scan = open_table(_single(sources)).scan()
        return scan.to_batches(), scan.schema
    try:
        found = ds.dataset(sources if len(sources) > 1 else sources[0], format=kind)
    except (pa.ArrowException, ValueError) as error:
        reason = str(error).rpartition(": ")[2]  # pyarrow names the file again and again
        raise InvalidFile(f"{', '.join(sources)} can't be read as {kind}: {reason}") from error
    return found.to_batches(), found.schema


def _single(sources: list[str]) -> str:
    if len(sources) > 1:
        raise PipelineError(
            f"--format delta expects one source table, found {len(sources)}: {', '.join(sources)}"
        )
    return sources[0]
