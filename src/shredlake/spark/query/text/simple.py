"""Queries of which the text alone says everything: SELECTs from tables, alone, joined or one in another.

```
select day, max(v:a::bigint) AS m from events e where e.v:kind::string = 'k' and id > 3 group by day
       └─ columns ──────────────┘      └─ table     └─ conditions ─────────────────────┘
```

To find out which paths and filters a query has, Spark must analyse and optimise it over empty tables, which
takes as long as planning it. For these queries that is not needed. Everything that could mean something else
is excluded: functions that are not known to take only values, columns that Spark would name after their text,
and conditions that depend on settings or on conversions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from sqlglot import Token, TokenType

from shredlake.caches import cached
from shredlake.delta.schema.types import Struct
from shredlake.expr import Expr
from shredlake.spark.query.text.clauses import NAMES, Span, has_name
from shredlake.spark.query.text.needs import Need, needs_of
from shredlake.spark.query.text.selects import OPENS_QUERY, NotSimple, Selects, require, selects_of
from shredlake.spark.query.text.sql_paths import Edit, Rewritten, edited, rewrite
from shredlake.variant.identifiers import quote

AMBIGUOUS: Final = ('"', "\\", "${", "--", "/*", "``", "collat")
"""Text whose meaning depends on settings, or that the tokens do not show as it is."""

FUNCTIONS: Final = frozenset({
    "abs", "approx_count_distinct", "avg", "cardinality", "cast", "ceil", "coalesce", "concat",
    "contains", "count", "count_if", "cume_dist", "date_trunc", "day", "decimal", "dense_rank",
    "endswith", "first_value", "floor", "greatest", "hour", "if", "ifnull", "in", "isnan", "isnotnull",
    "isnull", "lag", "last_value", "lead", "least", "length", "lower", "ltrim", "max", "mean", "median",
    "min", "minute", "month", "nth_value", "ntile", "nullif", "nvl", "over", "percent_rank", "quarter",
    "rank", "replace", "round", "row_number", "rtrim", "second", "size", "sqrt", "startswith", "stddev",
    "substr", "substring", "sum", "trim", "try_cast", "try_sum", "upper", "using", "variance", "year",
})  # fmt: skip
"""Words before a list of values in parentheses. No such function depends on the names of its arguments."""

BEFORE_GROUPS: Final = frozenset({
    "and", "by", "distinct", "else", "not", "on", "or", "select", "then", "when", "where",
})  # fmt: skip
"""Words before an expression in parentheses."""

BEFORE_QUERIES: Final = BEFORE_GROUPS | {
    "all", "as", "except", "exists", "from", "having", "in", "intersect", "join", "minus", "union",
}  # fmt: skip
"""Words before a query in parentheses."""

REDUCING: Final = frozenset({"count", "max", "min", "sum"})
"""The aggregates that workers compute in parts (`workers/partials.py`)."""

ELSEWHERE: Final = frozenset({
    TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY, TokenType.HINT, TokenType.INTERVAL, TokenType.LATERAL,
    TokenType.NATURAL, TokenType.PARAMETER, TokenType.PIPE_GT, TokenType.PLACEHOLDER, TokenType.QUALIFY,
    TokenType.SORT_BY, TokenType.TABLE, TokenType.TABLE_SAMPLE, TokenType.VALUES, TokenType.WINDOW,
})  # fmt: skip
"""Tokens that these queries do not have."""

MOST_COLUMNS: Final = 20
"""The most columns of the result."""


@dataclass(frozen=True)
class SimpleQuery:
    """A query, with plain columns in place of its paths, and a name for every column of its result."""

    text: str
    rewritten: Rewritten
    selects: Selects
    words: frozenset[str]
    """Every name in the query, and more, in lower case."""
    names: tuple[Edit, ...]
    """The changes to the text that name columns of its result."""

    def uses(self, column: str) -> bool:
        """Whether the query may read a column. Spark has its own rules for letters beyond ASCII."""
        return column.casefold() in self.words or not (column.isascii() and self.text.isascii())

    @property
    def reads_one_table(self) -> bool:
        """Whether it reads one table once, directly or through subqueries."""
        return sum(not source.inner for select in self.selects.all for source in select.sources) == 1

    @property
    def may_be_reduced(self) -> bool:
        """Whether workers may send fewer rows than they read: an aggregate, or ORDER BY with LIMIT.

        Only Spark's plan shows whether they do; any other query can be planned from its text.
        """
        if not self.reads_one_table:
            return False
        tokens = self.rewritten.tokens
        kinds = {token.token_type for token in tokens}
        return {TokenType.ORDER_BY, TokenType.LIMIT} <= kinds or any(
            token.text.casefold() in REDUCING and behind.token_type == TokenType.L_PAREN
            for token, behind in pairwise(tokens)
        )

    @property
    def reads_maps(self) -> bool:
        """Whether it casts a path to a map, which Spark makes of the Variant at this path."""
        return any(get.type is not None and get.type.name.startswith("map") for get in self.rewritten.fields)

    def over(self, views: Mapping[str, str]) -> str:
        """The text that reads views in place of tables, which `views` lists by their names in lower case.

        Spark analyses and optimises this faster than common table expressions in front of the query.

        >>> found = simple_query("select v:a::int AS a from t e join s on e.id = s.id", frozenset({"v"}))
        >>> found.over({"t": "x7", "s": "x8"})
        'select v.__path0 AS a from x7 AS `e` join x8 AS `s` on e.id = s.id'
        """
        return self._edited(self.rewritten.edits, views)

    def over_variants(self, views: Mapping[str, str]) -> str:
        """The same for views with Variants: the paths remain.

        >>> found = simple_query("select id, v:a::array<int> from t", frozenset({"v"}))
        >>> found.over_variants({"t": "x7"})
        'select id AS `id`, v:a::array<int> from x7 AS `t`'
        """
        return self._edited(self.names, views)

    def _edited(self, changes: Sequence[Edit], views: Mapping[str, str]) -> str:
        tokens = self.rewritten.tokens
        edits = list(changes)
        for select in self.selects.all:
            for source in select.sources:
                if source.written is not None and not source.inner and source.table in views:
                    first, last = tokens[source.written.first], tokens[source.written.end - 1]
                    edits.append((first.start, last.end + 1, f"{views[source.table]} AS {quote(last.text)}"))
        return edited(self.text, sorted(edits))

    def needs(self, schemas: Mapping[str, Struct]) -> dict[str, Need] | None:
        """The needs of each table, by its name in lower case; None in doubt."""
        try:
            return needs_of(self.text, self.rewritten, self.selects, schemas)
        except NotSimple:
            return None


@cached(64, "simple queries")
def simple_query(sql: str, variants: frozenset[str]) -> SimpleQuery | None:
    """The parts of a query; None if it needs Spark's analysis. `variants` are names of Variant columns.

    >>> text = "select day, max(e.v:a::int) AS m from t e where e.v:b::int > 1 group by day"
    >>> simple_query(text, frozenset({"v"})).rewritten.sql
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


def conditions_in(sql: str, variants: frozenset[str], schemas: Mapping[str, Struct]) -> dict[str, Expr]:
    """By table, in lower case, the condition that every row needed satisfies, also if columns lack names.

    Used over Connect, which does not show plans. Empty in doubt.

    >>> from shredlake.delta.schema.types import Field
    >>> schemas = {"t": Struct((Field("v", "variant"),))}
    >>> list(conditions_in("select max(v:a::int) from t where v:b::int > 1", frozenset({"v"}), schemas))
    ['t']
    >>> conditions_in("select max(v) from t where v:b::int > 1", frozenset({"v"}), schemas)
    {}
    """
    if any(text in sql.casefold() for text in AMBIGUOUS):
        return {}
    try:
        found = needs_of(*_read(sql, variants), schemas)
    except NotSimple:
        return {}
    return {name: need.where for name, need in found.items() if need.where is not None}


def _read(sql: str, variants: frozenset[str]) -> tuple[str, Rewritten, Selects]:
    """The text, its paths and its SELECTs. Raises NotSimple if the text does not say everything."""
    sql = sql.rstrip().rstrip(";")
    rewritten = rewrite(sql, variants)
    require(bool(rewritten.fields))
    require(not ELSEWHERE.intersection(token.token_type for token in rewritten.rest))
    _check_rest(rewritten.rest, variants)
    return sql, rewritten, selects_of(rewritten.tokens, rewritten.places)


def _parsed(sql: str, variants: frozenset[str]) -> SimpleQuery:
    sql, rewritten, selects = _read(sql, variants)
    names: list[Edit] = []
    for select in selects.outermost:
        require(len(select.columns) <= MOST_COLUMNS)
        names += [edit for column in select.columns for edit in _name(rewritten, column)]
    edits = sorted((*rewritten.edits, *names))
    words = frozenset(token.text.casefold() for token in rewritten.tokens)
    named = replace(rewritten, sql=edited(sql, edits), edits=tuple(edits))
    return SimpleQuery(sql, named, selects, words, tuple(names))


def _name(rewritten: Rewritten, column: Span) -> Iterator[Edit]:
    """Gives a column of the result a name that does not depend on the spelling of its paths.

    Plain columns get their own name again, which makes them new columns: frames over files are shared.
    """
    tokens = rewritten.tokens
    inside = [place for place in rewritten.places if column.first <= place.first < column.end]
    if has_name(tokens, column):
        return
    if len(inside) == 1 and (inside[0].first, inside[0].end) == (column.first, column.end):
        require(bool(inside[0].name))
        return
    kinds = [token.token_type for token in tokens[column.first : column.end]]
    if kinds[-1] in NAMES and all(kind in (*NAMES, TokenType.DOT) for kind in kinds):
        last = tokens[column.end - 1]
        yield last.end + 1, last.end + 1, f" AS {quote(last.text)}"
        return
    require(not inside and TokenType.L_PAREN in kinds and kinds[0] != TokenType.L_PAREN)


def _check_rest(rest: Sequence[Token], variants: Collection[str]) -> None:
    """Raises NotSimple if the tokens beside the paths may do more than compute with values."""
    names = {name.casefold() for name in variants}
    takes_list: list[bool] = []
    for before, token, behind in zip([None, *rest], rest, [*rest[1:], None], strict=False):
        kind, word = token.token_type, token.text.casefold()
        require(word not in names or kind == TokenType.STRING)
        if kind == TokenType.STAR:
            require(before is not None and before.token_type == TokenType.L_PAREN)
        if kind == TokenType.L_PAREN:
            previous = before.text.casefold() if before is not None else ""
            is_query = behind is not None and behind.token_type in OPENS_QUERY
            is_word = previous[:1].isalnum() or previous == "`"
            calls = not is_query and previous in FUNCTIONS
            known = BEFORE_QUERIES if is_query else BEFORE_GROUPS
            require(calls or previous in known or not is_word)
            takes_list.append(calls or is_query)
        elif kind == TokenType.R_PAREN:
            require(bool(takes_list))
            takes_list.pop()
        elif kind == TokenType.COMMA and takes_list:
            require(takes_list[-1])
    require(not takes_list)
