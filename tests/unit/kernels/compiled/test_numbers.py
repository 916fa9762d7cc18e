"""Digits to doubles and back, against Python's own conversions, which are exact."""

from __future__ import annotations

import math
import random
import struct

import pytest

numbers = pytest.importorskip("shredlake.kernels.compiled.numbers", reason="the kernels are not compiled")

EDGES = [
    5e-324, 1e-323, 5e-323, 2.2250738585072009e-308, 2.2250738585072014e-308, 1.7976931348623157e308,
    9007199254740993.0, 2.0**63, 1e22, 1e23, 8.41e21, 9.5e-5, 4.35, 0.1, 1 / 3, 123456789012345680.0,
]  # fmt: skip


def doubles(count: int) -> list[float]:
    source = random.Random(9)
    found = [abs(struct.unpack("<d", source.randbytes(8))[0]) for _ in range(count)]
    found += [round(source.uniform(0, 10**6), source.randrange(8)) for _ in range(count)]
    found += [math.ldexp(1.0, e) for e in range(-1074, 1024, 3)]
    found += [math.nextafter(math.ldexp(1.0, e), 0.0) for e in range(-1000, 1024, 7)]
    return [number for number in [*EDGES, *found] if math.isfinite(number) and number > 0]


def digits_of(text: str) -> tuple[int, int]:
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    return _without_zeros(int(whole + fraction), int(exponent or 0) - len(fraction))


def _without_zeros(digits: int, exponent: int) -> tuple[int, int]:
    while digits and digits % 10 == 0:
        digits, exponent = digits // 10, exponent + 1
    return digits, exponent


def test_the_shortest_digits_are_those_of_repr() -> None:
    for number in doubles(20_000):
        assert _without_zeros(*numbers.shortest(number)) == digits_of(repr(number)), repr(number)


def test_digits_round_to_the_nearest_double() -> None:
    source = random.Random(4)
    for number in doubles(10_000):
        digits, exponent = digits_of(repr(number))
        assert numbers.nearest_double(digits, exponent) == number
    for _ in range(30_000):
        digits, exponent = source.getrandbits(source.randint(1, 64)), source.randint(-345, 310)
        assert numbers.nearest_double(digits, exponent) == float(f"{digits}e{exponent}"), (digits, exponent)


def test_ties_go_to_even() -> None:
    source = random.Random(5)
    for _ in range(5000):
        half_way = source.getrandbits(54) | 1
        for shift in range(0, 10, 3):
            assert numbers.nearest_double(half_way << shift, 0) == float(half_way << shift)
