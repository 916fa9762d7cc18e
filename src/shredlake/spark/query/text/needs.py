"""Finds, for each table of a query, the paths it reads and the condition that its rows must satisfy.

```
select a.v:k::string from a left join b on a.id = b.id and b.v:n::int > 5 where a.day = 'd1'
       └ a: v:k::string        no condition ┘             └ b            └ a
```

A condition on one table prunes its files. It is left out where rows that do not satisfy it may still matter,
as those of `a` in a condition of the LEFT JOIN. If Spark's optimiser might find more conditions than the text
shows (through an equality of two columns, or from the columns of a subquery), the query is not simple.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

from sqlglot import Token, TokenType

from shredlake.delta.schema.types import Struct
from shredlake.expr import Column, Expr, Get, Or, all_of, join_name, name_parts, references
from shredlake.spark.query.text.clauses import BEFORE_NAME, NAMES, Span
from shredlake.spark.query.text.conditions import condition_on, is_false_of_nulls
from shredlake.spark.query.text.selects import OPENS_QUERY, NotSimple, Select, Selects, Source, require
from shredlake.spark.query.text.sql_paths import PathPlace, Rewritten
from shredlake.sql.path_tokens import tokenize

AGGREGATES: Final = frozenset({
    "approx_count_distinct", "avg", "count", "count_if", "max", "mean", "median", "min", "stddev", "sum",
    "try_sum", "variance",
})  # fmt: skip
"""Functions of many rows. Spark moves no condition on their results below them."""


@dataclass(frozen=True)
class Need:
    """The parts of a table that a query needs."""

    paths: frozenset[Get]
    where: Expr | None
    """A condition that every row needed satisfies."""


@dataclass(frozen=True)
class _ColumnUse:
    """A column in an expression."""

    source: Source
    name: str
    is_path: bool


@dataclass
class _Found:
    """The paths of a table, and the conditions of each of its occurrences."""

    paths: set[Get] = field(default_factory=set)
    occurrences: list[list[Expr]] = field(default_factory=list)


def needs_of(
    sql: str, rewritten: Rewritten, selects: Selects, schemas: Mapping[str, Struct]
) -> dict[str, Need]:
    """Returns what each table must give, by its name in lower case. Raises NotSimple in doubt.

    `schemas` are those of all tables that the query may mean, by their names in lower case.
    """
    require(not selects.own.intersection(schemas))
    finder = _Finder(sql, rewritten, schemas)
    for select in selects.all:
        finder.read(select)
    finder.check_equal_columns()
    return {
        name: Need(frozenset(found.paths), _any_of([all_of(one) for one in found.occurrences]))
        for name, found in finder.found.items()
    }


def _any_of(conditions: Sequence[Expr | None]) -> Expr | None:
    """The condition of rows that satisfy one of these. None is the condition that every row satisfies."""
    known = [one for one in conditions if one is not None]
    if len(known) < len(conditions):
        return None
    return known[0] if len(known) == 1 else Or(tuple(known))


class _Finder:
    """Reads one SELECT after the other."""

    def __init__(self, sql: str, rewritten: Rewritten, schemas: Mapping[str, Struct]) -> None:
        self._sql, self._schemas = sql, schemas
        self._tokens = rewritten.tokens
        self._places = {place.first: place for place in rewritten.places}
        self._equal: set[str] = set()
        """The columns that a condition compares with those of another table."""
        self.found: dict[str, _Found] = defaultdict(_Found)

    def read(self, select: Select) -> None:
        conditions = {source.alias: self._occurrence(source) for source in select.sources}
        for place in select.places:
            qualifier, name = _qualified(place)
            source = self._owner(select, qualifier, name)
            get = replace(place.get, column=join_name((self._variant(source, name),)))
            self.found[source.table].paths.add(get)
        self._equal.update(select.using)
        nullable: set[str] = set()
        for number, source in enumerate(select.sources):
            before = select.sources[:number]
            kept = [source] if source.join in ("left", "anti") else before if source.join == "right" else []
            if source.join in ("inner", "semi"):
                kept = [*before, source]
            for part in source.on:
                self._condition(select, part, kept, nullable, conditions)
            if source.join in ("right", "full"):
                nullable |= {one.alias for one in before}
            if source.join in ("left", "full"):
                nullable.add(source.alias)
        for part in select.where:
            self._condition(select, part, select.sources, nullable, conditions)
        for part in select.having:
            require(any(self._calls(part, AGGREGATES)) or self._has_subquery(part))

    def check_equal_columns(self) -> None:
        """Raises NotSimple if Spark may apply a condition on one of two equal columns to the other, too."""
        for found in self.found.values():
            for condition in chain.from_iterable(found.occurrences):
                for ref in references(condition):
                    if isinstance(ref, Column):
                        require(name_parts(ref.name)[-1].casefold() not in self._equal)

    def _occurrence(self, source: Source) -> list[Expr]:
        """The conditions of a table, to be filled. Those of a subquery are dropped."""
        conditions: list[Expr] = []
        if self._is_table(source):
            self.found[source.table].occurrences.append(conditions)
        else:
            require(bool(source.inner))
        return conditions

    def _is_table(self, source: Source) -> bool:
        return not source.inner and source.table in self._schemas

    # ── conditions ──────────────────────────────────────────────────────────────────────────────────────

    def _condition(
        self,
        select: Select,
        part: Span,
        kept: Sequence[Source],
        nullable: set[str],
        conditions: Mapping[str, list[Expr]],
    ) -> None:
        """Adds a part of a condition to the table that it is about.

        `kept` are the sources of which only rows that satisfy the condition matter, and `nullable` the
        qualifiers of those that may have been filled up with NULL before.
        """
        require(part.first < part.end)
        if self._has_subquery(part):
            return
        used = list(self._columns(select, part))
        sources = {id(use.source): use.source for use in used}
        require(bool(sources))
        if len(sources) > 1:
            kinds = {token.token_type for token in self._tokens[part.first : part.end]}
            require(TokenType.OR not in kinds)  # Spark takes conditions on single tables out of it
            self._equal.update(use.name for use in used if not use.is_path)
            return
        [source] = sources.values()
        if not any(source is one for one in select.sources):  # a column of the query around this one
            return
        if not self._is_table(source):
            require(all(self._is_computed(source, use.name) for use in used))
            return
        found = condition_on(self._unqualified(part, source), self._schemas[source.table])
        rejects = source.alias not in nullable or is_false_of_nulls(found)
        if rejects and any(source is one for one in kept):
            conditions[source.alias].append(found)

    def _has_subquery(self, part: Span) -> bool:
        return any(token.token_type in OPENS_QUERY for token in self._tokens[part.first : part.end])

    def _calls(self, part: Span, functions: frozenset[str]) -> Iterator[bool]:
        for at in range(part.first, part.end - 1):
            called = self._tokens[at + 1].token_type == TokenType.L_PAREN
            yield called and self._tokens[at].text.casefold() in functions

    def _unqualified(self, part: Span, source: Source) -> str:
        """The text of a condition without the table's name before its columns."""
        pieces: list[str] = []
        tokens = self._tokens
        copied = tokens[part.first].start
        for at in range(part.first, part.end - 1):
            inner = at > part.first and tokens[at - 1].token_type in (TokenType.DOT, TokenType.COLON)
            if inner or tokens[at].token_type not in NAMES or tokens[at + 1].token_type != TokenType.DOT:
                continue
            require(tokens[at].text.casefold() == source.alias)
            pieces.append(self._sql[copied : tokens[at].start])
            copied = tokens[at + 1].end + 1
        return "".join([*pieces, self._sql[copied : tokens[part.end - 1].end + 1]])

    # ── columns ─────────────────────────────────────────────────────────────────────────────────────────

    def _columns(self, select: Select, span: Span) -> Iterator[_ColumnUse]:
        """The columns in an expression without subqueries."""
        tokens, at = self._tokens, span.first
        while at < span.end:
            place = self._places.get(at)
            if place is not None:
                qualifier, name = _qualified(place)
                yield _ColumnUse(self._owner(select, qualifier, name), name, True)
                at = place.end
                continue
            end = at
            while end + 2 < span.end and _is_qualifier(tokens, end):
                end += 2
            called = end + 1 < span.end and tokens[end + 1].token_type == TokenType.L_PAREN
            if tokens[at].token_type in NAMES and not called:
                require(end <= at + 2)  # otherwise a field of a struct, or a name with its database
                qualifier = tokens[at].text.casefold() if end > at else ""
                name = tokens[end].text.casefold()
                yield _ColumnUse(self._owner(select, qualifier, name), name, False)
            at = end + 1

    def _owner(self, select: Select, qualifier: str, name: str) -> Source:
        """The source of a column: of this SELECT or of one around it."""
        around: Select | None = select
        while around is not None:
            if qualifier:
                found = [one for one in around.sources if one.alias == qualifier]
            else:
                found = [one for one in around.sources if self._has(one, name)]
            if found:
                require(len(found) == 1 and self._has(found[0], name))
                return found[0]
            around = around.outer
        raise NotSimple

    def _has(self, source: Source, name: str) -> bool:
        if self._is_table(source):
            return any(item.name.casefold() == name for item in self._schemas[source.table].fields)
        return any(name in self._named(one) for one in source.inner)

    def _variant(self, source: Source, name: str) -> str:
        """The name of a Variant column as the table spells it."""
        require(self._is_table(source))
        found = [item for item in self._schemas[source.table].fields if item.name.casefold() == name]
        require(len(found) == 1 and found[0].type == "variant")
        return found[0].name

    def _is_computed(self, source: Source, name: str) -> bool:
        """Whether a column of a subquery depends on many rows, so that no condition on it moves inside."""
        if len(source.inner) != 1:
            return False
        item = self._named(source.inner[0]).get(name)
        if item is None:
            return False
        over = any(token.token_type == TokenType.OVER for token in self._tokens[item.first : item.end])
        return over or any(self._calls(item, AGGREGATES))

    def _named(self, select: Select) -> dict[str, Span]:
        """The columns of a SELECT, by their names in lower case."""
        found: dict[str, Span] = {}
        for item in select.columns:
            name = self._name_of(item)
            if name:
                found[name] = item
        return found

    def _name_of(self, item: Span) -> str:
        place = self._places.get(item.first)
        if place is not None and place.end == item.end:
            return place.name.casefold()
        last = self._tokens[item.end - 1]
        before = self._tokens[item.end - 2].token_type if item.end - 2 >= item.first else None
        named = before in (None, TokenType.ALIAS, TokenType.DOT, *BEFORE_NAME)
        return last.text.casefold() if last.token_type in NAMES and named else ""


def _is_qualifier(tokens: Sequence[Token], at: int) -> bool:
    kinds = [token.token_type for token in tokens[at : at + 3]]
    return kinds[0] in NAMES and kinds[1] == TokenType.DOT and kinds[2] in NAMES


def _qualified(place: PathPlace) -> tuple[str, str]:
    """The qualifier, or "", and the name of a path's column, in lower case."""
    parts = [token.text.casefold() for token in tokenize(place.column)[::2]]
    require(len(parts) <= 2)
    return parts[0] if len(parts) == 2 else "", parts[-1]
