"""The type of a column for the values at a path."""

from __future__ import annotations

import pytest

from shredlake.shredding.inference.fit import EXACT, classes, dominant, exact_scalar, fitting, scalar_of
from shredlake.shredding.inference.profile import PathProfile
from shredlake.shredding.schema import Scalar, decimal
from shredlake.variant.types import VariantType as V


def path(
    types: dict[V, int], scales: dict[int, int] | None = None, digits: dict[int, int] | None = None
) -> PathProfile:
    return PathProfile("x", count=sum(types.values()), types=types, scales=scales or {}, digits=digits or {})


def test_ints_and_decimals_are_one_class() -> None:
    assert classes(path({V.INT8: 2, V.DECIMAL4: 3, V.STRING: 4, V.NULL: 9})) == {EXACT: 5, V.STRING: 4}


@pytest.mark.parametrize(
    ("types", "wanted"),
    [
        ({}, None),
        ({V.NULL: 5}, None),
        ({V.STRING: 1, V.BOOLEAN: 1}, V.BOOLEAN),
        ({V.STRING: 3, V.BOOLEAN: 2, V.DATE: 2}, None),
        ({V.STRING: 5, V.NULL: 50}, V.STRING),
    ],
)
def test_the_class_of_at_least_half_of_the_values_is_dominant(types: dict[V, int], wanted: V | None) -> None:
    assert dominant(path(types)) == wanted


@pytest.mark.parametrize(
    ("scales", "digits", "wanted"),
    [
        ({2: 100}, {3: 100}, decimal(9, 2)),
        ({2: 100}, {6: 100}, decimal(18, 2)),
        ({9: 100}, {9: 100}, decimal(38, 9)),
        ({2: 100}, {38: 100}, decimal(38, 0)),
        ({2: 99, 9: 1}, {3: 100}, decimal(9, 2)),
    ],
)
def test_decimals_have_room(scales: dict[int, int], digits: dict[int, int], wanted: Scalar) -> None:
    assert exact_scalar(path({V.DECIMAL4: 100}, scales, digits)) == wanted


def test_nearly_all_ints_are_bigint() -> None:
    assert exact_scalar(path({V.INT8: 99, V.DECIMAL4: 1}, {0: 99, 1: 1}, {1: 100})) == Scalar(V.INT64)


def test_values_that_fit() -> None:
    mixed = path({V.DECIMAL4: 10, V.STRING: 3}, {1: 4, 2: 6}, {1: 7, 9: 3})
    assert fitting(mixed, Scalar(V.STRING)) == 3
    assert fitting(mixed, decimal(9, 2)) == 7
    assert fitting(mixed, decimal(9, 1)) == 4
    assert fitting(path({V.STRING: 3}), decimal(9, 1)) == 0
    assert scalar_of(mixed, V.STRING) == Scalar(V.STRING)
