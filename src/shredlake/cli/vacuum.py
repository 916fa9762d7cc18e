"""`shredlake vacuum`: delete files that no version needs any more."""

from __future__ import annotations

import json

import typer

from shredlake.cli.inputs import open_table
from shredlake.cli.terminal import say
from shredlake.delta.write.vacuum import vacuum as vacuum_table


def vacuum(
    uri: str = typer.Argument(help="The table: a path or a URL."),
    retention_hours: float | None = typer.Option(
        None,
        "--retention-hours",
        min=0,
        help="Keep files removed within so many hours; the default is the table's own retention.",
    ),
    delete: bool = typer.Option(False, "--delete", help="Delete the files; without it they are only listed."),
    force: bool = typer.Option(False, "--force", help="Allow a retention shorter than the table's."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON for machines."),
) -> None:
    """List, or with --delete delete, the files that no retained version needs."""
    found = vacuum_table(
        open_table(uri).snapshot,
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
    verb = "deleted" if delete else "would be deleted; run again with --delete"
    say(f"{len(found.files):,} files {verb}", err=True)
    for names, what in (
        (found.foreign, "files that no Delta writer has written"),
        (found.links, "symbolic links"),
    ):
        if names:
            say(f"left alone: {len(names):,} {what}, such as {names[0]}", err=True)
