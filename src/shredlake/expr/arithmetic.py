"""Computes + - * / % as Spark does.

Integers keep the wider integer type, except that `/` always gives a double. Decimals add, subtract and
multiply exactly. With a float or double the result is a double (a float for two floats). Overflow and
division by zero, which are errors in Spark, give null here, or an error if the options request it.
"""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import repeat
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.errors import CastError, InvalidExpression, UnsupportedExpression
from shredlake.expr.ast import ArithmeticOp
from shredlake.expr.coerce import is_decimal, is_numeric
from shredlake.expr.types import DOUBLE, FLOAT, INT, INTEGRALS, STRING, VOID, DataType, from_arrow
from shredlake.kernels.cast_options import CastOptions

Operand = tuple[Any, DataType]

_EXACT = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}
_CHECKED = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
_INTEGRAL_DECIMAL = dict(zip(INTEGRALS, (3, 5, 10, 19), strict=True))


def arithmetic(
    op: ArithmeticOp, left: Operand, right: Operand, options: CastOptions, text: str
) -> tuple[DataType, Any]:
    """Computes `left op right` and its type; `text` is the expression, for messages."""
    kinds = [INT if kind == VOID else kind for _, kind in (left, right)]
    if STRING in kinds or not all(is_numeric(kind) for kind in kinds):
        raise InvalidExpression(f"{text} computes with {left[1]} and {right[1]}. Cast them to numbers")
    kind = _result_type(op, kinds)
    if is_decimal(kind):
        return _decimal_result(op, left, right, text)
    a, b = (_as(data, kind) for data, _ in (left, right))
    if op in ("/", "%"):
        b = _without_zero(b, kind, options, text)
        return kind, pc.divide(a, b) if op == "/" else _remainder(a, b, kind)
    if kind in (FLOAT, DOUBLE):
        return kind, _EXACT[op](a, b)
    return kind, _integral(op, a, b, kind, options, text)


def negate(data: Any, kind: DataType, options: CastOptions, text: str) -> tuple[DataType, Any]:
    """Computes `-data` and its type."""
    if kind in (FLOAT, DOUBLE):
        return kind, pc.negate(data)
    return arithmetic("-", (pa.scalar(0, pa.int8()), INTEGRALS[0]), (data, kind), options, text)


def _result_type(op: ArithmeticOp, kinds: list[DataType]) -> DataType:
    if FLOAT in kinds and kinds[0] == kinds[1] and op != "/":
        return FLOAT
    if FLOAT in kinds or DOUBLE in kinds:
        return DOUBLE
    decimals = [kind for kind in kinds if is_decimal(kind)]
    if decimals:
        return decimals[0]
    return DOUBLE if op == "/" else max(kinds, key=INTEGRALS.index)


def _as(data: Any, kind: DataType) -> Any:
    return pc.cast(data, kind.arrow, safe=False)


def _without_zero(divisor: Any, kind: DataType, options: CastOptions, text: str) -> Any:
    """Replace zeros in the divisor by null."""
    is_zero = pc.equal(divisor, pa.scalar(0, kind.arrow))
    if (
        options.raises and pc.any(pc.cast(is_zero, pa.bool_())).as_py()
        if isinstance(is_zero, pa.Array)
        else (options.raises and is_zero.as_py())
    ):
        raise CastError(f"{text} divides by zero; evaluate without strict=True for null instead")
    return pc.if_else(is_zero, pa.scalar(None, kind.arrow), divisor)


def _remainder(a: Any, b: Any, kind: DataType) -> Any:
    """Returns the remainder, with the sign of the dividend."""
    if kind in (FLOAT, DOUBLE):
        if isinstance(a, pa.Scalar) and isinstance(b, pa.Scalar):
            return pa.scalar(_float_remainder(a.as_py(), b.as_py()), kind.arrow)
        rows = len(a if isinstance(a, pa.Array) else b)
        pairs = zip(
            *(repeat(x.as_py(), rows) if isinstance(x, pa.Scalar) else x.to_pylist() for x in (a, b)),
            strict=True,
        )
        return pa.array([_float_remainder(x, y) for x, y in pairs], kind.arrow)
    # Arrow divides the smallest integer by -1 to 0, not to itself, so 1 takes the place of -1: both leave 0.
    b = pc.if_else(pc.equal(b, pa.scalar(-1, kind.arrow)), pa.scalar(1, kind.arrow), b)
    return pc.subtract(a, pc.multiply(pc.divide(a, b), b))


def _float_remainder(a: float | None, b: float | None) -> float | None:
    if a is None or b is None:
        return None
    return math.nan if math.isinf(a) else math.fmod(a, b)


def _integral(op: str, a: Any, b: Any, kind: DataType, options: CastOptions, text: str) -> Any:
    try:
        return _CHECKED[op](a, b)
    except pa.ArrowInvalid:
        if options.raises:
            raise CastError(
                f"{text} overflows {kind}; evaluate without strict=True for null instead"
            ) from None
    wide = pa.decimal256(_INTEGRAL_DECIMAL[kind], 0)
    exact = _EXACT[op](pc.cast(a, wide), pc.cast(b, wide))
    most = (1 << kind.arrow.bit_width - 1) - 1
    limits = [pa.scalar(Decimal(limit), exact.type) for limit in (-most - 1, most)]
    fits = pc.and_(pc.greater_equal(exact, limits[0]), pc.less_equal(exact, limits[1]))
    return pc.cast(pc.if_else(fits, exact, pa.scalar(None, exact.type)), kind.arrow)


def _decimal_result(op: ArithmeticOp, left: Operand, right: Operand, text: str) -> tuple[DataType, Any]:
    if op not in _EXACT:
        raise UnsupportedExpression(f"{text}: dividing decimals is not supported, cast them to double first")
    sides = [
        data if is_decimal(kind) else pc.cast(data, pa.decimal128(_INTEGRAL_DECIMAL.get(kind, 1), 0))
        for data, kind in (left, right)
    ]
    try:
        result = _EXACT[op](*sides)
    except pa.ArrowInvalid as error:
        raise UnsupportedExpression(f"{text}: {error}; cast to double or to smaller decimals") from None
    return from_arrow(result.type), result
