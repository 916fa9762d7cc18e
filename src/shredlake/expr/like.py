"""LIKE: patterns taken apart, and matched."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.kernels.damaged_text import decoded

ANY = object()
ONE = object()


def pattern_parts(pattern: str, escape: str) -> list[Any]:
    """The pattern as plain texts, `ANY` for `%` and `ONE` for `_`.

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


def like_prefix(pattern: str, escape: str) -> tuple[str, bool]:
    """The text that every match starts with, and whether starting with it is all it takes.

    >>> like_prefix("ab%", "\\\\"), like_prefix("ab_c%", "\\\\"), like_prefix("%x", "\\\\")
    (('ab', True), ('ab', False), ('', False))
    """
    parts = pattern_parts(pattern, escape)
    prefix = parts[0] if parts and isinstance(parts[0], str) else ""
    rest = parts[1:] if prefix else parts
    return prefix, rest == [ANY]


def like_mask(text: Any, pattern: str, escape: str) -> Any:
    """Which texts match; null where the text is. Bytes that are not UTF-8 are U+FFFD for `_`, as in Spark.

    >>> like_mask(pa.array(["abc", "xbc", None]), "a%", "\\\\").to_pylist()
    [True, False, None]
    """
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
    if isinstance(text, pa.Array):
        text = decoded(text)
    regex = "".join(
        ".*" if part is ANY else "." if part is ONE else re.sub(r"([^\w\s])", r"\\\1", part, flags=re.ASCII)
        for part in parts
    )
    return pc.match_substring_regex(text, pattern=rf"(?s)\A(?:{regex})\z")
