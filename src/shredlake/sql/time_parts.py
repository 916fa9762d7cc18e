"""Parts of moments, as DuckDB computes them of `make_timestamp(microseconds)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.errors import InvalidExpression
from shredlake.kernels.dispatch import dispatch
from shredlake.kernels.fallback.tally import INFINITE
from shredlake.sql.text import TimePart

SECOND: Final = 1_000_000
PARTS: Final[Mapping[TimePart, tuple[int, int]]] = {
    "hour": (3600 * SECOND, 24), "minute": (60 * SECOND, 60), "second": (SECOND, 60),
}  # fmt: skip
"""How many microseconds a unit has, and how many units there are before they start again."""


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
    found = dispatch("tally").time_part(values, *PARTS[part])
    if found is None:
        raise InvalidExpression(f"make_timestamp: microseconds out of range: {INFINITE}")
    if not microseconds.null_count:
        return found
    return pc.if_else(microseconds.is_valid(), found, pa.scalar(None, pa.int8()))
