"""Prints expressions as Spark SQL."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa

from shredlake.errors import UnsupportedExpression
from shredlake.expr import ast
from shredlake.expr.types import BIGINT, DOUBLE, FLOAT, INTEGRALS, SMALLINT, TIMESTAMP, TINYINT, VOID
from shredlake.kernels.cast_options import DEFAULT, CastOptions
from shredlake.variant.identifiers import quote_if_needed
from shredlake.variant.path import Path

LONGEST_SHOWN = 200
"""Maximum number of characters of an expression in a message."""

_SUFFIXES = {TINYINT: "Y", SMALLINT: "S", BIGINT: "L", FLOAT: "F", DOUBLE: "D"}


@dataclass(frozen=True)
class _Words:
    """Spellings that differ between engines and messages for people."""

    ref: Callable[[ast.Column | ast.Get], str]
    literal: Callable[[ast.Literal], str]
    cast: Callable[[str, ast.Cast], str]


def to_sql(
    expr: ast.Expr,
    options: CastOptions = DEFAULT,
    *,
    refs: Callable[[ast.Column | ast.Get], str] | None = None,
) -> str:
    """Prints the expression as Spark SQL for any Spark with Variants; paths become (try_)variant_get.

    `options` decides for casts that do not say whether they may fail, such as `v:a::int`. `refs` replaces the
    text of columns and paths.

    >>> from shredlake.expr import parse_predicate
    >>> print(to_sql(parse_predicate("v:user.id::bigint > 5 and s.a in ('x', null)")))
    (try_variant_get(v, '$.user.id', 'bigint') > 5) AND (s.a IN ('x', NULL))
    >>> print(to_sql(parse_predicate("v:user.id::bigint > 5"), refs=lambda ref: "c0"))
    c0 > 5
    """

    def ref(node: ast.Column | ast.Get) -> str:
        if isinstance(node, ast.Column):
            return column_sql(node.name)
        function = "variant_get" if options.overridden_by(node.strict).raises else "try_variant_get"
        kind = "" if node.type is None else f", '{node.type}'"
        return f"{function}({column_sql(node.column)}, {string_sql(spark_path(node.path))}{kind})"

    def cast(value: str, node: ast.Cast) -> str:
        function = "cast" if options.overridden_by(node.strict).raises else "try_cast"
        return f"{function}({value} AS {node.type})"

    return _written(expr, _Words(refs or ref, literal_sql, cast))


def spelled(expr: ast.Expr) -> str:
    """Prints the expression as people write it, for messages; a long one is truncated.

    >>> from shredlake.expr import parse_predicate
    >>> spelled(parse_predicate("variant_get(v, '$.a.b', 'int') > 5L and try_cast(id as string) = 'x'"))
    "(v:a.b::int > 5) AND (id::string = 'x')"
    """
    text = _written(expr, _Words(spelled_ref, _plain_literal, lambda value, node: f"{value}::{node.type}"))
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "..."


def spelled_ref(ref: ast.Column | ast.Get) -> str:
    """Prints a column or path as people write it.

    >>> spelled_ref(ast.Get("v", Path(("a", 0))))
    'v:a[0]'
    """
    if isinstance(ref, ast.Column):
        parts = ast.name_parts(ref.name)
        return parts[0] if len(parts) == 1 else ref.name
    path = str(ref.path).removeprefix("$").removeprefix(".")
    kind = "" if ref.type is None else f"::{ref.type}"
    return f"{ref.column}:{path}{kind}" if path else ref.column + kind


def _plain_literal(literal: ast.Literal) -> str:
    """Prints a constant; whole numbers without the type suffix."""
    whole = literal.type in INTEGRALS and literal.value is not None
    return str(literal.value) if whole else literal_sql(literal)


def _written(expr: ast.Expr, words: _Words) -> str:
    def bare(inner: ast.Expr) -> str:
        return _written(inner, words)

    def part(inner: ast.Expr) -> str:
        text = bare(inner)
        return text if isinstance(inner, ast.Column | ast.Get | ast.Literal | ast.Cast) else f"({text})"

    match expr:
        case ast.Column() | ast.Get():
            return words.ref(expr)
        case ast.Literal():
            return words.literal(expr)
        case ast.Cast(value):
            return words.cast(bare(value), expr)
        case ast.Compare(op, left, right) | ast.Arithmetic(op, left, right):
            return f"{part(left)} {op} {part(right)}"
        case ast.In(value, options):
            return f"{part(value)} IN ({', '.join(map(words.literal, options))})"
        case ast.Like(value, pattern, escape):
            clause = "" if escape == "\\" else f" ESCAPE {string_sql(escape)}"
            return f"{part(value)} LIKE {string_sql(pattern)}{clause}"
        case ast.IsNull(value):
            return f"{part(value)} IS NULL"
        case ast.IsVariantNull(value):
            return f"is_variant_null({bare(value)})"
        case ast.IsNan(value):
            return f"isnan({bare(value)})"
        case ast.Not(ast.IsNull(value)):
            return f"{part(value)} IS NOT NULL"
        case ast.Not(value):
            return f"NOT {part(value)}"
        case ast.And(operands):
            return " AND ".join(map(part, operands))
        case ast.Or(operands):
            return " OR ".join(map(part, operands))
        case ast.Negate(value):
            return f"-{part(value)}"


def column_sql(name: str) -> str:
    """Quote a column's name if needed.

    >>> column_sql("s.user id")
    's.`user id`'
    """
    return ".".join(quote_if_needed(part) for part in ast.name_parts(name))


def string_sql(text: str) -> str:
    """Prints a string constant.

    >>> print(string_sql("it's"))
    'it\\'s'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def spark_path(path: Path) -> str:
    """Prints a path in the grammar of Spark's variant_get, which has no escapes inside quotes.

    >>> spark_path(Path(("a", "b c", 0, "it's")))
    '$.a[\\'b c\\'][0]["it\\'s"]'
    """
    parts = ["$"]
    for step in path.steps:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif quote_if_needed(step) == step:
            parts.append(f".{step}")
        elif "'" not in step:
            parts.append(f"['{step}']")
        elif '"' not in step:
            parts.append(f'["{step}"]')
        elif step and "." not in step and "[" not in step:
            parts.append(f".{step}")
        else:
            raise UnsupportedExpression(
                f"Spark's paths can't express the name {step!r}, which has both quotes and a dot or a "
                "bracket. Read its parent and extract the field with shredlake.get"
            )
    return "".join(parts)


def literal_sql(literal: ast.Literal) -> str:
    """Prints a constant so that Spark parses it with the same type.

    >>> from shredlake.expr.types import DATE, decimal
    >>> print(literal_sql(ast.Literal(dt.date(2024, 2, 29), DATE)))
    DATE '2024-02-29'
    >>> print(literal_sql(ast.Literal(Decimal("1.50"), decimal(3, 2))))
    1.50BD
    """
    value, kind = literal.value, literal.type
    if value is None:
        return "NULL" if kind == VOID else f"CAST(NULL AS {kind})"
    match value:
        case bool():
            return "true" if value else "false"
        case int() if pa.types.is_timestamp(kind.arrow):  # nanoseconds, see `literal_value`
            return f"CAST('{pa.scalar(value, kind.arrow).cast(pa.string())}' AS {kind})"
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
