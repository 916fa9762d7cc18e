"""Drawn output, by rich: data is never read as markup, and its control characters are always escaped.

Styles are given by `Text` objects, never by markup in strings. Plain lines are printed by `messages`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, Final

from rich.console import (
    Console,
    ConsoleOptions,
    ConsoleRenderable,
    RenderableType,
    RenderHook,
    RenderResult,
)
from rich.segment import Segment
from rich.text import Text

from shredlake.formatting import escaped

WIDTH: Final = 160
"""Width of tables that are written to a file, and to a pipe unless COLUMNS says otherwise."""

NARROWEST: Final = 20


def shown(value: Any, style: str = "") -> Text:
    """A value as text for people: no markup, no emoji codes, control characters escaped.

    >>> shown("[/x]").plain
    '[/x]'
    """
    return Text(escaped(str(value)), style)


def cells(values: Iterable[Any]) -> list[Text]:
    """Values as cells of a grid; a `Text` keeps its style."""
    return [value if isinstance(value, Text) else shown(value) for value in values]


def columns_wanted() -> int | None:
    """The width that the environment variable COLUMNS asks for, as Git and Python understand it."""
    text = os.environ.get("COLUMNS", "")
    return max(int(text), NARROWEST) if text.isascii() and text.isdigit() and int(text) else None


def screen(*, stderr: bool = False, width: int = WIDTH) -> Console:
    """A console without markup. `width` applies to files and pipes, unless COLUMNS is set."""
    console = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = columns_wanted() or width
    console.push_render_hook(_Guard())
    return console


class _Guard(RenderHook):
    """Escapes control sequences in everything that is printed, in case a caller forgot to."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Guarded(one) for one in renderables]


class _Guarded:
    def __init__(self, inner: RenderableType) -> None:
        self.inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        segments = _escaped(console.render(self.inner, options))
        yield from segments if console.is_terminal else _without_trailing_blanks(segments)


def _escaped(segments: Iterable[Segment]) -> Iterator[Segment]:
    for segment in segments:
        yield segment if segment.control else Segment(escaped(segment.text, keep="\n"), segment.style)


def _without_trailing_blanks(segments: Iterable[Segment]) -> Iterator[Segment]:
    """Files and pipes do not get the blanks with which rich pads a line to the width of its table."""
    held = ""
    for segment in segments:
        *ended, rest = (held + segment.text).split("\n")
        text = "".join(f"{line.rstrip(' ')}\n" for line in ended) + rest.rstrip(" ")
        held = rest[len(rest.rstrip(" ")) :]
        yield Segment(text, segment.style, segment.control)
