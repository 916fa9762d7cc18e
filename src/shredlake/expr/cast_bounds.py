"""Propagates the bounds of a typed leaf through the casts of an expression.

A monotonic cast c keeps bounds: min <= x <= max implies c(min) <= c(x) <= c(max). Values that can't be cast
become null, which no comparison matches, so they never widen the bounds. Only the values that do cast matter.

| from | to | bounds of the result |
|---|---|---|
| any | the same | the same |
| integer | integer, decimal | the same: the number is unchanged, or null if it does not fit |
| decimal | decimal of the same or a larger scale | the same |
| decimal | decimal of smaller scale | rounded the same way |
| decimal, float, double | integer | truncated towards zero: within 1 of the number |
| integer, decimal, double | float | rounded and slightly widened, so that the rounding mode does not matter |
| decimal | double | likewise |
| integer | double | rounded to nearest, as the value is |
| float | double | the same; NaN stays NaN |
| timestamp_nanos | timestamp | rounded down (likewise without zone) |
| date, timestamp, timestamp_ntz | each other | the same in UTC; elsewhere 26 hours wider |
| anything else | | unknown: numeric strings do not sort as numbers, and dates have many spellings |

Floats: statistics ignore NaN, so a NaN is possible unless something excludes it, and NaN is greater than any
number. -0.0 and 0.0 compare equal, so either may be a bound. NaN is not a valid bound. A path into a Variant
may lead to NaN whatever its leaf's type, except in a container with known bounds of another type, because
those hold for all its values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.expr.coerce import is_decimal
from shredlake.expr.types import (
    DATE,
    DOUBLE,
    FLOAT,
    INTEGRALS,
    TIMESTAMP,
    TIMESTAMP_NANOS,
    TIMESTAMP_NTZ,
    TIMESTAMP_NTZ_NANOS,
    UUID,
    VARIANT,
    DataType,
    from_arrow,
)

_DAY: Final = 86_400_000_000  # microseconds
_FURTHEST_CLOCK: Final = 26 * _DAY // 24  # the largest offset of a local clock from UTC
_DOUBLE_SLACK: Final = 2.0**-50
_FLOAT_SLACK: Final = 2.0**-22


@dataclass(frozen=True)
class Bounds:
    """Statistics of one column or typed leaf over N containers.

    `minimum` and `maximum` hold for every non-null, non-NaN value; null means unknown. They need not be
    tight: a truncated bound is fine as long as it bounds (a truncated maximum must have been rounded up, or
    else be null). Unknown counts are null.
    """

    minimum: pa.Array
    maximum: pa.Array
    null_count: pa.Array
    row_count: pa.Array
    may_be_nan: pa.BooleanArray | None = None


@dataclass(frozen=True)
class Image:
    """The range of an operand's values in each container.

    `low` and `high` have the type `kind` and are null if unknown. `nan` says where NaN is possible (None:
    nowhere), `can_fail` whether a cast in the operand may have produced nulls.
    """

    low: pa.Array
    high: pa.Array
    kind: DataType
    nan: pa.Array | None = None
    can_fail: bool = False


def image_of_bounds(bounds: Bounds, *, of_path: bool = False) -> Image | None:
    """Returns the image of the leaf itself; None for types without an order here.

    With `of_path`, the leaf belongs to a path: its type says nothing about containers with unknown bounds.
    """
    kind = from_arrow(bounds.minimum.type)
    if kind == VARIANT or from_arrow(bounds.maximum.type) != kind:
        return None
    try:
        low, high = (_plain(array, kind) for array in (bounds.minimum, bounds.maximum))
    except pa.ArrowInvalid:  # the unit does not fit
        return None
    if kind not in (FLOAT, DOUBLE):
        nan = pc.or_(pc.is_null(low), pc.is_null(high)) if of_path else None
        return Image(low, high, kind, nan)
    low, high = (pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array) for array in (low, high))
    nan = bounds.may_be_nan
    maybe = pa.repeat(pa.scalar(True), len(low)) if nan is None else pc.fill_null(nan, True)
    return Image(low, high, kind, maybe)


def _plain(array: pa.Array, kind: DataType) -> pa.Array:
    if kind == UUID:
        return array.storage if isinstance(array, pa.ExtensionArray) else array
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return array if array.type == kind.arrow else array.cast(kind.arrow)


def cast_image(image: Image, target: DataType, utc: bool) -> Image | None:
    """Returns the image after a cast; None if nothing is known about it."""
    source = image.kind
    if source == target:
        return image
    if source in INTEGRALS and target in INTEGRALS:
        wider = INTEGRALS.index(target) >= INTEGRALS.index(source)
        return image if wider else replace(image, can_fail=True)
    if (source in INTEGRALS or is_decimal(source)) and is_decimal(target):
        return _to_decimal(image, target)
    if target in INTEGRALS and (is_decimal(source) or source in (FLOAT, DOUBLE)):
        return _to_integer(image)
    if target in (FLOAT, DOUBLE) and (source in INTEGRALS or is_decimal(source) or source in (FLOAT, DOUBLE)):
        return _to_float(image, target)
    convert = _CLOCKS.get((source, target))
    return None if convert is None else convert(image, utc)


def _each(image: Image, down: Callable[[Any], Any], up: Callable[[Any], Any], **changes: Any) -> Image:
    return replace(image, low=down(image.low), high=up(image.high), **changes)


def _to_decimal(image: Image, target: DataType) -> Image:
    scale = target.arrow.scale
    whole = 19 if image.kind in INTEGRALS else image.kind.arrow.precision - image.kind.arrow.scale
    can_fail = image.can_fail or target.arrow.precision - scale < whole
    if image.kind in INTEGRALS or image.kind.arrow.scale <= scale:
        return replace(image, can_fail=can_fail)
    wide = pa.decimal256(76, image.kind.arrow.scale)  # room for a carry

    def rounded(array: pa.Array) -> pa.Array:
        return pc.round(array.cast(wide), ndigits=scale, round_mode="half_towards_infinity")

    return _each(image, rounded, rounded, kind=from_arrow(wide), can_fail=True)


def _to_integer(image: Image) -> Image:
    if is_decimal(image.kind):
        wide = pa.decimal256(60, image.kind.arrow.scale)
        one = pa.scalar(Decimal(1), pa.decimal128(1, 0))
        low, high = pc.subtract(image.low.cast(wide), one), pc.add(image.high.cast(wide), one)
        return replace(image, low=low, high=high, kind=from_arrow(low.type), nan=None, can_fail=True)
    as_double = _each(image, _double, _double, kind=DOUBLE, nan=None, can_fail=True)
    return _each(
        as_double,
        lambda array: _widened(pc.subtract(array, 1.0), -_DOUBLE_SLACK),
        lambda array: _widened(pc.add(array, 1.0), _DOUBLE_SLACK),
    )


def _double(array: pa.Array) -> pa.Array:
    return array.cast(pa.float64(), safe=False)


def _widened(array: pa.Array, slack: float) -> pa.Array:
    """Widen bounds by a share of their size; an infinity that would have to shrink becomes unknown."""
    moved = pc.add(array, pc.multiply(pc.abs(array), slack))
    return pc.if_else(pc.is_nan(moved), pa.scalar(None, pa.float64()), moved)


def _to_float(image: Image, target: DataType) -> Image:
    as_double = _each(image, _double, _double, kind=DOUBLE)
    if target == DOUBLE and not is_decimal(image.kind):
        return as_double
    slack = _DOUBLE_SLACK if target == DOUBLE else _FLOAT_SLACK
    tiny = 0.0 if target == DOUBLE else 1e-44  # relative slack is not enough for floats this small
    return _each(
        as_double,
        lambda array: pc.subtract(_widened(array, -slack), tiny),
        lambda array: pc.add(_widened(array, slack), tiny),
    )


def _micros(array: pa.Array) -> pa.Array:
    """Converts dates and timestamps to microseconds; unknown if adding a day could overflow 64 bits."""
    is_date = pa.types.is_date32(array.type)
    counts = array.cast(pa.int32()).cast(pa.int64()) if is_date else array.cast(pa.int64())
    limit = ((1 << 63) - 2 * _DAY) // (_DAY if is_date else 1)
    inside = pc.and_(pc.greater_equal(counts, -limit), pc.less_equal(counts, limit))
    counts = pc.if_else(inside, counts, pa.scalar(None, pa.int64()))
    return pc.multiply(counts, _DAY) if is_date else counts


def _moved(image: Image, utc: bool, target: DataType) -> Image:
    """Converts bounds to another clock; dates are widened by a day on both sides instead of being rounded."""
    slack = 0 if utc else _FURTHEST_CLOCK
    low, high = pc.subtract(_micros(image.low), slack), pc.add(_micros(image.high), slack)
    if target == DATE:
        low, high = pc.subtract(pc.divide(low, _DAY), 1), pc.add(pc.divide(high, _DAY), 1)
        low, high = low.cast(pa.int32()), high.cast(pa.int32())
    low, high = low.cast(target.arrow), high.cast(target.arrow)
    return replace(image, low=low, high=high, kind=target, can_fail=True)


def _floored(target: DataType) -> Callable[[Image, bool], Image]:
    """Converts nanoseconds to microseconds: truncated, with a microsecond of slack below."""

    def convert(image: Image, utc: bool) -> Image:
        counted = _each(
            image,
            lambda array: pc.subtract(pc.divide(array.cast(pa.int64()), 1000), 1),
            lambda array: pc.add(pc.divide(array.cast(pa.int64()), 1000), 1),
        )
        return replace(
            counted, low=counted.low.cast(target.arrow), high=counted.high.cast(target.arrow), kind=target
        )

    return convert


def _between(target: DataType) -> Callable[[Image, bool], Image]:
    return lambda image, utc: _moved(image, utc, target)


_CLOCKS: Final[dict[tuple[DataType, DataType], Callable[[Image, bool], Image]]] = {
    (TIMESTAMP_NANOS, TIMESTAMP): _floored(TIMESTAMP),
    (TIMESTAMP_NTZ_NANOS, TIMESTAMP_NTZ): _floored(TIMESTAMP_NTZ),
    **{
        (source, target): _between(target)
        for source in (DATE, TIMESTAMP, TIMESTAMP_NTZ)
        for target in (DATE, TIMESTAMP, TIMESTAMP_NTZ)
        if source != target
    },
}
