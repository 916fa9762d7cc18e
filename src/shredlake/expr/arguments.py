"""What `columns` and `where` may be: checked before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from shredlake.errors import InvalidExpression
from shredlake.expr.ast import Expr, Projection
from shredlake.expr.evaluate import matching
from shredlake.expr.parse import parse_columns, parse_predicate
from shredlake.expr.select_list import split_columns


def read_columns(columns: str | Sequence[str | Projection], *, timezone: str = "UTC") -> list[Projection]:
    """The columns of a query: a list of expressions, or one text as it stands behind SELECT.

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
                f"columns holds a {type(column).__name__}; write columns as SQL texts, "
                'as in ["id", "v:a::int AS a"]'
            )
    return parse_columns(given, timezone=timezone)


def read_condition(where: str | Expr | None, *, timezone: str = "UTC") -> Expr | None:
    """The tree of a condition given as text or as a tree.

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


def check_condition(condition: Expr, schema: pa.Schema, *, timezone: str = "UTC") -> None:
    """Raises InvalidExpression unless the condition is boolean, or NULL, over rows of this schema.

    It is evaluated over no rows, so its types are decided by the same rules as later.

    >>> from shredlake.expr import parse_predicate
    >>> check_condition(parse_predicate("price"), pa.schema([("price", pa.float64())]))
    Traceback (most recent call last):
    ...
    shredlake.errors.InvalidExpression: price is a double, not a condition: compare it, as in price = ...
    """
    matching(condition, schema.empty_table(), timezone=timezone)
