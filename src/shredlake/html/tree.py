"""A tree of rows that the page's script draws: only the rows in view are elements, so 5,000 stay quick."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from shredlake.formatting import escaped
from shredlake.html.markup import Markup, data, element

Cell = tuple[float | str | None, str]
"""The sort key of a cell, and its text."""


@dataclass(frozen=True)
class Column:
    """A column: its title, how it is aligned, and its width in characters."""

    title: str
    align: Literal["left", "right"] = "left"
    width: int = 10
    about: str = ""


@dataclass(frozen=True)
class Row:
    """A row of the tree. Parents come before their children."""

    label: str
    """The last step of the path."""
    name: str
    """The whole path, which the search looks at."""
    parent: int | None
    fill: tuple[float, ...]
    """The parts of the bar, as shares."""
    cells: tuple[Cell, ...]
    copy: str = ""
    """The text that the row offers to copy."""


def tree(columns: Sequence[Column], rows: Sequence[Row], parts: Sequence[tuple[str, str]]) -> Markup:
    """The tree, with its search field. `parts` names the parts of the bar: a class and a meaning each."""
    content = {
        "columns": [[one.title, one.align, one.width, one.about] for one in columns],
        "parts": list(parts),
        "rows": [
            [
                -1 if row.parent is None else row.parent,
                escaped(row.label),
                escaped(row.name),
                [round(part, 4) for part in row.fill],
                [[escaped(key) if isinstance(key, str) else key, escaped(shown)] for key, shown in row.cells],
                escaped(row.copy),
            ]
            for row in rows
        ],
    }
    controls = element(
        "div",
        element("label", "Search", for_="search"),
        element(
            "input", id="search", type="search", placeholder="path or type", autocomplete="off",
            spellcheck="false", aria_describedby="found",
        ),
        element("label", element("input", type="checkbox", id="flat"), "Flat list"),
        element("button", "Expand all", type="button", id="expand"),
        element("span", id="found", role="status"),
        class_="controls",
    )  # fmt: skip
    grid = element("div", class_="tree", id="tree", role="treegrid", aria_label="Paths", tabindex="0")
    detail = element("div", class_="detail", id="detail", aria_live="polite")
    return element("div", controls, grid, detail, data(content, "tree-data"), class_="tree-box")
