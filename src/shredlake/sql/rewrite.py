"""Rewrites a query for DuckDB: paths become columns of scans.

Only places that were understood are replaced; the rest of the text stays as the user wrote it, and DuckDB
alone decides what it means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final, cast

import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import traverse_scope

from shredlake.caches import cached
from shredlake.expr.ast import Get, join_name
from shredlake.expr.types import BIGINT
from shredlake.parquet.read.skipping import has_exact_extremes
from shredlake.parquet.read.statistics import Extreme
from shredlake.sql.path_tokens import DUCKDB, tokenize
from shredlake.sql.references import HIDDEN, Reference, References, TableColumns, literal, real_tables
from shredlake.sql.text import MARK, TIME_PARTS, Mark, MarkedQuery, TimePart, mark_query
from shredlake.sql.weights import EngineFunctions, mark_number, merging_reference
from shredlake.variant.identifiers import double_quote

NOT_UNDERSTOOD: Final = (SqlglotError, RecursionError, AssertionError)
"""The errors of sqlglot for a query that only DuckDB understands."""

TABLES_FOLLOW: Final = ("from", "join", ",", "describe", "summarize")
"""Words after which a table may stand, in a query that sqlglot does not understand."""

_numbers = count()
"""Functions of all queries live in one database, so each has a number of its own."""


@dataclass
class RewrittenQuery:
    """A query in DuckDB's SQL, and what it needs."""

    sql: str
    references: list[Reference] = field(default_factory=list)
    """The scans, each under a name of its own."""
    functions: dict[Get, str] = field(default_factory=dict)
    """Paths that are evaluated above the scans, and the functions that do it."""


@cached(64, "tables of queries")
def tables_of(sql: str) -> tuple[str, ...]:
    """The names in the FROM clauses of a query, except those of its common table expressions.

    >>> tables_of("with c as (select * from a) select * from c join 'lake/b' using (id)")
    ('a', 'lake/b')
    """
    query = mark_query(sql, None)
    if _parsed(query) is None:
        return query.names_after(TABLES_FOLLOW)
    return tuple(dict.fromkeys(node.name for node in _table_nodes(query)))


@cached(64, "words of queries")
def words_of(sql: str) -> frozenset[str]:
    """Every word and string of a query.

    >>> sorted(words_of("select key from query_table('a')"))
    ['(', ')', 'a', 'from', 'key', 'query_table', 'select']
    """
    return frozenset(token.text for token in tokenize(sql, DUCKDB))


def rename_tables(sql: str, names: Mapping[str, str]) -> str:
    """Gives tables of a query other names. Strings and columns of the same text stay.

    >>> rename_tables("select 'lake/b' from 'lake/b'", {"lake/b": "events"})
    "select 'lake/b' from events"
    """
    query = mark_query(sql, None)
    renamed = [node.this for node in _table_nodes(query) if node.name in names]
    for identifier in reversed(renamed):
        start, end = (query.place(identifier.meta[place]) for place in ("start", "end"))
        sql = sql[:start] + names[identifier.name] + sql[end + 1 :]
    return sql


def _table_nodes(query: MarkedQuery) -> list[exp.Table]:
    """The tables of a query in the order of the text, except those that it defines itself."""
    tree = _parsed(query)
    if tree is None:
        return []
    try:
        found = real_tables(tree, traverse_scope(tree))
    except NOT_UNDERSTOOD:
        found = list(tree.find_all(exp.Table))
    return sorted(found, key=lambda node: node.this.meta.get("start", 0))


def rewrite(
    sql: str,
    tables: Mapping[str, TableColumns],
    types: Callable[[str, str], pa.DataType],
    functions: EngineFunctions,
) -> RewrittenQuery:
    """Rewrites a query over these tables; `types` tells the type of a table's column."""
    variants = {name for columns in tables.values() for name in columns.variants | columns.nested}
    query = mark_query(sql, variants)
    return _Rewriter(query, tables, types, functions).rewritten()


def _is_loop_variable(column: exp.Column) -> bool:
    """Whether a column is the `x` of `[x:a::int for x in list]`."""
    loop = column.find_ancestor(exp.Comprehension)
    name = column.name.casefold()
    return loop is not None and not column.table and name == str(loop.args["expression"].name).casefold()


def _parsed(query: MarkedQuery) -> exp.Expr | None:
    try:
        return sqlglot.parse_one(query.copy, dialect=DUCKDB)
    except NOT_UNDERSTOOD:
        return None


class _Rewriter:
    """Collects edits of one text."""

    def __init__(
        self,
        query: MarkedQuery,
        tables: Mapping[str, TableColumns],
        types: Callable[[str, str], pa.DataType],
        functions: EngineFunctions,
    ) -> None:
        self.query, self.tables, self.types, self.engine = query, tables, types, functions
        self.edits: list[tuple[int, int, int, str]] = []
        """Start, end, order among the edits of one place, and the new text."""
        self.functions: dict[Get, str] = {}
        self.tree = _parsed(query)
        try:
            self.references = References(self.tree, tables) if self.tree is not None else None
        except NOT_UNDERSTOOD:
            self.references = None
        self.nodes: dict[int, exp.Anonymous] = {}
        for node in self.tree.find_all(exp.Anonymous) if self.tree is not None else ():
            if node.name.startswith(MARK):
                self.nodes[mark_number(node)] = node

    def rewritten(self) -> RewrittenQuery:
        done: set[int] = set()
        if self.references is not None:
            done = self._merge_rows()
        for number, mark in enumerate(self.query.marks):
            if mark.kind == "path" and number not in done:
                self._edit(mark.span, self._value(number))
                self._name_items(number)
        if self.tree is not None:
            self._name_items_of_windows()
        used = self._replace_tables()
        return RewrittenQuery(self._text(), used, self.functions)

    def _text(self) -> str:
        sql, copied = self.query.sql, 0
        pieces: list[str] = []
        for start, end, _, text in sorted(self.edits):
            pieces += [sql[copied:start], text]
            copied = max(copied, end)
        return "".join([*pieces, sql[copied:]])

    def _edit(self, span: tuple[int, int], text: str, order: int = 0) -> None:
        if (*span, order, text) not in self.edits:
            self.edits.append((*span, order, text))

    # Paths

    def _value(self, number: int) -> str:
        """The SQL of a path: a column of a scan, or a function of a whole Variant."""
        path = self.query.marks[number].path
        assert path is not None
        node, certain = self.nodes.get(number), False
        if node is not None and self.references is not None:
            scope, column = self.references.scope_of(node), next(iter(node.expressions), None)
            if scope is not None and isinstance(column, exp.Column) and not _is_loop_variable(column):
                provided = self.references.provide(scope, column, path.get)
                if provided is not None:
                    return provided
                certain = path.is_whole_cast and self.references.holds_variant(scope, column)
        if path.is_whole_cast and not certain:  # of a column that may be no Variant
            return self.query.sql[slice(*self.query.marks[number].span)]
        return self._evaluated(path.column, path.get)

    def _evaluated(self, column: str, get: Get) -> str:
        column = column.replace("`", '"')
        if get.type is not None:
            name = self.functions.setdefault(get, f"{HIDDEN}get{next(_numbers)}")
            return f"{name}({column})"
        value = column
        for step in get.path.steps:
            key = str(step + 1) if isinstance(step, int) else literal(step)
            value = f"variant_extract({value}, {key})"
        return value

    def _name_items(self, number: int) -> None:
        """Names the columns of SELECTs that a mark lies in as if nothing had been replaced."""
        mark, node = self.query.marks[number], self.nodes.get(number)
        if node is None:
            if mark.span in mark.items:
                self._edit(
                    (mark.span[1], mark.span[1]), f" AS {double_quote(self._item_name(mark, mark.span))}", 1
                )
            return
        projections = []
        around: exp.Expr | None = node
        while around is not None:
            if isinstance(around.parent, exp.Select) and around.arg_key == "expressions":
                projections.append(around)
            around = around.parent
        if len(projections) != len(mark.items):
            return
        for projection, span in zip(projections, mark.items, strict=True):
            if not isinstance(projection, exp.Alias | exp.Aliases) and not projection.is_star:
                self._edit((span[1], span[1]), f" AS {double_quote(self._item_name(mark, span))}", order=1)

    def _name_items_of_windows(self) -> None:
        """Names columns over a named window, which DuckDB names after the text of the window."""
        assert self.tree is not None
        for select in self.tree.find_all(exp.Select):
            for projection in select.expressions if select.args.get("windows") else ():
                window = next((one for one in projection.find_all(exp.Window) if one.alias), None)
                if window is None or isinstance(projection, exp.Alias | exp.Aliases):
                    continue
                span = self.query.item_around(self.query.place(window.args["alias"].meta["start"]))
                if span is not None:
                    text = " ".join(self.query.sql[slice(*span)].split())
                    self._edit((span[1], span[1]), f" AS {double_quote(text)}", 1)

    def _item_name(self, mark: Mark, span: tuple[int, int]) -> str:
        if mark.span == span and mark.path is not None and mark.path.name:
            return mark.path.name
        text = " ".join(self.query.sql[slice(*span)].split())
        return "count_star()" if text.replace(" ", "").casefold() in ("count(*)", "count()") else text

    # Tables

    def _replace_tables(self) -> list[Reference]:
        if self.references is None:
            return self._unplaced([])
        for reference in self.references.all:
            assert reference.node is not None
            identifier = reference.node.this
            start = self.query.place(identifier.meta["start"])
            end = self.query.place(identifier.meta["end"]) + 1
            named = reference.node.alias or isinstance(
                reference.node.parent, exp.Describe | exp.Summarize | exp.Copy
            )
            alias = "" if named else f" AS {double_quote(reference.alias)}"
            self._edit((start, end), f"{reference.name}{alias}")
        for select, columns in self.references.exports.values():
            place = self._place_in(select)
            end_of_list = None if place is None else self.query.end_of_select_list(place)
            assert end_of_list is not None, "a SELECT that passes a path on has a column with a place"
            self._edit((end_of_list, end_of_list), "".join(f", {column}" for column in columns), order=2)
        self._hide_from_stars()
        return [*self.references.all, *self._unplaced(self.references.all)]

    def _unplaced(self, placed: list[Reference]) -> list[Reference]:
        """The tables that the query also names where no FROM clause was found, as in `query_table('t')`."""
        found = Counter(reference.table for reference in placed)
        written = self.query.words()
        more = [name for name in self.tables if written[name] > found[name]]
        return [Reference(len(placed) + number, None, name, name) for number, name in enumerate(more)]

    def _place_in(self, select: exp.Expr) -> int | None:
        """A place in the text inside the columns of a SELECT."""
        for projection in select.expressions:
            for node in projection.walk():
                if "start" in node.meta:
                    return self.query.place(node.meta["start"])
        return None

    def _hide_from_stars(self) -> None:
        assert self.references is not None
        assert self.tree is not None
        for select in self.tree.find_all(exp.Select):
            exposed = self.references.exposed.get(id(select), {})
            for projection in select.expressions if exposed else ():
                if not projection.is_star or not isinstance(projection, exp.Star | exp.Column):
                    continue
                star = projection.this if isinstance(projection, exp.Column) else projection
                table = projection.table.casefold() if isinstance(projection, exp.Column) else ""
                names = [name for alias, hidden in exposed.items() if table in ("", alias.casefold())
                         for name in hidden]  # fmt: skip
                if names:
                    place = self.query.place(star.meta["end"]) + 1
                    self._edit((place, place), f" EXCLUDE ({', '.join(names)})")

    # Aggregates

    def _merge_rows(self) -> set[int]:
        """Lets scans merge equal rows where the query only aggregates. Returns the marks that are done."""
        assert self.references is not None
        assert self.tree is not None
        done: set[int] = set()
        for select in self.tree.find_all(exp.Select):
            scope = self.references.scope_of(select)
            if scope is None:
                continue
            reference = merging_reference(select, scope, self.references, self.query, self.engine)
            if reference is None:
                continue
            reference.weight = self.references.new_name()
            for number, node in self.nodes.items():
                kind = self.query.marks[number].kind
                if kind == "path" or node.find_ancestor(exp.Select) is not select:
                    continue
                if kind in TIME_PARTS:
                    done |= self._compute(reference, number, node)
                else:
                    done |= self._weigh(reference, number, node)
        return done

    def _weigh(self, reference: Reference, number: int, node: exp.Anonymous) -> set[int]:
        """Replaces one aggregate. Returns the marks inside of it."""
        mark = self.query.marks[number]
        argument = next(iter(node.expressions), None)
        alias = double_quote(reference.alias)
        weight = f"{alias}.{reference.weight}"
        if argument is None or isinstance(argument, exp.Star):
            self._edit(mark.span, f"CAST(coalesce(sum({weight}), 0) AS BIGINT)")
            self._name_items(number)
            return set()
        inner = mark_number(argument) if isinstance(argument, exp.Anonymous) else None
        if mark.kind == "count":
            if inner is not None:
                value = self._value(inner)
            else:
                value = self.query.sql[mark.span[0] : mark.span[1]].partition("(")[2].rpartition(")")[0]
            self._edit(
                mark.span, f"CAST(coalesce(sum({weight}) FILTER (WHERE {value} IS NOT NULL), 0) AS BIGINT)"
            )
            self._name_items(number)
            return set() if inner is None else {inner}
        what = self._extreme_of(reference, argument, inner)
        if what is None:
            return set()
        key = cast(Extreme, mark.kind), what
        name = reference.extremes.get(key)
        if name is None:
            name = reference.extremes[key] = self.references.new_name()  # type: ignore[union-attr]
        self._edit(mark.span, f"{mark.kind}({alias}.{name})")
        self._name_items(number)
        return set() if inner is None else {inner}

    def _compute(self, reference: Reference, number: int, node: exp.Anonymous) -> set[int]:
        """Lets the scan compute a part of a moment. Returns the marks inside of it."""
        mark = self.query.marks[number]
        if node.find_ancestor(exp.Where) is not None:
            return set()  # DuckDB pushes conditions on paths into the scan, but none on this column
        [inner] = [
            mark_number(one)
            for one in node.find_all(exp.Anonymous)
            if one is not node and one.name.startswith(MARK)
        ]
        what = self._column_of(reference, self.nodes[inner], inner)
        if not isinstance(what, Get) or what.type != BIGINT:
            return set()
        key = cast(TimePart, mark.kind), what
        if key not in reference.time_parts:
            reference.time_parts[key] = self.references.new_name()  # type: ignore[union-attr]
        self._edit(mark.span, f"{double_quote(reference.alias)}.{reference.time_parts[key]}")
        self._name_items(number)
        return {inner}

    def _extreme_of(self, reference: Reference, argument: exp.Expr, inner: int | None) -> Get | str | None:
        """The path or column whose minimum or maximum a scan can compute."""
        what = self._column_of(reference, argument, inner)
        if isinstance(what, Get):
            return what if what.type is not None and has_exact_extremes(what.type.arrow) else None
        if what is None or not has_exact_extremes(self.types(reference.table, what)):
            return None
        return what

    def _column_of(self, reference: Reference, argument: exp.Expr, inner: int | None) -> Get | str | None:
        """The column of a table, or the path with the mark `inner`, that an argument is; None if neither."""
        columns = self.tables[reference.table]
        column = argument.expressions[0] if inner is not None else argument
        if not isinstance(column, exp.Column) or column.table.casefold() not in (
            "",
            reference.alias.casefold(),
        ):
            return None
        name = columns.by_key.get(column.name.casefold())
        if name is None:
            return None
        if inner is None:
            return name
        path = self.query.marks[inner].path
        assert path is not None
        return replace(path.get, column=join_name((name,))) if name in columns.variants else None
