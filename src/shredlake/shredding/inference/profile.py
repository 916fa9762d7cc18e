"""The profile of a Variant column: a summary per path that can be merged.

```
Profile ── root ─┬─ PathProfile "user" ─┬─ PathProfile "id"      number of rows and bytes,
                 │                      └─ PathProfile "name"    types, ranges, scales, lengths,
                 └─ PathProfile "tags" ─── PathProfile [*]       distinct values, order in the file
```

Profiles of parts can be merged into the profile of all rows: counts, bytes, types, ranges, scales, lengths
and distinct values (`hyperloglog.py`) exactly. The order in the file is sampled by comparing every 64th value
of a path with the previous sample, so a merge adds one comparison per boundary. Memory is bounded: beyond
`max_paths` paths, those in the fewest rows are dropped and counted in their parent (`other_count`,
`other_bytes`, and still in `keys`); `missed` is the number of rows in which a path may have occurred without
being counted.

`kernels.profile` profiles Arrow columns; `profile_codec.py` serialises profiles.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, TypeVar

from shredlake.errors import InvalidValue
from shredlake.shredding.inference import hyperloglog as distinct
from shredlake.shredding.schema import ARRAY_ELEMENT, ArrayElement, Steps
from shredlake.variant.types import VariantType

MAX_PATHS: Final = 10_000
"""The default maximum number of paths in a profile."""

MAX_DEPTH: Final = 100
"""The maximum depth of a profile; deeper values are profiled as a whole."""

LONGEST_NAME: Final = 1000
"""The maximum length of a field's name in bytes; longer names are treated as data and counted in their
parent.
"""

STRIDE: Final = 64
"""One value of this many at a path is compared with the previous sample."""

PREFIX: Final = 32
"""The number of bytes of a string used in such a comparison."""


class Look(enum.Enum):
    """The apparent type of a string. Only its shape counts: 2024-99-99 looks like a date."""

    EMPTY = "empty"
    DATE = "date"
    TIMESTAMP = "timestamp"
    UUID = "uuid"
    NUMBER = "number"


OrderKey = float | bytes


@dataclass(frozen=True, slots=True)
class Order:
    """The order of values in the file, by sampled pairs that increase, decrease, or are equal."""

    up: int
    down: int
    same: int
    first: OrderKey
    last: OrderKey

    def then(self, later: Order) -> Order:
        """The order of these values followed by later ones."""
        up, down, same = compare(self.last, later.first)
        return Order(
            self.up + later.up + up,
            self.down + later.down + down,
            self.same + later.same + same,
            self.first,
            later.last,
        )


def compare(before: OrderKey, after: OrderKey) -> tuple[int, int, int]:
    """(1, 0, 0) for an increase, (0, 1, 0) a decrease, (0, 0, 1) neither; zeros if they are not comparable.

    >>> compare(1.0, 2.0), compare(b"b", b"a"), compare(1.0, b"a")
    ((1, 0, 0), (0, 1, 0), (0, 0, 0))
    """
    if isinstance(before, float) and isinstance(after, float):
        return int(after > before), int(after < before), int(after == before)
    if isinstance(before, bytes) and isinstance(after, bytes):
        return int(after > before), int(after < before), int(after == before)
    return 0, 0, 0


@dataclass(frozen=True)
class PathProfile:
    """The values at one path, explicit nulls included, missing ones not."""

    name: str | ArrayElement | None
    """The last step of the path; None for the root."""
    count: int = 0
    rows: int = 0
    size: int = 0
    """Size of the encoded values, including everything nested in them."""
    missed: int = 0
    types: Mapping[VariantType, int] = field(default_factory=dict)
    ranged: int = 0
    low: float = 0.0
    """The range of numbers; in days or microseconds for dates and timestamps. Valid if `ranged`."""
    high: float = 0.0
    scales: Mapping[int, int] = field(default_factory=dict)
    """Counts of ints and decimals by digits after the decimal point."""
    digits: Mapping[int, int] = field(default_factory=dict)
    """Counts of ints and decimals by digits before the decimal point."""
    text_bytes: int = 0
    longest_text: int = 0
    looks: Mapping[Look, int] = field(default_factory=dict)
    elements: int = 0
    shortest: int = 0
    longest: int = 0
    """The minimum and maximum length of arrays, and their sum (`elements`)."""
    order: Order | None = None
    values: bytes = distinct.EMPTY
    """Registers of the distinct scalars."""
    keys: bytes = distinct.EMPTY
    """Registers of the distinct names of fields."""
    other_count: int = 0
    other_bytes: int = 0
    """Fields of objects here whose paths are not listed."""
    children: tuple[PathProfile, ...] = ()
    """Fields by name, then the elements of arrays."""

    @cached_property
    def by_name(self) -> dict[str | ArrayElement | None, PathProfile]:
        """The children by name."""
        return {child.name: child for child in self.children}

    @property
    def nulls(self) -> int:
        """The number of explicit nulls."""
        return self.types.get(VariantType.NULL, 0)

    @property
    def distinct(self) -> float:
        """The estimated number of distinct scalars."""
        return distinct.estimate(self.values)

    @property
    def distinct_keys(self) -> float:
        """The estimated number of distinct field names, including dropped ones."""
        return distinct.estimate(self.keys)

    @property
    def sortedness(self) -> float | None:
        """1 if values only increase in the file, -1 if they only decrease, 0 without an order; None if
        unknown.
        """
        if self.order is None or self.order.up + self.order.down < 8:
            return None
        return (self.order.up - self.order.down) / (self.order.up + self.order.down)

    def merge(self, later: PathProfile, missed: int = 0, later_missed: int = 0) -> PathProfile:
        """Merges the values of both. A path that only one side lists may have been dropped by the other."""
        names = sorted(self.by_name.keys() | later.by_name.keys(), key=_name_order)
        children = []
        for name in names:
            one, other = self.by_name.get(name), later.by_name.get(name)
            if one is not None and other is not None:
                children.append(one.merge(other, missed, later_missed))
            elif one is not None:
                children.append(one._lacking(later_missed))
            elif other is not None:
                children.append(other._lacking(missed))
        return PathProfile(
            name=self.name,
            count=self.count + later.count,
            rows=self.rows + later.rows,
            size=self.size + later.size,
            missed=self.missed + later.missed,
            types=_sum(self.types, later.types),
            ranged=self.ranged + later.ranged,
            low=min(side.low for side in (self, later) if side.ranged or not (self.ranged or later.ranged)),
            high=max(side.high for side in (self, later) if side.ranged or not (self.ranged or later.ranged)),
            scales=_sum(self.scales, later.scales),
            digits=_sum(self.digits, later.digits),
            text_bytes=self.text_bytes + later.text_bytes,
            longest_text=max(self.longest_text, later.longest_text),
            looks=_sum(self.looks, later.looks),
            elements=self.elements + later.elements,
            shortest=min(
                (side.shortest for side in (self, later) if VariantType.ARRAY in side.types), default=0
            ),
            longest=max(self.longest, later.longest),
            order=self.order.then(later.order) if self.order and later.order else self.order or later.order,
            values=distinct.merge(self.values, later.values),
            keys=distinct.merge(self.keys, later.keys),
            other_count=self.other_count + later.other_count,
            other_bytes=self.other_bytes + later.other_bytes,
            children=tuple(children),
        )

    def _lacking(self, missed: int) -> PathProfile:
        """This path, merged with a profile that may have dropped it."""
        if not missed:
            return self
        children = tuple(child._lacking(missed) for child in self.children)
        return replace(self, missed=self.missed + missed, children=children)


@dataclass(frozen=True)
class Profile:
    """The summary of a Variant column.

    >>> from shredlake.shredding.inference.profile_reference import profile_values
    >>> from shredlake.variant.value import Variant
    >>> profile = profile_values([Variant.of({"a": 1}), Variant.of({"a": "x"}), None])
    >>> profile.rows, profile.at("a").rows, sorted(kind.value for kind in profile.at("a").types)
    (3, 2, ['int8', 'string'])
    >>> both = profile.merge(profile)
    >>> both.rows, both.at("a").rows, Profile.from_bytes(both.to_bytes()) == both
    (6, 4, True)
    """

    rows: int
    nulls: int
    metadata_bytes: int
    missed: int
    root: PathProfile

    def at(self, *steps: str | ArrayElement) -> PathProfile:
        """The values at a path, given step by step; raises KeyError if there are none."""
        node = self.root
        for step in steps:
            node = node.by_name[step]
        return node

    def paths(self) -> Iterator[tuple[Steps, PathProfile]]:
        """Every path, parents first."""
        waiting: list[tuple[Steps, PathProfile]] = [((), self.root)]
        while waiting:
            steps, node = waiting.pop()
            yield steps, node
            waiting.extend(
                ((*steps, child.name), child) for child in reversed(node.children) if child.name is not None
            )

    def merge(self, *later: Profile) -> Profile:
        """Merges this profile with those of later rows."""
        merged = self
        for other in later:
            merged = Profile(
                merged.rows + other.rows,
                merged.nulls + other.nulls,
                merged.metadata_bytes + other.metadata_bytes,
                merged.missed + other.missed,
                merged.root.merge(other.root, merged.missed, other.missed),
            )
        return merged

    def to_bytes(self) -> bytes:
        """Serialises to a compact form, to send between processes."""
        from shredlake.shredding.inference.profile_codec import encode

        return encode(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Profile:
        """Parses the result of `to_bytes`; raises InvalidValue if the bytes are damaged or not a profile."""
        from shredlake.shredding.inference.profile_codec import decode

        try:
            return decode(data)
        except (ValueError, LookupError, OverflowError, struct.error) as error:
            raise InvalidValue(f"these {len(data)} bytes are not a profile: {error}") from error


def _name_order(name: str | ArrayElement | None) -> tuple[bool, str]:
    return (name is ARRAY_ELEMENT, "" if name is ARRAY_ELEMENT else str(name))


Key = TypeVar("Key")


def _sum(one: Mapping[Key, int], other: Mapping[Key, int]) -> dict[Key, int]:
    return {key: one.get(key, 0) + other.get(key, 0) for key in {**one, **other}}
