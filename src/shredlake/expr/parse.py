"""Parses and checks the conditions, columns and values of a query, before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import pyarrow as pa

from shredlake.caches import cached
from shredlake.errors import InvalidExpression, UnsupportedExpression
from shredlake.expr.ast import Expr, Projection
from shredlake.expr.evaluate import matching
from shredlake.formatting import kind_of
from shredlake.kernels.cast_options import DEFAULT, CastOptions

T = TypeVar("T")


def parse_predicate(sql: str, options: CastOptions = DEFAULT) -> Expr:
    """Parses a WHERE condition. The time zone of the options applies to TIMESTAMP literals without a zone.

    >>> parse_predicate("v:user.id::bigint > 5").op
    '>'
    >>> parse_predicate("v:user.id::bigint >")
    Traceback (most recent call last):
    ...
    shredlake.errors.InvalidExpression: an operand is missing
      v:user.id::bigint >
                        ^
    """
    return _predicate(sql, options.timezone)


def parse_columns(columns: Iterable[str | Projection], options: CastOptions = DEFAULT) -> list[Projection]:
    """Parses a SELECT list; without `AS`, a path is named by its last key, a column by itself.

    Names are unique: two columns with one name are an error.

    >>> columns = parse_columns(["v:user.id::bigint", "v:tags[0]::string AS tag", "v"])
    >>> [projection.name for projection in columns]
    ['id', 'tag', 'v']
    """
    projections = [_projection(one, options.timezone) if isinstance(one, str) else one for one in columns]
    seen: set[str] = set()
    for projection in projections:
        if projection.name in seen:
            raise InvalidExpression(
                f"two columns are named {projection.name!r}. Rename one with AS, such as "
                f"... AS {projection.name}_2"
            )
        seen.add(projection.name)
    return projections


def parse_value(sql: str, options: CastOptions = DEFAULT) -> Expr:
    """Parses one expression without a name.

    >>> str(parse_value("v:a::int").type)
    'int'
    """
    return _predicate(sql, options.timezone)


def understood(sql: str, parse: Callable[[str], T]) -> T | UnsupportedExpression:
    """A parsed text, or the reason why only Spark may be able to evaluate it.

    >>> understood("to_date(a)", parse_value)
    UnsupportedExpression(...)
    """
    try:
        return parse(sql)
    except UnsupportedExpression as reason:
        return reason


def read_columns(
    columns: str | Sequence[str | Projection], options: CastOptions = DEFAULT
) -> list[Projection]:
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
                f"columns holds {kind_of(column)}; write columns as SQL strings, "
                'as in ["id", "v:a::int AS a"]'
            )
    return parse_columns(given, options)


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


def read_condition(where: str | Expr | None, options: CastOptions = DEFAULT) -> Expr | None:
    """Parses a condition given as text; returns a tree unchanged.

    >>> read_condition("a > 5").op
    '>'
    >>> read_condition(5)
    Traceback (most recent call last):
    ...
    shredlake.errors.InvalidExpression: where is an int, expected SQL text such as "v:a::int > 5"
    """
    if isinstance(where, str):
        return parse_predicate(where, options)
    if where is None or isinstance(where, Expr):
        return where
    raise InvalidExpression(f'where is {kind_of(where)}, expected SQL text such as "v:a::int > 5"')


def check_condition(condition: Expr, schema: pa.Schema, options: CastOptions = DEFAULT) -> None:
    """Raises InvalidExpression unless the condition is boolean, or NULL, over rows of this schema.

    The condition is evaluated over an empty table, so the rules of evaluation decide its type.

    >>> from shredlake.expr import parse_predicate
    >>> check_condition(parse_predicate("price"), pa.schema([("price", pa.float64())]))
    Traceback (most recent call last):
    ...
    shredlake.errors.InvalidExpression: price (double) is not a condition. Compare it, as in price = ...
    """
    matching(condition, schema.empty_table(), options)


# Cached, because parsing takes a millisecond, as long as reading a small column, and trees are immutable.


@cached(1024, "conditions")
def _predicate(sql: str, timezone: str) -> Expr:
    from shredlake.expr.grammar import Reader

    return Reader(sql, timezone).predicate()


@cached(1024, "columns of queries")
def _projection(sql: str, timezone: str) -> Projection:
    from shredlake.expr.grammar import Reader

    return Reader(sql, timezone).projection()
