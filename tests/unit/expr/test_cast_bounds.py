"""Bounds through casts: every value that casts lies within the bounds that were cast."""

from __future__ import annotations

import random
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

from shredlake.expr.cast_bounds import Bounds, cast_image, image_of_bounds
from shredlake.expr.types import parse_type
from shredlake.kernels.casts.columns import cast_column

VALUES: dict[str, list[Any]] = {
    "bigint": [-(1 << 63), -129, -1, 0, 1, 127, 128, 1 << 40, (1 << 53) + 1, (1 << 63) - 1],
    "int": [-(1 << 31), -1, 0, 5, (1 << 31) - 1],
    "decimal(9,2)": [
        Decimal(text) for text in ("-9999999.99", "-0.50", "0.00", "0.49", "1.50", "9999999.99")
    ],
    "float": [-3.4e38, -1.5, -0.0, 0.0, 1e-45, 0.1, 16777216.0, 3.4e38],
    "double": [-1.8e308, -2.5, -0.0, 5e-324, 0.1, 9007199254740993.0, 1.8e308],
}
NUMBERS = ["tinyint", "int", "bigint", "decimal(5,0)", "decimal(12,4)", "float", "double"]


@pytest.mark.parametrize("target", NUMBERS)
@pytest.mark.parametrize("source", VALUES)
def test_casts_keep_values_between_their_bounds(source: str, target: str) -> None:
    kind, wanted = parse_type(source), parse_type(target)
    random_ = random.Random(5)
    for _ in range(30):
        low, middle, high = sorted(random_.choices(VALUES[source], k=3))
        least, most = (pa.array([bound], kind.arrow) for bound in (low, high))
        image = image_of_bounds(Bounds(least, most, pa.array([0]), pa.array([3]), pa.array([False])))
        assert image is not None
        found = cast_image(image, wanted, utc=True)
        if found is None:
            continue
        [value] = cast_column(pa.array([middle], kind.arrow), wanted.arrow).to_pylist()
        [from_], [to] = found.low.to_pylist(), found.high.to_pylist()
        if value is not None:
            assert from_ is None or from_ <= value, (low, middle, high)
            assert to is None or value <= to, (low, middle, high)


def test_texts_have_no_order_as_numbers() -> None:
    bounds = Bounds(pa.array(["1"]), pa.array(["9"]), pa.array([0]), pa.array([2]))
    image = image_of_bounds(bounds)
    assert image is not None
    assert cast_image(image, parse_type("bigint"), utc=True) is None


def test_clocks_widen_the_bounds_outside_of_utc() -> None:
    days = pa.array([10], pa.date32())
    image = image_of_bounds(Bounds(days, days, pa.array([0]), pa.array([1])))
    assert image is not None
    widths = []
    for utc in (True, False):
        found = cast_image(image, parse_type("timestamp"), utc)
        assert found is not None
        widths.append(found.high.cast(pa.int64())[0].as_py() - found.low.cast(pa.int64())[0].as_py())
    assert all(one < other for one, other in pairwise(widths))


def test_bounds_of_different_types_say_nothing() -> None:
    assert image_of_bounds(Bounds(pa.array([1]), pa.array(["x"]), pa.array([0]), pa.array([1]))) is None
