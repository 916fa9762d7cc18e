"""Reads one value's bytes in place: the positions of its parts, and its scalars.

```
object:  header | count n   | n field ids | n + 1 offsets | values      header  ..  L I I O O
array:   header | count n   |               n + 1 offsets | values      header  .. .. . L O O
         1        1 or 4 (L)  n x id_size     (n + 1) x offset_size     I: id_size - 1, O: offset_size - 1
```

No byte is trusted: every read stays below `limit`, and anything that does not fit is a MalformedVariant.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from shredlake.errors import MalformedVariant
from shredlake.variant.types import (
    ARRAY,
    DECIMAL_PRECISION,
    FALSE_ID,
    MAX_DECIMAL_DIGITS,
    MICROS_PER_DAY,
    OBJECT,
    PRIMITIVE,
    PRIMITIVES,
    SHORT_STRING,
    VariantType,
    decimal_digits,
)

_FLOAT: Final = struct.Struct("<f")
_DOUBLE: Final = struct.Struct("<d")

_SIGNED: Final = frozenset(
    {
        VariantType.INT8,
        VariantType.INT16,
        VariantType.INT32,
        VariantType.INT64,
        VariantType.DATE,
        VariantType.TIMESTAMP,
        VariantType.TIMESTAMP_NTZ,
        VariantType.TIMESTAMP_NANOS,
        VariantType.TIMESTAMP_NTZ_NANOS,
    }
)


@dataclass(frozen=True, slots=True)
class Container:
    """The positions of the parts of one object or array in its buffer."""

    is_object: bool
    count: int
    ids_at: int
    id_size: int
    offsets_at: int
    offset_size: int
    data_at: int
    end: int

    def field_id(self, buffer: bytes, index: int) -> int:
        """The dictionary id of the field at `index`."""
        at = self.ids_at + index * self.id_size
        return int.from_bytes(buffer[at : at + self.id_size], "little")

    def offset(self, buffer: bytes, index: int) -> int:
        """The start of the child at `index`, counted from `data_at`."""
        at = self.offsets_at + index * self.offset_size
        return int.from_bytes(buffer[at : at + self.offset_size], "little")

    def child_start(self, buffer: bytes, index: int) -> int:
        """The start of the child at `index` in the buffer; checked to be inside the container."""
        start = self.data_at + self.offset(buffer, index)
        if start >= self.end:
            raise MalformedVariant(
                f"child {index} starts at or after the end of its parent",
                offset=self.offsets_at + index * self.offset_size,
            )
        return start

    def child_limit(self, buffer: bytes, index: int) -> int:
        """The end limit of the child at `index`: the start of the child that follows it in the buffer."""
        if not self.is_object:
            return min(self.data_at + self.offset(buffer, index + 1), self.end)
        own = self.offset(buffer, index)
        later = (offset for i in range(self.count) if (offset := self.offset(buffer, i)) > own)
        return min(self.data_at + min(later, default=self.end - self.data_at), self.end)

    def children(self, buffer: bytes) -> list[tuple[int, int]]:
        """Start and limit of every child; children never overlap, so reading all of them is linear."""
        offsets = [self.offset(buffer, index) for index in range(self.count)]
        total = self.offset(buffer, self.count)
        bounds = [*(sorted(offsets) if self.is_object else offsets), total]
        for start, limit in pairwise(bounds):
            if start >= limit:
                index = offsets.index(start)
                raise MalformedVariant(
                    f"child {index}, at offset {start}, overlaps the next child or the end of its parent",
                    offset=self.offsets_at + index * self.offset_size,
                )
        limits = dict(pairwise(bounds))
        return [(self.data_at + start, self.data_at + limits[start]) for start in offsets]


def basic_type(buffer: bytes, start: int, limit: int) -> int:
    """The low two bits of a value's first byte.

    >>> basic_type(b"\\x02\\x00\\x00", 0, 3) == OBJECT
    True
    """
    if start >= limit:
        raise MalformedVariant("the value is empty", offset=start)
    return buffer[start] & 0b11


def container_at(buffer: bytes, start: int, limit: int) -> Container:
    """Reads the header of the object or array at `start`, and checks that all of it is below `limit`.

    >>> container_at(b"\\x03\\x01\\x00\\x01\\x00", 0, 5).count
    1
    """
    header = buffer[start] >> 2
    is_object = buffer[start] & 0b11 == OBJECT
    offset_size = (header & 0b11) + 1
    id_size = (header >> 2 & 0b11) + 1 if is_object else 0
    large = header >> 4 & 1 if is_object else header >> 2 & 1
    ids_at = start + (5 if large else 2)
    if ids_at > limit:
        raise MalformedVariant("the value ends within its count", offset=start)
    count = int.from_bytes(buffer[start + 1 : ids_at], "little")
    offsets_at = ids_at + count * id_size
    data_at = offsets_at + (count + 1) * offset_size
    if data_at > limit:
        raise MalformedVariant(f"the value is too short for the offsets of {count} values", offset=start)
    end = data_at + int.from_bytes(buffer[data_at - offset_size : data_at], "little")
    if end > limit:
        raise MalformedVariant(
            f"the values end at byte {end}, beyond their limit at byte {limit}", offset=data_at - offset_size
        )
    return Container(
        is_object,
        count,
        ids_at=ids_at,
        id_size=id_size,
        offsets_at=offsets_at,
        offset_size=offset_size,
        data_at=data_at,
        end=end,
    )


def value_end(buffer: bytes, start: int, limit: int) -> int:
    """The end of the value at `start`; for an unknown primitive, `limit`.

    >>> value_end(b"\\x0c\\x05\\x00", 0, 3)
    2
    """
    basic = basic_type(buffer, start, limit)
    header = buffer[start] >> 2
    if basic == SHORT_STRING:
        end = start + 1 + header
    elif basic == PRIMITIVE:
        if header >= len(PRIMITIVES):
            return limit
        width = PRIMITIVES[header].width
        if width is None:
            if start + 5 > limit:
                raise MalformedVariant("the value ends within its length", offset=start)
            end = start + 5 + int.from_bytes(buffer[start + 1 : start + 5], "little")
        else:
            end = start + 1 + width
    else:
        return container_at(buffer, start, limit).end
    if end > limit:
        problem = f"the value ends at byte {end}, beyond its limit at byte {limit}"
        raise MalformedVariant(problem, offset=start)
    return end


def value_size(buffer: bytes, start: int = 0) -> int:
    """The size of the value at `start`, for buffers in which something follows it.

    >>> value_size(b"\\x0c\\x05\\x00\\x00")
    2
    """
    return value_end(buffer, start, len(buffer)) - start


def type_at(buffer: bytes, start: int, limit: int) -> VariantType:
    """The type of the value at `start`.

    >>> type_at(b"\\x0c\\x05", 0, 2)
    <VariantType.INT8: 'int8'>
    """
    basic = basic_type(buffer, start, limit)
    if basic == PRIMITIVE:
        id_ = buffer[start] >> 2
        if id_ >= len(PRIMITIVES):
            raise MalformedVariant(
                f"primitive type {id_} is reserved; a newer writer may use it", offset=start
            )
        return PRIMITIVES[id_].type
    if basic == SHORT_STRING:
        return VariantType.STRING
    return VariantType.ARRAY if basic == ARRAY else VariantType.OBJECT


def scalar_at(buffer: bytes, start: int, limit: int) -> tuple[VariantType, Any]:
    """The type and raw content of the scalar at `start`.

    Raw content is an int for integers, dates and times (a count of days, microseconds or nanoseconds),
    (unscaled, scale) for decimals, or a float, str, bytes (also for uuid), bool or None.

    >>> scalar_at(b"\\x20\\x02\\x6e\\x00\\x00\\x00", 0, 6)
    (<VariantType.DECIMAL4: 'decimal4'>, (110, 2))
    """
    type_ = type_at(buffer, start, limit)
    end = value_end(buffer, start, limit)
    first = buffer[start]
    if type_ is VariantType.STRING:
        return type_, _text(buffer, start + (1 if first & 0b11 == SHORT_STRING else 5), end)
    if type_ in _SIGNED:
        return type_, int.from_bytes(buffer[start + 1 : end], "little", signed=True)
    if type_ is VariantType.NULL:
        return type_, None
    if type_ is VariantType.BOOLEAN:
        return type_, first >> 2 != FALSE_ID
    if type_ is VariantType.DOUBLE:
        return type_, _DOUBLE.unpack_from(buffer, start + 1)[0]
    if type_ is VariantType.FLOAT:
        return type_, _FLOAT.unpack_from(buffer, start + 1)[0]
    if type_ is VariantType.BINARY:
        return type_, buffer[start + 5 : end]
    if type_ is VariantType.UUID:
        return type_, buffer[start + 1 : end]
    if type_ is VariantType.TIME:
        return type_, _time(buffer, start)
    return type_, _decimal(type_, buffer, start, end)


def _text(buffer: bytes, start: int, end: int) -> str:
    try:
        return buffer[start:end].decode()
    except UnicodeDecodeError as error:
        raise MalformedVariant("the string is not UTF-8", offset=start + error.start) from None


def _time(buffer: bytes, start: int) -> int:
    micros = int.from_bytes(buffer[start + 1 : start + 9], "little", signed=True)
    if not 0 <= micros < MICROS_PER_DAY:
        raise MalformedVariant(f"a time of day of {micros} microseconds", offset=start + 1)
    return micros


def _decimal(type_: VariantType, buffer: bytes, start: int, end: int) -> tuple[int, int]:
    scale = buffer[start + 1]
    unscaled = int.from_bytes(buffer[start + 2 : end], "little", signed=True)
    if scale > MAX_DECIMAL_DIGITS:
        raise MalformedVariant(
            f"the decimal has the scale {scale}, but at most 38 is allowed", offset=start + 1
        )
    if decimal_digits(unscaled) > DECIMAL_PRECISION[type_]:
        raise MalformedVariant(
            f"a {type_.value} of {decimal_digits(unscaled)} digits, at most {DECIMAL_PRECISION[type_]} fit",
            offset=start + 2,
        )
    return unscaled, scale
