"""Cutting text into JSON documents: lines of NDJSON, elements of one big array, or documents in a row."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from shredlake.kernels.dispatch import dispatch
from shredlake.kernels.from_json import from_json


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
    offsets, count, taken = dispatch("lines").line_offsets(buffer, final)
    rows = pa.Array.from_buffers(pa.binary(), count, [None, offsets, buffer])
    starts = pa.Array.from_buffers(pa.int32(), count, [None, offsets]).cast(pa.int64())
    return Documents(rows, starts, taken)


def split_elements(data: bytes | pa.Buffer, *, final: bool = True) -> Documents:
    """The elements in the inside of a JSON array: `data` starts behind its `[`, or behind an element's comma.

    >>> documents = split_elements(b' {"a": ",]"} , [1, 2]]')
    >>> documents.rows.to_pylist(), documents.closed
    ([b'{"a": ",]"}', b'[1, 2]'], True)
    """
    found = dispatch("lines").array_elements(pa.py_buffer(data), final)
    text, offsets, starts, count, taken, closed = found
    return Documents(
        pa.Array.from_buffers(pa.binary(), count, [None, offsets, text]),
        pa.Array.from_buffers(pa.int64(), count, [None, starts]),
        taken,
        closed,
    )


def split_documents(data: bytes | pa.Buffer, *, final: bool = True) -> Documents:
    """The documents of a text that stand one behind the other, over as many lines as they like.

    >>> split_documents(b'{"a":\\n 1}{"b": "}"}\\n2 {').rows.to_pylist()
    [b'{"a":\\n 1}', b'{"b": "}"}', b'2', b'{']
    """
    text, offsets, starts, count, taken = dispatch("lines").json_documents(pa.py_buffer(data), final)
    return Documents(
        pa.Array.from_buffers(pa.binary(), count, [None, offsets, text]),
        pa.Array.from_buffers(pa.int64(), count, [None, starts]),
        taken,
    )


_BLANK = bytes(range(33))

Framing = Literal["lines", "array", "documents"]
"""How a text holds its documents: one a line, as the elements of one array, or one behind the other."""


def framing(head: bytes, *, whole: bool = True, lines_expected: bool = False) -> Framing:
    """How a text that starts like this holds its documents; `whole` if this is all of it.

    Lines are the rule: they can be read from anywhere, and a bad one does not hide the next. A text that
    starts with a broken array is lines where these are expected, else an array with bad elements.

    >>> framing(b'{"a": 1}\\n{"a": 2}'), framing(b'[\\n {"a": 1},\\n {"a": 2}\\n]')
    ('lines', 'array')
    >>> framing(b'{\\n "a": 1\\n}\\n{\\n "a": 2\\n}'), framing(b'{"a": 1}{"a": 2}')
    ('documents', 'documents')
    >>> framing(b'{"a": \\n{"a": 2}\\n{"a": 3}\\n')  # the first line is broken
    'lines'
    """
    text = head.lstrip(_BLANK)
    line = text.partition(b"\n")[0]
    if not text.startswith((b"{", b"[")):
        return "lines"
    if _parses(line):
        return "array" if is_array(head) else "lines"
    found = split_documents(text, final=False).rows
    if text.startswith(b"[") and not (len(found) > 1 and found[1].as_py().startswith(b"[")):
        fine = _parses(found[0].as_py()) if len(found) else not whole and _begins_document(text)
        return "array" if fine or not lines_expected else "lines"
    if len(found):
        first = found[0].as_py()
        follows = line[len(first) :].lstrip(_BLANK)
        several = len(first) > len(line) or follows.startswith((b"{", b"["))
        return "documents" if several and _parses(first) else "lines"
    return "documents" if not whole and _begins_document(text) else "lines"


def _begins_document(text: bytes) -> bool:
    """Whether nothing is wrong with a text but that it breaks off."""
    lines, newline, _ = text.rpartition(b"\n")
    if not newline:
        return False
    _, bad = from_json(pa.array([lines], pa.binary()), on_error="collect", threads=1)
    return bad.num_rows == 1 and bool(bad.column("position")[0].as_py() >= len(lines.rstrip(_BLANK)))


def _parses(text: bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def is_array(head: bytes) -> bool:
    """Whether a text that starts like this is one JSON array rather than a series of documents.

    A file of NDJSON may hold an array in each line, so a first line that is complete JSON decides.

    >>> is_array(b'[\\n  {"a": 1},'), is_array(b'[1, 2]\\n[3]\\n'), is_array(b'{"a": 1}')
    (True, False, False)
    """
    if not head.lstrip(_BLANK).startswith(b"["):
        return False
    first, newline, rest = head.lstrip(_BLANK).partition(b"\n")
    if not _parses(first):
        return True
    return not rest.strip() if newline else True
