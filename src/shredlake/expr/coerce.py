"""Chooses the type in which two operands are compared, as Spark does in ANSI mode, its default.

| | with | compared as |
|---|---|---|
| integer | integer | the wider |
| integer | decimal | a decimal wide enough for both |
| integer, decimal, float | float or double of another type | double |
| decimal | decimal | a decimal wide enough for both |
| string | integer | bigint |
| string | decimal, float, double | double |
| string | boolean, date, timestamp, binary... | the other type |
| date | timestamp, timestamp_ntz | the timestamp |
| timestamp | timestamp_ntz | timestamp |
| null | anything | the other type |

Other types can't be compared. A Variant can't be compared without a cast.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from shredlake.expr.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGRALS,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NANOS,
    TIMESTAMP_NTZ,
    TIMESTAMP_NTZ_NANOS,
    UUID,
    VOID,
    DataType,
    decimal,
)

# Digits before the point of each integer type, as a decimal.
_INTEGRAL_DIGITS: Final = dict(zip(INTEGRALS, (3, 5, 10, 20), strict=True))
# from weak to strong
_INSTANTS: Final = (DATE, TIMESTAMP_NTZ, TIMESTAMP_NTZ_NANOS, TIMESTAMP, TIMESTAMP_NANOS)
_NANOS: Final = (TIMESTAMP_NANOS, TIMESTAMP_NTZ_NANOS)
_FLOATS: Final = (FLOAT, DOUBLE)
COMPARABLE: Final = frozenset({BOOLEAN, *INTEGRALS, *_FLOATS, STRING, BINARY, *_INSTANTS, TIME, UUID, VOID})


def is_decimal(kind: DataType) -> bool:
    """Returns whether a type is a decimal, of any precision."""
    return bool(pa.types.is_decimal(kind.arrow))


def is_numeric(kind: DataType) -> bool:
    """Returns whether a type is numeric."""
    return kind in INTEGRALS or kind in _FLOATS or is_decimal(kind)


def common_type(a: DataType, b: DataType) -> DataType | None:
    """Returns the type in which two operands are compared, or None if they can't be compared.

    >>> from shredlake.expr.types import INT, STRING, decimal
    >>> str(common_type(INT, decimal(3, 1))), str(common_type(INT, STRING)), common_type(INT, BOOLEAN)
    ('decimal(11,1)', 'bigint', None)
    """
    if a in (VOID, b):
        return b if b in COMPARABLE or is_decimal(b) else None
    if b == VOID:
        return common_type(b, a)
    if is_numeric(a) and is_numeric(b):
        return _common_number(a, b)
    if a == STRING or b == STRING:
        other = b if a == STRING else a
        if is_numeric(other):
            return BIGINT if other in INTEGRALS else DOUBLE
        return other if other in COMPARABLE else None
    if a in _INSTANTS and b in _INSTANTS:
        stronger = max(a, b, key=_INSTANTS.index)
        if (a in _NANOS or b in _NANOS) and stronger not in _NANOS:
            return TIMESTAMP_NANOS
        return stronger
    return None


def _common_number(a: DataType, b: DataType) -> DataType:
    if a in INTEGRALS and b in INTEGRALS:
        return max(a, b, key=INTEGRALS.index)
    if a in _FLOATS or b in _FLOATS:
        return DOUBLE
    (whole_a, scale_a), (whole_b, scale_b) = _digits(a), _digits(b)
    scale = max(scale_a, scale_b)
    return _wide_decimal(max(whole_a, whole_b) + scale, scale)


def _digits(kind: DataType) -> tuple[int, int]:
    """Returns the digits before and after the decimal point."""
    if kind in INTEGRALS:
        return _INTEGRAL_DIGITS[kind], 0
    return kind.arrow.precision - kind.arrow.scale, kind.arrow.scale


def _wide_decimal(precision: int, scale: int) -> DataType:
    """Returns a decimal type; beyond 38 digits, where Spark rounds, 256 bits hold both sides exactly."""
    if precision <= 38:
        return decimal(precision, scale)
    return DataType(f"decimal({precision},{scale})", pa.decimal256(min(precision, 76), scale))
