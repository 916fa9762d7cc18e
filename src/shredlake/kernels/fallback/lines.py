"""Splits text into documents, one byte at a time."""

from __future__ import annotations

import pyarrow as pa

_BLANK = bytes(range(33))


def line_offsets(buffer: pa.Buffer, final: bool) -> tuple[pa.Buffer, int, int]:
    """As in the compiled module."""
    text = buffer.to_pybytes()
    ends = [0]
    while (newline := text.find(b"\n", ends[-1])) >= 0:
        ends.append(newline + 1)
    if final and ends[-1] < len(text):
        ends.append(len(text))
    return pa.array(ends, pa.int32()).buffers()[1], len(ends) - 1, ends[-1]


def array_elements(
    buffer: pa.Buffer, final: bool, first: bool
) -> tuple[pa.Buffer | None, pa.Buffer, pa.Buffer | None, int, int, bool]:
    """As in the compiled module."""
    text = buffer.to_pybytes()
    rows: list[bytes] = []
    starts: list[int] = []
    depth = begin = position = 0
    in_string = closed = False

    def take(stop: int, may_be_blank: bool) -> None:
        element = text[begin:stop].strip(_BLANK)
        if element or not may_be_blank:
            rows.append(element)
            starts.append(stop - len(text[begin:stop].lstrip(_BLANK)))

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
            take(position, may_be_blank=closed and first and not rows)
            begin = position + 1
        position += 1
    if final and not closed and begin < len(text):
        take(len(text), may_be_blank=True)
        begin = len(text)
    _, offsets, data = pa.array(rows, pa.binary()).buffers()
    return data, offsets, pa.array(starts, pa.int64()).buffers()[1], len(rows), begin, closed


def json_documents(
    buffer: pa.Buffer, final: bool
) -> tuple[pa.Buffer | None, pa.Buffer, pa.Buffer | None, int, int]:
    """As in the compiled module."""
    text = buffer.to_pybytes()
    rows: list[bytes] = []
    starts: list[int] = []
    depth = position = taken = 0
    begin = -1
    in_string = False

    def take(stop: int) -> int:
        rows.append(text[begin:stop].rstrip(_BLANK))
        starts.append(begin)
        return -1

    while position < len(text):
        byte = text[position : position + 1]
        ended = False
        if in_string:
            if byte == b"\\":
                position += 1
            elif byte == b'"':
                in_string, ended = False, not depth
        elif byte <= b" " and not depth:
            if begin >= 0:
                begin = take(position)
            taken = position + 1
        else:
            if not depth and begin >= 0 and byte in b'"[{':
                begin, taken = take(position), position
            begin = position if begin < 0 else begin
            if byte == b'"':
                in_string = True
            elif byte in b"[{":
                depth += 1
            elif byte in b"]}" and depth:
                depth -= 1
                ended = not depth
        position += 1
        if ended:
            begin, taken = take(position), position
    if final:
        if begin >= 0:
            take(len(text))
        taken = len(text)
    _, offsets, data = pa.array(rows, pa.binary()).buffers()
    return data, offsets, pa.array(starts, pa.int64()).buffers()[1], len(rows), taken
