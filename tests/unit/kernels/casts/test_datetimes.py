"""Dates and times from text, as Spark reads them, and clocks of time zones."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pytest

from shredlake.kernels.casts.datetimes import (
    days_from_civil,
    parse_date,
    parse_time,
    parse_timestamp,
    parse_timestamp_ntz,
    parse_zone,
    to_instant,
    to_local,
)

EPOCH = dt.date(1970, 1, 1).toordinal()
BERLIN = ZoneInfo("Europe/Berlin")
SECOND = 1_000_000_000


def test_days_are_those_of_python() -> None:
    day = dt.date(1, 1, 1)
    while day.year < 9990:
        assert days_from_civil(day.year, day.month, day.day) == day.toordinal() - EPOCH
        day += dt.timedelta(days=977)


@pytest.mark.parametrize(("month", "day"), [(0, 1), (13, 1), (2, 30), (4, 31), (1, 0)])
def test_days_that_no_month_has(month: int, day: int) -> None:
    assert days_from_civil(2024, month, day) is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1970-01-02", 1),
        ("1970", 0),
        ("1970-1", 0),
        ("1970-01-02 anything", 1),
        ("1970-01-02T", 1),
        ("70-01-01", None),
        ("1970-01-02x", None),
        ("", None),
    ],
)
def test_dates(text: str, wanted: int | None) -> None:
    assert parse_date(text) == wanted


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01 01:00:00", 0.0),
        ("1970-01-01T00:00:00Z", 0.0),
        ("1970-01-01 00:00:00.25 UTC", 0.25),
        ("1970-01-01 00:00:00-02:30", 9_000.0),
        ("1970-07-01 02:00:00", 181 * 86_400 + 3_600.0),
    ],
)
def test_timestamps_in_a_zone(text: str, seconds: float) -> None:
    assert parse_timestamp(text, BERLIN) == seconds * SECOND


@pytest.mark.parametrize(
    "text", ["", "1970-01-01 25:00:00", "1970-01-01 00:00:61", "1970-01-01 00:00:00 Mars/Olympus"]
)
def test_texts_that_are_not_timestamps(text: str) -> None:
    assert parse_timestamp(text, dt.UTC) is None


def test_without_a_zone_the_clock_counts() -> None:
    assert parse_timestamp_ntz("1970-01-01 00:00:01+05:00") == SECOND


@pytest.mark.parametrize(
    ("text", "wanted"), [("23:59:59.999999", 86_399_999_999_000), ("12:00:00 am", 0), ("24:00:00", None)]
)
def test_times(text: str, wanted: int | None) -> None:
    assert parse_time(text) == wanted


@pytest.mark.parametrize("name", ["UTC", "Z", "+01:00", "-18:00", "GMT+1", "Europe/Berlin"])
def test_zones(name: str) -> None:
    assert parse_zone(name) is not None


@pytest.mark.parametrize("name", ["", "+19:00", "+1:2:3:4", "../etc/passwd", "nowhere"])
def test_names_that_are_not_zones(name: str) -> None:
    assert parse_zone(name) is None


def test_a_clock_and_back() -> None:
    for instant in range(-(10**18), 10**18, 9_876_543_210_000_000):
        assert to_instant(to_local(instant, BERLIN), BERLIN) == instant
    assert to_local(0, BERLIN) == 3_600 * SECOND
