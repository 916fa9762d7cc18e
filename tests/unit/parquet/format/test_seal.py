"""The seal of a footer: no changed byte passes, and what is not this file's seal is ignored."""

from __future__ import annotations

import pytest

from shredlake.errors import InvalidFile
from shredlake.parquet.format.seal import KEY, Seal, blank, check_seal, sealed

START = 4321
SUMS = [1, 2**32 - 1, 0, 77]


def footer(sums: list[int] = SUMS, start: int = START) -> bytes:
    return sealed(f"before {KEY} {blank(len(sums) // 2)} after".encode(), start, sums)


def test_sums_come_back_by_column_chunk() -> None:
    seal = check_seal(footer(), START, "f")
    assert seal is not None
    assert (seal.of(0), seal.of(1)) == ((1, 2**32 - 1), (0, 77))
    assert Seal(b"").of(0) == (0, 0)


def test_the_seal_has_the_length_of_the_blank_one() -> None:
    for chunks in (0, 1, 2, 3, 100):
        empty = f"{KEY} {blank(chunks)}".encode()
        assert len(sealed(empty, 10**14, [2**32 - 1] * (2 * chunks))) == len(empty)


def test_every_changed_byte_outside_the_numbers_of_the_seal_is_damage() -> None:
    raw = footer()
    key = raw.index(KEY.encode())
    for at in (*range(key), *range(raw.index(b" after"), len(raw))):
        damaged = raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]
        with pytest.raises(InvalidFile, match="f is damaged: its footer does not match its checksum"):
            check_seal(damaged, START, "f")


def test_a_changed_checksum_is_damage() -> None:
    raw = footer()
    for old in (b"AQAAAP////8", b"89abcdef"):
        if old in raw:
            with pytest.raises(InvalidFile, match="damaged"):
                check_seal(raw.replace(old, old[::-1]), START, "f")
    assert b"AQAAAP////8" in raw


@pytest.mark.parametrize(
    ("raw", "start"),
    [
        (b"no seal at all", START),
        (footer(), START + 1),
        (footer() + b" longer", START),
        (footer().replace(f"{KEY} 001".encode(), f"{KEY} 002".encode()), START),
        (f"{KEY} is not followed by a seal".encode(), START),
        (b"", 0),
    ],
)
def test_what_is_not_the_seal_of_this_footer_is_ignored(raw: bytes, start: int) -> None:
    assert check_seal(raw, start, "f") is None


def test_a_copied_seal_before_ours_is_passed_over() -> None:
    copied = footer([5, 6], start=1)
    raw = sealed(copied + f" {KEY} {blank(2)}".encode(), START, SUMS)
    seal = check_seal(raw, START, "f")
    assert seal is not None
    assert seal.of(1) == (0, 77)


def test_a_footer_without_a_blank_seal_stays_as_it_is() -> None:
    assert sealed(b"footer", 0, SUMS) == b"footer"
    other = f"{KEY} {blank(3)}".encode()
    assert sealed(other, 0, SUMS) == other, "a blank of another file"
