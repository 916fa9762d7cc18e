"""Objects and arrays as the text that Spark casts them to."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from shredlake.kernels.cast_options import CastOptions, spark_on
from shredlake.kernels.casts.containers import container_text
from shredlake.variant import Variant
from shredlake.variant.scalars import Float32, TimestampNanos

NOON = dt.datetime(2024, 7, 1, 12, 0, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({}, "{}"),
        ([], "[]"),
        ([[], {}], "[[],{}]"),
        ({"b": 1, "a": [True, None]}, '{"a":[true,null],"b":1}'),
        ([1, {"k": []}, 2], '[1,{"k":[]},2]'),
        ({'quo"te': "back\\slash\n", "": "é"}, '{"":"é","quo\\"te":"back\\\\slash\\n"}'),
        ([Decimal("1.50"), Decimal("-0.00")], None),
        ([dt.date(2024, 2, 29)], '["2024-02-29"]'),
        ([b"\x00\xff"], '["AP8="]'),
    ],
)
def test_text_in_utc_is_that_of_to_json(value: Any, text: str | None) -> None:
    variant = Variant.of(value)
    assert container_text(variant) == variant.to_json()
    if text is not None:
        assert container_text(variant) == text


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("UTC", "2024-07-01 12:00:00+00:00"),
        ("Europe/Berlin", "2024-07-01 14:00:00+02:00"),
        ("America/St_Johns", "2024-07-01 09:30:00-02:30"),
        ("Asia/Kolkata", "2024-07-01 17:30:00+05:30"),
    ],
)
def test_instants_are_shown_in_the_zone_of_the_session(zone: str, text: str) -> None:
    options = CastOptions(timezone=zone)
    nanos = TimestampNanos(int(NOON.timestamp()) * 10**9)
    for instant in (NOON, nanos):
        assert container_text(Variant.of([instant]), options) == f'["{text}"]'


def test_local_times_and_scalars_ignore_the_zone() -> None:
    variant = Variant.of({"local": NOON.replace(tzinfo=None), "n": 1, "s": "x"})
    assert container_text(variant, CastOptions(timezone="Asia/Tokyo")) == container_text(variant)


def test_numbers_have_the_digits_of_the_java_that_is_asked_for() -> None:
    variant = Variant.of([2.0e-3, 2.2250738585072014e-308, Float32(1.1e10)])
    old, new = (container_text(variant, CastOptions(dialect=spark_on(java))) for java in (17, 21))
    assert new == container_text(variant)
    assert old != new
    [first, *_] = old.strip("[]").split(",")
    assert float(first) == 2.0e-3
