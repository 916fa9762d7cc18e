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

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from sqlglot import Token, TokenType

from shredlake.caches import cached
from shredlake.errors import InvalidExpression
from shredlake.expr.ast import Get
from shredlake.expr.types import PRESENT, VARIANT
from shredlake.spark.arrow import NOT_IN_SPARK
from shredlake.sql.path_tokens import PathMatch, is_word, match_path, match_variant, tokenize
from shredlake.variant.identifiers import quote

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
BEFORE_ARGUMENT: Final = (TokenType.L_PAREN, TokenType.COMMA)
BEHIND_ARGUMENT: Final = (TokenType.R_PAREN, TokenType.COMMA)
BEFORE_VALUE: Final = (
    TokenType.SELECT, TokenType.DISTINCT, TokenType.ALL, TokenType.WHERE, TokenType.ON, TokenType.HAVING,
    TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.CASE, TokenType.WHEN, TokenType.THEN,
    TokenType.ELSE, TokenType.BETWEEN, TokenType.GROUP_BY, TokenType.ORDER_BY,
)  # fmt: skip
"""Keywords behind which an open parenthesis groups values, although a function call looks alike."""
FIELD: Final = "__path"
"""The names of fields that hold paths begin so."""
NAMES: Final = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.ALIAS)


@dataclass(frozen=True)
class Rewritten:
    """A query that reads fields of structs instead of paths, and the path of each field."""

    sql: str
    fields: Mapping[Get, str]
    """The name of the field that holds each path: `__path0`, `__path1`, ..."""
    rest: tuple[Token, ...]
    """The tokens of the query that were not replaced."""
    unnamed: bool = False
    """Whether a path may be part of a column of a SELECT that Spark names after its text."""
    listed: bool = False
    """Whether a path may be a field of a struct that is written as a list in parentheses."""
    tokens: tuple[Token, ...] = ()
    """All tokens of the query."""
    places: tuple[PathPlace, ...] = ()
    """The paths in the query, in order."""
    edits: tuple[Edit, ...] = ()
    """The changes to the text, in order."""


@dataclass(frozen=True)
class PathPlace:
    """A path in a query."""

    first: int
    end: int
    """The indexes of its first token and of the token behind it."""
    column: str
    """The column as written, with its qualifiers."""
    name: str
    """Its name as a column of a result; empty for a function call."""
    get: Get


Edit = tuple[int, int, str]
"""The start and the end of a part of a text, and what replaces it."""


def edited(sql: str, edits: Iterable[Edit]) -> str:
    """The text with these changes, which must be in order.

    >>> edited("select day from t", [(7, 7, "max("), (10, 10, ") AS day")])
    'select max(day) AS day from t'
    """
    pieces: list[str] = []
    copied = 0
    for start, end, new in edits:
        pieces += [sql[copied:start], new]
        copied = end
    return "".join([*pieces, sql[copied:]])


@cached(64, "queries rewritten for Spark")
def rewrite(
    sql: str,
    variants: frozenset[str] | None = None,
    tested: frozenset[str] | None = None,
    *,
    as_variants: bool = False,
) -> Rewritten:
    """Replaces every typed path, or only those into columns of the given names.

    `tested` are names of Variants, by default those of `variants`. Where the query asks whether one of them,
    or a value in it, is NULL, a field that is true or NULL takes its place.

    With `as_variants`, paths without a type are replaced too, and every field is a Variant that the query
    casts.

    >>> found = rewrite("select v:a.b::bigint from t where cast(t.v:k as int) > 1")
    >>> found.sql
    'select v.__path0 AS `b` from t where t.v.__path1 > 1'
    >>> [(field, str(get.path), str(get.type), get.strict) for get, field in found.fields.items()]
    [('__path0', '$.a.b', 'bigint', True), ('__path1', '$.k', 'int', True)]
    >>> rewrite("select v:l::array<int>, v:o from t where v:k::int < 1").sql
    'select v.__path0 AS `l`, v:o from t where v.__path1 < 1'
    >>> rewrite("select struct(id, v:a::int, v:b::int AS b, v:c::int + 1) from t").sql
    'select struct(id, v.__path0 AS col2, v.__path1 AS b, v.__path2 + 1) from t'
    >>> rewrite("select count(v) from t where e.v is not null and v:a is null", frozenset({"v"})).sql
    'select count(v.__path0) from t where e.v.__path0 is not null and v.__path1 is null'
    >>> rewrite("select v:o, v:k::int from t", frozenset({"v"}), frozenset(), as_variants=True).sql
    "select v.__path0 AS `o`, variant_get(v.__path1, '$', 'int') AS `k` from t"
    """
    tokens = tokenize(sql)
    names = None if variants is None else {name.casefold() for name in variants}
    wholes = {name.casefold() for name in (variants or () if tested is None else tested)}
    fields: dict[Get, str] = {}
    edits: list[Edit] = []
    places: list[PathPlace] = []
    rest: list[Token] = []
    index = 0
    unnamed = listed = False
    selecting = [False]  # per open parenthesis, whether this is the column list of a SELECT
    calls: list[_Call] = []
    while index < len(tokens):
        find = _match_any if as_variants else _match
        match = find(sql, tokens, index, names) or _tested(sql, tokens, index, wholes)
        if match is None:
            _follow(tokens[index].token_type, selecting)
            _follow_calls(tokens, index, calls)
            rest.append(tokens[index])
            index += 1
            continue
        kept = replace(match.get, type=VARIANT, strict=False) if as_variants else match.get
        new = f"{match.column}.{fields.setdefault(kept, f'{FIELD}{len(fields)}')}"
        new = _cast_text(new, match.get) if as_variants else new
        around = [tokens[at].token_type if 0 <= at < len(tokens) else None for at in (index - 1, match.end)]
        is_column = selecting[-1] and around[0] in BEFORE_COLUMNS
        if is_column and match.name and around[1] in BEHIND_COLUMNS:
            new += f" AS {quote(match.name)}"
        elif any(selecting) and not (is_column and around[1] == TokenType.ALIAS):
            unnamed = True
        if calls and around[0] in BEFORE_ARGUMENT and around[1] in BEHIND_ARGUMENT and not is_column:
            if calls[-1].function == "struct":
                new += f" AS col{calls[-1].argument}"  # Spark's name for what has none
            listed |= not calls[-1].function and (TokenType.COMMA in around or len(calls) > 1)
        edits.append((tokens[index].start, tokens[match.end - 1].end + 1, new))
        places.append(PathPlace(index, match.end, match.column, match.name, match.get))
        index = match.end
    return Rewritten(
        edited(sql, edits),
        fields,
        tuple(rest),
        unnamed=unnamed,
        listed=listed,
        tokens=tuple(tokens),
        places=tuple(places),
        edits=tuple(edits),
    )


def _follow(kind: TokenType, selecting: list[bool]) -> None:
    """Updates, for one token, whether the column list of a SELECT is open."""
    if kind == TokenType.L_PAREN:
        selecting.append(False)
    elif kind == TokenType.R_PAREN and len(selecting) > 1:
        selecting.pop()
    elif kind in (TokenType.SELECT, TokenType.FROM):
        selecting[-1] = kind == TokenType.SELECT


@dataclass
class _Call:
    """An open parenthesis: the function before it, or nothing, and the number of the argument in it."""

    function: str
    argument: int = 1


def _follow_calls(tokens: Sequence[Token], index: int, calls: list[_Call]) -> None:
    """Updates, for one token, the parentheses that are open."""
    kind = tokens[index].token_type
    if kind == TokenType.L_PAREN:
        before = tokens[index - 1] if index else None
        called = before is not None and before.token_type not in BEFORE_VALUE and is_word(before.text)
        calls.append(_Call(before.text.casefold() if before is not None and called else ""))
    elif kind == TokenType.R_PAREN and calls:
        calls.pop()
    elif kind == TokenType.COMMA and calls:
        calls[-1].argument += 1


def depends_on_generated_names(rewritten: Rewritten) -> bool:
    """Whether the query may depend on names that Spark generates for columns that contain a path.

    >>> depends_on_generated_names(rewrite("select v:a::int + 1 from t"))
    False
    >>> depends_on_generated_names(rewrite("select * from (select v:a::int + 1 from t) natural join s"))
    True
    >>> depends_on_generated_names(rewrite("select * from (select v:a::int, v:b::int AS c) natural join s"))
    False
    """
    return any(
        token.token_type == TokenType.PIPE_GT
        or (token.token_type == TokenType.NATURAL and rewritten.unnamed)
        or (token.token_type == TokenType.IDENTIFIER and "variant_get" in token.text)
        for token in rewritten.rest
    )


@cached(64, "kinds of statements")
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
        named = [kind in NAMES for kind, _ in words[max(0, index - 2) : index]]
        if kind == TokenType.L_PAREN and named == [True, True]:
            return True  # `events AS e(x, y)` renames the Variant
    return False


BEFORE_TEST: Final = (
    TokenType.SELECT, TokenType.DISTINCT, TokenType.COMMA, TokenType.L_PAREN, TokenType.WHERE, TokenType.ON,
    TokenType.HAVING, TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.WHEN, TokenType.GROUP_BY,
    TokenType.ORDER_BY,
)  # fmt: skip
"""Tokens behind which an expression begins, so that no operator takes the Variant away from its IS NULL."""

TESTS: Final = ("count", "isnotnull", "isnull")
"""Functions of one argument that ask only whether it is NULL."""


def _tested(sql: str, tokens: list[Token], start: int, names: set[str]) -> PathMatch | None:
    """The Variant at a token, or the path without a type, if the query only asks whether it is NULL."""
    found = match_variant(sql, tokens, start, names) if start else None
    if found is None or tokens[start - 1].token_type not in BEFORE_TEST:
        return None
    behind = [token.token_type for token in tokens[found.end : found.end + 3]]
    called = [tokens[start - 1].token_type, *behind[:1]] == [TokenType.L_PAREN, TokenType.R_PAREN]
    in_test = called and start > 1 and tokens[start - 2].text.casefold() in TESTS
    is_null = behind[:2] == [TokenType.IS, TokenType.NULL]
    if not in_test and not is_null and behind != [TokenType.IS, TokenType.NOT, TokenType.NULL]:
        return None
    return replace(found, get=replace(found.get, type=PRESENT), name="")


def _match(sql: str, tokens: list[Token], start: int, names: set[str] | None) -> PathMatch | None:
    """The path at a token, as Spark means it: a cast raises if the value can't be cast."""
    found = match_path(sql, tokens, start, names=names, scalar=False)
    if found is None or found.get.type in (None, VARIANT) or found.get.type.name in NOT_IN_SPARK:
        return None  # left to Spark, which may support the type or report the error
    strict = True if found.get.strict is None else found.get.strict
    return replace(found, get=replace(found.get, strict=strict))


def _match_any(sql: str, tokens: list[Token], start: int, names: set[str] | None) -> PathMatch | None:
    """The path at a token, with or without a type, if a cast of its value to the type can be written."""
    found = match_path(sql, tokens, start, names=names, scalar=False)
    kind = "" if found is None or found.get.type is None else found.get.type.name
    return None if kind in NOT_IN_SPARK or set("'\\") & set(kind) else found


def _cast_text(variant: str, get: Get) -> str:
    """The cast of a Variant to the type of a path. A Variant remains as it is."""
    if get.type in (None, VARIANT):
        return variant
    function = "try_variant_get" if get.strict is False else "variant_get"
    return f"{function}({variant}, '$', '{get.type}')"
