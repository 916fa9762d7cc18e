"""Digits of older Java: known errors of it, and that no number changes."""

from __future__ import annotations

import random
import struct

import pytest

from shredlake.variant.json.java_digits import double_text, float_text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (2e-3, "0.002"),
        (2.0, "2.0"),
        (1e7, "1.0E7"),
        (9999999.0, "9999999.0"),
        (2.2250738585072014e-308, "2.2250738585072014E-308"),
        (4.9e-324, "4.9E-324"),
        (-0.0, "-0.0"),
        (float("inf"), '"Infinity"'),
    ],
)
def test_known_doubles(number: float, text: str) -> None:
    assert double_text(number) == text


def test_doubles_that_java_prints_with_other_digits() -> None:
    assert double_text(2e22) == "2.0E22"
    assert double_text(2e23) == "1.9999999999999998E23", "the example in the release notes of Java 19"
    assert double_text(5.27e21) == "5.270000000000001E21"


def test_between_a_thousandth_and_ten_million_digits_are_the_shortest() -> None:
    random_ = random.Random(5)
    for _ in range(2_000):
        number = random_.uniform(0.001, 1e7)
        assert float(double_text(number)) == number
        assert len(double_text(number)) <= len(repr(number))


def test_floats_parse_to_the_same_float_in_the_usual_range() -> None:
    random_ = random.Random(6)
    for _ in range(2_000):
        [number] = struct.unpack("<f", struct.pack("<f", random_.uniform(0.001, 1e6)))
        [again] = struct.unpack("<f", struct.pack("<f", float(float_text(number))))
        assert again == number
