"""Finds the positions of the parts of a Parquet footer."""

from __future__ import annotations

from typing import Final

TRUE: Final = 1
FALSE: Final = 2
I64: Final = 6
INTEGERS: Final = frozenset({4, 5, I64})
BINARY: Final = 8
LIST: Final = 9
LISTS: Final = frozenset({LIST, 10})
MAP: Final = 11
STRUCT: Final = 12
FIXED: Final = {TRUE: 1, FALSE: 1, 3: 1, 7: 8, 13: 16}
MAX_DEPTH: Final = 64

FILE_ROW_GROUPS: Final = 4
ROW_GROUP_COLUMNS: Final = 1
ROW_GROUP_NUM_ROWS: Final = 3


class _Malformed(Exception):
    pass


class _Cursor:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def take(self) -> int:
        if self.position >= len(self.data):
            raise _Malformed
        self.position += 1
        return self.data[self.position - 1]

    def varint(self) -> int:
        result = shift = 0
        while shift < 64:
            byte = self.take()
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return result & 0xFFFF_FFFF_FFFF_FFFF
            shift += 7
        raise _Malformed

    def zigzag(self) -> int:
        number = self.varint()
        return (number >> 1) ^ -(number & 1)

    def pass_over(self, count: int) -> None:
        if count > len(self.data) - self.position:
            raise _Malformed
        self.position += count

    def field(self, last: int) -> tuple[int, int] | None:
        header = self.take()
        if not header:
            return None
        return last + (header >> 4) if header >> 4 else self.zigzag(), header & 0x0F

    def list_header(self) -> tuple[int, int]:
        header = self.take()
        return (self.varint() if header >> 4 == 15 else header >> 4), header & 0x0F

    def skip(self, kind: int, depth: int = 0) -> None:
        if depth > MAX_DEPTH:
            raise _Malformed
        if kind in INTEGERS:
            self.varint()
        elif kind == BINARY:
            self.pass_over(self.varint())
        elif kind == STRUCT:
            number = 0
            while found := self.field(number):
                number, inner = found
                if inner not in (TRUE, FALSE):
                    self.skip(inner, depth + 1)
        elif kind in LISTS:
            count, inner = self.list_header()
            for _ in range(count):
                self.skip(inner, depth + 1)
        elif kind == MAP:
            count = self.varint()
            kinds = self.take() if count else 0
            for _ in range(count):
                self.skip(kinds >> 4, depth + 1)
                self.skip(kinds & 0x0F, depth + 1)
        elif kind in FIXED:
            self.pass_over(FIXED[kind])
        else:
            raise _Malformed


def footer_places(raw: bytes) -> tuple[dict[int, int], list[int], list[list[int]]] | None:
    """(position of each field's value, rows of each row group, positions of each row group's column chunks).

    None if the bytes are not a footer.
    """
    at = _Cursor(raw)
    row_counts: list[int] = []
    places: list[list[int]] = []
    fields: dict[int, int] = {}
    number = 0
    try:
        while found := at.field(number):
            number, kind = found
            fields[number] = at.position
            if number == FILE_ROW_GROUPS and kind == LIST:
                for _ in range(at.list_header()[0]):
                    _row_group(at, row_counts, places)
            elif kind not in (TRUE, FALSE):
                at.skip(kind)
    except _Malformed:
        return None
    return fields, row_counts, places


def _row_group(at: _Cursor, row_counts: list[int], places: list[list[int]]) -> None:
    columns: list[int] = []
    rows = number = 0
    while found := at.field(number):
        number, kind = found
        if number == ROW_GROUP_COLUMNS and kind == LIST:
            count, inner = at.list_header()
            if inner != STRUCT:
                raise _Malformed
            for _ in range(count):
                columns.append(at.position)
                at.skip(STRUCT, 2)
        elif number == ROW_GROUP_NUM_ROWS and kind == I64:
            rows = at.zigzag()
        elif kind not in (TRUE, FALSE):
            at.skip(kind, 1)
    row_counts.append(rows)
    places.append(columns)


def chunk_numbers(raw: bytes, position: int) -> tuple[int, ...] | None:
    """The numbers of the column chunk at a position, -1 if absent; None if the chunk is malformed.

    (values, uncompressed size, compressed size, -, data page offset, index page offset, dictionary page
    offset, offset index: offset, length, column index: offset, length, null count, data pages, unencoded
    bytes)
    """
    at = _Cursor(raw)
    at.position = position
    found = [-1] * 14
    number = 0
    try:
        if not 0 <= position <= len(raw):
            raise _Malformed
        while field := at.field(number):
            number, kind = field
            if number == 3 and kind == STRUCT:
                _meta(at, found)
            elif 4 <= number <= 7 and kind in (5, I64):
                found[7 + number - 4] = at.zigzag()
            elif kind not in (TRUE, FALSE):
                at.skip(kind, 2)
    except _Malformed:
        return None
    return tuple(found)


def _meta(at: _Cursor, found: list[int]) -> None:
    number = 0
    while field := at.field(number):
        number, kind = field
        if 5 <= number <= 11 and kind == I64:
            found[number - 5] = at.zigzag()
        elif number == 12 and kind == STRUCT:
            found[11] = _one(at, 3, found[11])
        elif number == 13 and kind == LIST:
            found[12] = _data_pages(at, found[12])
        elif number == 16 and kind == STRUCT:
            found[13] = _one(at, 1, found[13])
        elif kind not in (TRUE, FALSE):
            at.skip(kind, 3)


def _one(at: _Cursor, wanted: int, found: int) -> int:
    """Reads one integer field of a struct."""
    number = 0
    while field := at.field(number):
        number, kind = field
        if number == wanted and kind == I64:
            found = at.zigzag()
        elif kind not in (TRUE, FALSE):
            at.skip(kind, 4)
    return found


def _data_pages(at: _Cursor, found: int) -> int:
    """Counts the data pages (types 0 and 3) in a list of PageEncodingStats."""
    total = 0
    for _ in range(at.list_header()[0]):
        number = 0
        parts = {1: -1, 3: -1}
        while field := at.field(number):
            number, kind = field
            if number in parts and kind == 5:
                parts[number] = at.zigzag()
            elif kind not in (TRUE, FALSE):
                at.skip(kind, 4)
        if parts[1] in (0, 3) and parts[3] > 0:
            total += parts[3]
    return total or found
