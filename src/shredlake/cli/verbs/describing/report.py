"""`shredlake report`: how the files of a table shred its Variants, and what queries can skip.

```
events  version 12   64 files   20,000,000 rows   1.2 GB   in 2 layouts
v
  path      typed as         files  mixed  not typed  statistics  files per value
  amount    double              64     12          0          52              1.9
```
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import typer
from rich.console import Console
from rich.table import Table as Grid

from shredlake.cli.inputs import open_table
from shredlake.cli.pages import HTML, write_page
from shredlake.cli.terminal import cells, say, screen, shown
from shredlake.delta.report.measure import MEASURED_FILES
from shredlake.delta.report.paths import PathFacts
from shredlake.delta.report.report import TableReport
from shredlake.formatting import bytes_text, counted


def report(
    uri: str = typer.Argument(help="The table: a path or a URL."),
    html: str | None = HTML,
    files: int = typer.Option(
        MEASURED_FILES, "--files", min=0, help="Number of files in which bytes and fill are measured."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Show how the files of a Delta table shred its Variants, and what queries can skip."""
    facts = open_table(uri).report(files=files)
    if html is not None:
        write_page(facts.html(), html)
    elif as_json:
        say(json.dumps(facts.to_dict(), ensure_ascii=False))
    else:
        render(facts, screen())


def render(facts: TableReport, console: Console) -> None:
    """Prints the facts, one table per Variant column."""
    rows = "an unknown number of rows" if facts.rows is None else counted(facts.rows, "row")
    console.print(
        shown(facts.uri, "bold").append(
            f"  version {facts.version}   {counted(facts.files, 'file')}   {rows}   "
            f"{bytes_text(facts.size)}   in {counted(facts.layouts, 'layout')}",
            style="not bold",
        )
    )
    for column, paths in facts.paths.items():
        text = shown(column, "bold cyan")
        if facts.untouched[column]:
            text.append(f"  not shredded in {counted(facts.untouched[column], 'file')}", style="yellow")
        console.print(text)
        grid = Grid(box=None, pad_edge=False, padding=(0, 2))
        for name in ("path", "typed as"):
            grid.add_column(name)
        for name in ("files", "mixed", "not typed", "with statistics", "files per value"):
            grid.add_column(name, justify="right")
        for one in paths:
            grid.add_row(*cells(_cells(one, facts.files)))
        console.print(grid)


def _cells(one: PathFacts, files: int) -> list[Any]:
    types = ", ".join(
        kind if len(one.types) == 1 else f"{kind} ({n:,})" for kind, n in Counter(one.types).most_common()
    )
    value = "" if one.files_per_value is None else f"{one.files_per_value:.1f}"
    return [
        one.path,
        types,
        f"{one.typed:,}",
        f"{one.mixed:,}",
        f"{files - one.typed:,}",
        f"{one.with_statistics:,}",
        value,
    ]
