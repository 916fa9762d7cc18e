"""Constants of an expression: numbers typed as in Spark, and constant casts folded once."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from shredlake.expr.ast import Literal
from shredlake.expr.coerce import is_decimal
from shredlake.expr.types import (
    BIGINT,
    BINARY,
    DOUBLE,
    FLOAT,
    INT,
    MAX_PRECISION,
    STRING,
    DataType,
    decimal,
)
from shredlake.kernels.cast_options import DEFAULT, CastOptions
from shredlake.kernels.casts.table import cast_scalar
from shredlake.kernels.casts.targets import scalar_of
from shredlake.variant.scalars import unscaled_and_scale
from shredlake.variant.types import VariantType

_EPOCH: Final = dt.datetime(1970, 1, 1)
_UTC_EPOCH: Final = _EPOCH.replace(tzinfo=dt.UTC)
_MICRO: Final = dt.timedelta(microseconds=1)


def number(text: str) -> Literal | None:
    """Parses a numeric constant: int, bigint or decimal by its digits, double with an exponent.

    >>> [str(number(text).type) for text in ("7", "3000000000", "1.50", "1e3")]
    ['int', 'bigint', 'decimal(3,2)', 'double']
    """
    try:
        if "e" in text.lower():
            return Literal(float(text), DOUBLE)
        exact = Decimal(text)
    except (ValueError, ArithmeticError):  # "1e" is a number for the tokenizer
        return None
    if "." not in text:
        value = int(exact)
        for kind, bits in ((INT, 31), (BIGINT, 63)):
            if -(1 << bits) <= value < 1 << bits:
                return Literal(value, kind)
    _, digits, exponent = exact.as_tuple()
    scale = -int(exponent)
    precision = max(len(digits), scale)
    return Literal(exact, decimal(precision, scale)) if precision <= MAX_PRECISION else None


def fold_cast(literal: Literal, target: DataType, options: CastOptions = DEFAULT) -> Literal | None:
    """Cast a constant; None if it can't be cast, or if Python can't represent the result.

    >>> from shredlake.expr.types import DATE, STRING
    >>> fold_cast(Literal("2024-02-29", STRING), DATE).value
    datetime.date(2024, 2, 29)
    """
    if literal.value is None or literal.type == target:
        return Literal(literal.value, target)
    source, wanted = scalar_of(literal.type.arrow), scalar_of(target.arrow)
    if source is None or wanted is None:
        return None
    raw = _to_raw(literal.value, source.type)
    cast = cast_scalar(source.type, raw, wanted, options)
    try:
        return None if cast is None else Literal(_FROM_RAW.get(wanted.type, _decimal_or_same)(cast), target)
    except (OverflowError, ValueError):  # a date outside the years 1 to 9999
        return None


def literal_value(scalar: pa.Scalar) -> Any:
    """Returns the value of a scalar as a literal holds it.

    Nanoseconds are counted since 1970, because Python's own types have only microseconds.

    >>> literal_value(pa.scalar(1_700_000_000_123_456_789, pa.timestamp("ns")))
    1700000000123456789
    """
    is_nanos = pa.types.is_timestamp(scalar.type) and scalar.type.unit == "ns"
    return scalar.value if is_nanos else scalar.as_py()


def depends_on_engine(source: DataType, target: DataType) -> bool:
    """Returns whether engines cast a constant differently; then each engine casts it itself.

    >>> depends_on_engine(DOUBLE, STRING), depends_on_engine(INT, STRING)
    (True, False)
    """
    if source in (FLOAT, DOUBLE):
        return target == STRING or is_decimal(target)
    return source == BINARY and target == STRING


def _to_raw(value: Any, kind: VariantType) -> Any:
    """Converts a Python object to the raw content that casts work on."""
    if isinstance(value, Decimal):
        return unscaled_and_scale(value)
    if isinstance(value, dt.datetime):
        micros = (value - (_UTC_EPOCH if value.tzinfo else _EPOCH)) // _MICRO
        return (
            micros * 1000
            if kind in (VariantType.TIMESTAMP_NANOS, VariantType.TIMESTAMP_NTZ_NANOS)
            else micros
        )
    if isinstance(value, dt.date):
        return value.toordinal() - _EPOCH.toordinal()
    if isinstance(value, dt.time):
        return (dt.datetime.combine(_EPOCH, value) - _EPOCH) // _MICRO
    if isinstance(value, uuid.UUID):
        return value.bytes
    return value


def _decimal_or_same(raw: Any) -> Any:
    return Decimal(raw[0]).scaleb(-raw[1]) if isinstance(raw, tuple) else raw


_FROM_RAW: Final[dict[VariantType, Callable[[Any], Any]]] = {
    VariantType.DATE: lambda days: dt.date.fromordinal(days + _EPOCH.toordinal()),
    VariantType.TIME: lambda micros: (_EPOCH + micros * _MICRO).time(),
    VariantType.TIMESTAMP: lambda micros: _UTC_EPOCH + micros * _MICRO,
    VariantType.TIMESTAMP_NTZ: lambda micros: _EPOCH + micros * _MICRO,
    VariantType.UUID: lambda raw: uuid.UUID(bytes=raw),
}
