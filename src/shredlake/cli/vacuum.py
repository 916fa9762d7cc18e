"""`shredlake vacuum`: delete files that no version needs any more."""

from __future__ import annotations

import json

import typer

from shredlake.delta import Table


def vacuum(
    uri: str = typer.Argument(help="The table: a path or a URL."),
    retention_hours: float = typer.Option(
        -1.0,
        "--retention-hours",
        help="Keep files removed within so many hours; as the table says if not given.",
    ),
    delete: bool = typer.Option(False, "--delete", help="Delete the files; without it they are only listed."),
    force: bool = typer.Option(False, "--force", help="Allow a retention shorter than the table's."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON for machines."),
) -> None:
    """List, or with --delete delete, the files that no version within the retention period needs."""
    files = Table(uri).vacuum(
        retention_hours=None if retention_hours < 0 else retention_hours,
        dry_run=not delete,
        enforce_retention=not force,
    )
    if as_json:
        typer.echo(json.dumps({"deleted": delete, "files": files}, ensure_ascii=False))
        return
    for file in files:
        typer.echo(file)
    verb = "deleted" if delete else "would be deleted; run again with --delete"
    typer.echo(f"{len(files):,} files {verb}", err=True)
