"""Parts of moments, as DuckDB computes them of `make_timestamp(microseconds)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shredlake.errors import InvalidExpression
from shredlake.sql.text import TimePart

SECOND: Final = 1_000_000
PARTS: Final[Mapping[TimePart, tuple[int, int]]] = {
    "hour": (3600 * SECOND, 24), "minute": (60 * SECOND, 60), "second": (SECOND, 60),
}  # fmt: skip
"""How many microseconds a unit has, and how many units there are before they start again."""

BLOCK: Final = 1 << 14
"""The number of rows at a time: for more, malloc takes new pages from the system whenever it is called."""

INFINITE: Final = (1 << 63) - 1
"""DuckDB's infinity; minus infinity is its negative. `make_timestamp` refuses both."""


def time_part(part: TimePart, microseconds: pa.Array) -> pa.Array:
    """A part of each moment since 1970, null where the moment is, as small numbers.

    >>> time_part("hour", pa.array([7_200_000_000, -1, None])).to_pylist()
    [2, 23, None]
    """
    if pa.types.is_run_end_encoded(microseconds.type):
        found = time_part(part, microseconds.values)
        return pa.RunEndEncodedArray.from_arrays(microseconds.run_ends, found)
    values = microseconds
    if values.null_count:
        values = pc.fill_null(values, 0)
    numbers: np.ndarray[Any, Any] = values.to_numpy()
    least, most = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0)
    if most == INFINITE or least == -INFINITE:
        raise InvalidExpression(f"make_timestamp: microseconds out of range: {INFINITE}")
    unit, cycle = PARTS[part]
    found = np.empty(len(numbers), dtype=np.int8)
    for start in range(0, len(numbers), BLOCK):
        block = numbers[start : start + BLOCK]
        # NumPy divides natural numbers several times faster than integers, and small ones faster still.
        units = block // unit if least < 0 else block.view(np.uint64) // np.uint64(unit)
        small = units.astype(np.uint32) if least >= 0 and most // unit < 1 << 32 else units
        small -= small // small.dtype.type(cycle) * small.dtype.type(cycle)  # faster than the remainder
        found[start : start + BLOCK] = small
    mask = microseconds.is_null().to_numpy(zero_copy_only=False) if microseconds.null_count else None
    return pa.array(found, pa.int8(), mask=mask)
