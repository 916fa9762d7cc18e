"""Conversions of written rows: no value changes, or there is an error that names one."""

from __future__ import annotations

import math
from decimal import Decimal

import pyarrow as pa
import pytest

from shredlake.delta.read.convert import convert
from shredlake.errors import CastError, InvalidSchema


@pytest.mark.parametrize(
    ("array", "target"),
    [
        (pa.array([-128, 127, None], pa.int64()), pa.int8()),
        (pa.array([1 << 53], pa.int64()), pa.float64()),
        (pa.array([5, None], pa.int8()), pa.decimal128(9, 2)),
        (pa.array([1.5, math.nan, None]), pa.float32()),
        (pa.array([Decimal("1.50")]), pa.decimal128(5, 1)),
        (pa.array(["a", None], pa.large_string()), pa.string()),
        (pa.array([], pa.int64()), pa.int8()),
    ],
    ids=str,
)
def test_values_that_fit(array: pa.Array, target: pa.DataType) -> None:
    found = convert(array, target)
    assert found.type == target
    assert repr(found.to_pylist()) == repr(found.cast(array.type).cast(target).to_pylist())
    assert found.null_count == array.null_count


@pytest.mark.parametrize(
    ("array", "target", "shown"),
    [
        (pa.array([1, 300, 400]), pa.int8(), "300"),
        (pa.array([1, (1 << 53) + 1]), pa.float64(), str((1 << 53) + 1)),
        (pa.array([0.5, 0.1]), pa.float32(), "0.1"),
        (pa.array([Decimal("1.55")]), pa.decimal128(5, 1), "1.55"),
        (pa.array([1_000], pa.int64()), pa.decimal128(4, 2), "1000"),
    ],
    ids=str,
)
def test_a_value_that_would_change_is_named(array: pa.Array, target: pa.DataType, shown: str) -> None:
    with pytest.raises(CastError, match=shown):
        convert(array, target)


def test_types_that_are_not_converted() -> None:
    with pytest.raises(InvalidSchema, match="convert the column first"):
        convert(pa.array(["1"]), pa.int64())
    with pytest.raises(InvalidSchema, match="assume_timezone"):
        convert(pa.array([1], pa.timestamp("us")), pa.timestamp("us", "UTC"))
