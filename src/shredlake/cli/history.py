"""`shredlake history`: what was done to a table."""

from __future__ import annotations

import json
from typing import Any

import typer
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from shredlake.delta import Table


def history(
    uri: str = typer.Argument(help="The table: a path or a URL."),
    limit: int = typer.Option(20, "--limit", "-n", help="How many commits, the newest first; 0 for all."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object per commit."),
) -> None:
    """Show the commits of a Delta table, the newest first."""
    entries = Table(uri).history(limit or None)
    if as_json:
        for entry in entries:
            typer.echo(json.dumps(entry | {"timestamp": entry["timestamp"].isoformat()}, ensure_ascii=False))
        return
    grid = Grid(box=None, pad_edge=False, padding=(0, 2))
    for name in ("version", "time", "operation", "what", "engine"):
        grid.add_column(name, justify="right" if name == "version" else "left", no_wrap=name != "what")
    for entry in entries:
        moment = entry["timestamp"].isoformat(sep=" ", timespec="seconds")
        cells = (str(entry["version"]), moment, entry["operation"] or "", _what(entry), entry["engine"] or "")
        grid.add_row(*map(Text, cells))  # as it stands: rich takes `:a:` for an emoji
    console = Console()
    (console if console.is_terminal else Console(width=200)).print(grid)


def _what(entry: dict[str, Any]) -> str:
    """The parameters and metrics that say something."""
    parameters = {k: v for k, v in entry["parameters"].items() if v not in (None, "", "[]", "{}", "false")}
    metrics = {k.removeprefix("num"): v for k, v in entry["metrics"].items() if v not in ("0", 0)}
    return "  ".join(f"{key}={value}" for key, value in {**parameters, **metrics}.items())
