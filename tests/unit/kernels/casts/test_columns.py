"""Casts of typed columns equal casts of Variants, value by value."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.errors import CastError
from shredlake.kernels.cast_options import CastOptions
from shredlake.kernels.casts.columns import cast_column

COLUMNS: list[pa.Array] = [
    pa.array([-129, 0, 127, 128, None], pa.int64()),
    pa.array([0.0, -1.5, 1e300, float("inf"), None], pa.float64()),
    pa.array(["1", " 2 ", "x", "1e2", "2024-01-01", None]),
    pa.array([True, False, None]),
    pa.array([19_000, -1, None], pa.int32()).cast(pa.date32()),
]
TARGETS = [
    pa.int8(),
    pa.int64(),
    pa.float32(),
    pa.float64(),
    pa.string(),
    pa.bool_(),
    pa.decimal128(9, 2),
    pa.date32(),
]


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("column", COLUMNS, ids=lambda one: str(one.type))
def test_a_column_casts_as_its_variants_do(column: pa.Array, target: pa.DataType) -> None:
    expected = sl.get(sl.from_arrow(column), "$", target)
    assert repr(cast_column(column, target).to_pylist()) == repr(expected.to_pylist())


def test_strict_casts_raise() -> None:
    with pytest.raises(CastError):
        cast_column(pa.array(["x"]), pa.int64(), CastOptions.of(strict=True))
    with pytest.raises(CastError):
        cast_column(pa.array([300]), pa.int8(), CastOptions.of(strict=True))


def test_a_decimal_keeps_its_zeros() -> None:
    assert cast_column(pa.array([Decimal("1.50")]), pa.string()).to_pylist() == ["1.50"]


@pytest.mark.parametrize("types", [(pa.uint8(), pa.int64()), (pa.int64(), pa.list_(pa.int64()))])
def test_types_without_a_cast(types: Any) -> None:
    with pytest.raises(CastError, match="can't be cast to"):
        cast_column(pa.array([], types[0]), types[1])
