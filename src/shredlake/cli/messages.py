"""Plain lines of text: control characters are escaped on a terminal, and kept in a file or pipe.

Importing this module is cheap, unlike `terminal`, which needs rich.
"""

from __future__ import annotations

import sys

import typer

from shredlake.formatting import escaped


def escaped_json(text: str) -> str:
    r"""Escapes control characters in lines of JSON; the JSON stays equivalent.

    >>> print(escaped_json('{"a": "\x9b31m"}'))
    {"a": "\u009b31m"}
    """
    return escaped(text, keep="\n", form="\\u{:04x}")


def escaped_lines(text: str) -> str:
    """Escapes all control characters except line ends."""
    return escaped(text, keep="\n")


def say(text: str, *, err: bool = False) -> None:
    """Prints a line of text: escaped on a terminal, unchanged otherwise."""
    stream = sys.stderr if err else sys.stdout
    # With `color`, Typer leaves escape sequences in the data unchanged.
    typer.echo(escaped_lines(text) if stream.isatty() else text, err=err, color=True)
