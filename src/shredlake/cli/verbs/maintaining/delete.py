"""`shredlake delete`: deletes rows."""

from __future__ import annotations

import json
import shlex

import typer

from shredlake.cli.inputs import open_table
from shredlake.cli.messages import say
from shredlake.cli.options import JSON, STORAGE, TABLE, WHERE
from shredlake.formatting import counted


def delete(
    table: str = TABLE,
    where: str | None = WHERE,
    all_rows: bool = typer.Option(False, "--all", help="Delete all rows."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Only count the rows that would be deleted."),
    storage: list[str] = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Delete the rows of a table that meet a condition.

    Rows for which the condition is null stay. Older versions keep the deleted rows until `vacuum --delete`
    removes their files.
    """
    if (where is None) != all_rows:
        raise typer.BadParameter("name the rows with --where CONDITION, or delete all of them with --all")
    opened = open_table(table, storage=storage)
    before = opened.version
    rows = opened.scan(where=where).count()
    version = before if dry_run or not rows else opened.delete(where)
    if as_json:
        say(json.dumps({"version": version, "rows": rows, "deleted": version != before}))
    elif dry_run:
        say(f"{counted(rows, 'row')} would be deleted")
    elif version == before:
        say(f"No row meets the condition: {opened.uri} stays at version {version}")
    else:
        say(f"{counted(rows, 'row')} deleted: the table is at version {version}")
        say(f"To undo this: shredlake restore {shlex.quote(table)} --version {before}", err=True)
