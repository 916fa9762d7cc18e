"""`shredlake history`: the commits of a table."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import typer
from rich.console import Console
from rich.table import Table as Grid

from shredlake.cli.grids import paragraph
from shredlake.cli.inputs import open_table
from shredlake.cli.messages import say
from shredlake.cli.options import STORAGE, TABLE
from shredlake.cli.terminal import cells, screen, shown
from shredlake.formatting import bytes_text, escaped

WIDE: Final = 120
"""Terminals that are narrower get one paragraph per commit instead of a table."""


def history(
    table: str = TABLE,
    limit: int = typer.Option(20, "--limit", "-n", min=0, help="Maximum number of commits; 0 for all."),
    storage: list[str] = STORAGE,
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object per commit."),
) -> None:
    """Show the commits of a Delta table, newest first."""
    entries = open_table(table, storage=storage).history(limit or None)
    if as_json:
        for entry in entries:
            say(json.dumps(entry | {"timestamp": entry["timestamp"].isoformat()}, ensure_ascii=False))
        return
    console = screen(width=200)
    if console.width < WIDE:
        _narrow(entries, console)
        return
    grid = Grid(box=None, pad_edge=False, padding=(0, 2))
    for name in ("version", "time", "operation", "what", "engine"):
        number = name == "version"
        grid.add_column(name, justify="right" if number else "left", no_wrap=name != "what", overflow="fold")
    for entry in entries:
        grid.add_row(
            *cells((entry["version"], _moment(entry), _operation(entry), _what(entry), entry["engine"] or ""))
        )
    console.print(grid)


def _narrow(entries: list[dict[str, Any]], console: Console) -> None:
    """One paragraph per commit: nothing is cut, however narrow the terminal is."""
    for entry in entries:
        line = shown(f"{entry['version']:>7}  ", "bold").append(f"{_moment(entry)}  {_operation(entry)}")
        paragraph(console, line, _what(entry), str(entry["engine"] or ""))


def _moment(entry: dict[str, Any]) -> str:
    return str(entry["timestamp"].isoformat(sep=" ", timespec="seconds").replace("+00:00", "Z"))


def _operation(entry: dict[str, Any]) -> str:
    return escaped(entry["operation"] or "")


def _what(entry: dict[str, Any]) -> str:
    """The parameters and metrics that are set and not zero."""
    parameters = {k: v for k, v in entry["parameters"].items() if v not in (None, "", "[]", "{}", "false")}
    metrics = [metric_text(k, str(v)) for k, v in entry["metrics"].items() if v not in ("0", 0)]
    return "  ".join([*(f"{key}={value}" for key, value in parameters.items()), *metrics])


def metric_text(name: str, value: str) -> str:
    """A metric of a commit as people write it; a value that is not a number stays as it is.

    >>> metric_text("numOutputRows", "1234"), metric_text("restoredFilesSize", "2936")
    ('output rows 1,234', 'restored files size 2.9 kB')
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.removeprefix("num")).lower()
    if not value.isdecimal():
        return f"{words} {value}"
    return f"{words} {bytes_text(int(value)) if words.endswith(('bytes', 'size')) else f'{int(value):,}'}"
