"""`shredlake history`: the commits of a table."""

from __future__ import annotations

import json
from typing import Any

import typer
from rich.table import Table as Grid

from shredlake.cli.inputs import open_table
from shredlake.cli.terminal import cells, say, screen


def history(
    uri: str = typer.Argument(help="The table: a path or a URL."),
    limit: int = typer.Option(20, "--limit", "-n", min=0, help="Maximum number of commits; 0 for all."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object per commit."),
) -> None:
    """Show the commits of a Delta table, newest first."""
    entries = open_table(uri).history(limit or None)
    if as_json:
        for entry in entries:
            say(json.dumps(entry | {"timestamp": entry["timestamp"].isoformat()}, ensure_ascii=False))
        return
    grid = Grid(box=None, pad_edge=False, padding=(0, 2))
    for name in ("version", "time", "operation", "what", "engine"):
        grid.add_column(name, justify="right" if name == "version" else "left", no_wrap=name != "what")
    for entry in entries:
        moment = entry["timestamp"].isoformat(sep=" ", timespec="seconds")
        facts = (entry["version"], moment, entry["operation"] or "", _what(entry), entry["engine"] or "")
        grid.add_row(*cells(facts))
    screen(width=200).print(grid)


def _what(entry: dict[str, Any]) -> str:
    """The parameters and metrics that are set and not zero."""
    parameters = {k: v for k, v in entry["parameters"].items() if v not in (None, "", "[]", "{}", "false")}
    metrics = {k.removeprefix("num"): v for k, v in entry["metrics"].items() if v not in ("0", 0)}
    return "  ".join(f"{key}={value}" for key, value in {**parameters, **metrics}.items())
