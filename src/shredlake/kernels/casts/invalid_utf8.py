"""Strings that are not UTF-8, which Spark allows, Arrow does not allow, and neither checks.

All functions take plain string columns; for a dictionary-encoded column, pass the dictionary.
"""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.kernels.arrow.raw_arrays import patched

_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
"""A surrogate half encoded as UTF-8, whole or truncated: one error in Java, several in Python."""

_ANNOUNCED: Final = ((0xC2, 0xDF, 2), (0xE0, 0xEF, 3), (0xF0, 0xF4, 4))
"""Ranges of first bytes of UTF-8 characters, and the length of such a character."""


def damaged(texts: pa.Array) -> dict[int, bytes]:
    """The rows that are not UTF-8, with their bytes.

    >>> damaged(pa.array([b"ab", b"\\xff", None]).cast(pa.string(), safe=False))
    {1: b'\\xff'}
    """
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        rows = pc.indices_nonzero(pc.invert(pc.string_is_ascii(texts)))
        found = zip(rows.to_pylist(), texts.cast(pa.binary()).take(rows).to_pylist(), strict=True)
        return {row: raw for row, raw in found if not _is_utf8(raw)}
    return {}


def decoded(texts: pa.Array) -> pa.Array:
    """Decodes the strings as Java does: invalid UTF-8 is replaced by U+FFFD.

    >>> decoded(pa.array([b"ab", b"a\\xff", None]).cast(pa.string(), safe=False)).to_pylist()
    ['ab', 'a\ufffd', None]
    """
    found = damaged(texts)
    if not found:
        return texts
    repaired = [_SURROGATE.sub(b"\xff", raw).decode(errors="replace") for raw in found.values()]
    return patched(texts, pa.array(list(found), pa.int64()), pa.array(repaired, texts.type))


def characters(texts: pa.Array) -> pa.Array:
    """The number of characters. In invalid UTF-8, Spark counts by the first byte of each character.

    >>> characters(pa.array([b"ab", b"\\xc3(", b"\\x80\\x80"]).cast(pa.string(), safe=False)).to_pylist()
    [2, 1, 2]
    """
    counts = pc.utf8_length(texts)
    found = damaged(texts)
    if not found:
        return counts
    leads = pa.array([_leads(raw) for raw in found.values()], counts.type)
    return patched(counts, pa.array(list(found), pa.int64()), leads)


def _leads(raw: bytes) -> int:
    """Counts the first bytes of characters, skipping as many bytes as each announces."""
    count = at = 0
    while at < len(raw):
        at += next((size for low, high, size in _ANNOUNCED if low <= raw[at] <= high), 1)
        count += 1
    return count


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
