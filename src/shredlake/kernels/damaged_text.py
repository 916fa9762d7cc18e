"""Texts that are not UTF-8: an Arrow string may not hold them, a string of Spark's may, and nobody checks."""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa

from shredlake.kernels.raw_arrays import patched

_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
"""Half of a UTF-16 pair, whole or cut short: one mistake for Java, several for Python."""


def damaged(texts: pa.Array) -> dict[int, bytes]:
    """The rows that are not UTF-8, with their bytes.

    >>> damaged(pa.array([b"ab", b"\\xff", None]).cast(pa.string(), safe=False))
    {1: b'\\xff'}
    """
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        raw = texts.cast(pa.binary()).to_pylist()
        return {row: found for row, found in enumerate(raw) if found is not None and not _is_utf8(found)}
    return {}


def decoded(texts: pa.Array) -> pa.Array:
    """The texts as Java reads them: U+FFFD in place of what is not UTF-8.

    >>> decoded(pa.array([b"ab", b"a\\xff", None]).cast(pa.string(), safe=False)).to_pylist()
    ['ab', 'a\ufffd', None]
    """
    found = damaged(texts)
    if not found:
        return texts
    mended = [_SURROGATE.sub(b"\xff", raw).decode(errors="replace") for raw in found.values()]
    return patched(texts, pa.array(list(found), pa.int64()), pa.array(mended, texts.type))


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
