"""Parses and matches LIKE patterns."""

from __future__ import annotations

import string
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.kernels.casts.invalid_utf8 import characters, decoded

ANY = object()
ONE = object()


def pattern_parts(pattern: str, escape: str) -> list[Any]:
    """Splits the pattern into literal strings, `ANY` for `%` and `ONE` for `_`.

    >>> pattern_parts("50!%%", "!") == ["50%", ANY]
    True
    """
    parts: list[Any] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == escape and at + 1 < len(pattern):
            at += 1
            char = pattern[at]
        elif char in "%_":
            parts.append(ANY if char == "%" else ONE)
            at += 1
            continue
        if parts and isinstance(parts[-1], str):
            parts[-1] += char
        else:
            parts.append(char)
        at += 1
    return parts


def has_stray_escape(pattern: str, escape: str) -> bool:
    """Whether the escape character precedes anything but `%`, `_` or itself, which Spark rejects.

    >>> has_stray_escape("50!%", "!"), has_stray_escape("50!0", "!")
    (False, True)
    """
    at = 0
    while (at := pattern.find(escape, at)) >= 0:
        if pattern[at + 1 : at + 2] not in ("%", "_", escape):
            return True
        at += 2
    return False


def like_mask(text: Any, pattern: str, escape: str) -> Any:
    """Returns which strings match; null if the string is null.

    In bytes that are not UTF-8, `_` matches U+FFFD. All other comparisons are bytewise, as in Spark.

    >>> like_mask(pa.array(["abc", "xbc", None]), "a%", "\\\\").to_pylist()
    [True, False, None]
    """
    if isinstance(text, pa.Scalar):
        return like_mask(pa.repeat(text, 1), pattern, escape)[0]
    parts = pattern_parts(pattern, escape)
    match parts:
        case []:
            return pc.equal(text, "")
        case [str() as whole]:
            return pc.equal(text, whole)
        case [str() as prefix, end] if end is ANY:
            return pc.starts_with(text, pattern=prefix)
        case [start, str() as suffix] if start is ANY:
            return pc.ends_with(text, pattern=suffix)
        case [start, str() as inner, end] if start is ANY and end is ANY:
            return pc.match_substring(text, pattern=inner)
        case [str() as prefix, middle, str() as suffix] if middle is ANY:
            ends = pc.and_(pc.starts_with(text, pattern=prefix), pc.ends_with(text, pattern=suffix))
            return pc.and_(ends, pc.greater_equal(characters(text), len(prefix) + len(suffix)))
    regex = "".join(".*" if part is ANY else "." if part is ONE else _escaped(part) for part in parts)
    return pc.match_substring_regex(decoded(text), pattern=rf"(?s)\A(?:{regex})\z")


def _escaped(text: str) -> str:
    """Escape a string for RE2, which allows only punctuation to be escaped.

    >>> print(_escaped("1.é"))
    1\\.é
    """
    return "".join("\\" + char if char in string.punctuation else char for char in text)
