"""`shredlake drift`: which paths appeared, vanished or changed type over the versions of a table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import typer
from rich.console import Console
from rich.table import Table as Grid

from shredlake.cli.grids import paragraph
from shredlake.cli.inputs import open_table
from shredlake.cli.messages import say
from shredlake.cli.options import STORAGE, TABLE, storage_options
from shredlake.cli.terminal import cells, screen, shown
from shredlake.formatting import counted

if TYPE_CHECKING:
    from shredlake.delta.report.drift import Change, Drift

WIDE: Final = 140
"""Terminals that are narrower get one paragraph per change instead of a table."""


def show_drift(
    table: str = TABLE,
    since: int | None = typer.Option(
        None,
        "--since",
        metavar="VERSION",
        help="Compare with this version (default: the oldest one in the log with rows).",
    ),
    read: bool = typer.Option(
        False, "--read", help="Read the data, so that paths that are not shredded count too."
    ),
    storage: list[str] = STORAGE,
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object per change."),
) -> None:
    """Show which paths appeared, vanished or changed type over the versions of a table."""
    from shredlake.delta.report.drift import drift

    open_table(table, storage=storage)
    found = drift(table, since, read=read, storage_options=storage_options(storage))
    if as_json:
        for change in found.changes:
            say(json.dumps(change.to_dict(), ensure_ascii=False))
        return
    console = screen(width=200)
    console.print(shown(table, "bold").append(f"  versions {found.since} to {found.version}", "not bold"))
    if not found.changes:
        console.print("No path changed.")
    elif console.width < WIDE:
        _paragraphs(found, console)
    else:
        console.print(_grid(found))
    console.print(_how(found, read))


def _grid(found: Drift) -> Grid:
    from shredlake.delta.report.drift import types_text

    grid = Grid(box=None, pad_edge=False, padding=(0, 2))
    for name in ("version", "time", "operation", "change", "path", "types", "known from"):
        grid.add_column(name, justify="right" if name == "version" else "left", overflow="fold")
    for one in found.changes:
        row = (one.version, _moment(one), one.operation, one.kind, one.path, types_text(one), one.evidence)
        grid.add_row(*cells(row))
    return grid


def _paragraphs(found: Drift, console: Console) -> None:
    """One paragraph per change: nothing is cut, however narrow the terminal is."""
    from shredlake.delta.report.drift import types_text

    for one in found.changes:
        heading = shown(f"{one.version:>7}  ", "bold").append(f"{one.path} {one.kind}: {types_text(one)}")
        paragraph(console, heading, f"{_moment(one)}  {one.operation}, known from {one.evidence}")


def _moment(change: Change) -> str:
    return change.timestamp.isoformat(sep=" ", timespec="seconds").replace("+00:00", "Z")


def _how(found: Drift, read: bool) -> str:
    parts = [
        f"{counted(found.files_by_log, 'file')} known from the log",
        f"{found.files_read:,} read",
    ]
    if found.files_unknown:
        parts.append(f"{found.files_unknown:,} can no longer be read")
    note = "" if read or not found.files_by_log else ". The log knows only shredded paths; use --read for all"
    return ", ".join(parts) + note
