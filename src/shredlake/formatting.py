"""Sizes, counts and shares as people write them, text without control characters, facts for JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from html import escape
from json import dumps
from math import isfinite
from typing import Any, Final

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


def kind_of(value: object) -> str:
    """The type of a value as messages name it, with its article.

    >>> kind_of(5), kind_of("x"), kind_of(None)
    ('an int', 'a str', 'None')
    """
    return "None" if value is None else with_article(type(value).__name__)


def with_article(noun: str) -> str:
    """A noun after "a" or "an".

    >>> with_article("object"), with_article("text")
    ('an object', 'a text')
    """
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


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


def share_text(part: float, whole: float) -> str:
    """A share in percent. It is 0% or 100% only if it is exactly that.

    >>> share_text(1, 3), share_text(0, 5), share_text(9_999, 10_000), share_text(1, 10_000)
    ('33.3%', '0%', '>99.9%', '<0.1%')
    """
    if not part or not whole:
        return "0%"
    share = part / whole
    if share >= 1:
        return f"{share:.0%}"
    return "<0.1%" if share < 0.001 else ">99.9%" if share > 0.999 else f"{share:.1%}"


# Control characters of ASCII and Latin-1, line and paragraph separators, marks of text direction.
_UNSAFE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_NAMED: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escaped(text: str, *, keep: str = "", form: str = "\\x{:02x}") -> str:
    r"""Escapes control characters, except those in `keep`.

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


def is_text(value: Any) -> bool:
    r"""Whether a value is text that can be written as UTF-8: half of a surrogate pair can't.

    >>> is_text("é"), is_text("\udcff"), is_text(b"x")
    (True, False, False)
    """
    if not isinstance(value, str):
        return False
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def plain_fields(facts: Any) -> dict[str, Any]:
    """The fields of a dataclass as dicts, lists, numbers and strings, ready for JSON.

    >>> from dataclasses import make_dataclass
    >>> plain_fields(make_dataclass("Facts", ["day", "sizes"])(date(2024, 1, 2), (1, 2)))
    {'day': '2024-01-02', 'sizes': [1, 2]}
    """
    return {one.name: _plain(getattr(facts, one.name)) for one in fields(facts)}


def _plain(value: Any) -> Any:
    match value:
        case _ if is_dataclass(value) and not isinstance(value, type):
            return plain_fields(value)
        case Mapping():
            return {str(name): _plain(item) for name, item in value.items()}
        case tuple() | list():
            return [_plain(item) for item in value]
        case float() if not isfinite(value):
            return dumps(value)  # NaN and Infinity: JSON has no such numbers
        case None | bool() | int() | float() | str():
            return value
        case datetime() | date():
            return value.isoformat()
        case _:
            return _plain(value.as_py()) if _is_arrow_number(value) else str(value)


def _is_arrow_number(value: Any) -> bool:
    import pyarrow as pa  # not at the top: verbs that need no Arrow start in milliseconds

    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    return isinstance(value, pa.Scalar) and value.is_valid and any(holds(value.type) for holds in kinds)
