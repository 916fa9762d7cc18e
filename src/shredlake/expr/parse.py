"""Parses the text of conditions, columns and values into expression trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from shredlake.caches import cached
from shredlake.errors import InvalidExpression, UnsupportedExpression
from shredlake.expr.ast import Expr, Projection

T = TypeVar("T")


def parse_predicate(sql: str, *, timezone: str = "UTC") -> Expr:
    """Parses a WHERE condition. `timezone` applies to TIMESTAMP literals without a zone.

    >>> parse_predicate("v:user.id::bigint > 5").op
    '>'
    >>> parse_predicate("v:user.id::bigint >")
    Traceback (most recent call last):
    ...
    shredlake.errors.InvalidExpression: an operand is missing
      v:user.id::bigint >
                        ^
    """
    return _predicate(sql, timezone)


def parse_columns(columns: Iterable[str | Projection], *, timezone: str = "UTC") -> list[Projection]:
    """Parses a SELECT list; without `AS`, a path is named by its last key, a column by itself.

    Names are unique: two columns with one name are an error.

    >>> columns = parse_columns(["v:user.id::bigint", "v:tags[0]::string AS tag", "v"])
    >>> [projection.name for projection in columns]
    ['id', 'tag', 'v']
    """
    projections = [_projection(one, timezone) if isinstance(one, str) else one for one in columns]
    seen: set[str] = set()
    for projection in projections:
        if projection.name in seen:
            raise InvalidExpression(
                f"two columns are named {projection.name!r}. Rename one with AS, such as "
                f"... AS {projection.name}_2"
            )
        seen.add(projection.name)
    return projections


def parse_value(sql: str, *, timezone: str = "UTC") -> Expr:
    """Parses one expression without a name.

    >>> str(parse_value("v:a::int").type)
    'int'
    """
    return _predicate(sql, timezone)


def understood(sql: str, parse: Callable[[str], T]) -> T | UnsupportedExpression:
    """A parsed text, or the reason why only Spark may be able to evaluate it.

    >>> understood("to_date(a)", parse_value)
    UnsupportedExpression(...)
    """
    try:
        return parse(sql)
    except UnsupportedExpression as reason:
        return reason


# Cached, because parsing takes a millisecond, as long as reading a small column, and trees are immutable.


@cached(1024, "conditions")
def _predicate(sql: str, timezone: str) -> Expr:
    from shredlake.expr.grammar import Reader

    return Reader(sql, timezone).predicate()


@cached(1024, "columns of queries")
def _projection(sql: str, timezone: str) -> Projection:
    from shredlake.expr.grammar import Reader

    return Reader(sql, timezone).projection()
