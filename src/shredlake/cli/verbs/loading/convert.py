"""`shredlake convert`: turns string columns that hold JSON into Variants."""

from __future__ import annotations

import sys
from typing import Literal

import typer

from shredlake.cli.engines import ENGINE, MASTER, REMOTE, EngineName, running
from shredlake.cli.inputs import table_to_write
from shredlake.cli.options import (
    DUPLICATE_KEYS,
    FILE_SIZE,
    JSON,
    SHREDDING,
    STORAGE,
    rejects_share,
    storage_options,
)


def convert_columns(
    table: str = typer.Argument(help="A Delta table, or a folder of Parquet files: a path or a URL."),
    columns: list[str] = typer.Option(
        ..., "--column", "-c", metavar="NAME", help="A string column that holds JSON. Repeatable."
    ),
    to: str | None = typer.Option(
        None,
        "--to",
        metavar="TABLE",
        help="Write a new table here, and leave the old one unchanged (default: in place).",
    ),
    shredding: str = SHREDDING,
    rejects: str | None = typer.Option(
        None, metavar="TABLE", help="The table for rows that are not JSON (default TABLE_rejects)."
    ),
    max_rejects: str | None = typer.Option(
        None,
        metavar="LIMIT",
        help="Maximum number or share of such rows, e.g. 100 or 2%; beyond it the job fails.",
    ),
    duplicate_keys: Literal["error", "last_wins"] = DUPLICATE_KEYS,
    file_size: int = FILE_SIZE,
    engine: EngineName = ENGINE,
    master: str | None = MASTER,
    remote: str | None = REMOTE,
    storage: list[str] = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Convert string columns that hold JSON to Variants, in place or as a copy.

    Rows that are not JSON go to a rejects table. Every value is verified before the commit. An interrupted
    job continues when it is run again.
    """
    from shredlake.cli.rows import print_report
    from shredlake.jobs.convert.convert import convert_table
    from shredlake.jobs.ingest.parse_task import Parsing

    if to is not None:
        table_to_write(to)
    with running(engine, 0, master, remote) as chosen:
        report = convert_table(
            chosen,
            table,
            columns,
            target=to,
            shredding=None if shredding == "none" else shredding,
            rejects=rejects,
            max_rejects=rejects_share(max_rejects),
            parsing=Parsing(duplicate_keys=duplicate_keys),
            file_bytes=file_size << 20,
            storage_options=storage_options(storage),
            show_progress=sys.stderr.isatty(),
        )
    print_report(report, as_json=as_json)
