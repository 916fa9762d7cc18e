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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import typer
from rich.console import Console
from rich.table import Table as Grid

from shredlake.cli.grids import Column, fitted, paragraph
from shredlake.cli.inputs import open_table
from shredlake.cli.messages import say
from shredlake.cli.options import JSON, STORAGE, TABLE, TIMESTAMP, VERSION
from shredlake.cli.pages import HTML, check_page, write_page
from shredlake.cli.terminal import screen, shown
from shredlake.delta.report import MEASURED_FILES
from shredlake.formatting import bytes_text, counted

if TYPE_CHECKING:
    from shredlake.delta.report.paths import PathFacts
    from shredlake.delta.report.report import TableReport
    from shredlake.parquet.inspect.inspect import ColumnReport


def report(
    table: str = TABLE,
    html: str | None = HTML,
    files: int = typer.Option(
        MEASURED_FILES, "--files", min=0, help="Number of files in which bytes and fill are measured."
    ),
    version: int | None = VERSION,
    timestamp: str | None = TIMESTAMP,
    storage: list[str] = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Show how the files of a Delta table shred its Variants, and what queries can skip."""
    check_page(html, as_json=as_json)
    facts = open_table(table, version, timestamp, storage).report(files=files)
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
            f"{bytes_text(facts.bytes)}   in {counted(facts.layouts, 'layout')}",
            style="not bold",
        )
    )
    measured = {column.name: column for column in facts.measured.columns}
    for column, paths in facts.paths.items():
        text = shown(column, "bold cyan")
        if facts.untouched[column]:
            text.append(f"  not shredded in {counted(facts.untouched[column], 'file')}", style="yellow")
        console.print(text)
        console.print(_grid(paths, facts.files, measured.get(column), console.width))
    _more(facts, console)


@dataclass(frozen=True)
class Row:
    """A path, the number of files of its table, and its bytes, where they were measured."""

    path: PathFacts
    files: int
    size: int | None


def _types(row: Row) -> str:
    types = row.path.types
    return ", ".join(
        kind if len(types) == 1 else f"{kind} ({n:,})" for kind, n in Counter(types).most_common()
    )


def _files_per_value(row: Row) -> str:
    return "" if row.path.files_per_value is None else f"{row.path.files_per_value:.1f}"


COLUMNS: Final[Sequence[Column[Row]]] = (
    Column("path", lambda row: row.path.path),
    Column("typed as", _types),
    Column("bytes", lambda row: "" if row.size is None else bytes_text(row.size), 90, "right"),
    Column("files", lambda row: f"{row.path.typed:,}", justify="right"),
    Column("mixed", lambda row: f"{row.path.mixed:,}", justify="right"),
    Column("not typed", lambda row: f"{row.files - row.path.typed:,}", 72, "right"),
    Column("with statistics", lambda row: f"{row.path.with_statistics:,}", 100, "right"),
    Column("files per value", _files_per_value, justify="right"),
)


def _grid(paths: Sequence[PathFacts], files: int, measured: ColumnReport | None, width: int) -> Grid:
    """The paths of a column. Narrow terminals get the columns that matter most."""
    sizes = {} if measured is None else {one.path: one.bytes for one in measured.root.walk()}
    return fitted(COLUMNS, (Row(one, files, sizes.get(one.name)) for one in paths), width)


SHOWN: Final = 10
"""Number of reasons that are shown."""


def _more(facts: TableReport, console: Console) -> None:
    """Rejects and suggestions."""
    if facts.rejects:
        console.print(shown("rejects by reason", "bold cyan"))
        for rejected in facts.rejects[:SHOWN]:
            where = "" if rejected.file is None else f"first in {rejected.file}, line {rejected.line}"
            paragraph(console, shown(f"{rejected.count:>7,}  {rejected.reason}"), where)
    if facts.suggestions:
        console.print(shown("suggestions", "bold cyan"))
        for one in facts.suggestions:
            console.print(shown(one.title, "bold").append(f": {one.reason}", "not bold"))
            console.print(shown(f"  $ {one.command}", "green"), soft_wrap=True)
