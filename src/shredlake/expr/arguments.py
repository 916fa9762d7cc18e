"""Reads and checks the arguments `columns` and `where` of a query, before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from shredlake.errors import InvalidExpression
from shredlake.expr.ast import Expr, Projection
from shredlake.expr.evaluate import matching
from shredlake.expr.parse import parse_columns, parse_predicate
from shredlake.kernels.cast_options import DEFAULT, CastOptions


def read_columns(columns: str | Sequence[str | Projection], *, timezone: str = "UTC") -> list[Projection]:
    """Parses the columns of a query: a list of expressions, or one string as written after SELECT.

    >>> [column.name for column in read_columns(["id", "v:a::int AS b"])]
    ['id', 'b']
    >>> [column.name for column in read_columns("id, v:a::int AS b")]
    ['id', 'b']
    """
    given: Sequence[Any] = split_columns(columns) if isinstance(columns, str) else columns
    if not isinstance(given, Sequence):
        given = [given]
    for column in given:
        if not isinstance(column, str | Projection):
            raise InvalidExpression(
                f"columns holds a {type(column).__name__}; write columns as SQL strings, "
                'as in ["id", "v:a::int AS a"]'
            )
    return parse_columns(given, timezone=timezone)


def split_columns(text: str) -> list[str]:
    """Splits a list of columns, as written after SELECT, at the commas outside brackets and strings.

    >>> split_columns("v:a::decimal(9,2) AS a, variant_get(v, '$.b,c', 'int') AS b")
    ['v:a::decimal(9,2) AS a', "variant_get(v, '$.b,c', 'int') AS b"]
    """
    from shredlake.expr.tokens import parts_between_commas

    columns = parts_between_commas(text)
    if not all(columns):
        raise InvalidExpression(f"not a list of columns: {text!r} has an empty column between its commas")
    return columns


def read_condition(where: str | Expr | None, *, timezone: str = "UTC") -> Expr | None:
    """Parses a condition given as text; returns a tree unchanged.

    >>> read_condition("a > 5").op
    '>'
    >>> read_condition(5)
    Traceback (most recent call last):
    ...
    shredlake.errors.InvalidExpression: where is an int, expected SQL text such as "v:a::int > 5"
    """
    if isinstance(where, str):
        return parse_predicate(where, timezone=timezone)
    if where is None or isinstance(where, Expr):
        return where
    kind = type(where).__name__
    article = "an" if kind[0].lower() in "aeiou" else "a"
    raise InvalidExpression(f'where is {article} {kind}, expected SQL text such as "v:a::int > 5"')


def check_condition(condition: Expr, schema: pa.Schema, options: CastOptions = DEFAULT) -> None:
    """Raises InvalidExpression unless the condition is boolean, or NULL, over rows of this schema.

    The condition is evaluated over an empty table, so the rules of evaluation decide its type.

    >>> from shredlake.expr import parse_predicate
    >>> check_condition(parse_predicate("price"), pa.schema([("price", pa.float64())]))
    Traceback (most recent call last):
    ...
    shredlake.errors.InvalidExpression: price is a double, not a condition. Compare it, as in price = ...
    """
    matching(condition, schema.empty_table(), options)
