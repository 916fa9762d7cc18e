"""Sets of rows of a row group: ranges, with an optional mask over them.

Statistics select ranges. A predicate that is evaluated over these ranges gives the mask. Both together decide
which pages of the other columns to read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

Range: TypeAlias = tuple[int, int]
"""The first row, and the row after the last."""


@dataclass(frozen=True)
class Rows:
    """Rows of one row group in order: the rows of `ranges` where `mask` is true."""

    ranges: tuple[Range, ...]
    mask: pa.BooleanArray | None = None

    @staticmethod
    def all(count: int) -> Rows:
        return Rows(((0, count),) if count else ())

    @cached_property
    def span(self) -> int:
        """The number of rows in the ranges, masked or not."""
        return sum(stop - start for start, stop in self.ranges)

    @cached_property
    def count(self) -> int:
        return self.span if self.mask is None else self.mask.true_count

    def masked(self, mask: pa.BooleanArray) -> Rows:
        """The rows for which a predicate is true; `mask` has one value for each of these rows."""
        if mask.true_count == len(mask):
            return self
        if self.mask is not None:
            mask = pc.replace_with_mask(self.mask, self.mask, mask)
        return Rows(self.ranges, mask)

    def within(self, span: Range) -> tuple[Range, ...]:
        """The intersections of the ranges with `span`."""
        return tuple((low, high) for _, _, low, high in _overlaps(self.ranges, [span]))

    def touch(self, start: int, stop: int) -> bool:
        """Whether any of the rows is between `start` and `stop`."""
        position = 0
        for first, last in self.ranges:
            low, high = max(first, start), min(last, stop)
            if low < high and (
                self.mask is None or self.mask.slice(position + low - first, high - low).true_count > 0
            ):
                return True
            position += last - first
        return False

    def pick(self, array: pa.Array, coverage: Sequence[Range]) -> pa.Array:
        """Selects these rows from an array that holds the concatenated rows of `coverage`.

        >>> rows = Rows(((2, 5), (8, 9)), pa.array([True, False, True, True]))
        >>> rows.pick(pa.array([0, 1, 2, 3, 4, 8]), [(0, 5), (8, 9)]).to_pylist()
        [2, 4, 8]
        """
        parts, masks = [], []
        for own, covered, low, high in _overlaps(self.ranges, coverage):
            parts.append(array.slice(covered, high - low))
            if self.mask is not None:
                masks.append(self.mask.slice(own, high - low))
        picked = _joined(parts, array.type)
        return picked if self.mask is None else picked.filter(_joined(masks, pa.bool_()))


def merge_ranges(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """Sorts ranges and joins those that touch or overlap.

    >>> merge_ranges([(0, 5), (5, 7), (9, 9), (10, 12)])
    ((0, 7), (10, 12))
    """
    merged: list[Range] = []
    for start, stop in ranges:
        if start >= stop:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return tuple(merged)


def _overlaps(mine: Sequence[Range], theirs: Sequence[Range]) -> Iterable[tuple[int, int, int, int]]:
    """The intersections of two sorted lists of ranges: the offset in each, and the first and last row."""
    own = other = 0  # rows in the ranges passed so far
    i = j = 0
    while i < len(mine) and j < len(theirs):
        (start, stop), (first, last) = mine[i], theirs[j]
        low, high = max(start, first), min(stop, last)
        if low < high:
            yield own + low - start, other + low - first, low, high
        if stop <= last:
            own += stop - start
            i += 1
        if last <= stop:
            other += last - first
            j += 1


def _joined(parts: list[pa.Array], type_: pa.DataType) -> pa.Array:
    if len(parts) == 1:
        return parts[0]
    return pa.concat_arrays(parts) if parts else pa.nulls(0, type_)
