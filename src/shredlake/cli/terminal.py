"""The one door to the terminal: text of data is never markup, and no control character of it gets through.

Styles are given by `Text` objects, never by markup in strings. What is drawn for people is escaped always,
data formats only if a person looks: in a file or pipe they stay exact.
"""

from __future__ import annotations

import re
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

WIDTH: Final = 160
"""Columns of what is drawn into a file or a pipe."""

# Controls of ASCII and Latin-1, line and paragraph separators, marks that turn the direction of text.
_UNSAFE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_NAMED: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escaped(text: str, *, keep: str = "", form: str = "\\x{:02x}") -> str:
    r"""A text without control characters; those in `keep` stay.

    >>> print(escaped("a\x1b[31mb\r\u202e"))
    a\x1b[31mb\r\u202e
    """

    def spelled(found: re.Match[str]) -> str:
        character = found[0]
        if character in keep:
            return character
        code = ord(character)
        return _NAMED.get(character) or (form if code < 256 else "\\u{:04x}").format(code)

    return _UNSAFE.sub(spelled, text)


def escaped_json(text: str) -> str:
    r"""Lines of JSON without control characters, still the same JSON.

    >>> print(escaped_json('{"a": "\x9b31m"}'))
    {"a": "\u009b31m"}
    """
    return escaped(text, keep="\n", form="\\u{:04x}")


def escaped_lines(text: str) -> str:
    """Lines of text without other control characters."""
    return escaped(text, keep="\n")


def shown(value: Any, style: str = "") -> Text:
    """A value for people: as it stands, neither markup nor emoji, control characters escaped.

    >>> shown("[/x]").plain
    '[/x]'
    """
    return Text(escaped(str(value)), style)


def cells(values: Iterable[Any]) -> list[Text]:
    """Values as cells of a grid; what is a `Text` already keeps its style."""
    return [value if isinstance(value, Text) else shown(value) for value in values]


def screen(*, stderr: bool = False, width: int = WIDTH) -> Console:
    """A console that takes strings as they are; `width` is that of a file or pipe."""
    console = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console = Console(stderr=stderr, markup=False, emoji=False, highlight=False, width=width)
    console.push_render_hook(_Guard())
    return console


def say(text: str, *, err: bool = False) -> None:
    """Prints a line of text, escaped if a person looks, exact if not."""
    stream = sys.stderr if err else sys.stdout
    # `color`: nothing is cut out on the way into a pipe.
    typer.echo(escaped_lines(text) if stream.isatty() else text, err=err, color=True)


class _Guard(RenderHook):
    """Lets nothing through that moves the cursor, changes colours or rings, whoever forgot to escape it."""

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
