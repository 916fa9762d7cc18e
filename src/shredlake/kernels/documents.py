"""Cutting text into JSON documents: the lines of NDJSON, or the elements of one big array."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pyarrow as pa

from shredlake.kernels.compiled import engine


@dataclass(frozen=True)
class Documents:
    """The documents that a piece of text holds, as a binary column, and where each of them starts."""

    rows: pa.BinaryArray
    starts: pa.Int64Array
    taken: int
    """How many bytes were used up; what follows them belongs to the next piece."""
    closed: bool = False
    """Whether the bracket that ends the array was met."""


def split_lines(data: bytes | bytearray | pa.Buffer, *, final: bool = True) -> Documents:
    """The complete lines in `data`, each with its line end; without a copy.

    With `final`, what follows the last newline is a line too. A text that ends in a newline does not hold one
    more, empty line behind it.

    >>> documents = split_lines(b'{"a": 1}\\r\\n[2]\\n{"a"', final=False)
    >>> documents.rows.to_pylist(), documents.taken
    ([b'{"a": 1}\\r\\n', b'[2]\\n'], 14)
    """
    buffer = pa.py_buffer(data)
    offsets, count, taken = engine("lines").line_offsets(buffer, final)
    rows = pa.Array.from_buffers(pa.binary(), count, [None, offsets, buffer])
    starts = pa.Array.from_buffers(pa.int32(), count, [None, offsets]).cast(pa.int64())
    return Documents(rows, starts, taken)


def split_elements(data: bytes | pa.Buffer, *, final: bool = True) -> Documents:
    """The elements in the inside of a JSON array: `data` starts behind its `[`, or behind an element's comma.

    >>> documents = split_elements(b' {"a": ",]"} , [1, 2]]')
    >>> documents.rows.to_pylist(), documents.closed
    ([b'{"a": ",]"}', b'[1, 2]'], True)
    """
    found = engine("lines").array_elements(pa.py_buffer(data), final)
    text, offsets, starts, count, taken, closed = found
    return Documents(
        pa.Array.from_buffers(pa.binary(), count, [None, offsets, text]),
        pa.Array.from_buffers(pa.int64(), count, [None, starts]),
        taken,
        closed,
    )


_BLANK = bytes(range(33))


def is_array(head: bytes) -> bool:
    """Whether a text that starts like this is one JSON array rather than a series of documents.

    A file of NDJSON may hold an array in each line, so a first line that is complete JSON decides.

    >>> is_array(b'[\\n  {"a": 1},'), is_array(b'[1, 2]\\n[3]\\n'), is_array(b'{"a": 1}')
    (True, False, False)
    """
    if not head.lstrip(_BLANK).startswith(b"["):
        return False
    first, newline, rest = head.lstrip(_BLANK).partition(b"\n")
    try:
        json.loads(first)
    except ValueError:
        return True
    return not rest.strip() if newline else True
