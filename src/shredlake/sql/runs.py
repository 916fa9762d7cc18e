"""Merges neighbouring rows that are equal, and counts them.

```
kind    ts      kind    weight  least of ts
like    5       like    3       4
like    4       post    1       9
like    7
post    9
```
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shredlake.kernels.arrow.buffers import null_rows

WORTH_MERGING: Final = 0.5
"""If more than this share of the rows would be left, they stay as they are."""

EXTREMES: Final[Mapping[str, tuple[Callable[..., Any], int]]] = {
    "min": (np.minimum.reduceat, np.iinfo(np.int64).max),
    "max": (np.maximum.reduceat, np.iinfo(np.int64).min),
}
"""How the values of a run are reduced, and what stands for null meanwhile."""


def run_starts(columns: Sequence[pa.Array], rows: int) -> np.ndarray[Any, Any] | None:
    """The first row of each run of equal rows; None if the rows can't be told apart or are hardly repeated.

    >>> run_starts([pa.array([1, 1, None, None, 2, 2, 2, 2])], 8).tolist()
    [0, 2, 4]
    """
    changed = np.zeros(max(rows - 1, 0), dtype=bool)
    for column in columns:
        found = _changes(column)
        if found is None:
            return None
        changed |= found
        if np.count_nonzero(changed) > WORTH_MERGING * rows:
            return None
    return np.concatenate([[0], np.flatnonzero(changed) + 1]) if rows else np.zeros(0, dtype=np.int64)


def _changes(column: pa.Array) -> np.ndarray[Any, Any] | None:
    """Where a value differs from the one before it."""
    if len(column) == 0:
        return np.zeros(0, dtype=bool)
    kind = column.type
    if pa.types.is_dictionary(kind):
        if len(column.dictionary) == 1 and not column.null_count:
            return np.zeros(len(column) - 1, dtype=bool)
        column = column.indices
    elif pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_boolean(kind):
        changed = pc.not_equal(column[1:], column[:-1])
        if column.null_count:
            absent = column.is_null()
            changed = pc.coalesce(changed, pc.not_equal(absent[1:], absent[:-1]))
        return np.asarray(changed.to_numpy(zero_copy_only=False))
    elif not (pa.types.is_integer(kind) or pa.types.is_temporal(kind)) or pa.types.is_duration(kind):
        return None
    values = _integers(column)
    found: np.ndarray[Any, Any] = values[1:] != values[:-1]
    if column.null_count:
        absent = column.is_null().to_numpy(zero_copy_only=False)
        found |= absent[1:] != absent[:-1]
    return found


def _integers(column: pa.Array, null: int = 0) -> np.ndarray[Any, Any]:
    """The values as integers, with a number in place of null."""
    if not pa.types.is_integer(column.type):
        column = column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    if column.null_count:
        column = pc.fill_null(column, pa.scalar(null, column.type))
    return np.asarray(column.to_numpy())


def run_extremes(column: pa.Array, starts: np.ndarray[Any, Any], which: str) -> pa.Array:
    """The minimum or maximum of each run, null where all values are.

    >>> run_extremes(pa.array([3, None, 1, None]), np.array([0, 3]), "min").to_pylist()
    [1, None]
    """
    if not len(starts):
        return null_rows(0, column.type)
    reduce, null = EXTREMES[which]
    wide = pa.int32() if column.type.bit_width == 32 else pa.int64()
    numbers = column.view(wide) if not pa.types.is_integer(column.type) else column.cast(pa.int64())
    values = _integers(numbers.cast(pa.int64()), null)
    least = reduce(values, starts)
    mask = None
    if column.null_count:
        valid = column.is_valid().to_numpy(zero_copy_only=False)
        mask = ~np.logical_or.reduceat(valid, starts)
    found = pa.array(least, pa.int64(), mask=mask)
    if pa.types.is_integer(column.type):
        return found.cast(column.type)
    return found.cast(wide).view(column.type)


def run_lengths(starts: np.ndarray[Any, Any], rows: int) -> pa.Array:
    """How many rows each run has.

    >>> run_lengths(np.array([0, 2]), 5).to_pylist()
    [2, 3]
    """
    return pa.array(np.diff(np.append(starts, rows)), pa.int64())
