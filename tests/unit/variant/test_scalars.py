"""Scalars with a type of their own: limits, and that the type survives."""

from __future__ import annotations

from decimal import Decimal

import pytest

from shredlake.errors import InvalidValue
from shredlake.variant import scalars
from shredlake.variant.scalars import (
    Date,
    Decimal4,
    Decimal8,
    Decimal16,
    Float32,
    Int8,
    Int16,
    Int32,
    Int64,
    SizedInt,
    Timestamp,
    TimestampNanos,
    TimestampNtz,
    TimestampNtzNanos,
    unscaled_and_scale,
)
from shredlake.variant.value import Variant

KEPT = [
    Int8(5),
    Int16(5),
    Int32(5),
    Int64(5),
    Float32(0.5),
    Decimal4("1.10"),
    Decimal8("1.10"),
    Decimal16("1.10"),
    Date(3_000_000),
    Timestamp(1 << 62),
    TimestampNtz(1 << 62),
    TimestampNanos(1),
    TimestampNtzNanos(1),
]


@pytest.mark.parametrize("value", KEPT, ids=lambda one: type(one).__name__)
def test_the_type_survives(value: object) -> None:
    found = Variant.of(value).to_python(exact=True)
    assert type(found) is type(value)
    assert found == value
    assert eval(repr(value), vars(scalars)) == value


@pytest.mark.parametrize(("kind", "bits"), [(Int8, 8), (Int16, 16), (Int32, 32), (Int64, 64)])
def test_limits_of_integers(kind: type[SizedInt], bits: int) -> None:
    most = (1 << bits - 1) - 1
    assert (kind(most), kind(-most - 1)) == (most, -most - 1)
    for beyond in (most + 1, -most - 2):
        with pytest.raises(InvalidValue, match="does not fit"):
            kind(beyond)


@pytest.mark.parametrize(("kind", "digits"), [(Decimal4, 9), (Decimal8, 18), (Decimal16, 38)])
def test_limits_of_decimals(kind: type[Decimal], digits: int) -> None:
    assert kind("9" * digits) == Decimal("9" * digits)
    with pytest.raises(InvalidValue, match="digits"):
        kind("9" * (digits + 1))


def test_floats_are_rounded_and_have_a_range() -> None:
    assert Float32(0.1) == Float32(float(Float32(0.1)))
    with pytest.raises(InvalidValue, match="range"):
        Float32(1e39)


def test_counts_have_a_range() -> None:
    with pytest.raises(InvalidValue, match="32 bits of a date"):
        Date(1 << 31)
    assert Date(1) < Date(2)


@pytest.mark.parametrize(
    ("text", "wanted"), [("-1.50", (-150, 2)), ("0E+9", (0, 0)), ("1E+2", (100, 0)), ("0.000", (0, 3))]
)
def test_a_decimal_keeps_its_scale(text: str, wanted: tuple[int, int]) -> None:
    assert unscaled_and_scale(Decimal(text)) == wanted


@pytest.mark.parametrize("text", ["NaN", "Infinity", "1E+39", "1E-39", "9" * 39])
def test_decimals_that_no_variant_holds(text: str) -> None:
    with pytest.raises(InvalidValue):
        unscaled_and_scale(Decimal(text))
