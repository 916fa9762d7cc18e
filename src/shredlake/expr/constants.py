"""Constants of an expression: numbers as Spark types them, and casts of constants done once."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

from shredlake.expr.ast import Literal
from shredlake.expr.types import BIGINT, DATE, DOUBLE, INT, MAX_PRECISION, TIMESTAMP, DataType, decimal


def number(text: str) -> Literal | None:
    """The constant that a number stands for: int, bigint or decimal by its digits, double with an exponent.

    >>> [str(number(text).type) for text in ("7", "3000000000", "1.50", "1e3")]
    ['int', 'bigint', 'decimal(3,2)', 'double']
    """
    if "e" in text.lower():
        return Literal(float(text), DOUBLE)
    exact = Decimal(text)
    if "." not in text:
        value = int(exact)
        for kind, bits in ((INT, 31), (BIGINT, 63)):
            if -(1 << bits) <= value < 1 << bits:
                return Literal(value, kind)
    _, digits, exponent = exact.as_tuple()
    scale = -int(exponent)
    precision = max(len(digits), scale)
    return Literal(exact, decimal(precision, scale)) if precision <= MAX_PRECISION else None


def fold_cast(literal: Literal, target: DataType, timezone: str) -> Literal | None:
    if literal.value is None:
        return Literal(None, target)
    if target == DATE:
        return Literal(dt.date.fromisoformat(literal.value), DATE)
    if target == TIMESTAMP:
        return Literal(dt.datetime.fromisoformat(literal.value).replace(tzinfo=dt.UTC), TIMESTAMP)
    return Literal(literal.value, target)
