"""`shredlake optimize`: rewrites a table into fewer, sorted, better shredded files."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import typer

from shredlake.cli.engines import ENGINE, MASTER, REMOTE, EngineName, running
from shredlake.cli.inputs import open_table
from shredlake.cli.messages import say
from shredlake.cli.options import (
    BLOOM_FILTER,
    FILE_SIZE,
    JSON,
    SHREDDING,
    STORAGE,
    TABLE,
    not_empty,
    storage_options,
)


def optimize_files(
    table: str = TABLE,
    where: str | None = typer.Option(
        None, metavar="CONDITION", help="Rewrite only files that may have rows that meet this condition."
    ),
    sort_by: list[str] = typer.Option(
        [], metavar="KEY", help='Sort all rows, e.g. by "v:ts::bigint". Repeatable.'
    ),
    bloom_filter: list[str] = BLOOM_FILTER,
    shredding: str = SHREDDING,
    column: str | None = typer.Option(
        None,
        metavar="NAME",
        callback=not_empty,
        help="The Variant column that --shredding applies to (default all).",
    ),
    file_size: int = FILE_SIZE,
    engine: EngineName = ENGINE,
    master: str | None = MASTER,
    remote: str | None = REMOTE,
    storage: list[str] = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Compact, sort and re-shred the files of a table; no row changes."""
    from shredlake.jobs.optimize import optimize_table
    from shredlake.parquet.write.writer import WriteOptions

    size = sum(open_table(table, storage=storage).files().column("size").to_pylist())
    with running(engine, size, master, remote) as chosen:
        report = optimize_table(
            chosen,
            table,
            where=where,
            sort_by=tuple(sort_by),
            column=column,
            shredding=None if shredding == "none" else shredding,
            file_bytes=file_size << 20,
            writing=WriteOptions(bloom_filters=tuple(bloom_filter)),
            storage_options=storage_options(storage),
            show_progress=sys.stderr.isatty(),
        )
    say(json.dumps(asdict(report), ensure_ascii=False) if as_json else str(report))
