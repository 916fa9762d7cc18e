"""`shredlake drift`: which paths appeared, vanished or changed type over the versions of a table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer
from rich.table import Table as Grid

from shredlake.cli.inputs import open_table
from shredlake.cli.messages import say
from shredlake.cli.options import STORAGE, storage_options
from shredlake.cli.terminal import cells, screen, shown
from shredlake.formatting import counted

if TYPE_CHECKING:
    from shredlake.delta.report.drift import Drift


def show_drift(
    uri: str = typer.Argument(help="The table: a path or a URL."),
    since: int | None = typer.Option(
        None, "--since", help="Compare with this version (default: the oldest one in the log with rows)."
    ),
    read: bool = typer.Option(
        False, "--read", help="Read the data, so that paths that are not shredded count too."
    ),
    storage: list[str] = STORAGE,
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object per change."),
) -> None:
    """Show which paths appeared, vanished or changed type over the versions of a table."""
    from shredlake.delta.report.drift import drift, types_text

    open_table(uri, storage=storage)
    found = drift(uri, since, read=read, storage_options=storage_options(storage))
    if as_json:
        for change in found.changes:
            say(json.dumps(change.to_dict(), ensure_ascii=False))
        return
    console = screen(width=200)
    console.print(shown(uri, "bold").append(f"  versions {found.since} to {found.version}", "not bold"))
    grid = Grid(box=None, pad_edge=False, padding=(0, 2))
    for name in ("version", "time", "operation", "change", "path", "types", "known from"):
        grid.add_column(name, justify="right" if name == "version" else "left")
    for one in found.changes:
        moment = one.timestamp.isoformat(sep=" ", timespec="seconds")
        row = (one.version, moment, one.operation, one.kind, one.path, types_text(one), one.evidence)
        grid.add_row(*cells(row))
    console.print(grid if found.changes else "No path changed.")
    console.print(_how(found, read))


def _how(found: Drift, read: bool) -> str:
    parts = [
        f"{counted(found.files_by_log, 'file')} known from the log",
        f"{found.files_read:,} read",
    ]
    if found.files_unknown:
        parts.append(f"{found.files_unknown:,} can no longer be read")
    note = "" if read or not found.files_by_log else ". The log knows only shredded paths; use --read for all"
    return ", ".join(parts) + note
