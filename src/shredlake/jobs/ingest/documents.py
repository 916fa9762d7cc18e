"""Splits text into JSON documents: lines of NDJSON, elements of one array, or concatenated documents."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from shredlake.kernels.dispatch import dispatch
from shredlake.kernels.from_json import from_json


@dataclass(frozen=True)
class Documents:
    """The documents in a piece of text, as a binary column, with the offset of each."""

    rows: pa.BinaryArray
    starts: pa.Int64Array
    taken: int
    """The number of bytes consumed; the remaining bytes belong to the next piece."""
    closed: bool = False
    """Whether the closing bracket of the array was found."""


def split_lines(data: bytes | bytearray | pa.Buffer, *, final: bool = True) -> Documents:
    """Splits `data` into complete lines, each with its line end, without copying.

    With `final`, the bytes after the last newline are a line too. A newline at the end of the text does not
    start another, empty line.

    >>> documents = split_lines(b'{"a": 1}\\r\\n[2]\\n{"a"', final=False)
    >>> documents.rows.to_pylist(), documents.taken
    ([b'{"a": 1}\\r\\n', b'[2]\\n'], 14)
    """
    buffer = pa.py_buffer(data)
    offsets, count, taken = dispatch("lines").line_offsets(buffer, final)
    rows = pa.Array.from_buffers(pa.binary(), count, [None, offsets, buffer])
    starts = pa.Array.from_buffers(pa.int32(), count, [None, offsets]).cast(pa.int64())
    return Documents(rows, starts, taken)


def split_elements(data: bytes | pa.Buffer, *, final: bool = True, first: bool = True) -> Documents:
    """Splits the inside of a JSON array; `data` starts after its `[`, or unless `first` after a comma.

    Nothing between two commas, or between a comma and the `]`, is an element that is empty.

    >>> documents = split_elements(b' {"a": ",]"} , [1, 2]]')
    >>> documents.rows.to_pylist(), documents.closed
    ([b'{"a": ",]"}', b'[1, 2]'], True)
    >>> split_elements(b"]").rows.to_pylist(), split_elements(b"]", first=False).rows.to_pylist()
    ([], [b''])
    """
    found = dispatch("lines").array_elements(pa.py_buffer(data), final, first)
    text, offsets, starts, count, taken, closed = found
    return Documents(
        pa.Array.from_buffers(pa.binary(), count, [None, offsets, text]),
        pa.Array.from_buffers(pa.int64(), count, [None, starts]),
        taken,
        closed,
    )


def split_documents(data: bytes | pa.Buffer, *, final: bool = True) -> Documents:
    """Splits concatenated documents, each of which may span several lines.

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
"""The framing of a text: one document per line, the elements of one array, or concatenated documents."""


def framing(head: bytes, *, whole: bool = True, lines_expected: bool = False) -> Framing:
    """Detects the framing of a text by its first bytes; `whole` if `head` is the whole text.

    Lines are preferred: they can be read from any offset, and a bad line does not affect the next. A text
    that starts with a broken array counts as lines where `lines_expected`, and otherwise as an array with bad
    elements.

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
    """Whether the text is a valid but incomplete document."""
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
