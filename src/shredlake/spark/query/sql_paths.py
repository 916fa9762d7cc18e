"""Finds typed paths in the text of a query and replaces them with plain columns.

Only Spark parses the query. This module recognises three local patterns in the token stream and leaves all
other text unchanged:

```
v:user.id::bigint                       ──▶  v.__path0
variant_get(e.v, '$.user.id', 'bigint') ──▶  e.v.__path0
try_cast(v:kind as string)              ──▶  v.__path1
```

A path that is itself a column of a SELECT keeps the name that Spark gives it, here `id`.

For the rewritten query, every Variant is a struct with one field per path. All Variants share the same
fields, so a field keeps its meaning through aliases and unions. The struct passes through joins, subqueries,
common table expressions and views exactly as the Variant did. At the scan, Spark's optimiser replaces each
field by its plain column and pushes filters on the field down. If this module misses a path, the analysis
of the rewritten query fails, and the caller falls back. The caller must rule out uses of a Variant as a
whole (`v IS NULL`, `v::string`), which are valid for a struct but mean something else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Final

from sqlglot import Token, TokenType
from sqlglot.dialects.databricks import Databricks
from sqlglot.errors import TokenError

from shredlake.errors import InvalidExpression
from shredlake.expr.ast import Get
from shredlake.expr.parse import parse_columns
from shredlake.expr.types import VARIANT
from shredlake.spark.arrow import NOT_IN_SPARK
from shredlake.variant.identifiers import quote

GETTERS: Final = {"variant_get": True, "try_variant_get": False}
"""Functions that read a path of a Variant, and whether they raise if the value does not cast."""
CASTS: Final = {"cast": True, "try_cast": False}

QUERIES: Final = ("select", "from", "values", "table")
CHANGES: Final = ("insert", "update", "delete", "merge")
INSERTS: Final = (("insert", "into"), ("insert", "overwrite"))
BEFORE_COLUMNS: Final = (TokenType.SELECT, TokenType.DISTINCT, TokenType.ALL, TokenType.HINT, TokenType.COMMA)
BEHIND_COLUMNS: Final = (
    None, TokenType.COMMA, TokenType.FROM, TokenType.R_PAREN, TokenType.SEMICOLON, TokenType.WHERE,
    TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY, TokenType.SORT_BY, TokenType.LIMIT,
    TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.LATERAL,
)  # fmt: skip
"""The tokens that may precede and follow a column of a SELECT without an alias."""
NAMES: Final = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.ALIAS)

NESTED: Final = ("array", "map", "struct")

ANY: Final = "v"
"""A placeholder for the column of a path, because every path is read from all Variants."""


@dataclass(frozen=True)
class Rewritten:
    """A query that reads fields of structs instead of paths, and the path of each field."""

    sql: str
    fields: Mapping[Get, str]
    """The name of the field that holds each path: `__path0`, `__path1`, ..."""
    rest: tuple[Token, ...]
    """The tokens of the query that were not replaced."""


def tokenize(sql: str) -> list[Token]:
    """The tokens of a query."""
    try:
        return Databricks().tokenize(sql)
    except TokenError as error:
        raise InvalidExpression(f"not SQL: {error}") from None


@lru_cache(maxsize=64)
def rewrite(sql: str, variants: frozenset[str] | None = None) -> Rewritten:
    """Replaces every typed path, or only those into columns of the given names.

    >>> found = rewrite("select v:a.b::bigint from t where cast(t.v:k as int) > 1")
    >>> found.sql
    'select v.__path0 AS `b` from t where t.v.__path1 > 1'
    >>> [(field, str(get.path), str(get.type), get.strict) for get, field in found.fields.items()]
    [('__path0', '$.a.b', 'bigint', True), ('__path1', '$.k', 'int', True)]
    >>> rewrite("select v:l::array<int> from t where v:k::int < 1").sql
    'select v:l::array<int> from t where v.__path0 < 1'
    """
    tokens = tokenize(sql)
    names = None if variants is None else {name.casefold() for name in variants}
    fields: dict[Get, str] = {}
    pieces: list[str] = []
    rest: list[Token] = []
    copied = index = 0
    selecting = [False]  # per open parenthesis, whether this is the column list of a SELECT
    while index < len(tokens):
        match = _Matcher(sql, tokens, index, names).match()
        if match is None:
            _follow(tokens[index].token_type, selecting)
            rest.append(tokens[index])
            index += 1
            continue
        field = fields.setdefault(match.get, f"__path{len(fields)}")
        pieces += [sql[copied : tokens[index].start], f"{match.column}.{field}"]
        around = [tokens[at].token_type if 0 <= at < len(tokens) else None for at in (index - 1, match.end)]
        if match.name and selecting[-1] and around[0] in BEFORE_COLUMNS and around[1] in BEHIND_COLUMNS:
            pieces.append(f" AS {quote(match.name)}")
        index = match.end
        copied = tokens[index - 1].end + 1
    return Rewritten("".join([*pieces, sql[copied:]]), fields, tuple(rest))


def _follow(kind: TokenType, selecting: list[bool]) -> None:
    """Updates, for one token, whether the column list of a SELECT is open."""
    if kind == TokenType.L_PAREN:
        selecting.append(False)
    elif kind == TokenType.R_PAREN and len(selecting) > 1:
        selecting.pop()
    elif kind in (TokenType.SELECT, TokenType.FROM):
        selecting[-1] = kind == TokenType.SELECT


def depends_on_generated_names(rewritten: Rewritten) -> bool:
    """Whether the query may depend on names that Spark generates for columns that contain a path.

    >>> depends_on_generated_names(rewrite("select v:a::int + 1 from t"))
    False
    >>> depends_on_generated_names(rewrite("select * from (select v:a::int + 1 from t) natural join s"))
    True
    """
    return any(
        token.token_type in (TokenType.NATURAL, TokenType.PIPE_GT)
        or (token.token_type == TokenType.IDENTIFIER and "variant_get" in token.text)
        for token in rewritten.rest
    )


@lru_cache(maxsize=64)
def is_query(sql: str) -> bool:
    """Whether the text is a query and not a command, which Spark would run as soon as it analyses it.

    >>> is_query("(select 1)"), is_query("with a as (select 1) select * from a")
    (True, True)
    >>> is_query("create table t as select 1"), is_query("with a as (select 1) insert into t select * from a")
    (False, False)
    """
    words: list[str] = []
    depth = 0
    for token in tokenize(sql):
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        bracket = token.token_type in (TokenType.L_PAREN, TokenType.R_PAREN)
        if not bracket and (depth == 0 or not words):
            words.append(token.text.casefold())
    inserts = any(pair in INSERTS for pair in pairwise(words))
    if words[:1] == ["with"]:  # the statement after the common table expressions decides
        words = [word for word in words if word in (*QUERIES, *CHANGES)]
    return bool(words) and words[0] in QUERIES and not inserts


def with_tables(sql: str, tables: Mapping[str, str]) -> str:
    """Prepends common table expressions that give tables names for this query only.

    The query is put in parentheses, so that its own common table expressions take precedence.

    >>> print(with_tables("with a as (select 1) select * from a, `my t`;", {"my t": "x7"}))
    WITH `my t` AS (TABLE x7) (
    with a as (select 1) select * from a, `my t`
    )
    """
    if not tables:
        return sql
    listed = ", ".join(f"{quote(name)} AS (TABLE {table})" for name, table in tables.items())
    return f"WITH {listed} (\n{_one_query(sql)}\n)"


def with_views(sql: str, views: Mapping[str, tuple[Sequence[str], str]]) -> str:
    """Prepends the views that the query uses, as common table expressions.

    >>> print(with_views("with a as (select 1) select * from a, b", {"b": (["x"], "select v:k::int from t")}))
    WITH `b`(`x`) AS (
    select v:k::int from t
    ) (
    with a as (select 1) select * from a, b
    )
    """
    if not views:
        return sql
    listed = ",\n".join(
        f"{quote(name)}({', '.join(map(quote, columns))}) AS (\n{text}\n)"
        for name, (columns, text) in views.items()
    )
    return f"WITH {listed} (\n{_one_query(sql)}\n)"


def _one_query(sql: str) -> str:
    """The query without trailing semicolons. Raises if its parentheses are not balanced."""
    tokens = tokenize(sql)
    depth = 0
    for token in tokens:
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if depth < 0:
            raise InvalidExpression(f"syntax error at line {token.line}: unmatched closing parenthesis")
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        sql = sql[: tokens.pop().start]
    return sql


def may_take_whole(rewritten: Rewritten, variants: Collection[str]) -> bool:
    """Whether the remaining tokens may use a Variant as a whole.

    This looks at the text alone, so it returns True in case of doubt.

    >>> may_take_whole(rewrite("select v:a::int, count(*) from t group by 1"), {"v"})
    False
    >>> may_take_whole(rewrite("select v:a::int from t where v is null"), {"v"})
    True
    >>> may_take_whole(rewrite("select v:a::int, to_json(struct(*)) from t"), {"v"})
    True
    """
    names = {name.casefold() for name in variants}
    words = [(token.token_type, token.text.casefold()) for token in rewritten.rest]
    for index, (kind, word) in enumerate(words):
        if word in names and kind != TokenType.STRING:
            return True
        before = [word for _, word in words[max(0, index - 2) : index]]
        if kind == TokenType.STAR and before != ["count", "("]:
            return True
        if kind == TokenType.L_PAREN and before[-1:] == ["struct"]:
            return True  # its fields are named after their expressions
        named = [kind in NAMES for kind, _ in words[max(0, index - 2) : index]]
        if kind == TokenType.L_PAREN and named == [True, True]:
            return True  # `events AS e(x, y)` renames the Variant
    return False


@dataclass(frozen=True)
class _Match:
    column: str
    """The column as written in the query, with its qualifiers."""
    get: Get
    end: int
    """The index of the first token after the match."""
    name: str = ""
    """The name that Spark gives such a column. Empty for a function call, which is named after its text."""


class _Matcher:
    """Tries the patterns at one token."""

    def __init__(self, sql: str, tokens: list[Token], start: int, names: set[str] | None) -> None:
        self._sql, self._tokens, self._start, self._names = sql, tokens, start, names

    def match(self) -> _Match | None:
        token = self._tokens[self._start]
        if self._start and self._kind(self._start - 1) in (TokenType.DOT, TokenType.COLON):
            return None  # inside a qualified name or a path
        word = token.text.casefold()
        if self._kind(self._start + 1) == TokenType.L_PAREN and token.token_type != TokenType.IDENTIFIER:
            if word in GETTERS:
                return self._getter(GETTERS[word])
            if word in CASTS:
                return self._cast(CASTS[word])
        return self._extraction()

    def _extraction(self) -> _Match | None:
        """Matches `v:a.b[0]::type`. A path without a type is not matched."""
        column = self._column(self._start)
        path = column and self._path(column)
        end = path and self._kind(path) == TokenType.DCOLON and self._type(path + 1)
        return self._found(column, end, strict=True) if column and end else None

    def _cast(self, strict: bool) -> _Match | None:
        """Matches `cast(v:a as type)`, with nothing else inside the parentheses."""
        column = self._column(self._start + 2)
        path = column and self._path(column)
        end = path and self._kind(path) == TokenType.ALIAS and self._type(path + 1)
        if not column or not end or self._kind(end) != TokenType.R_PAREN:
            return None
        return self._found(column, end + 1, strict, first=self._start + 2)

    def _getter(self, strict: bool) -> _Match | None:
        """Matches `variant_get(v, 'path', 'type')` with all three arguments, the last two constant."""
        column = self._column(self._start + 2)
        wanted = [
            TokenType.COMMA, TokenType.STRING, TokenType.COMMA, TokenType.STRING, TokenType.R_PAREN,
        ]  # fmt: skip
        if not column or [self._kind(column + n) for n in range(5)] != wanted:
            return None
        found = self._found(column, column + 5, strict, first=self._start + 2)
        return found and replace(found, name="")

    def _column(self, index: int) -> int | None:
        """The index after `v`, `e.v` or `db.e.v`, if its last name may be that of a Variant column."""
        while self._is_name(index) and self._kind(index + 1) == TokenType.DOT:
            index += 2
        if not self._is_name(index):
            return None
        return (
            index + 1 if self._names is None or self._tokens[index].text.casefold() in self._names else None
        )

    def _path(self, index: int) -> int | None:
        """The index after `:a.b[0]`."""
        if self._kind(index) != TokenType.COLON:
            return None
        index += 1
        if self._is_step(index):
            index += 1
        elif self._kind(index) != TokenType.L_BRACKET:
            return None
        while True:
            if self._kind(index) in (TokenType.DOT, TokenType.COLON) and self._is_step(index + 1):
                index += 2
            elif (
                self._kind(index) == TokenType.L_BRACKET
                and self._kind(index + 1) in (TokenType.NUMBER, TokenType.STRING)
                and self._kind(index + 2) == TokenType.R_BRACKET
            ):
                index += 3
            else:
                return index

    def _type(self, index: int) -> int | None:
        """The index after a scalar type. Nested types are left to Spark."""
        if not self._is_name(index) or self._tokens[index].text.casefold() in NESTED:
            return None
        if self._kind(index + 1) != TokenType.L_PAREN:
            return index + 1
        while index < len(self._tokens) and self._kind(index) != TokenType.R_PAREN:
            index += 1
        return index + 1

    def _found(self, column: int, end: int, strict: bool, first: int | None = None) -> _Match | None:
        """Parses the matched text with the expression parser. Text that it rejects is not matched."""
        first = self._start if first is None else first
        before = self._sql[self._tokens[self._start].start : self._tokens[first].start]
        behind = self._sql[self._tokens[column - 1].end + 1 : self._tokens[end - 1].end + 1]
        try:
            [projection] = parse_columns([f"{before}{ANY}{behind}"])
        except InvalidExpression:
            return None
        if not isinstance(projection.expr, Get) or projection.expr.type in (None, VARIANT):
            return None
        if projection.expr.type.name in NOT_IN_SPARK:
            return None  # left to Spark, which may support the type or report the error
        spelled = self._sql[self._tokens[first].start : self._tokens[column - 1].end + 1]
        keys = [step for step in projection.expr.path.steps if isinstance(step, str)]
        return _Match(spelled, replace(projection.expr, strict=strict), end, keys[-1] if keys else "")

    def _kind(self, index: int) -> TokenType | None:
        return self._tokens[index].token_type if 0 <= index < len(self._tokens) else None

    def _is_step(self, index: int) -> bool:
        """Whether the token is a step of a path.

        Spark drops the backticks around a name in a path, and then splits the name at dots and brackets.
        """
        return self._is_name(index) and not set(".[") & set(self._tokens[index].text)

    def _is_name(self, index: int) -> bool:
        """Whether the token is a name. Keywords can name columns, fields and types, so any word counts."""
        if index >= len(self._tokens):
            return False
        token = self._tokens[index]
        word = token.text.replace("_", "").replace("$", "").isalnum() and not token.text[0].isdigit()
        return token.token_type == TokenType.IDENTIFIER or (word and token.token_type != TokenType.STRING)
