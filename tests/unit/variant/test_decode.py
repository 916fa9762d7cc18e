"""Values as Python objects, and values with the same meaning."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from shredlake.errors import MalformedVariant
from shredlake.variant.decode import (
    meaning,
    python_date,
    python_timestamp,
    python_timestamp_ntz,
    python_value,
)
from shredlake.variant.metadata import encode_metadata
from shredlake.variant.scalars import (
    Date,
    Decimal8,
    Float32,
    Int64,
    Timestamp,
    TimestampNanos,
    TimestampNtz,
)
from shredlake.variant.value import Variant


def means(value: Any) -> list[object]:
    return meaning(Variant.of(value).walk(by_name=True), {})


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, None, {"b": "x"}], "c": {}},
        [],
        Decimal("1.10"),
        date(1, 1, 1),
        datetime(9999, 12, 31, tzinfo=UTC),
        datetime(1, 1, 1),
        time(23, 59, 59, 999_999),
        b"",
        True,
    ],
)
def test_plain_values_come_back(value: Any) -> None:
    assert python_value(Variant.of(value).walk()) == value


def test_moments_that_python_lacks() -> None:
    assert python_date(-(1 << 31)) == Date(-(1 << 31))
    assert python_timestamp(1 << 62) == Timestamp(1 << 62)
    assert python_timestamp_ntz(-(1 << 62)) == TimestampNtz(-(1 << 62))


def test_two_fields_with_one_name_are_malformed() -> None:
    raw = bytes([0x02, 2, 0, 1, 0, 1, 2, 0x00, 0x00])
    with pytest.raises(MalformedVariant, match="two fields named 'a'"):
        python_value(Variant(encode_metadata([b"a", b"a"]), raw).walk())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, Int64(1)),
        (1, Decimal("1.000")),
        (Decimal("1.5"), Decimal8("1.50")),
        (0.0, -0.0),
        (math.nan, math.nan),
        (datetime(2024, 1, 1, tzinfo=UTC), TimestampNanos(1_704_067_200_000_000_000)),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ],
)
def test_the_same_meaning(one: Any, other: Any) -> None:
    assert means(one) == means(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        (1.5, Float32(1.5)),
        ("1", 1),
        ([1], {"0": 1}),
        ([], {}),
        ([[1], 2], [[1, 2]]),
        (datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1)),
    ],
)
def test_another_meaning(one: Any, other: Any) -> None:
    assert means(one) != means(other)
