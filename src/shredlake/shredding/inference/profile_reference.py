"""Profiles one value at a time: slow and simple, the oracle for the kernel."""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from collections.abc import Iterable
from typing import Final

from shredlake.shredding.inference import hyperloglog as distinct
from shredlake.shredding.inference.profile import (
    LONGEST_NAME,
    MAX_DEPTH,
    MAX_PATHS,
    PREFIX,
    STRIDE,
    Look,
    Order,
    OrderKey,
    PathProfile,
    Profile,
)
from shredlake.shredding.schema import ARRAY_ELEMENT, ArrayElement
from shredlake.variant.types import (
    PRIMITIVE,
    PRIMITIVES,
    SHORT_STRING,
    TRUE_ID,
    VariantType,
    decimal_digits,
)
from shredlake.variant.value import Variant

LOOKS: Final = (
    (Look.EMPTY, re.compile(rb"")),
    (Look.DATE, re.compile(rb"\d{4}-\d\d-\d\d")),
    (Look.TIMESTAMP, re.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*", re.DOTALL)),
    (Look.UUID, re.compile(rb"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")),
    (Look.NUMBER, re.compile(rb"(?=.{1,38}\Z)-?\d+(\.\d+)?")),
)
"""The pattern that each look must match entirely; the first match counts."""

_MOST_DIGITS: Final = 39


def profile_values(
    values: Iterable[Variant | None], *, max_paths: int = MAX_PATHS, max_depth: int = MAX_DEPTH
) -> Profile:
    """Profiles some values; None is SQL NULL.

    >>> profile = profile_values([Variant.of({"a": [1, 2]}), Variant.of({"a": []})])
    >>> profile.at("a").elements, profile.at("a").longest
    (2, 2)
    """
    root = _Tally()
    rows = nulls = metadata_bytes = missed = 0
    for value in values:
        if value is None:
            nulls += 1
        else:
            metadata_bytes += len(value.metadata)
            root.observe(value, rows, max_depth)
        rows += 1
        if root.paths() > 3 * max_paths:
            missed = max(missed, root.prune(max_paths))
    if root.paths() > max_paths:
        missed = max(missed, root.prune(max_paths))
    return Profile(rows, nulls, metadata_bytes, missed, root.profile(None))


class _Tally:
    """The counts of one path so far."""

    def __init__(self, missed: int = 0) -> None:
        self.count = self.rows = self.size = 0
        self.missed = missed
        self.last_row = -1
        self.types: Counter[VariantType] = Counter()
        self.ranged = 0
        self.low = self.high = 0.0
        self.scales: Counter[int] = Counter()
        self.digits: Counter[int] = Counter()
        self.text_bytes = self.longest_text = 0
        self.looks: Counter[Look] = Counter()
        self.lengths: Counter[int] = Counter()
        self.ordered = 0
        self.order: Order | None = None
        self.values = bytearray(distinct.REGISTERS)
        self.keys = bytearray(distinct.REGISTERS)
        self.other_count = self.other_bytes = 0
        self.children: dict[str | ArrayElement, _Tally] = {}

    def observe(self, value: Variant, row: int, depth: int) -> None:
        data = value.value
        self.count += 1
        self.rows += row != self.last_row
        self.last_row = row
        if data[0] & 3 == PRIMITIVE and data[0] >> 2 >= len(PRIMITIVES):
            self.size += 1  # a type of a newer specification
            return
        kind = value.type
        self.size += len(data)
        self.types[kind] += 1
        if kind is VariantType.OBJECT:
            for name, field in value.items() if depth else ():
                encoded = name.encode("utf-8", "surrogateescape")
                distinct.add(self.keys, distinct.hash_bytes(0, encoded))
                if len(encoded) <= LONGEST_NAME:
                    self.child(name).observe(field, row, depth - 1)
                else:
                    self.other_count += 1
                    self.other_bytes += len(field.value)
        elif kind is VariantType.ARRAY:
            self.lengths[len(value)] += 1
            for element in value if depth else ():
                self.child(ARRAY_ELEMENT).observe(element, row, depth - 1)
        elif kind is not VariantType.NULL:
            self.observe_scalar(kind, data)

    def child(self, name: str | ArrayElement) -> _Tally:
        return self.children.setdefault(name, _Tally())

    def observe_scalar(self, kind: VariantType, data: bytes) -> None:
        identity = data[0] >> 2
        payload = data[1:] if data[0] & 3 == SHORT_STRING or kind not in _LONG else data[5:]
        if kind in _LONG:
            self.text_bytes += len(payload)
            self.longest_text = max(self.longest_text, len(payload))
            if kind is VariantType.STRING:
                self.looks.update([look for look, shape in LOOKS if shape.fullmatch(payload)][:1])
            self.observe_order(payload[:PREFIX])
            self.note(15 if kind is VariantType.STRING else 16 + identity, payload)
        elif kind.is_integer:
            number = int.from_bytes(payload, "little", signed=True)
            self.observe_exact(number, 0)
            self.note(1, number.to_bytes(8, "little", signed=True))
        elif kind.is_decimal:
            unscaled = int.from_bytes(payload[1:], "little", signed=True)
            self.observe_exact(unscaled, payload[0])
            width = 8 if -(1 << 63) <= unscaled < 1 << 63 else 16
            self.note(2 | payload[0] << 8, unscaled.to_bytes(width, "little", signed=True))
        elif kind is VariantType.BOOLEAN:
            self.note(16 + TRUE_ID, bytes([identity == TRUE_ID]))
        elif kind is VariantType.UUID:
            self.observe_order(payload)
            self.note(16 + identity, payload)
        else:
            self.observe_number(float(struct.unpack(_FORMATS.get(kind, "<q"), payload)[0]))
            self.note(16 + identity, payload)

    def observe_exact(self, unscaled: int, scale: int) -> None:
        self.scales[min(scale, _MOST_DIGITS)] += 1
        self.digits[max(min(decimal_digits(unscaled), _MOST_DIGITS) - scale, 0)] += 1
        self.observe_number(float(unscaled) / float(f"1e{min(scale, _MOST_DIGITS)}"))

    def observe_number(self, number: float) -> None:
        if math.isnan(number):
            return
        self.low = min(self.low, number) if self.ranged else number
        self.high = max(self.high, number) if self.ranged else number
        self.ranged += 1
        self.observe_order(number)

    def observe_order(self, key: OrderKey) -> None:
        if self.ordered % STRIDE == 0:
            self.order = self.order.then(Order(0, 0, 0, key, key)) if self.order else Order(0, 0, 0, key, key)
        self.ordered += 1

    def note(self, seed: int, payload: bytes) -> None:
        distinct.add(self.values, distinct.hash_bytes(seed, payload))

    def paths(self) -> int:
        return 1 + sum(child.paths() for child in self.children.values())

    def prune(self, max_paths: int) -> int:
        """Keeps the paths in the most rows; returns the largest number of rows of a dropped path."""
        least = sorted((tally.rows for tally in self.below()), reverse=True)[max_paths - 1]
        for tally in [self, *self.below()]:
            for name, child in list(tally.children.items()):
                if child.rows <= least:
                    del tally.children[name]
                    tally.other_count += child.count if name is not ARRAY_ELEMENT else 0
                    tally.other_bytes += child.size if name is not ARRAY_ELEMENT else 0
        return least

    def below(self) -> list[_Tally]:
        return [tally for child in self.children.values() for tally in (child, *child.below())]

    def profile(self, name: str | ArrayElement | None) -> PathProfile:
        children = sorted(self.children.items(), key=lambda item: (item[0] is ARRAY_ELEMENT, str(item[0])))
        return PathProfile(
            name=name,
            count=self.count,
            rows=self.rows,
            size=self.size,
            missed=self.missed,
            types=dict(self.types),
            ranged=self.ranged,
            low=self.low,
            high=self.high,
            scales=dict(self.scales),
            digits=dict(self.digits),
            text_bytes=self.text_bytes,
            longest_text=self.longest_text,
            looks=dict(self.looks),
            elements=sum(length * count for length, count in self.lengths.items()),
            shortest=min(self.lengths, default=0),
            longest=max(self.lengths, default=0),
            order=self.order,
            values=bytes(self.values),
            keys=bytes(self.keys),
            other_count=self.other_count,
            other_bytes=self.other_bytes,
            children=tuple(child.profile(step) for step, child in children),
        )


_LONG: Final = (VariantType.STRING, VariantType.BINARY)
_FORMATS: Final = {VariantType.DOUBLE: "<d", VariantType.FLOAT: "<f", VariantType.DATE: "<i"}
