"""`shredlake ingest`: loads JSON into a shredded Delta table."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
import pyarrow.dataset as ds
import typer

from shredlake.cli.engines import ENGINE, MASTER, REMOTE, EngineName, running
from shredlake.cli.inputs import open_table, seekable, table_to_write
from shredlake.cli.options import (
    BLOOM_FILTER,
    DUPLICATE_KEYS,
    FILE_SIZE,
    JSON,
    SHREDDING,
    STORAGE,
    not_empty,
    rejects_share,
    storage_options,
)
from shredlake.cli.rows import print_report
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.write.alter import SchemaMode
from shredlake.errors import InvalidFile, PipelineError, UnsupportedExpression
from shredlake.jobs.ingest.ingest import LARGEST_SORT, IngestOptions, ingest_text, opened_here
from shredlake.jobs.ingest.ingest_arrow import ingest_batches
from shredlake.jobs.ingest.parse_task import Parsing
from shredlake.jobs.ingest.sources import find_files
from shredlake.jobs.report import IngestReport
from shredlake.parquet.write.writer import WriteOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from shredlake.spark.engine import SparkEngine

Format = Literal["json", "parquet", "csv", "delta"]

Opened = Snapshot | UnsupportedExpression | None


def ingest_source(
    source: list[str] = typer.Argument(
        help="Files, globs, folders, or - for standard input; the last argument is the table.",
        metavar="SRC... TABLE",
    ),
    column: str = typer.Option("v", callback=not_empty, help="The Variant column for the documents."),
    shredding: str = SHREDDING,
    computed: list[str] = typer.Option(
        [], "--with", help='A computed column, e.g. "day: v:ts::date". Repeatable.'
    ),
    folder_column: list[str] = typer.Option(
        [], help='A column from folders such as day=2026-01-01, with its type: "day: date". Repeatable.'
    ),
    multi_line: bool | None = typer.Option(
        None, "--multi-line/--lines", help="Documents span lines, or not. Detected by default."
    ),
    schema_mode: SchemaMode = typer.Option("strict", help="merge adds columns that the table lacks."),
    partition_by: str = typer.Option("", help="Partition columns of a new table, separated by commas."),
    sort_by: list[str] = typer.Option(
        [], help='Sort the rows of each file, e.g. by "v:ts::bigint". Repeatable.'
    ),
    bloom_filter: list[str] = BLOOM_FILTER,
    range_partition: bool = typer.Option(
        False, help="Sort globally by --sort-by, so that files barely overlap."
    ),
    rejects: str | None = typer.Option(None, help="The table for invalid documents (default TABLE_rejects)."),
    max_rejects: str | None = typer.Option(
        None, help="Maximum number or share of invalid documents, e.g. 100 or 2%; beyond it the job fails."
    ),
    job_id: str | None = typer.Option(
        None, help="Idempotency key; a job whose key is already committed is skipped."
    ),
    duplicate_keys: Literal["error", "last_wins"] = DUPLICATE_KEYS,
    format_: Format = typer.Option("json", "--format", help="The format of the source."),
    from_: str | None = typer.Option(
        None, "--from", help="The column of the source that has the documents (not for json)."
    ),
    file_size: int = FILE_SIZE,
    force: bool = typer.Option(False, "--force", help="Create the table even if its folder has other files."),
    storage: list[str] = STORAGE,
    engine: EngineName = ENGINE,
    master: str | None = MASTER,
    remote: str | None = REMOTE,
    as_json: bool = JSON,
) -> None:
    """Ingest JSON into a shredded Delta table, each file once.

    Invalid documents go to a table of rejects. The table is created if it does not exist.
    """
    if len(source) < 2:
        raise typer.BadParameter("name at least one source and the table: shredlake ingest SRC TABLE")
    *sources, table = source
    table_to_write(table)
    options = IngestOptions(
        column=column,
        shredding=None if shredding == "none" else shredding,
        computed=dict(computed_column(text) for text in computed),
        folder_columns=dict(computed_column(text, "--folder-column", "type") for text in folder_column),
        multi_line=multi_line,
        schema_mode=schema_mode,
        partition_by=tuple(name.strip() for name in partition_by.split(",") if name.strip()),
        sort_by=tuple(sort_by),
        range_partition=range_partition,
        rejects=rejects,
        max_rejects=rejects_share(max_rejects),
        job_id=job_id,
        file_bytes=file_size << 20,
        parsing=Parsing(duplicate_keys=duplicate_keys),
        writing=WriteOptions(bloom_filters=tuple(bloom_filter)),
        force=force,
        storage_options=storage_options(storage),
        show_progress=sys.stderr.isatty(),
    )
    with seekable(sources) as files:
        found = find_files(files, options.storage_options) if format_ == "json" else []
        size = sum(file.size for file in found)
        job = Job(files, format_, from_, table, options)
        opened = _opened(job, size) if engine == "auto" else None
        chosen = "spark" if isinstance(opened, UnsupportedExpression) else engine
        report = _run(job, Cluster(chosen, master, remote), size, opened)
    print_report(report, as_json=as_json)


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


def _run(job: Job, cluster: Cluster, size: int, opened: Opened) -> IngestReport:
    table = opened if isinstance(opened, Snapshot) else None
    with running(cluster.engine, size, cluster.master, cluster.remote) as chosen:
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
        return opened_here(job.table, job.options)
    _, schema = _batches(job.format, job.sources)
    document = job.document or job.options.column
    if document not in schema.names:
        return None
    return opened_here(job.table, job.options, [item for item in schema if item.name != document])


def computed_column(text: str, option: str = "--with", what: str = "expression") -> tuple[str, str]:
    """Parses a column: its name, a colon, its expression or type.

    >>> computed_column("day: v:ts::date")
    ('day', 'v:ts::date')
    """
    name, colon, expression = text.partition(":")
    if not colon or not name.strip() or not expression.strip():
        raise typer.BadParameter(f'{option} expects "name: {what}", found {text!r}')
    return name.strip(), expression.strip()


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
