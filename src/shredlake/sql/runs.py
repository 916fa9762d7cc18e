"""Merges rows that are equal, and counts them.

```
kind    ts      kind    weight  least of ts
like    5       like    3       4
like    4       post    1       9
like    7
post    9
```

Neighbouring equal rows form a run. Where all columns have few values and no minimum is asked for, equal rows
are merged wherever they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shredlake.kernels.arrow.buffers import null_rows
from shredlake.kernels.dispatch import dispatch

WORTH_MERGING: Final = 0.5
"""If more than this share of the rows would be left, they are not merged."""

_AS_INTEGERS: Final = (pa.types.is_integer, pa.types.is_date, pa.types.is_time, pa.types.is_timestamp)
"""Types whose values can be compared as the integers that they are stored as."""

MOST_CODES: Final = 1 << 12
"""The most combinations of values of which rows are counted wherever they are."""

EXTREMES: Final[Mapping[str, tuple[Callable[..., Any], int]]] = {
    "min": (np.minimum.reduceat, np.iinfo(np.int64).max),
    "max": (np.maximum.reduceat, np.iinfo(np.int64).min),
}
"""How the values of a run are reduced, and what stands for null meanwhile."""


@dataclass(frozen=True)
class MergedRows:
    """How a batch becomes one with fewer rows."""

    weights: Callable[[], pa.Array]
    """How many rows each row stands for."""
    pick: Callable[[pa.Array], pa.Array]
    """A value of each group of a column that is the same in the whole group."""
    extreme: Callable[[pa.Array, str], pa.Array]
    """The minimum (`min`) or maximum (`max`) of each group of a column."""


def merge_rows(keys: Sequence[pa.Array], values: Sequence[pa.Array], rows: int) -> MergedRows:
    """Merges rows that agree in `keys`. Of `values`, only minima and maxima are needed.

    >>> merged = merge_rows([pa.array([1, 1, 2]), pa.array(["a", "a", "a"]).dictionary_encode()], [], 3)
    >>> merged.pick(pa.array([1, 1, 2])).to_pylist(), merged.weights().to_pylist()
    ([1, 2], [2, 1])
    """
    lengths = _common_run_lengths([*keys, *values])
    if lengths is not None:
        return MergedRows(lambda: lengths, lambda column: column.values, lambda column, _: column.values)
    codes = None if values else combination_codes(keys, rows)
    if codes is not None:
        chosen, counts = dispatch("tally").count_codes(pa.array(codes), MOST_CODES)
        return MergedRows(lambda: counts, lambda column: _picked(column, chosen), lambda column, _: column)
    starts = run_starts(keys, rows)
    if starts is None:
        return unmerged(rows)
    first = pa.array(starts)
    return MergedRows(
        lambda: run_lengths(starts, rows),
        lambda column: _picked(column, first),
        lambda column, which: run_extremes(plain(column), starts, which),
    )


def unmerged(rows: int) -> MergedRows:
    """All rows as they are."""
    return MergedRows(
        lambda: pa.repeat(pa.scalar(1, pa.int64()), rows), _unpicked, lambda column, _: plain(column)
    )


def plain(column: pa.Array) -> pa.Array:
    """A column without runs."""
    return pc.run_end_decode(column) if pa.types.is_run_end_encoded(column.type) else column


def _picked(column: pa.Array, rows: pa.Array) -> pa.Array:
    return _repeated(column, len(rows)) if is_constant(column) else plain(column).take(rows)


def _unpicked(column: pa.Array) -> pa.Array:
    return _repeated(column, len(column)) if is_constant(column) else plain(column)


def _repeated(column: pa.RunEndEncodedArray, rows: int) -> pa.Array:
    """The only value of a column for each of some rows; a string as a dictionary of one."""
    if column.type.value_type != pa.string():
        return pa.repeat(column.values[0], rows)
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int32)), column.values)


def _common_run_lengths(columns: Sequence[pa.Array]) -> pa.Array | None:
    """The lengths of the runs, if all columns consist of the same."""
    if not columns or not all(pa.types.is_run_end_encoded(column.type) for column in columns):
        return None
    ends = columns[0].run_ends
    if any(column.offset or not column.run_ends.equals(ends) for column in columns):
        return None
    if not len(ends) or ends[-1].as_py() != len(columns[0]):
        return None
    return pa.array(np.diff(ends.to_numpy(), prepend=0), pa.int64())


def combination_codes(columns: Sequence[pa.Array], rows: int) -> np.ndarray[Any, Any] | None:
    """A small number for each row, equal where all columns are equal; None if there are many combinations.

    >>> combination_codes([pa.array([7, 8, 7, None]), pa.array(["a", "b", "a", "a"]).dictionary_encode()], 4)
    array([0, 3, 0, 4], dtype=int16)
    """
    codes, size = np.zeros(rows, dtype=np.int16), 1
    for column in columns:
        if rows == 0 or is_constant(column):
            continue
        found = _small_numbers(column)
        if found is None or size * found[1] > MOST_CODES:
            return None
        codes = found[0] if size == 1 else codes * found[1] + found[0]
        size *= found[1]
    return codes


def _small_numbers(column: pa.Array) -> tuple[np.ndarray[Any, Any], int] | None:
    """The values as numbers from 0 on, null as the last one, and how many there are."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, least, size = column.indices, 0, len(column.dictionary)
    elif pa.types.is_integer(kind):
        ends = pc.min_max(column)
        least = ends["min"].as_py() or 0
        size = (ends["max"].as_py() or 0) - least + 1
    else:
        return None
    if size > MOST_CODES:
        return None
    if column.null_count:
        null = least + size
        wide = pc.fill_null(column.cast(pa.int64()), null)
        return (np.asarray(wide.to_numpy()) - least).astype(np.int16), size + 1
    values = np.asarray(column.to_numpy())
    if values.itemsize == 1:  # the difference of two such numbers can need more bits
        values = values.astype(np.int16)
    return (values - least if least else values).astype(np.int16, copy=False), size


def is_constant(column: pa.Array) -> bool:
    """Whether a column is one run of a value.

    >>> from shredlake.parquet.read.window import one_run
    >>> is_constant(one_run(pa.scalar("a"), 5)), is_constant(pa.array(["a", "a"]))
    (True, False)
    """
    return bool(pa.types.is_run_end_encoded(column.type) and len(column.values) == 1)


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
    if len(column) == 0 or is_constant(column):
        return np.zeros(max(len(column) - 1, 0), dtype=bool)
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
    elif not any(holds(kind) for holds in _AS_INTEGERS):
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
