"""All output to the terminal: data is never read as markup, and its control characters are escaped.

Styles are given by `Text` objects, never by markup in strings. Tables and messages are always escaped; data
formats (JSON, CSV) are escaped only on a terminal, and stay exact in a file or pipe.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, Final

import typer
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
"""Width of tables that are written to a file or a pipe."""


def escaped_json(text: str) -> str:
    r"""Escapes control characters in lines of JSON; the JSON stays equivalent.

    >>> print(escaped_json('{"a": "\x9b31m"}'))
    {"a": "\u009b31m"}
    """
    return escaped(text, keep="\n", form="\\u{:04x}")


def escaped_lines(text: str) -> str:
    """Escapes all control characters except line ends."""
    return escaped(text, keep="\n")


def shown(value: Any, style: str = "") -> Text:
    """A value as text for people: no markup, no emoji codes, control characters escaped.

    >>> shown("[/x]").plain
    '[/x]'
    """
    return Text(escaped(str(value)), style)


def cells(values: Iterable[Any]) -> list[Text]:
    """Values as cells of a grid; a `Text` keeps its style."""
    return [value if isinstance(value, Text) else shown(value) for value in values]


def screen(*, stderr: bool = False, width: int = WIDTH) -> Console:
    """A console without markup; `width` applies to files and pipes."""
    console = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console = Console(stderr=stderr, markup=False, emoji=False, highlight=False, width=width)
    console.push_render_hook(_Guard())
    return console


def say(text: str, *, err: bool = False) -> None:
    """Prints a line of text: escaped on a terminal, unchanged otherwise."""
    stream = sys.stderr if err else sys.stdout
    # With `color`, Typer leaves escape sequences in the data unchanged.
    typer.echo(escaped_lines(text) if stream.isatty() else text, err=err, color=True)


class _Guard(RenderHook):
    """Escapes control sequences in everything that is printed, in case a caller forgot to."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Guarded(one) for one in renderables]


class _Guarded:
    def __init__(self, inner: RenderableType) -> None:
        self.inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.inner, options):
            if segment.control:
                yield segment
            else:
                yield Segment(escaped(segment.text, keep="\n"), segment.style)
