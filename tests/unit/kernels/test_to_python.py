"""`to_python`: every type and container."""

from __future__ import annotations

import math

import pytest

from mutations import SCALARS, SEEDS
from shredlake import (
    Date,
    Float32,
    Timestamp,
    TimestampNanos,
    Variant,
    to_python,
)
from variant_columns import column

pytestmark = pytest.mark.usefixtures("kernels")


ODD_NUMBERS: list[object] = [
    0.0, -0.0, 1e7, 9999999.0, 1e-3, 9.99e-4, 123456789.0, 1e21, 1e22, 1.5e300, 5e-324, 1e-323, 2e-323,
    1e-322, 2.2250738585072014e-308, 1.7976931348623157e308, math.nan, math.inf, -math.inf, 0.1, 1 / 3,
    Float32(0.1), Float32(1e-45), Float32(3e-45), Float32(3.4028235e38), Float32(16777216.0), Float32(-1e-3),
    Date(-(2**31)), Date(0), Date(2**31 - 1), Timestamp(-(2**63)), Timestamp(2**63 - 1), TimestampNanos(-1),
]  # fmt: skip


def test_every_scalar_and_container_is_the_python_object_of_the_reference() -> None:
    rows = [*SEEDS, *map(Variant.of, SCALARS), *map(Variant.of, ODD_NUMBERS)]
    assert repr(to_python(column(rows))) == repr([row.to_python() for row in rows])
