"""Reads the documents of a split in pieces of a few megabytes, with the position of each row.

```
split 0                          split 1
{"a":1}⏎{"a":2}⏎{"a":┊3}⏎{"a":4}⏎
└─ owned by split 0 ────────┘└─ split 1: starts behind the first newline it meets
```
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.errors import PipelineError
from shredlake.jobs.ingest.documents import Documents, split_documents, split_elements, split_lines
from shredlake.jobs.ingest.sources import (
    BYTE_ORDER_MARK,
    HEAD_SIZE,
    READ_SIZE,
    Readable,
    Split,
    framing_of,
    open_at,
    require_unchanged,
)

MAX_DOCUMENT: Final = 128 << 20
"""The longest line held in memory, which is about the largest Variant."""

KEPT_OF_TOO_LONG: Final = 64 << 10
"""The number of bytes kept of a longer line, so that people can recognise it."""


@dataclass(frozen=True)
class Piece:
    """Some documents of a split, in the order of the text."""

    rows: pa.BinaryArray
    first_line: int
    """The number of the first row, counted from 0 at the start of the split."""
    offsets: pa.Int64Array
    """Where each row begins, in bytes from the start of the (decompressed) file."""
    problem: str | None = None
    """Errors of rows that are known to be invalid before they are parsed."""


def pieces(
    split: Split,
    *,
    max_document: int = MAX_DOCUMENT,
    read_size: int | None = None,
    patience: int | None = None,
) -> Iterator[Piece]:
    """Reads a split piece by piece; memory stays at a few times READ_SIZE unless a document is longer.

    >>> import tempfile, pathlib
    >>> from shredlake.jobs.ingest.sources import cut, find_files
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.ndjson"
    >>> _ = file.write_text('{"a": 1}\\n{"a": 2}\\n{"a": 3}\\n')
    >>> first, second = cut(find_files(str(file)), split_size=12)[:2]
    >>> [piece.rows.to_pylist() for piece in pieces(first)]
    [[b'{"a": 1}\\n', b'{"a": 2}\\n']]
    >>> [(piece.rows.to_pylist(), piece.offsets.to_pylist()) for piece in pieces(second)]
    [([b'{"a": 3}\\n'], [18])]

    With `patience`, a range that begins inside a line longer than this many bytes is given up; for samples.
    """
    step = read_size or READ_SIZE
    text = open_at(split.file, max(split.start - 1, 0))
    try:
        kind = split.framing
        if kind is None:
            head = text.read(HEAD_SIZE)
            kind, text = framing_of(split.file, head), _rewound(text, head)
        if kind == "lines":
            yield from _lines(text, split, max_document, step, patience)
        else:
            yield from (_elements if kind == "array" else _documents)(text, split, max_document, step)
        require_unchanged(split.file)
    finally:
        text.close()


def _rewound(text: Readable, head: bytes) -> Readable:
    """Returns the text from its beginning again, after `head` was read."""
    if isinstance(text, io.FileIO):
        text.seek(0)
        return text
    return _Rewound(text, head)


class _Rewound:
    """A stream that cannot seek, with the bytes already read put back in front."""

    def __init__(self, text: Readable, head: bytes) -> None:
        self._text, self._head = text, head

    def read(self, size: int) -> bytes:
        if not self._head:
            return self._text.read(size)
        piece, self._head = self._head[:size], self._head[size:]
        return piece

    def close(self) -> None:
        self._text.close()


def _lines(
    text: Readable, split: Split, max_document: int, step: int, patience: int | None
) -> Iterator[Piece]:
    whole_file = split.start == 0 and split.end >= split.file.size  # also true if the file is compressed
    position = max(split.start - 1, 0)  # of the first byte in `held`, within the file
    held: bytes | bytearray = text.read(step)
    if split.start == 0:
        if held.startswith(BYTE_ORDER_MARK):
            held, position = held[len(BYTE_ORDER_MARK) :], len(BYTE_ORDER_MARK)
    else:
        # The line that crosses into this split belongs to the previous split.
        while (newline := held.find(b"\n")) < 0:
            position += len(held)
            given_up = patience is not None and position - split.start > patience
            if given_up or not (held := text.read(step)):
                return
        held, position = held[newline + 1 :], position + newline + 1
    line = 0
    final = False
    while not final and (whole_file or position < split.end):
        before = len(held)
        held = _longer(held, text, max(step, before))  # avoids searching a long line piece by piece
        final = len(held) == before
        documents = split_lines(held, final=final)
        rows, starts = documents.rows, pc.add(documents.starts, position)
        if not whole_file:
            owned = _count_below(starts, split.end)
            rows, starts = rows.slice(0, owned), starts.slice(0, owned)
        if len(rows):
            yield Piece(rows, line, starts)
        line += len(rows)
        held, position = held[documents.taken :], position + documents.taken
        if len(held) > max_document:
            kept, begin, length = bytes(held[:KEPT_OF_TOO_LONG]), position, len(held)
            while (newline := held.find(b"\n")) < 0 and (held := text.read(step)):
                length += len(held)
            used = newline + 1 if newline >= 0 else 0
            length -= len(held) - used
            held, position = held[used:], position + length
            final = not held and newline < 0
            if whole_file or begin < split.end:
                yield too_long(kept, length, max_document, line, begin)
                line += 1


def _longer(held: bytes | bytearray, text: Readable, step: int) -> bytes | bytearray:
    """Appends the next piece of the text to `held`, in place if possible."""
    if not isinstance(text, io.RawIOBase):
        return bytes(held) + text.read(step)
    longer = bytearray(len(held) + step)
    longer[: len(held)] = held
    with memoryview(longer) as view:
        read = text.readinto(view[len(held) :]) or 0
    del longer[len(held) + read :]
    return longer


def too_long(kept: bytes, length: int, max_document: int, line: int, begin: int) -> Piece:
    """Rejects a line that is too long for memory, with its position and first bytes."""
    problem = f"the line has {length:,} bytes, more than the allowed {max_document:,}"
    return Piece(pa.array([kept], pa.binary()), line, pa.array([begin], pa.int64()), problem)


def _elements(text: Readable, split: Split, max_document: int, step: int) -> Iterator[Piece]:
    held = text.read(step)
    before = held.find(b"[") + 1
    held, position = held[before:], before
    reading = _Held(text, held, position, step)

    def divide(inside: bytes, *, final: bool) -> Documents:
        return split_elements(inside, final=final, first=reading.line == 0)

    yield from _divided(reading, divide, partial(_check_length, max_document, split))
    line, held, position = reading.line, reading.held, reading.position
    while reading.closed and (rest := held or text.read(step)):
        # Nothing may follow the array; any further text is passed on, so that it is rejected.
        if rest.strip():
            yield Piece(pa.array([rest.strip()], pa.binary()), line, pa.array([position], pa.int64()))
            line += 1
        held, position = b"", position + len(rest)


def _documents(text: Readable, split: Split, max_document: int, step: int) -> Iterator[Piece]:
    held = text.read(max(step, len(BYTE_ORDER_MARK)))
    position = len(BYTE_ORDER_MARK) if held.startswith(BYTE_ORDER_MARK) else 0
    reading = _Held(text, held[position:], position, step)
    yield from _divided(reading, split_documents, partial(_check_length, max_document, split))


@dataclass
class _Held:
    """Text that is read in steps: the part that is not divided into documents yet, and its position."""

    text: Readable
    held: bytes
    position: int
    step: int
    line: int = 0
    closed: bool = False
    """Whether the array that holds the documents has ended."""


def _divided(
    reading: _Held, divide: Callable[..., Documents], check: Callable[[bytes, int], None]
) -> Iterator[Piece]:
    """Reads text and divides it into documents, until it or the array ends."""
    more = b"?"
    while more and not reading.closed:
        more = reading.text.read(max(reading.step, len(reading.held)))
        reading.held += more
        documents = divide(reading.held, final=not more)
        if len(documents.rows):
            yield Piece(documents.rows, reading.line, pc.add(documents.starts, reading.position))
        reading.line += len(documents.rows)
        reading.closed = documents.closed
        reading.held = reading.held[documents.taken :]
        reading.position += documents.taken
        check(reading.held, reading.position)


def _count_below(ascending: pa.Int64Array, limit: int) -> int:
    """The number of ascending values below the limit."""
    if not len(ascending) or ascending[-1].as_py() < limit:
        return len(ascending)
    return int(pc.sum(pc.less(ascending, limit)).as_py())


def _check_length(max_document: int, split: Split, held: bytes, position: int) -> None:
    if len(held) > max_document:
        raise PipelineError(
            f"{split.file.uri}: the document at byte {position} is longer than {max_document:,} bytes. "
            "Is this JSON with one document per line? Raise max_document if it is."
        )
