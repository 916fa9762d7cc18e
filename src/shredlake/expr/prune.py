"""Which containers (files, row groups, pages) can hold a row that a predicate keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from shredlake.expr.ast import Column, Expr, Get


@dataclass(frozen=True)
class Bounds:
    """Statistics of one column or typed leaf over N containers.

    `minimum` and `maximum` hold for every non-null, non-NaN value; null means unknown. They need not be
    tight: a bound cut short will do as long as it bounds (a shortened maximum must have been rounded up;
    whoever can't do that gives null). Counts are null where unknown.
    """

    minimum: pa.Array
    maximum: pa.Array
    null_count: pa.Array
    row_count: pa.Array
    may_be_nan: pa.BooleanArray | None = None


class StatsSource(Protocol):
    """Where pruning asks for statistics.

    For a `Get`, bounds are those of the typed leaf, in its shredded type, and only where the leaf's own
    `value` is all null (null bounds and counts elsewhere). null_count counts missing values as well.
    """

    @property
    def length(self) -> int:
        """How many containers there are."""
        ...

    def bounds(self, ref: Column | Get) -> Bounds | None:
        """Statistics of what `ref` reads, None if there are none at all."""
        ...


def may_match(predicate: Expr, stats: StatsSource, *, timezone: str = "UTC") -> pa.BooleanArray:
    """True where a container must be read."""
    return pa.array([True] * stats.length, pa.bool_())
