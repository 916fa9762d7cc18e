"""Sizes and counts as people write them, for reports, explanations and messages."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Final

_UNITS: Final = ("kB", "MB", "GB", "TB")


def bytes_text(count: float) -> str:
    """A number of bytes in the unit that fits, a thousand to a thousand.

    >>> bytes_text(999), bytes_text(1_234_567), bytes_text(999_999)
    ('999 B', '1.2 MB', '1.0 MB')
    """
    if count < 1000:
        return f"{count:.0f} B"
    power = next(
        (power for power in range(1, len(_UNITS)) if round(count / 1000**power, 1) < 1000), len(_UNITS)
    )
    return f"{count / 1000**power:,.1f} {_UNITS[power - 1]}"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun, in the singular or the plural.

    >>> counted(1, "file"), counted(1_200, "file"), counted(0, "entry", "entries")
    ('1 file', '1,200 files', '0 entries')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def html_text(text: str) -> str:
    """Text with aligned columns, for notebooks.

    >>> html_text("a < b")
    '<pre>a &lt; b</pre>'
    """
    return f"<pre>{escape(text)}</pre>"


def html_facts(facts: Mapping[str, str]) -> str:
    """Names and what they stand for, as a table for notebooks.

    >>> html_facts({"rows": "<3"})
    '<table><tr><th style="text-align:left">rows</th><td style="text-align:left">&lt;3</td></tr></table>'
    """
    left = ' style="text-align:left"'
    rows = (
        f"<tr><th{left}>{escape(name)}</th><td{left}>{escape(text)}</td></tr>" for name, text in facts.items()
    )
    return f"<table>{''.join(rows)}</table>"
