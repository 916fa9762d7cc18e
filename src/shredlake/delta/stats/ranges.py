"""Measures how much the ranges of files overlap: how well each column and path of a table is sorted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.stats.collect import python_value
from shredlake.delta.stats.parsed import StatsColumns, shredding_of
from shredlake.delta.stats.skipping import FileStatistics
from shredlake.expr import Column, Get, join_name
from shredlake.expr.prune import Bounds
from shredlake.shredding.schema import Object
from shredlake.variant.path import Path

PLACES = 12
"""The letters of a text that are drawn, after those that all texts share."""

Numbers = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True)
class Ranges:
    """The ranges of one column or path over the files of a table."""

    name: str
    type: pa.DataType
    files: int
    """The number of live files."""
    minimum: pa.Array
    maximum: pa.Array
    """Bounds of the files that have both, in the order of their minima."""

    @property
    def bounded(self) -> int:
        return len(self.minimum)

    def overall(self) -> tuple[Any, Any]:
        """The smallest minimum and the greatest maximum."""
        return python_value(self.minimum[0]), python_value(pc.max(self.maximum))

    def positions(self) -> tuple[Numbers, Numbers]:
        """The ranges, scaled to between 0 and 1."""
        low, high = np.split(_numbers(pa.concat_arrays([self.minimum, self.maximum])), 2)
        start, width = low.min(), high.max() - low.min()
        return ((low - start) / width, (high - start) / width) if width else (low * 0, high * 0 + 1)

    def depths(self, places: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The number of files that cover each of `places` equal intervals; 1 in all is perfectly sorted."""
        low, high = self.positions()
        edges = np.arange(places) / places
        return np.array(
            [int(((low < edge + 1 / places) & (high >= edge)).sum()) for edge in edges], dtype=np.int64
        )

    def mean_depth(self) -> float:
        """The average number of files that may hold a file's minimum: the cost of a point query."""
        low, high = np.split(_ranks(pa.concat_arrays([self.minimum, self.maximum])), 2)
        order = np.sort(low)
        ends = np.sort(high)
        started = np.searchsorted(order, low, side="right")
        ended = np.searchsorted(ends, low, side="left")
        return float((started - ended).mean())


def ranges(snapshot: Snapshot) -> Iterator[Ranges]:
    """The ranges of every column and path that has statistics, columns first.

    >>> from shredlake.example import example_table
    >>> [(item.name, item.overall()) for item in ranges(example_table("ranges").snapshot)]
    [('id', (1, 2)), ('v:a', (10, 20))]
    """
    columns = StatsColumns.of(snapshot)
    statistics = FileStatistics.of(snapshot)
    shredding = shredding_of(statistics.pieces, columns.variant_leaves)
    for leaf in columns.bounded:
        name = join_name(leaf.names)
        if leaf.type != "variant":
            yield from _found(snapshot, name, statistics.bounds(Column(name)))
            continue
        root = shredding[leaf].root if leaf in shredding else None
        for key, _ in root.fields if isinstance(root, Object) else ():
            path = Path.parse(key)
            text = str(path).removeprefix("$").removeprefix(".")
            yield from _found(
                snapshot, f"{name}:{text}" if text else name, statistics.bounds(Get(name, path))
            )


def _found(snapshot: Snapshot, name: str, bounds: list[Bounds]) -> Iterator[Ranges]:
    live = snapshot.files.live
    # The types of a path are in a fixed order that does not depend on their frequency.
    for found in sorted(bounds, key=lambda one: str(one.minimum.type)):
        table = pa.table({"minimum": found.minimum, "maximum": found.maximum})
        if live is not None:
            table = table.filter(pa.array(live))
        both = table.drop_null().sort_by("minimum")
        if both.num_rows:
            low, high = (both.column(side).combine_chunks() for side in ("minimum", "maximum"))
            yield Ranges(name, low.type, len(snapshot.files), low, high)


def _ranks(values: pa.Array) -> Numbers:
    """The places of values in their order; equal values have one place."""
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    return np.asarray(pc.rank(values, tiebreaker="dense"), dtype=np.float64)


def _numbers(values: pa.Array) -> Numbers:
    """Map values of any ordered type to numbers that keep the order and are roughly to scale."""
    kind = values.type
    if pa.types.is_string(kind):
        return _scaled([value.encode() for value in values.to_pylist()])
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    elif pa.types.is_timestamp(kind):
        values = values.cast(pa.int64())
    elif pa.types.is_date(kind):
        values = values.cast(pa.int32())
    numbers: Numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.clip(numbers, -1e300, 1e300)


def _scaled(texts: list[bytes]) -> Numbers:
    """Texts as numbers from 0 to 1 in their order. Each place counts as many digits as it has letters.

    So the days of a month are as far apart as they are: after "2026-01-", the first place has the digits 0
    to 3, and the second 0 to 9.
    """
    low, high = min(texts), max(texts)
    same = next((n for n, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), len(low))
    letters = np.array(
        [list(text[same : same + PLACES].ljust(PLACES, b"\0")) for text in texts], dtype=np.float64
    )
    least = letters.min(axis=0)
    found: Numbers = ((letters - least) / np.cumprod(letters.max(axis=0) - least + 1)).sum(axis=1)
    return found
