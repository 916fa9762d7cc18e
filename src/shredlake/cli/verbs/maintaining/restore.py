"""`shredlake restore`: brings an older version back."""

from __future__ import annotations

import json

import typer

from shredlake.cli.inputs import open_table
from shredlake.cli.messages import say
from shredlake.cli.options import JSON, STORAGE, TABLE


def restore(
    table: str = TABLE,
    version: int | None = typer.Option(None, "--version", min=0, help="The version to restore."),
    timestamp: str | None = typer.Option(
        None,
        "--timestamp",
        metavar="TIME",
        help="Restore the table as it was at this time, e.g. 2026-01-31T12:00:00Z.",
    ),
    storage: list[str] = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Restore an older version of a table, as a new version.

    Nothing is lost: the versions in between stay, and can be restored as well.
    """
    if (version is None) == (timestamp is None):
        raise typer.BadParameter("name what to restore with --version N or --timestamp TIME")
    opened = open_table(table, storage=storage)
    old = open_table(table, version, timestamp, storage).version
    new = opened.restore(old)
    if as_json:
        say(json.dumps({"version": new, "restored": old}))
    else:
        say(f"Version {old} is restored: the table is at version {new}")
