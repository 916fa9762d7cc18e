"""Builds Variants in the smallest encoding; the same calls always give the same bytes.

As in Spark's builder, the dictionary lists names by first occurrence and is not flagged as sorted, and the
values of an object are in the order in which they were added. Only the list of field ids is sorted, by name.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Self
from uuid import UUID

from shredlake.errors import InvalidValue
from shredlake.formatting import kind_of
from shredlake.variant.layout import value_end
from shredlake.variant.metadata import byte_width, encode_metadata
from shredlake.variant.path import Path
from shredlake.variant.scalars import Count, Float32, SizedDecimal, SizedInt, unscaled_and_scale
from shredlake.variant.types import (
    ARRAY,
    DECIMAL_WIDTHS,
    FALSE_ID,
    MAX_SHORT_STRING,
    OBJECT,
    PRIMITIVE_IDS,
    PRIMITIVES,
    SHORT_STRING,
    TRUE_ID,
    VariantType,
    smallest_decimal,
    smallest_integer,
)
from shredlake.variant.walk import Event

if TYPE_CHECKING:
    from shredlake.variant.value import Variant

MAX_BYTES: Final = 0xFFFF_FFFF
"""The largest offset, of four bytes."""

_HEADERS: Final = {type_: bytes([id_ << 2]) for type_, id_ in PRIMITIVE_IDS.items()}
_NULL: Final = _HEADERS[VariantType.NULL]
_TRUE: Final = bytes([TRUE_ID << 2])
_FALSE: Final = bytes([FALSE_ID << 2])
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_NTZ: Final = datetime(1970, 1, 1)
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(slots=True)
class _Frame:
    """An open object or array: the position of its header among the chunks, and its contents so far."""

    is_object: bool
    header_at: int
    sizes: list[int] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    firsts: list[int] = field(default_factory=list)  # the first chunk of each field
    awaiting_value: bool = False


class VariantBuilder:
    """Builds one Variant piece by piece; `append` accepts any Python object that `Variant.of` accepts.

    >>> b = VariantBuilder()
    >>> b.start_object().key("name").append("Ada").key("tags").start_array().append(1).end().end().build()
    Variant({"name":"Ada","tags":[1]})
    """

    __slots__ = ("_chunks", "_frames", "_ids", "_last_wins", "_names", "_names_size", "_root_size", "_size")

    def __init__(self, *, duplicate_keys: str = "error") -> None:
        """`duplicate_keys`: "error", or "last_wins" to drop the earlier value of a repeated key."""
        if duplicate_keys not in ("error", "last_wins"):
            raise InvalidValue(f"duplicate_keys is {duplicate_keys!r}, expected 'error' or 'last_wins'")
        self._last_wins = duplicate_keys == "last_wins"
        self._ids: dict[str, int] = {}
        self._names: list[bytes] = []
        self._chunks: list[bytes] = []
        self._frames: list[_Frame] = []
        self._root_size: int | None = None
        self._size = 0
        self._names_size = 0

    # Structure

    def start_object(self) -> Self:
        """Opens an object; `key` and a value for each field follow, then `end`."""
        return self._start(is_object=True)

    def start_array(self) -> Self:
        """Opens an array; its elements follow, then `end`."""
        return self._start(is_object=False)

    def key(self, name: str) -> Self:
        """Names the next value of the innermost object."""
        frame = self._frames[-1] if self._frames else None
        if frame is None or not frame.is_object or frame.awaiting_value:
            raise InvalidValue(f"key({name!r}) is valid only inside an object, before each value")
        self._id(name)
        frame.keys.append(name)
        frame.firsts.append(len(self._chunks))
        frame.awaiting_value = True
        return self

    def end(self) -> Self:
        """Closes the innermost object or array."""
        if not self._frames:
            raise InvalidValue("end() without an open object or array")
        frame = self._frames[-1]
        if frame.awaiting_value:
            raise InvalidValue(f"the key {frame.keys[-1]!r} has no value")
        self._frames.pop()
        header = self._object_header(frame) if frame.is_object else _array_header(frame.sizes)
        self._chunks[frame.header_at] = header
        self._size += len(header)
        self._placed(len(header) + sum(frame.sizes))
        return self

    def build(self) -> Variant:
        """Returns the finished Variant."""
        if self._frames or self._root_size is None:
            raise InvalidValue("nothing has been built yet, or an object or array is still open")
        return _variant_class()(encode_metadata(self._names), b"".join(self._chunks))

    @property
    def value_size(self) -> int:
        """The size of the value so far, without the headers of open containers."""
        return self._size

    @property
    def metadata_size(self) -> int:
        """The size of the metadata so far."""
        width = byte_width(max(self._names_size, len(self._names)))
        return 1 + (len(self._names) + 2) * width + self._names_size

    # Values

    def append(self, value: object) -> Self:
        """Adds any Python object, containers included, or another Variant.

        >>> VariantBuilder().append({"a": (1, 2)}).build()
        Variant({"a":[1,2]})
        """
        if isinstance(value, dict | list | tuple | Mapping):
            self._append_tree(value)
        else:
            self._append_scalar(value)
        return self

    def append_decimal(self, unscaled: int, scale: int, type_: VariantType | None = None) -> Self:
        """Adds unscaled / 10**scale as a decimal, in the narrowest width unless `type_` is given.

        >>> VariantBuilder().append_decimal(110, 2).build().value.hex()
        '20026e000000'
        """
        type_ = type_ or smallest_decimal(unscaled, scale)
        if type_ is None:
            raise InvalidValue(f"{unscaled}E-{scale} has more than 38 digits")
        payload = unscaled.to_bytes(DECIMAL_WIDTHS[type_], "little", signed=True)
        return self._put(_HEADERS[type_] + bytes([scale]) + payload)

    def append_string(self, text: str) -> Self:
        """Adds a string: the short form up to 63 bytes.

        >>> VariantBuilder().append_string("n/a").build().value
        b'\\rn/a'
        """
        encoded = _utf8(text)
        if len(encoded) <= MAX_SHORT_STRING:
            return self._put(bytes([len(encoded) << 2 | SHORT_STRING]) + encoded)
        return self._put(_HEADERS[VariantType.STRING] + _length(encoded) + encoded)

    def append_integer(self, number: int) -> Self:
        """Adds a whole number: the narrowest int, or a decimal beyond 64 bits.

        >>> VariantBuilder().append_integer(1 << 64).build().type
        <VariantType.DECIMAL16: 'decimal16'>
        """
        type_ = smallest_integer(number)
        if type_ is not None:
            return self._put_signed(type_, number)
        if smallest_decimal(number, 0) is None:
            raise InvalidValue("an integer of more than 38 digits does not fit any exact type; pass a float")
        return self.append_decimal(number, 0)

    def append_variant(self, variant: Variant) -> Self:
        """Adds a Variant's value under this builder's dictionary; scalars keep their physical types."""
        buffer = variant.buffer
        for event, detail in variant.walk(decode=False):
            if event is Event.SCALAR:
                start, limit = detail
                self._put(buffer[start : value_end(buffer, start, limit)])
            elif event is Event.KEY:
                self.key(variant.dictionary.name(detail))
            elif event is Event.OBJECT:
                self.start_object()
            elif event is Event.ARRAY:
                self.start_array()
            else:
                self.end()
        return self

    def _append_scalar(self, value: Any) -> None:
        if value is None:
            self._put(_NULL)
        elif isinstance(value, str):
            self.append_string(value)
        elif isinstance(value, bool):
            self._put(_TRUE if value else _FALSE)
        elif isinstance(value, SizedInt | Count):
            self._put_signed(value.type, value.since_epoch if isinstance(value, Count) else value)
        elif isinstance(value, int):
            self.append_integer(value)
        elif isinstance(value, Float32):
            self._put(_HEADERS[VariantType.FLOAT] + struct.pack("<f", value))
        elif isinstance(value, float):
            self._put(_HEADERS[VariantType.DOUBLE] + struct.pack("<d", value))
        elif isinstance(value, Decimal):
            chosen = value.type if isinstance(value, SizedDecimal) else None
            self.append_decimal(*unscaled_and_scale(value), chosen)
        elif isinstance(value, datetime):
            self._append_datetime(value)
        elif isinstance(value, date):
            self._put_signed(VariantType.DATE, value.toordinal() - _EPOCH.toordinal())
        elif isinstance(value, time):
            self._append_time(value)
        elif isinstance(value, bytes | bytearray | memoryview):
            encoded = bytes(value)
            self._put(_HEADERS[VariantType.BINARY] + _length(encoded) + encoded)
        elif isinstance(value, UUID):
            self._put(_HEADERS[VariantType.UUID] + value.bytes)
        elif isinstance(value, _variant_class()):
            self.append_variant(value)
        else:
            raise InvalidValue(
                f"a Variant can't hold a value of type {type(value).__name__}; it takes None, bool, int, "
                "float, Decimal, str, bytes, date, time, datetime, UUID, list, tuple, dict and Variant"
            )

    def _append_datetime(self, moment: datetime) -> None:
        if moment.tzinfo is None:
            self._put_signed(VariantType.TIMESTAMP_NTZ, (moment - _EPOCH_NTZ) // _MICROSECOND)
        else:
            self._put_signed(VariantType.TIMESTAMP, (moment - _EPOCH) // _MICROSECOND)

    def _append_time(self, moment: time) -> None:
        if moment.tzinfo is not None:
            raise InvalidValue(f"the time {moment} has a zone, but a Variant's time of day does not")
        seconds = moment.hour * 3600 + moment.minute * 60 + moment.second
        self._put_signed(VariantType.TIME, seconds * 1_000_000 + moment.microsecond)

    def _append_tree(self, root: object) -> None:
        """Appends a container without recursion: one iterator per open one; ids guard against cycles."""
        open_: list[tuple[int, Any]] = []
        inside: set[int] = set()
        pending: list[object] = [root]
        while True:
            while pending:
                value = pending.pop()
                if isinstance(value, Mapping):
                    self.start_object()
                    children: Iterable[object] = iter(value.items())
                elif isinstance(value, list | tuple):
                    self.start_array()
                    children = iter(value)
                else:
                    self._append_scalar_at_path(value)
                    continue
                if id(value) in inside:
                    raise InvalidValue(f"the object contains itself, at {self._path()}")
                inside.add(id(value))
                open_.append((id(value), children))
            if not open_:
                return
            identity, children = open_[-1]
            child = next(children, self)  # type: ignore[call-overload]
            if child is self:
                open_.pop()
                inside.discard(identity)
                self.end()
            elif self._frames[-1].is_object:
                name, child = child
                if not isinstance(name, str):
                    raise InvalidValue(
                        f"the key {name!r} is {kind_of(name)}, at {self._path()}; keys are str"
                    )
                self.key(name)
                pending.append(child)
            else:
                pending.append(child)

    def _append_scalar_at_path(self, value: object) -> None:
        try:
            self._append_scalar(value)
        except InvalidValue as error:
            raise InvalidValue(f"{error}, at {self._path()}") from None

    def _path(self) -> Path:
        """The path of the next value; inside an object, under the latest key."""
        return Path(
            tuple(
                frame.keys[-1] if frame.is_object else len(frame.sizes)
                for frame in self._frames
                if frame.keys or not frame.is_object
            )
        )

    # Chunks: every scalar is one; a container's header is one, kept empty until the container ends.

    def _start(self, *, is_object: bool) -> Self:
        self._check_place()
        self._frames.append(_Frame(is_object, len(self._chunks)))
        self._chunks.append(b"")
        return self

    def _put_signed(self, type_: VariantType, number: int) -> Self:
        width = PRIMITIVES[PRIMITIVE_IDS[type_]].width or 0
        return self._put(_HEADERS[type_] + int(number).to_bytes(width, "little", signed=True))

    def _put(self, chunk: bytes) -> Self:
        self._check_place()
        self._chunks.append(chunk)
        self._size += len(chunk)
        self._placed(len(chunk))
        return self

    def _check_place(self) -> None:
        if not self._frames:
            if self._root_size is not None:
                raise InvalidValue("a Variant is one value; open an array or an object for more")
        elif self._frames[-1].is_object and not self._frames[-1].awaiting_value:
            raise InvalidValue("inside an object, call key() before each value")

    def _placed(self, size: int) -> None:
        if size > MAX_BYTES:
            raise InvalidValue(f"the value has {size} bytes; offsets are limited to {MAX_BYTES}")
        if self._frames:
            self._frames[-1].sizes.append(size)
            self._frames[-1].awaiting_value = False
        else:
            self._root_size = size

    def _id(self, name: str) -> int:
        id_ = self._ids.get(name)
        if id_ is None:
            encoded = _utf8(name)
            self._names.append(encoded)
            self._names_size += len(encoded)
            id_ = self._ids[name] = len(self._ids)
        return id_

    def _object_header(self, frame: _Frame) -> bytes:
        if len(set(frame.keys)) < len(frame.keys):
            self._drop_duplicates(frame)
        offsets: dict[str, int] = {}
        end = 0
        for name, size in zip(frame.keys, frame.sizes, strict=True):
            offsets[name] = end
            end += size
        ordered = sorted(offsets)  # by code point, which is the order of the UTF-8 bytes
        ids = [self._ids[name] for name in ordered]
        id_size, offset_size = byte_width(max(ids, default=0)), byte_width(end)
        large = len(ids) > 0xFF
        first = (large << 4 | id_size - 1 << 2 | offset_size - 1) << 2 | OBJECT
        parts = [bytes([first]), len(ids).to_bytes(4 if large else 1, "little")]
        parts += [id_.to_bytes(id_size, "little") for id_ in ids]
        parts += [offsets[name].to_bytes(offset_size, "little") for name in ordered]
        parts.append(end.to_bytes(offset_size, "little"))
        return b"".join(parts)

    def _drop_duplicates(self, frame: _Frame) -> None:
        """Keeps the last value of each key; names that only a dropped value uses stay in the dictionary."""
        last = {name: index for index, name in enumerate(frame.keys)}
        if not self._last_wins:
            repeated = next(name for index, name in enumerate(frame.keys) if last[name] != index)
            raise InvalidValue(f"the key {repeated!r} occurs twice in one object")
        ends = [*frame.firsts[1:], len(self._chunks)]
        for index, name in enumerate(frame.keys):
            if last[name] != index:
                self._size -= frame.sizes[index]
                for chunk in range(frame.firsts[index], ends[index]):
                    self._chunks[chunk] = b""
        kept = sorted(last.values())
        frame.keys = [frame.keys[index] for index in kept]
        frame.sizes = [frame.sizes[index] for index in kept]


def _array_header(sizes: list[int]) -> bytes:
    total = sum(sizes)
    offset_size = byte_width(total)
    large = len(sizes) > 0xFF
    parts = [
        bytes([(large << 2 | offset_size - 1) << 2 | ARRAY]),
        len(sizes).to_bytes(4 if large else 1, "little"),
        bytes(offset_size),
    ]
    end = 0
    for size in sizes:
        end += size
        parts.append(end.to_bytes(offset_size, "little"))
    return b"".join(parts)


def _length(encoded: bytes) -> bytes:
    if len(encoded) > MAX_BYTES:
        raise InvalidValue(f"the value has {len(encoded)} bytes; lengths are limited to {MAX_BYTES}")
    return len(encoded).to_bytes(4, "little")


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidValue(f"the text {text[:40]!r} has half a surrogate pair at {error.start}") from None


def _variant_class() -> type[Variant]:
    """Imports lazily, because value.py imports this module."""
    from shredlake.variant.value import Variant

    return Variant
