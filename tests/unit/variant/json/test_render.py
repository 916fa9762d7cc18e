"""Variant to text: valid JSON for every type, and no number changed."""

from __future__ import annotations

import json
import random
import struct
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from uuid import UUID

import pytest

from shredlake import (
    Date,
    Decimal16,
    Float32,
    Int64,
    InvalidValue,
    Timestamp,
    TimestampNanos,
    TimestampNtz,
    TimestampNtzNanos,
    Variant,
)
from shredlake.variant.json import render
from shredlake.variant.json.render import date_text, double_text, float_text

TEXTS: list[tuple[object, str]] = [
    (None, "null"),
    (True, "true"),
    (Int64(-5), "-5"),
    (2**63 - 1, "9223372036854775807"),
    (Decimal("1.10"), "1.1"),
    (Decimal("87.00"), "87"),
    (Decimal("-0.50"), "-0.5"),
    (Decimal("0.00"), "0"),
    (Decimal("100"), "100"),
    (Decimal("12345678901234567890.1234500"), "12345678901234567890.12345"),
    (Decimal("99999999999999999990.0"), "99999999999999999990"),
    (Decimal("-0.005"), "-0.005"),
    (Decimal("1E+3"), "1000"),
    (Decimal16("9" * 38), "9" * 38),
    (Decimal("1e-38"), "0." + "0" * 37 + "1"),
    (1.0, "1.0"),
    (0.1, "0.1"),
    (123456.789, "123456.789"),
    (9999999.0, "9999999.0"),
    (1e7, "1.0E7"),
    (1.25e-3, "0.00125"),
    (9.999e-4, "9.999E-4"),
    (1e23, "1.0E23"),
    (5e-324, "4.9E-324"),
    (1.7976931348623157e308, "1.7976931348623157E308"),
    (-0.0, "-0.0"),
    (float("nan"), '"NaN"'),
    (float("-inf"), '"-Infinity"'),
    (Float32(0.1), "0.1"),
    (Float32(16777216.0), "1.6777216E7"),
    (Float32(3.4028234663852886e38), "3.4028235E38"),
    (Float32(1e-45), "1.4E-45"),
    (Float32("inf"), '"Infinity"'),
    ("é\u2028\x7f/", '"é\u2028\x7f/"'),
    ('"\\\b\f\n\r\t\x00\x1f', '"\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001F"'),
    (b"\x03\x13\x37", '"AxM3"'),
    (UUID("f24f9b64-81fa-49d1-b74e-8c09a6e31c56"), '"f24f9b64-81fa-49d1-b74e-8c09a6e31c56"'),
    (date(2025, 4, 16), '"2025-04-16"'),
    (date(1, 1, 1), '"0001-01-01"'),
    (Date(2932897), '"+10000-01-01"'),
    (Date(-719529), '"-0001-12-31"'),
    (time(12, 33, 54, 123450), '"12:33:54.12345"'),
    (time(0), '"00:00:00"'),
    (datetime(2025, 4, 16, 16, 34, 56, 780000, UTC), '"2025-04-16 16:34:56.78+00:00"'),
    (datetime(2025, 4, 16, 16, 34, 56), '"2025-04-16 16:34:56"'),
    (datetime(1969, 12, 31, 23, 59, 59, 999999), '"1969-12-31 23:59:59.999999"'),
    (Timestamp(2**63 - 1), '"+294247-01-10 04:00:54.775807+00:00"'),
    (TimestampNtz(-(2**63)), '"-290308-12-21 19:59:05.224192"'),
    (TimestampNanos(1730982834123456789), '"2024-11-07 12:33:54.123456789+00:00"'),
    (TimestampNtzNanos(-1000), '"1969-12-31 23:59:59.999999"'),
    ({"b": [], "a": {"é\n": {}}}, '{"a":{"é\\n":{}},"b":[]}'),
    ([1, [2, {"x": [3]}], 4], '[1,[2,{"x":[3]}],4]'),
]


@pytest.mark.parametrize(("value", "text"), TEXTS, ids=lambda x: str(x)[:25])
def test_every_type_has_its_text(value: object, text: str) -> None:
    assert render(Variant.of(value)) == text
    json.loads(text)


def test_pretty() -> None:
    variant = Variant.of({"a": [1, {"b": None}], "c": {}, "d": []})
    assert variant.to_json(pretty=True) == json.dumps(variant.to_python(), indent=2)
    assert Variant.of([[]]).to_json(pretty=True) == "[\n  []\n]"
    assert Variant.of(5).to_json(pretty=True) == "5"


def test_doubles_come_back_from_their_text() -> None:
    source = random.Random(5)
    for _ in range(20_000):
        number = struct.unpack("<d", source.randbytes(8))[0]
        if number - number == 0:
            text = double_text(number)
            assert float(text) == number
            digits = len(text.partition("E")[0].replace(".", "").strip("-0"))
            assert digits <= max(2, len(repr(number).partition("e")[0].replace(".", "").strip("-0")))


def test_floats_come_back_from_their_text() -> None:
    source = random.Random(6)
    for _ in range(20_000):
        number = struct.unpack("<f", source.randbytes(4))[0]
        if number - number == 0:
            assert Float32(float_text(number)) == number


def test_dates_agree_with_python() -> None:
    for day in range(-719_162, 2_932_896, 997):
        assert date_text(day) == str(date(1970, 1, 1) + timedelta(days=day))


def test_a_text_without_end_is_refused() -> None:
    with pytest.raises(InvalidValue, match="exceeds 10 characters"):
        render(Variant.of("x" * 20), max_length=10)
