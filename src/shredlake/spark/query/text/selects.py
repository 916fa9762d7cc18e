"""The SELECTs of a query, by the tokens of its text: the tables that each reads, and its conditions.

```
with big as (select id from t where v:n::int > 5)           a SELECT inside of a common table expression
select s.id, count(*) from big join s on big.id = s.id      its sources `big` and `s`, and a condition
where exists (select 1 from u where u.id = s.id)            a SELECT that may use columns of the one around it
```

Only Spark parses the query. This module follows the clauses and raises NotSimple for anything that it does
not know, and the caller then asks Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlglot import Token, TokenType

from shredlake.spark.query.text.clauses import NAMES, NESTING, Span, parts_of, split_at_commas
from shredlake.spark.query.text.sql_paths import PathPlace

SET_OPERATIONS: Final = (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT)
OPENS_QUERY: Final = (TokenType.SELECT, TokenType.WITH)
BEHIND_FROM: Final = (
    TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY, TokenType.LIMIT,
)  # fmt: skip
"""The clauses of a SELECT behind its tables, in their order."""
JOINS: Final = {
    (): "inner", ("inner",): "inner", ("cross",): "inner",
    ("left",): "left", ("left", "outer"): "left", ("right",): "right", ("right", "outer"): "right",
    ("full",): "full", ("full", "outer"): "full",
    ("semi",): "semi", ("left", "semi"): "semi", ("anti",): "anti", ("left", "anti"): "anti",
}  # fmt: skip
"""The kinds of joins, by the words before JOIN."""
JOIN_WORDS: Final = (
    TokenType.INNER, TokenType.CROSS, TokenType.LEFT, TokenType.RIGHT, TokenType.FULL, TokenType.OUTER,
    TokenType.SEMI, TokenType.ANTI,
)  # fmt: skip
ENDS_OF_SOURCE: Final = (
    *JOIN_WORDS, *BEHIND_FROM, *SET_OPERATIONS, TokenType.JOIN, TokenType.COMMA, TokenType.ON,
    TokenType.USING,
)  # fmt: skip


class NotSimple(Exception):
    """Says why a query needs Spark's analysis."""


def require(holds: bool) -> None:
    """Raises NotSimple unless something holds."""
    if not holds:
        raise NotSimple


@dataclass
class Source:
    """A table, a common table expression, or a subquery behind FROM or JOIN."""

    alias: str
    """Its qualifier, in lower case."""
    table: str = ""
    """The name of a table or a common table expression; empty for a subquery."""
    inner: tuple[Select, ...] = ()
    """The SELECTs of a subquery, or of the common table expression."""
    join: str = "inner"
    """How it is joined with the sources before it."""
    on: list[Span] = field(default_factory=list)
    """The conditions of the join."""
    written: Span | None = None
    """The tokens of the table's name and of its alias; None for a subquery."""


@dataclass
class Select:
    """One SELECT of a query."""

    outer: Select | None
    """The SELECT around a subquery, whose columns the subquery may use."""
    columns: list[Span] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    where: list[Span] = field(default_factory=list)
    having: list[Span] = field(default_factory=list)
    places: list[PathPlace] = field(default_factory=list)
    """The paths that it reads by itself, outside of subqueries."""
    using: list[str] = field(default_factory=list)
    """The columns of joins with USING, in lower case. Without a qualifier, they mean those of both sides."""


@dataclass(frozen=True)
class Selects:
    """All SELECTs of a query."""

    all: tuple[Select, ...]
    outermost: tuple[Select, ...]
    """Those whose columns are the columns of the result: several if set operations join them."""
    own: frozenset[str]
    """The names of its common table expressions, in lower case."""


def selects_of(tokens: Sequence[Token], places: Collection[PathPlace]) -> Selects:
    """The SELECTs of a query. `places` are its paths, which may contain keywords.

    >>> from shredlake.spark.query.text.sql_paths import rewrite
    >>> found = rewrite("with a as (select id from t) select v:n::int from s left join a on a.id = s.id")
    >>> selects = selects_of(found.tokens, found.places)
    >>> [[(source.alias, source.join) for source in one.sources] for one in selects.all]
    [[('t', 'inner')], [('s', 'inner'), ('a', 'left')]]
    """
    parser = _Parser(tokens, places)
    outermost = parser.query(None)
    require(parser.at_end())
    return Selects(tuple(parser.found), outermost, frozenset(parser.expressions))


class _Parser:
    """Walks the tokens of a query from clause to clause."""

    def __init__(self, tokens: Sequence[Token], places: Collection[PathPlace]) -> None:
        self._tokens = tokens
        self._places = {place.first: place for place in places}
        self._at = 0
        self.found: list[Select] = []
        self.expressions: dict[str, tuple[Select, ...]] = {}
        """The common table expressions."""

    def at_end(self) -> bool:
        return self._at == len(self._tokens)

    def query(self, outer: Select | None) -> tuple[Select, ...]:
        """Reads `[WITH …] SELECT … [UNION SELECT …]`. Returns the SELECTs that give its columns."""
        if self._take(TokenType.WITH):
            self._expression_of_with(outer)
            while self._take(TokenType.COMMA):
                self._expression_of_with(outer)
        found = [*self._term(outer)]
        while self._kind() in SET_OPERATIONS:
            self._at += 1
            if self._kind() in (TokenType.ALL, TokenType.DISTINCT):
                self._at += 1
            found += self._term(outer)
        for kind in (TokenType.ORDER_BY, TokenType.LIMIT):  # behind a term in parentheses
            if self._take(kind):
                self._expression(found[-1], BEHIND_FROM)
        return tuple(found)

    def _expression_of_with(self, outer: Select | None) -> None:
        name = self._name()
        require(name not in self.expressions)
        self._expect(TokenType.ALIAS)
        self._expect(TokenType.L_PAREN)
        self.expressions[name] = self.query(outer)
        self._expect(TokenType.R_PAREN)

    def _term(self, outer: Select | None) -> tuple[Select, ...]:
        if self._take(TokenType.L_PAREN):
            found = self.query(outer)
            self._expect(TokenType.R_PAREN)
            return found
        return (self._select(outer),)

    def _select(self, outer: Select | None) -> Select:
        self._expect(TokenType.SELECT)
        if self._kind() in (TokenType.DISTINCT, TokenType.ALL):
            self._at += 1
        found = Select(outer)
        found.columns = split_at_commas(self._tokens, self._expression(found, (TokenType.FROM,)))
        self._expect(TokenType.FROM)
        self._sources(found)
        for kind in BEHIND_FROM:
            if self._take(kind):
                span = self._expression(found, (*BEHIND_FROM, *SET_OPERATIONS))
                if kind == TokenType.WHERE:
                    found.where = parts_of(self._tokens, span)
                elif kind == TokenType.HAVING:
                    found.having = parts_of(self._tokens, span)
        self.found.append(found)
        return found

    def _sources(self, select: Select) -> None:
        select.sources.append(self._source(select, "inner"))
        while True:
            if self._take(TokenType.COMMA):
                select.sources.append(self._source(select, "inner"))
                continue
            words = []
            while self._kind() in JOIN_WORDS:
                words.append(self._tokens[self._at].text.casefold())
                self._at += 1
            if not words and self._kind() != TokenType.JOIN:
                break
            self._expect(TokenType.JOIN)
            require(tuple(words) in JOINS)
            source = self._source(select, JOINS[tuple(words)])
            select.sources.append(source)
            if self._take(TokenType.ON):
                source.on = parts_of(self._tokens, self._expression(select, ENDS_OF_SOURCE))
            elif self._take(TokenType.USING):
                self._expect(TokenType.L_PAREN)
                names = self._expression(select, ())
                self._expect(TokenType.R_PAREN)
                select.using += [one.text.casefold() for one in self._tokens[names.first : names.end]]
        aliases = [source.alias for source in select.sources]
        require(len(set(aliases)) == len(aliases))

    def _source(self, select: Select, join: str) -> Source:
        if self._take(TokenType.L_PAREN):
            require(self._kind() in OPENS_QUERY)
            inner = self.query(select.outer)
            self._expect(TokenType.R_PAREN)
            return Source(self._alias(""), inner=inner, join=join)
        first = self._at
        name = self._name()
        alias = self._alias(name)
        written = Span(first, self._at)
        return Source(alias, name, self.expressions.get(name, ()), join, written=written)

    def _alias(self, name: str) -> str:
        if self._take(TokenType.ALIAS) or self._kind() in NAMES:
            name = self._name()
        require(bool(name) and (self._kind() in ENDS_OF_SOURCE or self._ends()))
        return name

    def _expression(self, select: Select, stops: Collection[TokenType]) -> Span:
        """Reads up to one of these tokens, to a closing parenthesis, or to the end."""
        first, depth = self._at, 0
        while not self.at_end():
            place = self._places.get(self._at)
            if place is not None:
                select.places.append(place)
                self._at = place.end
                continue
            kind = self._kind()
            if depth == 0 and (kind in stops or kind == TokenType.R_PAREN):
                break
            require(kind not in (TokenType.SELECT, TokenType.FROM, TokenType.WITH))
            self._at += 1
            depth += NESTING.get(kind, 0) if kind is not None else 0
            if kind == TokenType.L_PAREN and self._kind() in OPENS_QUERY:
                self.query(select)
                self._expect(TokenType.R_PAREN)
                depth -= 1
        require(depth == 0 and first < self._at)
        return Span(first, self._at)

    def _kind(self) -> TokenType | None:
        return None if self.at_end() else self._tokens[self._at].token_type

    def _ends(self) -> bool:
        return self.at_end() or self._kind() == TokenType.R_PAREN

    def _take(self, kind: TokenType) -> bool:
        taken = self._kind() == kind
        self._at += taken
        return taken

    def _expect(self, kind: TokenType) -> None:
        require(self._take(kind))

    def _name(self) -> str:
        require(self._kind() in NAMES)
        self._at += 1
        return self._tokens[self._at - 1].text.casefold()
