"""Estimates of distinct values, and merging."""

from __future__ import annotations

import pytest

from shredlake.shredding.inference.hyperloglog import EMPTY, add, estimate, hash_bytes, merge


def registers(numbers: range) -> bytes:
    made = bytearray(EMPTY)
    for number in numbers:
        add(made, hash_bytes(0, number.to_bytes(8, "little")))
    return bytes(made)


@pytest.mark.parametrize("count", [1, 10, 100, 1_000, 20_000])
def test_the_estimate_is_within_four_standard_errors(count: int) -> None:
    assert estimate(registers(range(count))) == pytest.approx(count, rel=4 * 0.065)


def test_nothing_is_zero() -> None:
    assert estimate(EMPTY) == 0


def test_merging_gives_the_registers_of_the_union() -> None:
    one, other, both = registers(range(500)), registers(range(300, 900)), registers(range(900))
    assert merge(one, other) == merge(other, one) == both
    assert merge(one, EMPTY) == one


def test_repetitions_change_nothing() -> None:
    made = bytearray(registers(range(100)))
    add(made, hash_bytes(0, (5).to_bytes(8, "little")))
    assert bytes(made) == registers(range(100))


def test_lengths_and_seeds_differ() -> None:
    assert len({hash_bytes(0, bytes(length)) for length in range(40)}) == 40
    assert len({hash_bytes(seed, b"text") for seed in range(40)}) == 40
