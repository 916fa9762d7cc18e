"""`shredlake views`: SQL for a view or a dbt model with one typed column per path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import typer

from shredlake.cli.inputs import open_table
from shredlake.cli.messages import say
from shredlake.cli.options import STORAGE, TABLE, storage_options
from shredlake.errors import InvalidFile


def show_views(
    table: str = TABLE,
    dialect: Literal["spark", "duckdb", "dbt"] = typer.Option(
        "spark", "--dialect", "-d", help="Write SQL for this engine, or a dbt model."
    ),
    name: str | None = typer.Option(
        None, "--name", metavar="NAME", help="The name of the view (default FOLDER_typed)."
    ),
    source: str | None = typer.Option(
        None,
        "--from",
        metavar="SQL",
        help="What the view selects from, as written in SQL (default: the table).",
    ),
    output: str | None = typer.Option(
        None, "--output", "-o", metavar="FOLDER", help="Write the files to this folder."
    ),
    storage: list[str] = STORAGE,
    as_json: bool = typer.Option(False, "--json", help="Print a JSON object with the text of each file."),
) -> None:
    """Print SQL for a view, or a dbt model, with one typed column per path."""
    from shredlake.delta.report.views import views

    open_table(table, storage=storage)
    texts = views(table, dialect, name=name, source=source, storage_options=storage_options(storage))
    if as_json:
        say(json.dumps(texts, ensure_ascii=False))
        return
    if output is None:
        for file, text in texts.items():
            if len(texts) > 1:
                say(f"{'#' if file.endswith('.yml') else '--'} {file}")
            say(text)
        return
    folder = Path(output)
    if not folder.is_dir():
        raise InvalidFile(f"{output} is not a folder; create it first")
    for file, text in texts.items():
        (folder / file).write_text(text, encoding="utf-8")
        say(str(folder / file))
