"""Numbers from text, as Spark and Java read them, and floats of 32 bits."""

from __future__ import annotations

import math
import random
import struct
from decimal import Decimal
from fractions import Fraction

import pytest

from shredlake.kernels.casts.numbers import float32, nearest_single, parse_decimal, parse_float, parse_integer


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("+5", 5),
        (" \t-0007\n", -7),
        ("", None),
        ("+", None),
        ("1e3", None),
        ("٣", None),
        ("1_000", None),
        ("9" * 400, None),
    ],
)
def test_integers(text: str, wanted: int | None) -> None:
    assert parse_integer(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [(".5", "0.5"), ("5.", "5"), ("+1e-3", "0.001"), ("٣", "3"), ("NaN", None), ("1.5d", None), ("e5", None)],
)
def test_decimals(text: str, wanted: str | None) -> None:
    assert parse_decimal(text) == (wanted and Decimal(wanted))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1.5f", 1.5),
        (" -2D ", -2.0),
        ("0x1p4", 16.0),
        ("-0x1p9999", -math.inf),
        ("1e999", math.inf),
        ("+Infinity", math.inf),
        ("-INF", -math.inf),
        ("d", None),
        ("0x", None),
        ("1.5fd", None),
        ("٣", None),
    ],
)
def test_floats(text: str, wanted: float | None) -> None:
    assert parse_float(text) == wanted


def test_not_a_number() -> None:
    for text in ("NaN", "-NaN", "nan"):
        assert math.isnan(parse_float(text) or 0.0)


def test_text_is_rounded_to_32_bits_once() -> None:
    text = "1.00000005960464477539062500001"  # just above the middle; as a double it is the middle
    assert parse_float(text, single=True) == 1.0000001192092896
    assert nearest_single(float(text)) == 1.0


def test_exact_numbers_are_rounded_like_doubles_where_both_are_exact() -> None:
    random_ = random.Random(7)
    for _ in range(2_000):
        number = random_.uniform(-1, 1) * 10 ** random_.randint(-44, 38)
        assert float32(Fraction(number)) == struct.unpack("<f", struct.pack("<f", number))[0]
    assert math.copysign(1, float32(0, negative=True)) == -1
    assert float32(10**39) == math.inf
