"""Bounds in a file's statistics: true bounds, in the form that Delta gives them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shredlake.delta.stats.collect import json_bound, truncated_maximum, truncated_minimum, variant_bound
from shredlake.variant.value import Variant


def repr_of(value: object) -> str:
    """A name for a case; pyarrow can't print a date outside Python's range."""
    return str(value.type) if isinstance(value, pa.Scalar) else "value"


@given(st.text(min_size=1), st.integers(1, 8))
def test_truncated_texts_are_bounds(text: str, length: int) -> None:
    """As Delta compares them, by code points, which is the order of UTF-8."""
    low, high = truncated_minimum(text, length), truncated_maximum(text, length)
    assert low <= text
    assert len(low) <= length
    assert high is None or high >= text
    assert high is None or len(high) <= 2 * length


MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)


@pytest.mark.parametrize(
    ("scalar", "low", "high"),
    [
        (pa.scalar(None, pa.int64()), None, None),
        (pa.scalar(7), 7, 7),
        (pa.scalar(Decimal("1.50")), Decimal("1.50"), Decimal("1.50")),
        (pa.scalar("abcdef"), "abc", "abc\x7f"),
        (pa.scalar(float("inf")), None, None),
        (pa.scalar(1.5), 1.5, 1.5),
        (pa.scalar(date(2026, 1, 2)), "2026-01-02", "2026-01-02"),
        (pa.scalar(2**31 - 1, pa.int32()).cast(pa.date32()), None, None),
        (pa.scalar(True), None, None),
        (pa.scalar(b"x"), None, None),
        (
            pa.scalar(MOMENT, pa.timestamp("us", "UTC")),
            "2026-01-02T03:04:05.678Z",
            "2026-01-02T03:04:05.679Z",
        ),
    ],
    ids=repr_of,
)
def test_bounds_as_json(scalar: pa.Scalar, low: Any, high: Any) -> None:
    assert json_bound(scalar, 3, upper=False) == low
    assert json_bound(scalar, 3, upper=True) == high


@pytest.mark.parametrize(
    ("scalar", "kind"),
    [
        (pa.scalar(7, pa.int8()), "INT8"),
        (pa.scalar(7, pa.int64()), "INT64"),
        (pa.scalar(Decimal("1.5"), pa.decimal128(9, 1)), "DECIMAL4"),
        (pa.scalar(Decimal("1.5"), pa.decimal128(18, 1)), "DECIMAL8"),
        (pa.scalar(Decimal("1.5"), pa.decimal128(19, 1)), "DECIMAL16"),
        (pa.scalar(date(2026, 1, 2)), "DATE"),
    ],
    ids=repr_of,
)
def test_a_bound_of_a_path_has_the_type_of_its_column(scalar: pa.Scalar, kind: str) -> None:
    assert Variant.of(variant_bound(scalar, 32, upper=True)).type.name == kind


@pytest.mark.parametrize("scalar", [None, pa.scalar(None, pa.int64()), pa.scalar(b"x")], ids=repr_of)
def test_what_other_engines_cannot_read_has_no_bound(scalar: pa.Scalar | None) -> None:
    assert variant_bound(scalar, 32, upper=True) is None
