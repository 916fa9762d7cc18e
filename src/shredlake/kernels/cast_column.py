"""Casts of plain Arrow columns, by the same table as casts out of Variants."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.errors import CastError
from shredlake.kernels.cast import ADVICE, cast_scalar
from shredlake.kernels.datetime_text import session_zone
from shredlake.kernels.layout import typed_value_type
from shredlake.kernels.raw_arrays import raws, scalars
from shredlake.kernels.targets import scalar_of, target_name
from shredlake.shredding.schema import Scalar
from shredlake.variant.types import VariantType as V

# Casts that Arrow does as Spark does: no value fails, none is rounded differently.
_WIDENING = {
    *((V.INT8, to) for to in (V.INT16, V.INT32, V.INT64)),
    *((V.INT16, to) for to in (V.INT32, V.INT64)),
    (V.INT32, V.INT64),
    *((V[f"INT{bits}"], V.DOUBLE) for bits in (8, 16, 32, 64)),
    (V.FLOAT, V.DOUBLE),
    (V.STRING, V.BINARY),
}

Failure = Callable[[int, str], None]
"""Told the row and what is wrong with it; may raise."""


def cast_typed(
    typed: pa.Array, source: Scalar, target: Scalar, zone: dt.tzinfo, failure: Failure
) -> pa.Array:
    """A column of one scalar type in another; null where a value does not cast."""
    wanted = typed_value_type(target)
    if typed.type == wanted:
        return typed
    if source == target or (source.type, target.type) in _WIDENING:
        return typed.cast(wanted, safe=False)
    if source.type.is_integer and target.type.is_integer:
        return _narrowed(typed, source, target, wanted, failure)
    items: list[Any] = []
    for row, raw in enumerate(raws(typed, source)):
        cast = None if raw is None else cast_scalar(source.type, raw, target, zone)
        if cast is None and raw is not None:
            failure(row, _problem(raw, source, target))
        items.append(cast)
    return scalars(items, target)


def _narrowed(
    typed: pa.Array, source: Scalar, target: Scalar, wanted: pa.DataType, failure: Failure
) -> pa.Array:
    most = (1 << wanted.bit_width - 1) - 1
    low, high = pa.scalar(-most - 1, typed.type), pa.scalar(most, typed.type)
    fits = pc.and_(pc.greater_equal(typed, low), pc.less_equal(typed, high))
    if pc.any(pc.invert(fits)).as_py():
        row = pc.index(fits, pa.scalar(False)).as_py()
        failure(row, _problem(typed[row].as_py(), source, target))
        typed = pc.if_else(fits, typed, pa.scalar(None, typed.type))
    return typed.cast(wanted)


def _problem(raw: Any, source: Scalar, target: Scalar) -> str:
    return f"{raw!r} ({source.type.value}) does not cast to {target_name(target)}"


def cast_column(
    array: pa.Array, type: pa.DataType, *, strict: bool = False, timezone: str = "UTC"
) -> pa.Array:
    """A plain column in another type, as Spark's cast: null, or with `strict` a CastError, where it fails.

    >>> cast_column(pa.array(["1", "x"]), pa.int64()).to_pylist()
    [1, None]
    """
    source, target = scalar_of(array.type), scalar_of(type)
    if source is None or target is None:
        raise CastError(f"{array.type} does not cast to {type}")

    def failure(row: int, problem: str) -> None:
        if strict:
            raise CastError(f"row {row}: {problem}; {ADVICE}")

    if source.type.is_decimal and target.type is V.STRING:
        return array.cast(
            type
        )  # out of a Variant a decimal loses its trailing zeros, out of a column it does not
    return cast_typed(array, source, target, session_zone(timezone), failure)
