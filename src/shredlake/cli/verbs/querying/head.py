"""`shredlake head`: the first rows of a table."""

from __future__ import annotations

import typer

from shredlake.cli.formats import Format
from shredlake.cli.options import FORMAT, JSON, MOST_ROWS, OUTPUT, STORAGE, TABLE, TIMESTAMP, VERSION
from shredlake.cli.verbs.querying.query import query


def head(
    table: str = TABLE,
    columns: str = typer.Argument("*", help="Columns, as after SELECT."),
    rows: int = typer.Option(5, "--rows", "-n", min=0, max=MOST_ROWS, help="Number of rows."),
    form: Format | None = FORMAT,
    output: str | None = OUTPUT,
    version: int | None = VERSION,
    timestamp: str | None = TIMESTAMP,
    storage: list[str] = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Show the first rows of a table.

    Rows of a Delta table have no order of their own: these are the first ones that are read.
    """
    query(
        table,
        columns,
        where=None,
        limit=rows,
        form=form,
        output=output,
        engine="local",
        explain=False,
        strict=False,
        version=version,
        timestamp=timestamp,
        storage=storage,
        as_json=as_json,
    )
