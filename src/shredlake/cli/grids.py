"""Tables without lines whose columns depend on the width of the terminal, and paragraphs in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeVar

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from shredlake.cli.terminal import cells, shown

Item = TypeVar("Item")


@dataclass(frozen=True)
class Column(Generic[Item]):
    """A column: its title, the cell of an item, and the width of terminal from which on it is shown."""

    title: str
    cell: Callable[[Item], str | Text]
    from_width: int = 0
    justify: Literal["left", "right"] = "left"
    max_width: int | None = None
    """Longer cells are cut; without it, they are continued on the next line."""


def fitted(columns: Sequence[Column[Item]], items: Iterable[Item], width: int) -> Grid:
    """Draws the columns that a terminal of this width has room for."""
    chosen = [column for column in columns if width >= column.from_width]
    grid = Grid(box=None, pad_edge=False, padding=(0, 1))
    for column in chosen:
        cut = column.max_width is not None
        grid.add_column(
            column.title,
            justify=column.justify,
            overflow="ellipsis" if cut else "fold",
            no_wrap=cut or column.justify == "right",
            max_width=column.max_width,
        )
    for item in items:
        grid.add_row(*cells(column.cell(item) for column in chosen))
    return grid


INDENT: Final = 9
"""Where the second and later lines of a paragraph start."""


def paragraph(console: Console, heading: Text, *details: str) -> None:
    """Prints a row as indented lines, where a table would cut its cells; empty details are left out."""
    lines = [heading] if heading.cell_len <= console.width else heading.wrap(console, console.width - INDENT)
    console.print(lines[0])
    for line in (*lines[1:], *(shown(text) for text in filter(None, details))):
        console.print(Padding(line, (0, 0, 0, INDENT)))
