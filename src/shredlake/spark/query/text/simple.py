"""Queries of which the text alone says everything: one SELECT from one table.

```
select day, max(v:a::bigint) AS m from events e where e.v:kind::string = 'k' and id > 3 group by day
       └─ columns ──────────────┘      └─ table     └─ conditions ─────────────────────┘
```

To find out which paths and filters a query has, Spark must analyse and optimise it over empty tables, which
takes as long as planning it. For these queries that is not needed. Everything that could mean something else
is excluded: other clauses, functions that are not known to take only values, columns that Spark would name
after their text, and conditions that depend on settings or on conversions.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import Token, TokenType

from shredlake.caches import cached
from shredlake.delta.schema.names import resolve
from shredlake.delta.schema.types import Field, Struct
from shredlake.errors import ShredlakeError
from shredlake.expr import (
    And,
    Column,
    Compare,
    Expr,
    Get,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    all_of,
)
from shredlake.expr.ast import children
from shredlake.expr.coerce import is_numeric
from shredlake.expr.parse import parse_predicate, split_columns
from shredlake.expr.types import BOOLEAN, STRING, DataType, parse_type
from shredlake.spark.query.text.clauses import NAMES, NESTING, conjuncts_of, has_name
from shredlake.spark.query.text.sql_paths import Rewritten, rewrite
from shredlake.sql.path_tokens import match_path, tokenize
from shredlake.variant.identifiers import quote

AMBIGUOUS: Final = ('"', "\\", "${", "--", "/*", "``", "collat")
"""Text whose meaning depends on settings, or that the tokens do not show as it is."""

FUNCTIONS: Final = frozenset({
    "abs", "approx_count_distinct", "avg", "cardinality", "cast", "ceil", "coalesce", "concat", "contains",
    "count", "count_if", "date_trunc", "day", "decimal", "endswith", "floor", "greatest", "hour", "if",
    "ifnull", "in", "isnan", "isnotnull", "isnull", "least", "length", "lower", "ltrim", "max", "mean",
    "median", "min", "minute", "month", "nullif", "nvl", "quarter", "replace", "round", "rtrim", "second",
    "size", "sqrt", "startswith", "stddev", "substr", "substring", "sum", "trim", "try_cast", "try_sum",
    "upper", "variance", "year",
})  # fmt: skip
"""Words before a list of values in parentheses. No such function depends on the names of its arguments."""

BEFORE_GROUPS: Final = frozenset({
    "and", "by", "distinct", "else", "not", "or", "select", "then", "when", "where",
})  # fmt: skip
"""Words before an expression in parentheses."""

BEHIND_TABLE: Final = (TokenType.WHERE, TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.LIMIT)
"""The clauses of these queries, in their order, and the only keywords outside of parentheses."""

ELSEWHERE: Final = frozenset({
    TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY, TokenType.EXCEPT, TokenType.HAVING, TokenType.HINT,
    TokenType.INTERSECT, TokenType.INTERVAL, TokenType.JOIN, TokenType.LATERAL, TokenType.NATURAL,
    TokenType.OVER, TokenType.PARAMETER, TokenType.PIPE_GT, TokenType.PLACEHOLDER, TokenType.QUALIFY,
    TokenType.SORT_BY, TokenType.TABLE, TokenType.TABLE_SAMPLE, TokenType.UNION, TokenType.VALUES,
    TokenType.WINDOW, TokenType.WITH,
})  # fmt: skip
"""Tokens that these queries do not have."""

MOST_COLUMNS: Final = 20
"""The most columns of the result."""


@dataclass(frozen=True)
class SimpleQuery:
    """One SELECT from one table."""

    table: str
    """The name of the table in the query."""
    rewritten: Rewritten
    """The query with plain columns in place of its paths."""
    words: frozenset[str]
    """Every name in the query, and more, in lower case."""
    conditions: tuple[str, ...]
    """The parts of its condition that AND joins, without qualifiers."""

    def uses(self, column: str) -> bool:
        """Whether the query may read a column. Spark has its own rules for letters beyond ASCII."""
        return column.casefold() in self.words or not (column.isascii() and self.rewritten.sql.isascii())

    def pruning(self, schema: Struct) -> Expr | None:
        """The whole condition as one expression. Raises NotSimple if Spark may read it another way."""
        try:
            found = [parse_predicate(part) for part in self.conditions]
        except ShredlakeError as reason:
            raise NotSimple(str(reason)) from None
        for part in found:
            _check(part, schema)
        return all_of(found)


class NotSimple(Exception):
    """Says why a query needs Spark's analysis."""


@cached(64, "simple queries")
def simple_query(sql: str, variants: frozenset[str]) -> SimpleQuery | None:
    """The parts of a query; None if it needs Spark's analysis. `variants` are names of Variant columns.

    >>> found = simple_query("select day, max(e.v:a::int) AS m from t e where e.v:b::int > 1 group by day",
    ...                      frozenset({"v"}))
    >>> found.table, found.conditions
    ('t', ('v:b::int > 1',))
    >>> found.rewritten.sql
    'select day AS `day`, max(e.v.__path0) AS m from t e where e.v.__path1 > 1 group by day'
    >>> [simple_query(sql, frozenset({"v"})) for sql in ("select max(v:a::int) from t", "select v from t")]
    [None, None]
    """
    if any(text in sql.casefold() for text in AMBIGUOUS):
        return None
    try:
        return _parsed(sql, variants)
    except NotSimple:
        return None


def _parsed(sql: str, variants: frozenset[str]) -> SimpleQuery:
    tokens = tokenize(sql)
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        sql = sql[: tokens.pop().start]
    kinds = [token.token_type for token in tokens]
    _require(kinds[:1] == [TokenType.SELECT] and kinds.count(TokenType.SELECT) == 1)
    _require(kinds.count(TokenType.FROM) == 1 and not ELSEWHERE.intersection(kinds))
    start = kinds.index(TokenType.FROM)
    table, qualifiers, end = _table(tokens, start + 1)
    clauses = _clauses(tokens, end)
    first = 1 + (kinds[1] in (TokenType.DISTINCT, TokenType.ALL))
    _require(first < start)
    listed = _named_columns(sql[tokens[first].start : tokens[start].start], variants)
    changed = sql[: tokens[first].start] + listed + " " + sql[tokens[start].start :]
    rewritten = rewrite(changed, variants)
    _require(bool(rewritten.fields))
    _check_rest(rewritten.rest, variants)
    conditions: list[str] = []
    if TokenType.WHERE in clauses:
        inside = tokens[slice(*clauses[TokenType.WHERE])]
        _require(bool(inside))
        conditions = conjuncts_of(_unqualified(sql, inside, qualifiers))
    words = frozenset(token.text.casefold() for token in tokens)
    return SimpleQuery(table, rewritten, words, tuple(conditions))


def _require(holds: bool) -> None:
    if not holds:
        raise NotSimple


def _table(tokens: Sequence[Token], index: int) -> tuple[str, set[str], int]:
    """The table's name, its qualifiers in lower case, and the index after it."""
    kinds = [token.token_type for token in tokens]
    _require(index < len(tokens) and kinds[index] in NAMES)
    name, index = tokens[index].text, index + 1
    alias = name
    if kinds[index : index + 1] == [TokenType.ALIAS]:
        index += 1
        _require(index < len(tokens) and kinds[index] in NAMES)
    if index < len(tokens) and kinds[index] in NAMES:
        alias, index = tokens[index].text, index + 1
    _require(index == len(tokens) or kinds[index] in BEHIND_TABLE)
    return name, {alias.casefold()}, index


def _clauses(tokens: Sequence[Token], index: int) -> dict[TokenType, tuple[int, int]]:
    """Where the tokens of each clause behind the table begin and end."""
    starts: list[int] = []
    depth = 0
    for at in range(index, len(tokens)):
        depth += NESTING.get(tokens[at].token_type, 0)
        if depth == 0 and tokens[at].token_type in BEHIND_TABLE:
            starts.append(at)
    order = [BEHIND_TABLE.index(tokens[at].token_type) for at in starts]
    _require(order == sorted(set(order)))
    ends = [*starts, len(tokens)][1:]
    return {tokens[at].token_type: (at + 1, end) for at, end in zip(starts, ends, strict=False)}


def _named_columns(text: str, variants: Collection[str]) -> str:
    """The columns of the SELECT, each with a name that does not depend on the spelling of its paths.

    Plain columns get their own name again, which makes them new columns: frames over files are shared.
    """
    try:
        columns = split_columns(text)
    except ShredlakeError:
        raise NotSimple from None
    _require(len(columns) <= MOST_COLUMNS)
    return ", ".join(_named_column(column, variants) for column in columns)


def _named_column(text: str, variants: Collection[str]) -> str:
    tokens = tokenize(text)
    if has_name(text):
        return text
    path = match_path(text, tokens, 0)
    if path is not None and path.end == len(tokens):
        _require(bool(path.name))
        return text
    kinds = [token.token_type for token in tokens]
    if kinds[-1] in NAMES and all(kind in (*NAMES, TokenType.DOT) for kind in kinds):
        return f"{text} AS {quote(tokens[-1].text)}"
    _require(not rewrite(text, frozenset(variants)).fields and TokenType.L_PAREN in kinds)
    _require(kinds[0] != TokenType.L_PAREN)
    return text


def _check_rest(rest: Sequence[Token], variants: Collection[str]) -> None:
    """Raises NotSimple if the tokens beside the paths may do more than compute with values."""
    names = {name.casefold() for name in variants}
    takes_list: list[bool] = []
    for before, token in zip([None, *rest], rest, strict=False):
        kind, word = token.token_type, token.text.casefold()
        _require(word not in names or kind == TokenType.STRING)
        if kind == TokenType.STAR:
            _require(before is not None and before.token_type == TokenType.L_PAREN)
        if kind == TokenType.L_PAREN:
            previous = before.text.casefold() if before is not None else ""
            calls = previous in FUNCTIONS
            _require(calls or previous in BEFORE_GROUPS or not (previous[:1].isalnum() or previous == "`"))
            takes_list.append(calls)
        elif kind == TokenType.R_PAREN:
            _require(bool(takes_list))
            takes_list.pop()
        elif kind == TokenType.COMMA and takes_list:
            _require(takes_list[-1])
    _require(not takes_list)


def _unqualified(sql: str, tokens: Sequence[Token], qualifiers: Collection[str]) -> str:
    """The text of these tokens without the table's name before its columns."""
    pieces: list[str] = []
    copied = tokens[0].start
    for before, token, behind in zip([None, *tokens], tokens, tokens[1:], strict=False):
        inner = before is not None and before.token_type in (TokenType.DOT, TokenType.COLON)
        if inner or token.token_type not in NAMES or behind.token_type != TokenType.DOT:
            continue
        _require(token.text.casefold() in qualifiers)
        pieces.append(sql[copied : token.start])
        copied = behind.end + 1
    return "".join([*pieces, sql[copied : tokens[-1].end + 1]])


# ── conditions ──────────────────────────────────────────────────────────────────────────────────────────


def _check(expr: Expr, schema: Struct) -> None:
    """Raises NotSimple unless the expression means the same under all settings."""
    match expr:
        case And() | Or() | Not():
            for part in children(expr):
                _check(part, schema)
        case IsNull(Column() | Get() as ref):
            kind = _field(ref, schema).type
            _require(kind == "variant" if isinstance(ref, Get) else isinstance(kind, str))
        case Compare(_, Column() | Get() as ref, Literal() as literal) | Compare(
            _, Literal() as literal, Column() | Get() as ref
        ):
            _require(_alike(_type(ref, schema), literal.type))
        case In(Column() | Get() as ref, options):
            _require(all(_alike(_type(ref, schema), option.type) for option in options))
        case Like(Column() | Get() as ref):
            _require(_type(ref, schema) == STRING)
        case _:
            raise NotSimple


def _field(ref: Column | Get, schema: Struct) -> Field:
    """The column of a reference."""
    try:
        return resolve(schema, ref.column if isinstance(ref, Get) else ref.name)[-1]
    except ShredlakeError:
        raise NotSimple from None


def _type(ref: Column | Get, schema: Struct) -> DataType:
    """The type of a column or path of a table."""
    try:
        field = _field(ref, schema)
        if isinstance(ref, Get):
            _require(field.type == "variant" and ref.type is not None)
            assert ref.type is not None
            return ref.type
        _require(isinstance(field.type, str) and field.type != "variant")
        return parse_type(str(field.type))
    except ShredlakeError:
        raise NotSimple from None


def _alike(kind: DataType, other: DataType) -> bool:
    """Whether values of these types compare without a conversion that may fail."""
    return (is_numeric(kind) and is_numeric(other)) or (kind == other and kind in (STRING, BOOLEAN))
