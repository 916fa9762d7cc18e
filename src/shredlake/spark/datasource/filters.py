"""Converts the filters that Spark pushes into a Python data source to expressions over the table.

A filter names a column of the result. Its expression takes the place of the name, so a filter on a path
prunes files, row groups and pages as it would in `where`. A filter that is not converted stays with Spark.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from shredlake.delta.read.data_file import Query
from shredlake.expr import Column, Expr, Literal, from_arrow, join_name
from shredlake.expr.ast import Compare, ComparisonOp, In, IsNull, Like, Not, name_parts
from shredlake.expr.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGRALS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
)

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter

COMPARISONS: Final[Mapping[str, ComparisonOp]] = {
    "EqualTo": "=",
    "EqualNullSafe": "<=>",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
}
PATTERNS: Final[Mapping[str, str]] = {
    "StringStartsWith": "{}%",
    "StringEndsWith": "%{}",
    "StringContains": "%{}%",
}
PYTHON_TYPES: Final[Mapping[DataType, type]] = {
    BOOLEAN: bool,
    **dict.fromkeys(INTEGRALS, int),
    FLOAT: float,
    DOUBLE: float,
    STRING: str,
    BINARY: bytes,
    DATE: date,
    TIMESTAMP: datetime,
    TIMESTAMP_NTZ: datetime,
}
"""The types of columns that are compared here, and what Spark passes as their values."""


def converted(pushed: Filter, query: Query) -> Expr | None:
    """The filter as an expression that is true for the same rows, or None if there is no such expression."""
    kind = type(pushed).__name__
    if kind == "Not":
        child = pushed.child
        inner = None if None in _values(child) else converted(child, query)
        return None if inner is None else Not(inner)
    found = _column(pushed.attribute, query)
    if found is None:
        return None
    expr, arrow = found
    if kind in ("IsNull", "IsNotNull"):
        return IsNull(expr) if kind == "IsNull" else Not(IsNull(expr))
    if kind in PATTERNS and arrow == pa.string():
        return Like(expr, PATTERNS[kind].format(_literally(pushed.value)))
    values = [_literal(value, arrow) for value in _values(pushed)]
    if not values or any(value is None for value in values):
        return None
    literals = tuple(value for value in values if value is not None)
    if kind == "In":
        return In(expr, literals)
    return Compare(COMPARISONS[kind], expr, literals[0]) if kind in COMPARISONS else None


def _values(pushed: Filter) -> tuple[Any, ...]:
    value = getattr(pushed, "value", ())
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def _column(attribute: tuple[str, ...], query: Query) -> tuple[Expr, pa.DataType] | None:
    """The expression behind a column of the result, or behind a field of a struct, and its type."""
    index = query.schema.get_field_index(attribute[0])
    if index < 0:
        return None
    expr, arrow = query.projections[index].expr, query.schema.field(index).type
    for name in attribute[1:]:
        if not isinstance(expr, Column) or not pa.types.is_struct(arrow) or arrow.get_field_index(name) < 0:
            return None
        expr, arrow = Column(join_name((*name_parts(expr.name), name))), arrow.field(name).type
    return expr, arrow


def _literal(value: Any, arrow: pa.DataType) -> Literal | None:
    """A value of Spark's as a constant of the column's type, or None if that is not certain."""
    kind = from_arrow(arrow)
    if pa.types.is_decimal(arrow):
        expected: type | None = Decimal
    else:
        expected = PYTHON_TYPES.get(kind)
    if type(value) is not expected:  # bool is an int, and a datetime is a date, only in Python
        return None
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, datetime):
        if (value.tzinfo is None) is (kind == TIMESTAMP):
            return None
        return Literal(value if value.tzinfo is None else value.astimezone(UTC), kind)
    return Literal(value, kind)


def _literally(text: str) -> str:
    r"""A text as a pattern of LIKE that matches itself.

    >>> _literally("50%_\\")
    '50\\%\\_\\\\'
    """
    return "".join(f"\\{sign}" if sign in "%_\\" else sign for sign in text)
