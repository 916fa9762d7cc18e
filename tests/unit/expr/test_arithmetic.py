"""Arithmetic as in Spark: types of results, overflow, division by zero, remainders."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from shredlake.errors import CastError, InvalidExpression, UnsupportedExpression
from shredlake.expr.arithmetic import arithmetic, negate
from shredlake.expr.ast import ArithmeticOp
from shredlake.expr.types import BIGINT, DOUBLE, FLOAT, INT, STRING, TINYINT, DataType, decimal
from shredlake.kernels.cast_options import DEFAULT, CastOptions

RAISE = CastOptions.of(strict=True)


def computed(
    op: ArithmeticOp,
    left: list[Any],
    right: list[Any],
    kinds: tuple[DataType, DataType],
    options: CastOptions = DEFAULT,
) -> tuple[str, list[Any]]:
    sides = [(pa.array(side, kind.arrow), kind) for side, kind in zip((left, right), kinds, strict=True)]
    kind, found = arithmetic(op, sides[0], sides[1], options, f"a {op} b")
    return kind.name, found.to_pylist()


def test_integers_keep_the_wider_type() -> None:
    assert computed("+", [1, None], [2, 3], (TINYINT, INT)) == ("int", [3, None])
    assert computed("/", [7], [2], (INT, INT)) == ("double", [3.5])


def test_overflow_is_null_or_an_error() -> None:
    assert computed("+", [127, 1], [1, 1], (TINYINT, TINYINT)) == ("tinyint", [None, 2])
    assert computed("*", [1 << 62, 3], [2, 3], (BIGINT, BIGINT)) == ("bigint", [None, 9])
    with pytest.raises(CastError, match=r"a \+ b overflows tinyint"):
        computed("+", [127], [1], (TINYINT, TINYINT), RAISE)


def test_division_by_zero_is_null_or_an_error() -> None:
    assert computed("/", [1, 1], [0, 2], (INT, INT)) == ("double", [None, 0.5])
    assert computed("%", [1.5], [0.0], (DOUBLE, DOUBLE)) == ("double", [None])
    with pytest.raises(CastError, match="divides by zero"):
        computed("%", [1], [0], (INT, INT), RAISE)


def test_a_remainder_has_the_sign_of_the_dividend() -> None:
    assert computed("%", [-7, 7, -128], [3, -3, -1], (TINYINT, TINYINT)) == ("tinyint", [-1, 1, 0])
    name, [found, infinite] = computed("%", [-7.5, math.inf], [2.0, 2.0], (FLOAT, FLOAT))
    assert (name, found) == ("float", -1.5)
    assert math.isnan(infinite)


def test_decimals_are_exact() -> None:
    one = decimal(3, 2)
    assert computed("*", [Decimal("1.10")], [3], (one, INT))[1] == [Decimal("3.30")]
    with pytest.raises(UnsupportedExpression, match="dividing decimals"):
        computed("/", [Decimal("1.10")], [3], (one, INT))


def test_text_is_refused() -> None:
    with pytest.raises(InvalidExpression, match="computes with int and string"):
        computed("+", [1], ["2"], (INT, STRING))


def test_negation() -> None:
    kind, found = negate(pa.array([1, -128], pa.int8()), TINYINT, DEFAULT, "-a")
    assert (kind, found.to_pylist()) == (TINYINT, [-1, None])
    assert str(negate(pa.scalar(0.0), DOUBLE, DEFAULT, "-a")[1].as_py()) == "-0.0"
