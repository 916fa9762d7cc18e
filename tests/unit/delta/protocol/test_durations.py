"""Durations that can't be parsed completely are refused; ignoring a part would delete files too early."""

from __future__ import annotations

import pytest

import shredlake as sl
from shredlake.delta.protocol.durations import FOREVER_MS, milliseconds
from shredlake.errors import InvalidSchema

HOUR = 3_600_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("interval 7 days", 168 * HOUR),
        ("INTERVAL 1 WEEK", 168 * HOUR),
        ("1 week 2 days", 216 * HOUR),
        (" interval 1 day  2 hours ", 26 * HOUR),
        ("interval 0 hours", 0),
        ("interval 30 minutes 15 seconds 5 milliseconds", 1_815_005),
        ("interval 1day", 24 * HOUR),
        ("interval 999999999999999 weeks", FOREVER_MS),
    ],
)
def test_intervals(text: str, expected: int) -> None:
    assert milliseconds(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "interval", "7", "days", "interval days", "interval 10.1 days", "interval 1 day, 2 hours",
        "interval -7 days", "interval +7 days", "interval 7 dayz", "interval 1 month", "interval 1 year",
        "interval 7 days and more", "interval 7 days 2", "7 days interval", "interval \u0661 day",
        "interval '7' days", "interval " + "9" * 5000 + " days", "interval 1 day; 2 hours", "P7D",
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchema, match="is not a duration"):
        milliseconds(text)


def test_durations() -> None:
    assert milliseconds("interval 30 days") == 30 * 86_400_000
    assert milliseconds("interval 1 week 1 hour 30 minutes") == 604_800_000 + 5_400_000
    for text in ("", "interval", "interval 1 month", "soon"):
        with pytest.raises(sl.InvalidSchema, match="is not a duration"):
            milliseconds(text)
