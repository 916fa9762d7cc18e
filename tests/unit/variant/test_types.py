"""The table of primitives, and the narrowest type of a number."""

from __future__ import annotations

import pytest

from shredlake.variant.types import (
    PRIMITIVE_IDS,
    PRIMITIVES,
    VariantType,
    decimal_digits,
    smallest_decimal,
    smallest_integer,
)


def test_the_table_is_indexed_by_id() -> None:
    assert [row.id for row in PRIMITIVES] == list(range(21))
    assert {row.type for row in PRIMITIVES} == set(VariantType) - {VariantType.OBJECT, VariantType.ARRAY}
    assert all(PRIMITIVES[id_].type is type_ for type_, id_ in PRIMITIVE_IDS.items())


@pytest.mark.parametrize(
    ("number", "wanted"),
    [
        (127, "int8"),
        (128, "int16"),
        (-128, "int8"),
        (-32_769, "int32"),
        (1 << 31, "int64"),
        (-(1 << 63), "int64"),
    ],
)
def test_the_narrowest_integer(number: int, wanted: str) -> None:
    assert smallest_integer(number) is VariantType(wanted)


def test_numbers_beyond_64_bits() -> None:
    assert smallest_integer(1 << 63) is None


@pytest.mark.parametrize(
    ("unscaled", "scale", "wanted"),
    [
        (999_999_999, 0, "decimal4"),
        (10**9, 0, "decimal8"),
        (1, 9, "decimal4"),
        (10**18, 2, "decimal16"),
        (0, 38, "decimal16"),
    ],
)
def test_the_narrowest_decimal(unscaled: int, scale: int, wanted: str) -> None:
    assert smallest_decimal(unscaled, scale) is VariantType(wanted)


def test_decimals_beyond_38_digits() -> None:
    assert smallest_decimal(10**38, 0) is None
    assert decimal_digits(10**38) == 39
    assert decimal_digits(-(10**60)) == 40, "more digits than any decimal has: no long text is made"
