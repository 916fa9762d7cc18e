"""Traverses a whole value without recursion, so that Python's stack does not limit its depth."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any, NamedTuple

from shredlake.errors import MalformedVariant
from shredlake.variant.layout import basic_type, container_at, scalar_at
from shredlake.variant.metadata import Dictionary
from shredlake.variant.path import Path
from shredlake.variant.types import OBJECT, SHORT_STRING


class Event(enum.Enum):
    """The events of a walk; the comment beside each names its detail."""

    SCALAR = "scalar"  # (type, raw content), see layout.scalar_at; (start, limit) if not decoded
    KEY = "key"  # the field's dictionary id, checked; its value follows
    OBJECT = "object"  # the number of fields
    ARRAY = "array"  # the number of elements
    END = "end"  # True if an object ended, False if an array


class _Frame(NamedTuple):
    start: int
    is_object: bool
    ids: list[int]
    children: list[tuple[int, int]]


class Walk:
    """The events of one value, in the order of its fields and elements.

    The parts of a container never overlap, so a walk takes time in proportion to the bytes. Damage raises a
    MalformedVariant with the path; `path()` returns the current position.

    >>> from shredlake.variant.value import Variant
    >>> v = Variant.of({"a": [True]})
    >>> for event, detail in Walk(Dictionary(v.metadata), v.value, 0, len(v.value)):
    ...     print(event.name, detail)
    OBJECT 1
    KEY 0
    ARRAY 1
    SCALAR (<VariantType.BOOLEAN: 'boolean'>, True)
    END False
    END True
    """

    def __init__(
        self,
        dictionary: Dictionary,
        buffer: bytes,
        start: int,
        limit: int,
        *,
        decode: bool = True,
        by_name: bool = False,
    ) -> None:
        """`by_name` visits fields sorted by name, in whichever order the writer listed them."""
        self.dictionary = dictionary
        self._buffer = buffer
        self._start = start
        self._limit = limit
        self._decode = decode
        self._by_name = by_name
        self._frames: list[_Frame] = []
        self._indexes: list[int] = []

    def path(self) -> Path:
        """Returns the current path of the walk."""
        return Path(
            tuple(
                _readable(self.dictionary, frame.ids[index]) if frame.is_object else index
                for frame, index in zip(self._frames, self._indexes, strict=True)
                if index >= 0
            )
        )

    def parent_path(self) -> Path:
        """The container that contains the current position."""
        return Path(self.path().steps[:-1])

    @property
    def container_start(self) -> int:
        """The start of the current container in the buffer."""
        return self._frames[-1].start

    def __iter__(self) -> Iterator[tuple[Event, Any]]:
        try:
            yield from self._events()
        except MalformedVariant as error:
            if error.path != "$" or not self._frames:
                raise
            raise MalformedVariant(
                error.problem, part=error.part, offset=error.offset, path=self.path().normalized()
            ) from None

    def _events(self) -> Iterator[tuple[Event, Any]]:
        yield self._value(self._start, self._limit)
        while self._frames:
            frame = self._frames[-1]
            self._indexes[-1] += 1
            index = self._indexes[-1]
            if index == len(frame.children):
                self._frames.pop()
                self._indexes.pop()
                yield Event.END, frame.is_object
                continue
            if frame.is_object:
                self.dictionary.name(frame.ids[index])  # damage is found here, where the path is known
                yield Event.KEY, frame.ids[index]
            yield self._value(*frame.children[index])

    def _value(self, start: int, limit: int) -> tuple[Event, Any]:
        """The event of the value at `start`; a container also becomes the innermost frame."""
        basic = basic_type(self._buffer, start, limit)
        if basic <= SHORT_STRING:
            detail = scalar_at(self._buffer, start, limit) if self._decode else (start, limit)
            return Event.SCALAR, detail
        container = container_at(self._buffer, start, limit)
        is_object = basic == OBJECT
        ids = [container.field_id(self._buffer, i) for i in range(container.count)] if is_object else []
        children = container.children(self._buffer)
        if self._by_name and len(ids) > 1:
            ids, children = self._sorted_by_name(ids, children)
        self._frames.append(_Frame(start, is_object, ids, children))
        self._indexes.append(-1)
        return (Event.OBJECT if is_object else Event.ARRAY), container.count

    def _sorted_by_name(
        self, ids: list[int], children: list[tuple[int, int]]
    ) -> tuple[list[int], list[tuple[int, int]]]:
        ranks = self.dictionary.ranks()
        for id_ in ids:
            self.dictionary.check_id(id_)
        order = sorted(range(len(ids)), key=lambda index: ranks[ids[index]])
        return [ids[index] for index in order], [children[index] for index in order]


def _readable(dictionary: Dictionary, id_: int) -> str:
    """A name for a path in an error message, even if the dictionary itself is damaged."""
    try:
        return dictionary.name(id_)
    except MalformedVariant:
        return f"<field id {id_}>"
