"""`shredlake ingest`: JSON into a shredded Delta table."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.dataset as ds
import typer

from shredlake.cli.engines import ENGINE, MASTER, REMOTE, EngineName, running
from shredlake.cli.inputs import open_table, seekable, table_to_write
from shredlake.cli.options import not_empty
from shredlake.cli.terminal import screen
from shredlake.errors import InvalidFile, PipelineError, UnsupportedExpression
from shredlake.jobs.ingest import LARGEST_SORT, IngestOptions, ingest_text
from shredlake.jobs.ingest_arrow import ingest_batches
from shredlake.jobs.parse_task import Parsing
from shredlake.jobs.report import IngestReport
from shredlake.jobs.sources import find_files
from shredlake.parquet.write.writer import WriteOptions
from shredlake.spark.engine import SparkEngine
from shredlake.spark.query.api import read
from shredlake.spark.verbs import ingest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


Format = Literal["json", "parquet", "csv", "delta"]


def ingest_source(
    source: list[str] = typer.Argument(
        help="Files, globs, folders or - for standard input; last the table.", metavar="SRC... TABLE"
    ),
    column: str = typer.Option("v", callback=not_empty, help="The Variant column that the documents go to."),
    shredding: str = typer.Option("infer", help='A layout such as "struct<id bigint>", "infer", or "none".'),
    computed: list[str] = typer.Option([], "--with", help='Another column: "day: v:ts::date".'),
    partition_by: str = typer.Option("", help="Columns of a new table to partition by, with commas."),
    sort_by: list[str] = typer.Option([], help='Sort the rows of each file, by "v:ts::bigint" say.'),
    bloom_filter: list[str] = typer.Option([], help='Skip by equality on a path in no order, "v:id" say.'),
    range_partition: bool = typer.Option(False, help="Sort over all files: they hardly overlap then."),
    rejects: str | None = typer.Option(None, help="The table of bad documents; TABLE_rejects by default."),
    max_rejects: str | None = typer.Option(None, help="Fail beyond this many bad documents: 100, or 2%."),
    job_id: str | None = typer.Option(None, help="What makes the job this job, so that it is done once."),
    duplicate_keys: Literal["error", "last_wins"] = typer.Option("error", help="Objects with a key twice."),
    format_: Format = typer.Option("json", "--format", help="What the source is."),
    from_: str | None = typer.Option(None, "--from", help="The source's column with the documents."),
    file_size: int = typer.Option(128, min=1, help="Target size of the files, in MB."),
    force: bool = typer.Option(False, "--force", help="Create the table in a folder with other files."),
    engine: EngineName = ENGINE,
    master: str | None = MASTER,
    remote: str | None = REMOTE,
) -> None:
    """Ingest JSON into a shredded Delta table, each file once.

    Invalid documents go to a table of rejects. The table is created if it does not exist.
    """
    if len(source) < 2:
        raise typer.BadParameter("say what to ingest, and into which table: shredlake ingest SRC TABLE")
    *sources, table = source
    table_to_write(table)
    options = IngestOptions(
        column=column,
        shredding=None if shredding == "none" else shredding,
        computed=dict(computed_column(text) for text in computed),
        partition_by=tuple(name.strip() for name in partition_by.split(",") if name.strip()),
        sort_by=tuple(sort_by),
        range_partition=range_partition,
        rejects=rejects,
        max_rejects=None if max_rejects is None else rejects_limit(max_rejects),
        job_id=job_id,
        file_bytes=file_size << 20,
        parsing=Parsing(duplicate_keys=duplicate_keys),
        writing=WriteOptions(bloom_filters=tuple(bloom_filter)),
        force=force,
        show_progress=sys.stderr.isatty(),
    )
    with seekable(sources) as files:
        size = sum(file.size for file in find_files(files)) if format_ == "json" else 0
        try:
            report = _run(engine, size, master, remote, format_, files, from_, table, options)
        except UnsupportedExpression:
            if engine == "local":
                raise
            report = _run("spark", size, master, remote, format_, files, from_, table, options)
    screen().print(report.grid())


def _run(
    engine: EngineName,
    size: int,
    master: str | None,
    remote: str | None,
    kind: Format,
    sources: list[str],
    document: str | None,
    table: str,
    options: IngestOptions,
) -> IngestReport:
    with running(_fitting(engine, kind, size, options), size, master, remote) as chosen:
        if isinstance(chosen, SparkEngine):
            return _on_spark(chosen, kind, sources, document, table, options)
        if kind == "json":
            return ingest_text(chosen, sources, table, options)
        batches, schema = _batches(kind, sources)
        return ingest_batches(batches, schema, document or options.column, table, options)


def _fitting(engine: EngineName, kind: Format, size: int, options: IngestOptions) -> EngineName:
    """Spark, unless told otherwise, where one process could not sort all rows."""
    beyond = kind != "json" or size > LARGEST_SORT
    return "spark" if engine == "auto" and options.range_partition and beyond else engine


def computed_column(text: str) -> tuple[str, str]:
    """A column from the command line: its name, a colon, its expression.

    >>> computed_column("day: v:ts::date")
    ('day', 'v:ts::date')
    """
    name, colon, expression = text.partition(":")
    if not colon or not name.strip() or not expression.strip():
        raise typer.BadParameter(f'--with wants "name: expression", found {text!r}')
    return name.strip(), expression.strip()


def rejects_limit(text: str) -> int | float:
    """A number of documents, or a share of them.

    >>> rejects_limit("100"), rejects_limit("2%")
    (100, 0.02)
    """
    try:
        limit = float(text.removesuffix("%")) / 100 if text.endswith("%") else int(text)
    except ValueError:
        limit = -1
    if limit < 0 or (isinstance(limit, float) and not limit <= 1):
        raise typer.BadParameter(
            f"--max-rejects wants a number of documents or a percentage from 0% to 100%, found {text!r}"
        )
    return limit


def _on_spark(
    engine: SparkEngine,
    kind: Format,
    sources: list[str],
    document: str | None,
    table: str,
    options: IngestOptions,
) -> IngestReport:
    given: dict[str, Any] = dict(options.__dict__)
    if kind == "json":
        return ingest(engine.spark, sources, table, **given)
    frame: DataFrame
    if kind == "delta":
        frame = read(engine.spark, _single(sources))
    else:
        frame = engine.spark.read.format(kind).option("header", "true").load(sources)
    return ingest(engine.spark, frame, table, document=document, **given)


def _batches(kind: Format, sources: list[str]) -> tuple[Iterable[pa.RecordBatch], pa.Schema]:
    if kind == "delta":
        scan = open_table(_single(sources)).scan()
        return scan.to_batches(), scan.schema
    try:
        found = ds.dataset(sources if len(sources) > 1 else sources[0], format=kind)
    except (pa.ArrowException, ValueError) as error:
        raise InvalidFile(f"{', '.join(sources)} can't be read as {kind}: {error}") from error
    return found.to_batches(), found.schema


def _single(sources: list[str]) -> str:
    if len(sources) > 1:
        raise PipelineError(f"one table at a time: found {', '.join(sources)}")
    return sources[0]
