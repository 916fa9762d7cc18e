"""Small numbers for many rows, by NumPy: parts of moments, and how often combinations of values occur."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from shredlake.errors import InvalidValue

INFINITE: Final = (1 << 63) - 1
"""DuckDB's infinity; minus infinity is its negative."""


def time_part(moments: pa.Array, unit: int, cycle: int) -> pa.Array | None:
    """The units of each moment since 1970, which start again after `cycle`, as int8; None if one is infinite.

    `moments` are microseconds as int64, without nulls; `cycle` is at most 127.

    >>> time_part(pa.array([7_200_000_000, -1]), 3_600_000_000, 24).to_pylist()
    [2, 23]
    """
    numbers: np.ndarray[Any, Any] = moments.to_numpy()
    if np.any((numbers == INFINITE) | (numbers == -INFINITE)):
        return None
    return pa.array((numbers // unit % cycle).astype(np.int8))


def count_codes(codes: pa.Array, size: int) -> tuple[pa.Array, pa.Array]:
    """For each code that occurs, its last row and the number of its rows.

    Codes are int16, from 0 to below `size`; any other raises InvalidValue.

    >>> [found.to_pylist() for found in count_codes(pa.array([0, 3, 0], pa.int16()), 4)]
    [[2, 1], [2, 1]]
    """
    numbers: np.ndarray[Any, Any] = codes.to_numpy()
    outside = np.flatnonzero((numbers < 0) | (numbers >= size))
    if len(outside):
        row = outside[0]
        raise InvalidValue(f"row {row}: the code {numbers[row]} is not between 0 and {size - 1}")
    counts = np.bincount(numbers, minlength=size)
    rows = np.zeros(size, dtype=np.int64)
    rows[numbers] = np.arange(len(numbers))
    present = np.flatnonzero(counts)
    return pa.array(rows[present]), pa.array(counts[present], pa.int64())
