"""Python classes for values that Python's own types can't express: number widths, nanoseconds, distant dates.

Each is written as exactly the type it names. The numbers are subclasses of int, float and Decimal, so they
compute and compare as such. `Variant.to_python()` returns plain Python objects; with `exact=True` it returns
these, and writing them again gives the same types.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, Final

from shredlake.errors import InvalidValue
from shredlake.variant.types import DECIMAL_PRECISION, INTEGER_WIDTHS, VariantType, decimal_digits

_FLOAT: Final = struct.Struct("<f")


class SizedInt(int):
    """An int that is written in one chosen width."""

    type: ClassVar[VariantType]
    __slots__ = ()

    def __init__(self, value: int = 0) -> None:
        bits = 8 * INTEGER_WIDTHS[self.type]
        if not -(1 << bits - 1) <= self < 1 << bits - 1:
            raise InvalidValue(f"{int(self)} does not fit an {self.type.value} of {bits} bits")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({int(self)})"


class Int8(SizedInt):
    """An int of 8 bits.

    >>> Int8(5) + 1
    6
    """

    type = VariantType.INT8


class Int16(SizedInt):
    """An int of 16 bits.

    >>> Int16(5)
    Int16(5)
    """

    type = VariantType.INT16


class Int32(SizedInt):
    """An int of 32 bits.

    >>> Int32(1 << 31)
    Traceback (most recent call last):
    ...
    shredlake.errors.InvalidValue: 2147483648 does not fit an int32 of 32 bits
    """

    type = VariantType.INT32


class Int64(SizedInt):
    """An int of 64 bits.

    >>> Int64(5)
    Int64(5)
    """

    type = VariantType.INT64


class Float32(float):
    """A float of 32 bits; other numbers are rounded to the nearest one.

    >>> Float32(0.1) == 0.1, float(Float32(0.1))
    (False, 0.10000000149011612)
    """

    __slots__ = ()

    def __new__(cls, value: float | str = 0.0) -> Float32:
        try:
            return super().__new__(cls, _FLOAT.unpack(_FLOAT.pack(float(value)))[0])
        except OverflowError:
            raise InvalidValue(f"{float(value)!r} is beyond the range of a 32 bit float") from None

    def __repr__(self) -> str:
        return f"Float32({float(self)!r})"


class SizedDecimal(Decimal):
    """A Decimal that is written in one chosen width, with its scale."""

    type: ClassVar[VariantType]
    __slots__ = ()

    def __init__(self, value: object = "0") -> None:
        unscaled, _ = unscaled_and_scale(self)
        if decimal_digits(unscaled) > DECIMAL_PRECISION[self.type]:
            raise InvalidValue(f"{self} has more than the {DECIMAL_PRECISION[self.type]} digits of its type")

    def __repr__(self) -> str:
        return f"{type(self).__name__}('{self}')"


class Decimal4(SizedDecimal):
    """A Decimal of at most 9 digits, in 4 bytes.

    >>> Decimal4("1.10")
    Decimal4('1.10')
    """

    type = VariantType.DECIMAL4


class Decimal8(SizedDecimal):
    """A Decimal of at most 18 digits, in 8 bytes.

    >>> Decimal8("1.10") == Decimal("1.1")
    True
    """

    type = VariantType.DECIMAL8


class Decimal16(SizedDecimal):
    """A Decimal of at most 38 digits, in 16 bytes.

    >>> Decimal16(5)
    Decimal16('5')
    """

    type = VariantType.DECIMAL16


@dataclass(frozen=True, slots=True, order=True)
class Count:
    """A whole number of days, microseconds or nanoseconds since 1970-01-01, 00:00."""

    type: ClassVar[VariantType]
    bits: ClassVar[int] = 64
    since_epoch: int

    def __post_init__(self) -> None:
        if not -(1 << self.bits - 1) <= self.since_epoch < 1 << self.bits - 1:
            raise InvalidValue(f"{self.since_epoch} does not fit the {self.bits} bits of a {self.type.value}")


class Date(Count):
    """Days since 1970-01-01, for dates outside the years 1 to 9999 of `datetime.date`.

    >>> Date(3_000_000)
    Date(since_epoch=3000000)
    """

    type = VariantType.DATE
    bits = 32
    __slots__ = ()


class Timestamp(Count):
    """Microseconds since 1970-01-01 UTC, for moments outside the years 1 to 9999 of `datetime.datetime`.

    >>> Timestamp(1 << 62)
    Timestamp(since_epoch=4611686018427387904)
    """

    type = VariantType.TIMESTAMP
    __slots__ = ()


class TimestampNtz(Count):
    """Microseconds since 1970-01-01 without a zone, outside the years 1 to 9999 of `datetime.datetime`.

    >>> TimestampNtz(1 << 62)
    TimestampNtz(since_epoch=4611686018427387904)
    """

    type = VariantType.TIMESTAMP_NTZ
    __slots__ = ()


class TimestampNanos(Count):
    """Nanoseconds since 1970-01-01 UTC.

    >>> TimestampNanos(1_700_000_000_123_456_789)
    TimestampNanos(since_epoch=1700000000123456789)
    """

    type = VariantType.TIMESTAMP_NANOS
    __slots__ = ()


class TimestampNtzNanos(Count):
    """Nanoseconds since 1970-01-01 without a zone.

    >>> TimestampNtzNanos(1)
    TimestampNtzNanos(since_epoch=1)
    """

    type = VariantType.TIMESTAMP_NTZ_NANOS
    __slots__ = ()


def unscaled_and_scale(number: Decimal) -> tuple[int, int]:
    """A decimal as (unscaled, scale) with its original scale, never below 0.

    >>> unscaled_and_scale(Decimal("1.10")), unscaled_and_scale(Decimal("2E+3"))
    ((110, 2), (2000, 0))
    """
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        raise InvalidValue(f"the decimal {number} is not a number")
    if not number and exponent > 0:
        return 0, 0
    if exponent > 38 or exponent < -38 or len(digits) > 100:
        raise InvalidValue(f"the decimal {number} has more than 38 digits, or more than 38 after the point")
    unscaled = int("".join(map(str, digits)) or "0") * 10 ** max(exponent, 0)
    if decimal_digits(unscaled) > 38:
        raise InvalidValue(f"the decimal {number} has more than 38 digits")
    return -unscaled if sign else unscaled, max(-exponent, 0)
