"""Plain tables, cards and commands to copy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shredlake.html.markup import Markup, element


def table(titles: Sequence[str], rows: Iterable[Sequence[object]], numbers: Sequence[int] = ()) -> Markup:
    """A table; the columns at the places `numbers` are aligned to the right.

    >>> print(table(["n"], [[1]], numbers=[0]))
    <div class="scroll"><table><thead><tr><th scope="col" class="number">n</th></tr></thead><tbody>...
    """
    kinds = ["number" if place in numbers else None for place in range(len(titles))]
    head = element(
        "tr", *(element("th", one, scope="col", class_=kind) for one, kind in zip(titles, kinds, strict=True))
    )
    body = [
        element("tr", *(element("td", cell, class_=kind) for cell, kind in zip(row, kinds, strict=True)))
        for row in rows
    ]
    return element("div", element("table", element("thead", head), element("tbody", *body)), class_="scroll")


def command(line: str) -> Markup:
    """A command with a button that copies it."""
    return element(
        "div",
        element("code", line),
        element("button", "Copy", type="button", class_="copy", aria_label=f"Copy: {line}"),
        class_="command",
    )


def cards(items: Iterable[Markup]) -> Markup:
    """Figures side by side, as many as fit."""
    return element("div", *items, class_="cards")


def nothing(message: str) -> Markup:
    """The message of a section with nothing to show."""
    return element("p", message, class_="nothing")
