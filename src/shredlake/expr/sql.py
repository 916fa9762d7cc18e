"""Expressions printed back as Spark SQL."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal

from shredlake.errors import UnsupportedExpression
from shredlake.expr.ast import (
    And,
    Arithmetic,
    Cast,
    Column,
    Compare,
    Expr,
    Get,
    In,
    IsNan,
    IsNull,
    IsVariantNull,
    Like,
    Literal,
    Negate,
    Not,
    Or,
    name_parts,
)
from shredlake.expr.types import BIGINT, DOUBLE, FLOAT, SMALLINT, TIMESTAMP, TINYINT, VOID, quote_name
from shredlake.variant.path import Path

_SUFFIXES = {TINYINT: "Y", SMALLINT: "S", BIGINT: "L", FLOAT: "F", DOUBLE: "D"}


def to_sql(expr: Expr, *, strict: bool = False, refs: Callable[[Column | Get], str] | None = None) -> str:
    """The expression as Spark SQL that any Spark with Variants takes: paths become (try_)variant_get.

    `strict` decides for casts that leave it open, as `v:a::int` does. `refs` says columns and paths in
    other words.

    >>> from shredlake.expr import parse_predicate
    >>> print(to_sql(parse_predicate("v:user.id::bigint > 5 and s.a in ('x', null)")))
    (try_variant_get(v, '$.user.id', 'bigint') > 5) AND (s.a IN ('x', NULL))
    >>> print(to_sql(parse_predicate("v:user.id::bigint > 5"), refs=lambda ref: "c0"))
    c0 > 5
    """

    def part(inner: Expr) -> str:
        text = to_sql(inner, strict=strict, refs=refs)
        return text if isinstance(inner, Column | Get | Literal | Cast) else f"({text})"

    match expr:
        case Column() | Get() if refs is not None:
            return refs(expr)
        case Column(name):
            return column_sql(name)
        case Get(column, path, kind, own_strict):
            function = "variant_get" if (strict if own_strict is None else own_strict) else "try_variant_get"
            type_argument = "" if kind is None else f", '{kind}'"
            return f"{function}({column_sql(column)}, {string_sql(spark_path(path))}{type_argument})"
        case Literal():
            return literal_sql(expr)
        case Cast(value, kind, own_strict):
            function = "cast" if (strict if own_strict is None else own_strict) else "try_cast"
            return f"{function}({to_sql(value, strict=strict, refs=refs)} AS {kind})"
        case Compare(op, left, right) | Arithmetic(op, left, right):
            return f"{part(left)} {op} {part(right)}"
        case In(value, options):
            return f"{part(value)} IN ({', '.join(literal_sql(option) for option in options)})"
        case Like(value, pattern, escape):
            clause = "" if escape == "\\" else f" ESCAPE {string_sql(escape)}"
            return f"{part(value)} LIKE {string_sql(pattern)}{clause}"
        case IsNull(value):
            return f"{part(value)} IS NULL"
        case IsVariantNull(value):
            return f"is_variant_null({to_sql(value, strict=strict, refs=refs)})"
        case IsNan(value):
            return f"isnan({to_sql(value, strict=strict, refs=refs)})"
        case Not(IsNull(value)):
            return f"{part(value)} IS NOT NULL"
        case Not(value):
            return f"NOT {part(value)}"
        case And(operands):
            return " AND ".join(part(operand) for operand in operands)
        case Or(operands):
            return " OR ".join(part(operand) for operand in operands)
        case Negate(value):
            return f"-{part(value)}"


def column_sql(name: str) -> str:
    """A column's name, quoted where needed.

    >>> column_sql("s.user id")
    's.`user id`'
    """
    return ".".join(quote_name(part) for part in name_parts(name))


def string_sql(text: str) -> str:
    """A string constant.

    >>> print(string_sql("it's"))
    'it\\'s'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def spark_path(path: Path) -> str:
    """A path in the grammar of Spark's variant_get, which has no escapes inside quotes.

    >>> spark_path(Path(("a", "b c", 0, "it's")))
    '$.a[\\'b c\\'][0]["it\\'s"]'
    """
    parts = ["$"]
    for step in path.steps:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif quote_name(step) == step:
            parts.append(f".{step}")
        elif "'" not in step:
            parts.append(f"['{step}']")
        elif '"' not in step:
            parts.append(f'["{step}"]')
        elif step and "." not in step and "[" not in step:
            parts.append(f".{step}")
        else:
            raise UnsupportedExpression(
                f"Spark's paths can't say the name {step!r}, which has both kinds of quotes and a point or a "
                "bracket: read its parent and take the field with shredlake.get"
            )
    return "".join(parts)


def literal_sql(literal: Literal) -> str:
    """A constant, of the same type again when Spark reads it.

    >>> from shredlake.expr.types import DATE, decimal
    >>> print(literal_sql(Literal(dt.date(2024, 2, 29), DATE)))
    DATE '2024-02-29'
    >>> print(literal_sql(Literal(Decimal("1.50"), decimal(3, 2))))
    1.50BD
    """
    value, kind = literal.value, literal.type
    if value is None:
        return "NULL" if kind == VOID else f"CAST(NULL AS {kind})"
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return f"{value}{_SUFFIXES.get(kind, '')}"
        case Decimal():
            return f"{value:f}BD"
        case float():
            finite = math.isfinite(value)
            return f"{value!r}{_SUFFIXES[kind]}" if finite else f"CAST('{value}' AS {kind})"
        case str():
            return string_sql(value)
        case bytes():
            return f"X'{value.hex()}'"
        case dt.datetime():
            if kind == TIMESTAMP:
                return f"TIMESTAMP '{value.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S.%fZ}'"
            return f"TIMESTAMP_NTZ '{value:%Y-%m-%d %H:%M:%S.%f}'"
        case dt.date():
            return f"DATE '{value.isoformat()}'"
        case _:
            return f"CAST('{value}' AS {kind})"
