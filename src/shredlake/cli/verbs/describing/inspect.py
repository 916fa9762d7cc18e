"""`shredlake inspect`: the tree of paths in a file, with fill, bytes and bounds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from shredlake.cli.grids import Column, fitted
from shredlake.cli.inputs import parquet_file
from shredlake.cli.messages import say
from shredlake.cli.options import JSON, STORAGE
from shredlake.cli.pages import HTML, check_page, write_page
from shredlake.cli.terminal import screen, shown
from shredlake.formatting import bytes_text, counted, escaped

if TYPE_CHECKING:
    import pyarrow as pa

    from shredlake.parquet.inspect.inspect import ColumnReport, FileReport, PathReport

BAR = 12
WIDE = 140
"""Width of a terminal that has room for the bounds."""
PARTS = (
    ("typed", "█", "green"),
    ("residual", "▓", "yellow"),
    ("null", "▒", "blue"),
    ("missing", "░", "bright_black"),
)
"""The parts of the fill bar: the count, the character and the style."""


def inspect_file(
    path: str = typer.Argument(help="A Parquet file: a path, a URL, or - for standard input."),
    html: str | None = HTML,
    storage: list[str] = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Show the Variants of a Parquet file: types, fill, bytes and bounds per path."""
    from shredlake.cli.progress import rows_progress
    from shredlake.parquet.inspect.inspect import inspect

    check_page(html, as_json=as_json)
    with parquet_file(path, storage) as (file, store), rows_progress("reading", quiet=as_json) as progress:
        report = inspect(file, store=store, progress=progress)
    if html is not None:
        write_page(report.html(), html)
    elif as_json:
        say(json.dumps(report.to_dict(), ensure_ascii=False))
    else:
        render(report, screen(width=200))


def render(report: FileReport, console: Console) -> None:
    """Prints a report as tables, one per Variant column."""
    console.print(
        shown(report.path, "bold").append(
            f"  {counted(report.rows, 'row')}, {bytes_text(report.bytes)}, "
            f"{counted(report.row_groups, 'row group')}, written by {escaped(str(report.created_by))}",
            "not bold",
        )
    )
    for column in report.variants:
        console.print(_heading(column))
        console.print(_table(column, console.width))
    if report.others:
        total = sum(report.others.values())
        console.print(f"other columns: {bytes_text(total)}, {total / report.bytes:.1%} of the file")
    if report.variants:
        legend = Text("fill: ")
        for name, block, style in PARTS:
            legend.append(f"{block} {name}  ", style)
        console.print(legend)


def _heading(column: ColumnReport) -> Text:
    layout = "shredded" if column.shredding else "unshredded"
    annotation = "" if column.annotated else ", not annotated"
    return Text("\n").append(
        shown(column.name, "bold cyan").append(
            f"  {layout}{annotation}, {counted(column.variants, 'Variant')}, "
            f"{column.nulls:,} NULL, {bytes_text(column.bytes)} ({column.file_share:.1%}), "
            f"metadata {bytes_text(column.metadata_bytes)}",
            "default not bold",
        )
    )


@dataclass(frozen=True)
class Row:
    """A path in the tree, and the bytes of the largest path, which gets the longest bar."""

    path: PathReport
    name: str
    depth: int
    largest: float


def _part(name: str) -> Callable[[Row], str]:
    return lambda row: _share(getattr(row.path, name), row.path.places)


COLUMNS: Final[Sequence[Column[Row]]] = (
    Column("path", lambda row: "  " * row.depth + row.name),
    Column("type", lambda row: Text(escaped(row.path.type), "cyan")),
    Column("fill", lambda row: fill_bar(row.path)),
    Column("typed", _part("typed"), 100, "right"),
    Column("residual", _part("residual"), 72, "right"),
    Column("null", _part("null"), 100, "right"),
    Column("missing", _part("missing"), 72, "right"),
    Column("bytes", lambda row: bytes_text(row.path.bytes), justify="right"),
    Column("of file", lambda row: f"{row.path.file_share:.1%}", justify="right"),
    Column("", lambda row: Text("▇" * round(8 * row.path.file_share / row.largest), "magenta"), 110),
    Column("min", lambda row: _one_line(row.path.minimum), WIDE, max_width=24),
    Column("max", lambda row: _one_line(row.path.maximum), WIDE, max_width=24),
)


def _rows(path: PathReport, name: str, depth: int, largest: float) -> Iterator[Row]:
    yield Row(path, name, depth, largest)
    for child in path.children:
        yield from _rows(child, child.path.removeprefix(path.path), depth + 1, largest)


def _table(column: ColumnReport, width: int) -> Table:
    largest = max((path.file_share for path in column.root.walk()), default=0.0) or 1.0
    return fitted(COLUMNS, _rows(column.root, "$", 0, largest), width)


def _one_line(bound: pa.Scalar | None) -> str:
    text = "" if bound is None else str(bound)
    return "".join(character if character.isprintable() else "·" for character in text)


def fill_bar(path: PathReport) -> Text:
    """A bar that shows which share of the places is typed, residual, null and missing."""
    bar = Text()
    drawn = seen = 0
    for name, block, style in PARTS:
        seen += getattr(path, name)
        end = round(BAR * seen / path.places) if path.places else 0
        bar.append(block * (end - drawn), style)
        drawn = end
    return bar


def _share(count: int, places: int) -> str:
    if not count or not places:
        return "-"
    share = count / places
    return "<0.1%" if share < 0.001 else ">99.9%" if 0.999 < share < 1 else f"{share:.1%}"
