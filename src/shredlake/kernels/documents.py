"""Cutting text into JSON documents: the lines of NDJSON, or the elements of one big array."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pyarrow as pa

from shredlake.kernels.compiled import COMPILED

if COMPILED:
    from shredlake.kernels import _lines


@dataclass(frozen=True)
class Documents:
    """The documents that a piece of text holds, as a binary column, and where each of them starts."""

    rows: pa.BinaryArray
    starts: pa.Int64Array
    taken: int
    """How many bytes were used up; what follows them belongs to the next piece."""
    closed: bool = False
    """Whether the bracket that ends the array was met."""


def split_lines(data: bytes | pa.Buffer, *, final: bool = True) -> Documents:
    """The complete lines in `data`, each with its line end; without a copy.

    With `final`, what follows the last newline is a line too. A text that ends in a newline does not hold one
    more, empty line behind it.

    >>> documents = split_lines(b'{"a": 1}\\r\\n[2]\\n{"a"', final=False)
    >>> documents.rows.to_pylist(), documents.taken
    ([b'{"a": 1}\\r\\n', b'[2]\\n'], 14)
    """
    buffer = pa.py_buffer(data)
    if COMPILED:
        offsets, count, taken = _lines.line_offsets(buffer.address, buffer.size, final)
    else:
        ends = [0]
        text = buffer.to_pybytes()
        while (newline := text.find(b"\n", ends[-1])) >= 0:
            ends.append(newline + 1)
        if final and ends[-1] < len(text):
            ends.append(len(text))
        offsets, count, taken = pa.array(ends, pa.int32()).buffers()[1], len(ends) - 1, ends[-1]
    rows = pa.Array.from_buffers(pa.binary(), count, [None, offsets, buffer])
    starts = pa.Array.from_buffers(pa.int32(), count, [None, offsets]).cast(pa.int64())
    return Documents(rows, starts, taken)


def split_elements(data: bytes | pa.Buffer, *, final: bool = True) -> Documents:
    """The elements in the inside of a JSON array: `data` starts behind its `[`, or behind an element's comma.

    >>> documents = split_elements(b' {"a": ",]"} , [1, 2]]')
    >>> documents.rows.to_pylist(), documents.closed
    ([b'{"a": ",]"}', b'[1, 2]'], True)
    """
    buffer = pa.py_buffer(data)
    if COMPILED:
        text, offsets, starts, count, taken, closed = _lines.array_elements(
            buffer.address, buffer.size, final
        )
        return Documents(
            pa.Array.from_buffers(pa.binary(), count, [None, offsets, text]),
            pa.Array.from_buffers(pa.int64(), count, [None, starts]),
            taken,
            closed,
        )
    return _split_elements_slowly(buffer.to_pybytes(), final)


def _split_elements_slowly(text: bytes, final: bool) -> Documents:
    rows: list[bytes] = []
    starts: list[int] = []
    depth = begin = position = 0
    in_string = closed = False

    def take(stop: int, may_be_blank: bool) -> None:
        element = text[begin:stop].strip(_BLANK)
        if element or not may_be_blank:
            rows.append(element)
            starts.append(begin + len(text[begin:stop]) - len(text[begin:stop].lstrip(_BLANK)))

    while position < len(text) and not closed:
        byte = text[position : position + 1]
        if in_string:
            if byte == b"\\":
                position += 1
            elif byte == b'"':
                in_string = False
        elif byte == b'"':
            in_string = True
        elif byte in b"[{":
            depth += 1
        elif byte in b"]}" and depth:
            depth -= 1
        elif (byte == b"," and not depth) or byte == b"]":
            closed = byte == b"]"
            take(position, may_be_blank=closed and not rows and begin == 0)
            begin = position + 1
        position += 1
    if final and not closed and begin < len(text):
        take(len(text), may_be_blank=True)
        begin = len(text)
    return Documents(pa.array(rows, pa.binary()), pa.array(starts, pa.int64()), begin, closed)


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
