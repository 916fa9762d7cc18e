"""Chooses the type of a column for the values at a path, and counts the values that fit it.

Values fall into classes that one typed column can hold: ints and decimals are one class (no digit may be
lost); every other type is its own class. A class with at least half of the non-null values is dominant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from shredlake.shredding.inference.profile import PathProfile
from shredlake.shredding.schema import Scalar, decimal
from shredlake.variant.types import VariantType

DOMINANT: Final = 0.5
"""The least share of a path's non-null values that its type must have."""

COVERAGE: Final = 0.99
"""The share of exact numbers whose digits a decimal must hold; the rest may stay in `value`."""

EXACT: Final = VariantType.INT64
"""Stands for the class of ints and decimals."""


def classes(path: PathProfile) -> dict[VariantType, int]:
    """Counts the non-null values at a path by class, the most common first.

    >>> path = PathProfile("x", types={VariantType.INT8: 2, VariantType.DECIMAL4: 1, VariantType.NULL: 9})
    >>> classes(path)
    {<VariantType.INT64: 'int64'>: 3}
    """
    counts: dict[VariantType, int] = {}
    for kind, count in path.types.items():
        if kind is not VariantType.NULL:
            kind = EXACT if kind.is_exact_number else kind
            counts[kind] = counts.get(kind, 0) + count
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0].value)))


def dominant(path: PathProfile) -> VariantType | None:
    """The class of most values, or None if they are mixed, null, or absent."""
    counts = classes(path)
    for kind, count in counts.items():
        return kind if count >= DOMINANT * sum(counts.values()) else None
    return None


def scalar_of(path: PathProfile, kind: VariantType) -> Scalar:
    """The type of a column for the values of one class."""
    return exact_scalar(path) if kind is EXACT else Scalar(kind)


def exact_scalar(path: PathProfile) -> Scalar:
    """bigint if (nearly) all values are ints; else a decimal with room for more digits than were seen.

    Precisions are 9, 18 or 38, which a column stores in 4, 8 or 16 bytes. So the room is free, and one more
    digit in the next file changes nothing.

    >>> exact_scalar(PathProfile("x", types={VariantType.INT8: 5}, scales={0: 5}, digits={1: 5}))
    Scalar(bigint)
    >>> kinds = {VariantType.INT8: 5, VariantType.DECIMAL4: 5}
    >>> exact_scalar(PathProfile("x", types=kinds, scales={0: 5, 2: 5}, digits={1: 3, 3: 7}))
    Scalar(decimal(9,2))
    """
    ints = sum(count for kind, count in path.types.items() if kind.is_integer)
    exact = sum(path.scales.values())
    if ints >= COVERAGE * exact:
        return Scalar(VariantType.INT64)
    scale, digits = _covering(path.scales), max(_covering(path.digits), 1)
    for precision, room in ((9, 2), (18, 1), (38, 0)):
        if digits + scale + room <= precision:
            return decimal(precision, scale)
    return decimal(38, max(38 - digits, 0))


def fitting(path: PathProfile, scalar: Scalar) -> int:
    """The number of values at a path that fit a column of this type; an estimate for decimals.

    >>> path = PathProfile("x", types={VariantType.DECIMAL4: 10}, scales={1: 4, 2: 6}, digits={1: 10})
    >>> fitting(path, decimal(9, 1)), fitting(path, Scalar(VariantType.STRING))
    (4, 0)
    """
    if not scalar.type.is_exact_number:
        return path.types.get(scalar.type, 0)
    exact = sum(path.scales.values())
    if exact == 0:
        return 0
    scale = scalar.scale or 0
    whole = (scalar.precision or 19) - scale
    scaled = sum(count for digits, count in path.scales.items() if digits <= scale)
    in_range = sum(count for digits, count in path.digits.items() if digits <= whole)
    return min(scaled, in_range, exact)


def _covering(counts: Mapping[int, int]) -> int:
    """The smallest number that enough of the values do not exceed."""
    needed, so_far = COVERAGE * sum(counts.values()), 0
    for number in sorted(counts):
        so_far += counts[number]
        if so_far >= needed:
            return number
    return 0
