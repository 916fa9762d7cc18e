"""Thrift's compact protocol: a lossless parser and writer.

Parquet's footer and page index are Thrift structs. This module does not use a schema: it keeps every field
with its number and wire type, so unknown fields are written back unchanged.

```
struct   field*  00
field    dddd tttt [zigzag id, if dddd = 0]  payload     dddd: step from the last field's number
list     nnnn tttt [varint n, if nnnn = 15]  element*    also sets
map      varint n  [kkkk vvvv, if n > 0]     (key value)*
binary   varint length  bytes
```
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from shredlake.errors import InvalidFile

STOP: Final = 0
TRUE: Final = 1
FALSE: Final = 2
I8: Final = 3
I16: Final = 4
I32: Final = 5
I64: Final = 6
DOUBLE: Final = 7
BINARY: Final = 8
LIST: Final = 9
SET: Final = 10
MAP: Final = 11
STRUCT: Final = 12
UUID: Final = 13

MAX_DEPTH: Final = 64  # a footer nests about ten levels; a deeper one could overflow the stack
MAX_FIELD: Final = (1 << 15) - 1  # field numbers have 16 bits; other readers truncate larger ones
BITS: Final = {I16: 16, I32: 32, I64: 64}


@dataclass(slots=True)
class List:
    """A list or set: the wire type of its elements, and the elements."""

    kind: int
    items: list[object]
    wire: int = LIST


@dataclass(slots=True)
class Map:
    """A map: the wire types of keys and values, and the pairs in order."""

    key_kind: int
    value_kind: int
    items: list[tuple[object, object]]


@dataclass(slots=True)
class Struct:
    """A struct: field number to (wire type, value), in the order of the bytes."""

    fields: dict[int, tuple[int, object]] = field(default_factory=dict)

    def __contains__(self, number: int) -> bool:
        return number in self.fields

    def __iter__(self) -> Iterator[int]:
        return iter(self.fields)

    def get(self, number: int) -> object | None:
        entry = self.fields.get(number)
        return None if entry is None else entry[1]

    def integer(self, number: int) -> int | None:
        value = self.get(number)
        return value if isinstance(value, int) else None

    def flag(self, number: int) -> bool | None:
        value = self.get(number)
        return value if isinstance(value, bool) else None

    def binary(self, number: int) -> bytes | None:
        value = self.get(number)
        return value if isinstance(value, bytes) else None

    def text(self, number: int) -> str | None:
        value = self.get(number)
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else None

    def struct(self, number: int) -> Struct | None:
        value = self.get(number)
        return value if isinstance(value, Struct) else None

    def sequence(self, number: int) -> list[object]:
        value = self.get(number)
        return value.items if isinstance(value, List) else []

    def structs(self, number: int) -> list[Struct]:
        return [item for item in self.sequence(number) if isinstance(item, Struct)]

    def set(self, number: int, kind: int, value: object) -> None:
        """Sets a field and keeps the numbers ascending, as every writer does."""
        if kind in (TRUE, FALSE):
            kind = TRUE if value else FALSE
        known = number in self.fields
        self.fields[number] = (kind, value)
        if not known:
            self.fields = dict(sorted(self.fields.items()))

    def remove(self, number: int) -> None:
        self.fields.pop(number, None)


class Reader:
    """Reads compact-protocol values from a buffer; `position` is where the next one starts."""

    def __init__(self, data: bytes | memoryview, position: int = 0) -> None:
        self.data = bytes(data)
        self.position = position

    def varint(self) -> int:
        data, position = self.data, self.position
        result = shift = 0
        while True:
            if position >= len(data):
                raise InvalidFile(f"Thrift data ends inside a number at byte {position}")
            byte = data[position]
            position += 1
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                self.position = position
                return result
            shift += 7
            if shift > 63:
                raise InvalidFile(f"Thrift number of more than 64 bits at byte {self.position}")

    def zigzag(self) -> int:
        number = self.varint()
        return (number >> 1) ^ -(number & 1)

    def take(self, count: int) -> bytes:
        start, end = self.position, self.position + count
        if end > len(self.data):
            raise InvalidFile(
                f"Thrift data needs {count} bytes at byte {start}, but {len(self.data) - start} are left"
            )
        self.position = end
        return self.data[start:end]

    def byte(self) -> int:
        return self.take(1)[0]

    def struct(self, depth: int = 0) -> Struct:
        """Reads a struct. Numbers and texts of one length byte, which most fields are, are read in place."""
        data, size = self.data, len(self.data)
        fields: dict[int, tuple[int, object]] = {}
        number = 0
        while True:
            if self.position >= size:
                self.byte()  # raises
            header = data[self.position]
            self.position += 1
            if not header:
                return Struct(fields)
            number = self._field_number(number, header)
            if number in fields:  # readers differ in which of them they keep
                raise InvalidFile(f"Thrift data has the field {number} twice at byte {self.position}")
            kind, place = header & 0x0F, self.position
            if place < size and (first := data[place]) < 0x80:
                if kind in BITS:
                    self.position = place + 1
                    fields[number] = (kind, (first >> 1) ^ -(first & 1))
                    continue
                if kind == BINARY and place + first < size:
                    self.position = place + 1 + first
                    fields[number] = (kind, data[place + 1 : place + 1 + first])
                    continue
            fields[number] = (kind, self.field_value(kind, depth))

    def _field_number(self, last: int, header: int) -> int:
        step = header >> 4
        number = last + step if step else self.zigzag()
        if not 0 < number <= MAX_FIELD:
            raise InvalidFile(f"Thrift data has the field number {number} at byte {self.position}")
        return number

    def field_headers(self) -> Iterator[tuple[int, int]]:
        """Yields the number and wire type of each field; the caller reads or skips the value in between."""
        number = 0
        while header := self.byte():
            number = self._field_number(number, header)
            yield number, header & 0x0F

    def field_value(self, kind: int, depth: int = 0) -> object:
        if kind in (TRUE, FALSE):
            return kind == TRUE  # a boolean field is stored in its header
        return self.value(kind, depth)

    def value(self, kind: int, depth: int = 0) -> object:
        if kind in BITS:
            return self._integer(BITS[kind])
        if kind == BINARY:
            return self.take(self.varint())
        if kind == STRUCT:
            if depth >= MAX_DEPTH:
                raise InvalidFile(f"Thrift data nests deeper than {MAX_DEPTH} at byte {self.position}")
            return self.struct(depth + 1)
        if kind in (LIST, SET):
            return self._list(kind, depth)
        if kind in (TRUE, FALSE):
            return self.byte() == TRUE
        if kind == I8:
            return int.from_bytes(self.take(1), "little", signed=True)
        if kind == DOUBLE:
            return struct.unpack("<d", self.take(8))[0]
        if kind == MAP:
            return self._map(depth)
        if kind == UUID:
            return self.take(16)
        raise InvalidFile(f"Thrift data has the unknown type {kind} at byte {self.position}")

    def _integer(self, bits: int) -> int:
        number = self.varint()
        if number >> bits:  # other readers truncate the number
            raise InvalidFile(f"Thrift number of more than {bits} bits before byte {self.position}")
        return (number >> 1) ^ -(number & 1)

    def _list(self, wire: int, depth: int) -> List:
        if depth >= MAX_DEPTH:
            raise InvalidFile(f"Thrift data nests deeper than {MAX_DEPTH} at byte {self.position}")
        header = self.byte()
        count, kind = header >> 4, header & 0x0F
        if count == 15:
            count = self.varint()
        if count > len(self.data) - self.position:  # an element takes at least one byte
            raise InvalidFile(
                f"Thrift list of {count} elements at byte {self.position} is longer than the data"
            )
        if kind in BITS:
            few = self.data[self.position : self.position + count]
            if few.isascii():  # every number takes one byte
                self.position += count
                return List(kind, [(byte >> 1) ^ -(byte & 1) for byte in few], wire)
        return List(kind, [self.value(kind, depth + 1) for _ in range(count)], wire)

    def _map(self, depth: int) -> Map:
        count = self.varint()
        if count == 0:
            return Map(STOP, STOP, [])
        if count > len(self.data) - self.position:
            raise InvalidFile(
                f"Thrift map of {count} entries at byte {self.position} is longer than the data"
            )
        kinds = self.byte()
        key_kind, value_kind = kinds >> 4, kinds & 0x0F
        pairs = [(self.value(key_kind, depth + 1), self.value(value_kind, depth + 1)) for _ in range(count)]
        return Map(key_kind, value_kind, pairs)


class Writer:
    """Appends compact-protocol values to `data`."""

    def __init__(self) -> None:
        self.data = bytearray()

    def varint(self, number: int) -> None:
        while number > 0x7F:
            self.data.append(number & 0x7F | 0x80)
            number >>= 7
        self.data.append(number)

    def zigzag(self, number: int) -> None:
        self.varint((number << 1) ^ (number >> 63))

    def struct(self, tree: Struct) -> None:
        last = 0
        for number, (kind, value) in tree.fields.items():
            self.field_header(number, kind, last)
            if kind not in (TRUE, FALSE):
                self.value(kind, value)
            last = number
        self.data.append(STOP)

    def field_header(self, number: int, kind: int, last: int) -> None:
        step = number - last
        if 0 < step <= 15:
            self.data.append(step << 4 | kind)
        else:
            self.data.append(kind)
            self.zigzag(number)

    def value(self, kind: int, value: object) -> None:
        match value:
            case Struct():
                self.struct(value)
            case List():
                self._list(value)
            case Map():
                self._map(value)
            case bytes():
                if kind == BINARY:
                    self.varint(len(value))
                self.data += value
            case bool():
                self.data.append(TRUE if value else FALSE)
            case float():
                self.data += struct.pack("<d", value)
            case int() if kind == I8:
                self.data += value.to_bytes(1, "little", signed=True)
            case int():
                self.zigzag(value)
            case _:
                raise TypeError(f"not a Thrift value: {value!r}")

    def _list(self, tree: List) -> None:
        count = len(tree.items)
        if count < 15:
            self.data.append(count << 4 | tree.kind)
        else:
            self.data.append(0xF0 | tree.kind)
            self.varint(count)
        for item in tree.items:
            self.value(tree.kind, item)

    def _map(self, tree: Map) -> None:
        self.varint(len(tree.items))
        if tree.items:
            self.data.append(tree.key_kind << 4 | tree.value_kind)
        for key, value in tree.items:
            self.value(tree.key_kind, key)
            self.value(tree.value_kind, value)


def read_struct(data: bytes | memoryview, position: int = 0) -> Struct:
    """Parses one struct.

    >>> tree = read_struct(bytes.fromhex("15 06 18 01 61 00"))
    >>> tree.integer(1), tree.text(2)
    (3, 'a')
    """
    return Reader(data, position).struct()


def write_struct(tree: Struct) -> bytes:
    """Serialises a struct; the inverse of `read_struct`.

    >>> write_struct(read_struct(bytes.fromhex("15 06 18 01 61 00"))).hex(" ")
    '15 06 18 01 61 00'
    """
    writer = Writer()
    writer.struct(tree)
    return bytes(writer.data)
