"""Carries the bounds of a typed leaf through the casts of an expression.

A cast c keeps bounds if it never swaps two values: then min <= x <= max gives c(min) <= c(x) <= c(max).
Values that do not cast become null, which no comparison matches: they only take away from what lies between.
So the question is only where the values end up that do cast.

| from | to | bounds of the result |
|---|---|---|
| any | the same | the same |
| integer | integer, decimal | the same: the number stays, or is null if it does not fit |
| decimal | decimal of no smaller scale | the same |
| decimal | decimal of smaller scale | rounded the same way |
| decimal, float, double | integer | cut towards zero: within 1 of the number |
| integer, decimal, double | float | rounded; a little wider, so that how bounds are rounded can't matter |
| decimal | double | likewise |
| integer | double | rounded to nearest, as the value is |
| float | double | the same; NaN stays NaN |
| timestamp_nanos | timestamp | rounded down (likewise without zone) |
| date, timestamp, timestamp_ntz | each other | the same in UTC; elsewhere 26 hours wider |
| anything else | | unknown: text of numbers does not sort as numbers do, dates may be written in many ways |

Floats: statistics do not count NaN, so a NaN may be there unless something says otherwise, and it is greater
than any number; -0.0 and 0.0 compare equal, so it does not matter which of them a bound is. A NaN as a bound
is not a bound. A path into a Variant may lead to a NaN whatever its leaf's type, except in a container whose
bounds are known and of another type: those hold for all its values.
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
_FURTHEST_CLOCK: Final = 26 * _DAY // 24  # between any local clock and UTC, at most
_DOUBLE_SLACK: Final = 2.0**-50
_FLOAT_SLACK: Final = 2.0**-22


@dataclass(frozen=True)
class Bounds:
    """Statistics of one column or typed leaf over N containers.

    `minimum` and `maximum` hold for every non-null, non-NaN value; null means unknown. They need not be
    tight: a bound cut short will do as long as it bounds (a shortened maximum must have been rounded up;
    where that is not possible, it is null). Counts are null where unknown.
    """

    minimum: pa.Array
    maximum: pa.Array
    null_count: pa.Array
    row_count: pa.Array
    may_be_nan: pa.BooleanArray | None = None


@dataclass(frozen=True)
class Image:
    """Where an operand's values lie in each container.

    `low` and `high` are of type `kind`, null where unknown. `nan` says where a NaN may be (None: nowhere),
    `can_fail` whether a cast on the way may have made nulls.
    """

    low: pa.Array
    high: pa.Array
    kind: DataType
    nan: pa.Array | None = None
    can_fail: bool = False


def image_of_bounds(bounds: Bounds, *, of_path: bool = False) -> Image | None:
    """The image of the leaf itself; None for types that have no order here.

    With `of_path` it is a path's: the leaf's type says nothing of containers whose bounds are unknown.
    """
    kind = from_arrow(bounds.minimum.type)
    if kind == VARIANT or from_arrow(bounds.maximum.type) != kind:
        return None
    try:
        low, high = (_plain(array, kind) for array in (bounds.minimum, bounds.maximum))
    except pa.ArrowInvalid:  # a unit that does not fit ours
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
    """The image after a cast; None if nothing is known then."""
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
    """Moved outwards by a share of its size; an infinity that would have to move inwards is unknown."""
    moved = pc.add(array, pc.multiply(pc.abs(array), slack))
    return pc.if_else(pc.is_nan(moved), pa.scalar(None, pa.float64()), moved)


def _to_float(image: Image, target: DataType) -> Image:
    as_double = _each(image, _double, _double, kind=DOUBLE)
    if target == DOUBLE and not is_decimal(image.kind):
        return as_double
    slack = _DOUBLE_SLACK if target == DOUBLE else _FLOAT_SLACK
    tiny = 0.0 if target == DOUBLE else 1e-44  # floats this small round to a neighbour far away, by share
    return _each(
        as_double,
        lambda array: pc.subtract(_widened(array, -slack), tiny),
        lambda array: pc.add(_widened(array, slack), tiny),
    )


def _micros(array: pa.Array) -> pa.Array:
    """Dates and timestamps as microseconds; unknown where adding a day could leave 64 bits."""
    is_date = pa.types.is_date32(array.type)
    counts = array.cast(pa.int32()).cast(pa.int64()) if is_date else array.cast(pa.int64())
    limit = ((1 << 63) - 2 * _DAY) // (_DAY if is_date else 1)
    inside = pc.and_(pc.greater_equal(counts, -limit), pc.less_equal(counts, limit))
    counts = pc.if_else(inside, counts, pa.scalar(None, pa.int64()))
    return pc.multiply(counts, _DAY) if is_date else counts


def _moved(image: Image, utc: bool, target: DataType) -> Image:
    """A clock's bounds on another clock; dates get a day to spare on both sides instead of being rounded."""
    slack = 0 if utc else _FURTHEST_CLOCK
    low, high = pc.subtract(_micros(image.low), slack), pc.add(_micros(image.high), slack)
    if target == DATE:
        low, high = pc.subtract(pc.divide(low, _DAY), 1), pc.add(pc.divide(high, _DAY), 1)
        low, high = low.cast(pa.int32()), high.cast(pa.int32())
    low, high = low.cast(target.arrow), high.cast(target.arrow)
    return replace(image, low=low, high=high, kind=target, can_fail=True)


def _floored(target: DataType) -> Callable[[Image, bool], Image]:
    """Nanoseconds to microseconds: cut, with a microsecond to spare below."""

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
