"""`shredlake vacuum`: lists or deletes files that no retained version needs."""

from __future__ import annotations

import json

import typer

from shredlake.cli.inputs import open_table
from shredlake.cli.messages import say
from shredlake.cli.options import JSON, STORAGE, TABLE
from shredlake.formatting import counted


def vacuum(
    table: str = TABLE,
    retention_hours: float | None = typer.Option(
        None,
        "--retention-hours",
        min=0,
        help="Keep files removed within this many hours (default: the table's retention).",
    ),
    delete: bool = typer.Option(False, "--delete", help="Delete the files instead of listing them."),
    force: bool = typer.Option(False, "--force", help="Allow a retention that is shorter than the table's."),
    storage: list[str] = STORAGE,
    as_json: bool = JSON,
) -> None:
    """List the files that no retained version needs, or delete them with --delete."""
    from shredlake.delta.write.vacuum import vacuum as vacuum_table

    found = vacuum_table(
        open_table(table, storage=storage).snapshot,
        retention_hours=retention_hours,
        dry_run=not delete,
        enforce_retention=not force,
    )
    if as_json:
        left = {"foreign": found.foreign, "links": found.links}
        say(json.dumps({"deleted": delete, "files": found.files, "left": left}, ensure_ascii=False))
        return
    for file in found.files:
        say(file)
    if not found.files:
        say("No file to delete.", err=True)
    else:
        verb = "deleted." if delete else "would be deleted. Run again with --delete to delete them."
        say(f"{counted(len(found.files), 'file')} {verb}", err=True)
    for names, one, many in (
        (found.foreign, "file not written by a Delta writer", "files not written by a Delta writer"),
        (found.links, "symbolic link", "symbolic links"),
    ):
        if names:
            say(f"Not deleted: {counted(len(names), one, many)}, such as {names[0]}", err=True)
