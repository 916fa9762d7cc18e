"""Ranges of texts: what they share at the start says nothing about their order."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

from shredlake.delta.stats.ranges import Ranges

STARTS, ENDS = (1, 4, 7), (3, 6, 9)


def day(number: int) -> datetime.date:
    return datetime.date(2026, 1, number)


@pytest.mark.parametrize(
    ("minimum", "maximum"),
    [
        ([f"2026-01-{day:02}T00:00" for day in (1, 4, 7)], [f"2026-01-{day:02}T00:00" for day in (3, 6, 9)]),
        (
            [datetime.date(2026, 1, day) for day in (1, 4, 7)],
            [datetime.date(2026, 1, day) for day in (3, 6, 9)],
        ),
        ([0.5, 3.5, 6.5], [2.5, 5.5, 8.5]),
    ],
    ids=["texts", "dates", "numbers"],
)
def test_files_apart_are_drawn_apart(minimum: list[object], maximum: list[object]) -> None:
    low, high = pa.array(minimum), pa.array(maximum)
    found = Ranges("ts", low.type, 3, low, high)
    assert found.mean_depth() == 1.0
    starts, ends = found.positions()
    assert all(end < start for end, start in zip(ends, starts[1:], strict=False))


def test_one_value_in_all_files() -> None:
    same = pa.array(["2026"] * 3)
    found = Ranges("year", same.type, 3, same, same)
    assert found.mean_depth() == 3.0
    assert found.depths(4).tolist() == [3, 3, 3, 3]


def test_numbers_that_floats_do_not_hold_are_drawn() -> None:
    """Identifiers made of a time and a counter are longer than the 53 bits of a double."""
    low, high = pa.array([1 << 60, (1 << 60) + 4]), pa.array([(1 << 60) + 1, (1 << 61) + 1])
    found = Ranges("id", low.type, 2, low, high)
    assert found.overall() == (1 << 60, (1 << 61) + 1)
    assert [list(ends) for ends in found.positions()] == [[0, 0], [0, 1]]
    assert found.depths(2).tolist() == [2, 1]


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC")], ids=str)
def test_moments_outside_the_years_of_python_are_text(kind: pa.DataType) -> None:
    day = pa.array([4_000_000, 8_000_000], pa.int32()).cast(pa.date32())
    moments = day if kind == pa.date32() else day.cast(pa.timestamp("us")).cast(pa.int64()).cast(kind)
    found = Ranges("at", kind, 2, moments, moments)
    assert [text[:11].strip() for text in found.overall()] == ["12921-08-18", "23873-04-04"]
    assert [end.tolist() for end in found.positions()] == [[0, 1], [0, 1]]
