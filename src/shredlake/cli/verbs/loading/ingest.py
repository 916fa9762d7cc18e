"""`shredlake ingest`: loads JSON into a shredded Delta table."""

from __future__ import annotations

import sys
from typing import Literal

import typer

from shredlake.cli.engines import ENGINE, MASTER, REMOTE, EngineName
from shredlake.cli.inputs import seekable, table_to_write
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


def ingest_source(
    source: list[str] = typer.Argument(
        help="Files, globs, folders, or - for standard input; the last argument is the table.",
        metavar="SRC... TABLE",
    ),
    column: str = typer.Option(
        "v", metavar="NAME", callback=not_empty, help="The Variant column for the documents."
    ),
    shredding: str = SHREDDING,
    computed: list[str] = typer.Option(
        [], "--with", metavar="COLUMN", help='A computed column, e.g. "day: v:ts::date". Repeatable.'
    ),
    folder_column: list[str] = typer.Option(
        [],
        metavar="COLUMN",
        help='A column from folders such as day=2026-01-01, with its type: "day: date". Repeatable.',
    ),
    multi_line: bool | None = typer.Option(
        None, "--multi-line/--lines", help="Documents span lines, or not. Detected by default."
    ),
    schema_mode: Literal["strict", "merge"] = typer.Option(
        "strict", help="merge adds columns that the table lacks."
    ),
    partition_by: str = typer.Option(
        "", metavar="NAMES", help="Partition columns of a new table, separated by commas."
    ),
    sort_by: list[str] = typer.Option(
        [], metavar="KEY", help='Sort the rows of each file, e.g. by "v:ts::bigint". Repeatable.'
    ),
    bloom_filter: list[str] = BLOOM_FILTER,
    range_partition: bool = typer.Option(
        False, show_default=False, help="Sort globally by --sort-by, so that files barely overlap."
    ),
    rejects: str | None = typer.Option(
        None, metavar="TABLE", help="The table for invalid documents (default TABLE_rejects)."
    ),
    max_rejects: str | None = typer.Option(
        None,
        metavar="LIMIT",
        help="Maximum number or share of invalid documents, e.g. 100 or 2%; beyond it the job fails.",
    ),
    job_id: str | None = typer.Option(
        None, metavar="KEY", help="Idempotency key; a job whose key is already committed is skipped."
    ),
    duplicate_keys: Literal["error", "last_wins"] = DUPLICATE_KEYS,
    format_: Literal["json", "parquet", "csv", "delta"] = typer.Option(
        "json", "--format", help="The format of the source."
    ),
    from_: str | None = typer.Option(
        None,
        "--from",
        metavar="COLUMN",
        help="The column of the source that has the documents (not for json).",
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
    from shredlake.cli.rows import print_report
    from shredlake.cli.verbs.loading.ingest_job import Cluster, Job, run
    from shredlake.jobs.ingest.ingest import IngestOptions
    from shredlake.jobs.ingest.parse_task import Parsing
    from shredlake.parquet.write.writer import WriteOptions

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
        report = run(Job(files, format_, from_, table, options), Cluster(engine, master, remote))
    print_report(report, as_json=as_json)


def computed_column(text: str, option: str = "--with", what: str = "expression") -> tuple[str, str]:
    """Parses a column: its name, a colon, its expression or type.

    >>> computed_column("day: v:ts::date")
    ('day', 'v:ts::date')
    """
    name, colon, expression = text.partition(":")
    if not colon or not name.strip() or not expression.strip():
        raise typer.BadParameter(f'{option} expects "name: {what}", found {text!r}')
    return name.strip(), expression.strip()
