"""Finds out which table in the FROM clauses of a query provides a path.

A path of a column that subqueries and common table expressions only pass on is read at the table as well;
each of them gets one more column:

```
with e as (select *, …  from events where …) select e.h from e        h: v:kind::string, of events
```

A `UNION ALL` passes a path on from each of its SELECTs.

If it is unclear which table has a path, the path is evaluated above the scan, on whole Variants.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, ScopeType, traverse_scope

from shredlake.expr.ast import Get, join_name
from shredlake.parquet.read.statistics import Extreme
from shredlake.sql.text import MARK, TimePart
from shredlake.variant.identifiers import double_quote

HIDDEN = "__sl_"
"""The prefix of columns that exist only in the rewritten query."""


@dataclass(eq=False)
class Reference:
    """A table in a FROM clause. Each has a scan of its own."""

    number: int
    node: exp.Table | None
    """Its place in the query; None if the query was not understood, so that it keeps its own name."""
    table: str
    """The name or path of the table."""
    alias: str
    paths: dict[Get, str] = field(default_factory=dict)
    """The columns that the scan provides in addition to those of the table."""
    extremes: dict[tuple[Extreme, Get | str], str] = field(default_factory=dict)
    """The columns with minima and maxima of groups of equal rows: `("min", what)`."""
    time_parts: dict[tuple[TimePart, Get], str] = field(default_factory=dict)
    """The columns with a part of the moment that a path has in microseconds: `("hour", what)`."""
    weight: str | None = None
    """The column that tells how many rows a row stands for, if the scan may merge equal rows."""

    @property
    def name(self) -> str:
        """The name of the scan in the rewritten query."""
        return self.table if self.node is None else f"{HIDDEN}table{self.number}"


@dataclass(frozen=True)
class TableColumns:
    """The names of a table's columns, and which of them are Variants."""

    names: tuple[str, ...]
    variants: frozenset[str] = frozenset()
    nested: frozenset[str] = frozenset()
    """The names of Variants in structs, each behind a dot."""

    @cached_property
    def by_key(self) -> Mapping[str, str]:
        return {name.casefold(): name for name in self.names}


class References:
    """The tables that a parsed query reads."""

    def __init__(self, tree: exp.Expr, tables: Mapping[str, TableColumns]) -> None:
        self._tables = tables
        _name_subqueries(tree)
        self._scopes = {id(scope.expression): scope for scope in traverse_scope(tree)}
        self._recursive = any(node.recursive for node in tree.find_all(exp.With))
        self._references: dict[int, Reference] = {}
        self._hidden = 0
        self.exports: dict[int, tuple[exp.Expr, list[str]]] = {}
        """The columns that SELECTs get in addition, by the identity of the SELECT."""
        self._exported: dict[tuple[int, str, Get], str] = {}
        self.exposed: dict[int, dict[str, list[str]]] = {}
        """The additional columns of a SELECT's sources, by the alias of the source: `*` must omit them."""
        for node in real_tables(tree, self._scopes.values()):
            if node.name in tables:
                alias = node.alias or _stem(node.name)
                self._references[id(node)] = Reference(len(self._references), node, node.name, alias)

    @property
    def all(self) -> list[Reference]:
        return list(self._references.values())

    def scope_of(self, node: exp.Expr) -> Scope | None:
        """The scope of the innermost SELECT around a node."""
        select = node if isinstance(node, exp.Select) else node.find_ancestor(exp.Select)
        return None if select is None else self._scopes.get(id(select))

    def reference(self, source: object) -> Reference | None:
        return self._references.get(id(source))

    def columns(self, reference: Reference) -> TableColumns:
        return self._tables[reference.table]

    def new_name(self) -> str:
        """A name for a column of the rewritten query that no column of the tables has."""
        while True:
            self._hidden += 1
            name = f"{HIDDEN}{self._hidden}"
            if not any(name in columns.by_key for columns in self._tables.values()):
                return name

    def provide(self, scope: Scope, column: exp.Column, get: Get) -> str | None:
        """The SQL of a path's value in a scope, read by a scan; None if that is in doubt."""
        return self._provided(scope, column, get) if self._is_readable(scope, column) else None

    def owner(self, scope: Scope, column: exp.Column) -> tuple[Scope, str, exp.Table | Scope] | None:
        """The scope and the source there that a column comes from, and the source's alias."""
        key, qualifier = column.name.casefold(), column.table.casefold()
        if column.db:
            return None
        around: Scope | None = scope
        while around is not None:
            sources = sources_of(around)
            if qualifier:
                found = [name for name in sources if name.casefold() == qualifier]
            else:
                having = {name: self._has(source, key) for name, source in sources.items()}
                if None in having.values():
                    return None
                found = [name for name, has in having.items() if has]
            if len(found) > 1:
                return None
            if found:
                return around, found[0], sources[found[0]]
            around = around.parent if around.scope_type in (ScopeType.SUBQUERY, ScopeType.UDTF) else None
        return None

    def _has(self, source: exp.Table | Scope, key: str) -> bool | None:
        """Whether a source has a column of this name; None if that is unknown."""
        if isinstance(source, exp.Table):
            reference = self.reference(source)
            if reference is None or _column_list(source):
                return None
            return key in self.columns(reference).by_key
        if source.scope_type == ScopeType.UDTF:
            names = _column_list(source.expression)
            return None if not names else key in names
        expression = source.expression
        if _column_list(expression.parent):
            return None
        while isinstance(expression, exp.SetOperation):
            expression = expression.this.unnest()
        inner = self._scopes.get(id(expression))
        if not isinstance(expression, exp.Select) or inner is None:
            return None
        if any(projection.alias_or_name.casefold() == key for projection in expression.expressions):
            return True
        stars = [projection for projection in expression.expressions if projection.is_star]
        if any(any(_star(star).args.values()) for star in stars):
            return None
        found = [self._has(one, key) for star in stars for one in _behind(star, inner)]
        return True if True in found else None if None in found else False

    def _is_readable(self, scope: Scope, column: exp.Column) -> bool:
        """Whether a column is a Variant of tables that scans read."""
        owner = self.owner(scope, column)
        if owner is None or self.is_closed(owner[0], owner[1]):
            return False
        _, _, source = owner
        key = column.name.casefold()
        if isinstance(source, exp.Table):
            reference = self.reference(source)
            if reference is None or _column_list(source):
                return False
            columns = self.columns(reference)
            return columns.by_key.get(key) in columns.variants
        branches = self._branches(source, key)
        return bool(branches) and all(self._is_readable(*branch) for branch in branches)

    def holds_variant(self, scope: Scope, column: exp.Column) -> bool:
        """Whether a column certainly is a Variant, also behind DISTINCT and the like."""
        owner = self.owner(scope, column)
        if owner is None:
            return False
        source, key = owner[2], column.name.casefold()
        if isinstance(source, exp.Table):
            reference = self.reference(source)
            known = None if reference is None or _column_list(source) else self.columns(reference)
            return known is not None and known.by_key.get(key) in known.variants
        select = source.expression
        inner = self._scopes.get(id(select))
        if not isinstance(select, exp.Select) or inner is None or _column_list(select.parent):
            return False
        passed = self._passed_on(select, inner, key)
        return passed is not None and self.holds_variant(inner, passed)

    def _provided(self, scope: Scope, column: exp.Column, get: Get) -> str:
        """The SQL of a path into a column that is readable."""
        owner = self.owner(scope, column)
        assert owner is not None
        scope, alias, source = owner
        key = column.name.casefold()
        if isinstance(source, exp.Table):
            reference = self.reference(source)
            assert reference is not None
            read = replace(get, column=join_name((self.columns(reference).by_key[key],)))
            name = reference.paths.get(read)
            if name is None:
                name = reference.paths[read] = self.new_name()
            alias = reference.alias
        else:
            name = self._export(source, key, get)
        hidden = self.exposed.setdefault(id(scope.expression), {}).setdefault(alias, [])
        if name not in hidden:
            hidden.append(name)
        return name if alias.startswith(HIDDEN) else f"{double_quote(alias)}.{name}"

    def _export(self, source: Scope, key: str, get: Get) -> str:
        """The name of the column with which a subquery passes a path on."""
        known = self._exported.get((id(source.expression), key, get))
        if known is not None:
            return known
        name = self.new_name()
        for branch, column in self._branches(source, key):
            text = self._provided(branch, column, get)
            exports = self.exports.setdefault(id(branch.expression), (branch.expression, []))
            exports[1].append(f"{text} AS {name}")
        self._exported[id(source.expression), key, get] = name
        return name

    def _branches(self, source: Scope, key: str) -> list[tuple[Scope, exp.Column]]:
        """The SELECTs of a subquery, and the columns that they pass on; empty if that is in doubt.

        There are several if it is a `UNION ALL`, whose columns belong together by their places or names.
        """
        query = source.expression
        selects = _selects(query)
        if selects is None or self._recursive or _column_list(query.parent):
            return []
        place: int | None = None
        if isinstance(query, exp.SetOperation) and not query.args.get("by_name"):
            names = self._names(selects[0])
            if names is None or names.count(key) != 1:
                return []
            place = names.index(key)
        found = []
        for select in selects:
            scope = self._scopes.get(id(select))
            if scope is None or any(select.args.get(part) for part in ("distinct", "group", "having")):
                return []
            if any(_may_aggregate(node) for node in own_nodes(select)):
                return []
            names = [key] if place is None else self._names(select)
            name = names[place or 0] if names is not None and len(names) > (place or 0) else None
            column = None if name is None else self._passed_on(select, scope, name)
            if column is None:
                return []
            found.append((scope, column))
        return found

    def _names(self, select: exp.Select) -> list[str] | None:
        """The names of the columns of a SELECT, in order; None if they are in doubt."""
        scope = self._scopes.get(id(select))
        found: list[str] = []
        for projection in select.expressions:
            if not projection.is_star:
                found.append(projection.alias_or_name.casefold())
                continue
            behind = [] if scope is None else _behind(projection, scope)
            if len(behind) != 1 or any(_star(projection).args.values()):
                return None
            [source] = behind
            names = self._names_of(source)
            if names is None:
                return None
            found += names
        return found

    def _names_of(self, source: exp.Table | Scope) -> list[str] | None:
        if isinstance(source, exp.Table):
            reference = self.reference(source)
            unknown = reference is None or _column_list(source)
            return None if unknown else list(self.columns(reference).by_key)  # type: ignore[arg-type]
        selects = None if _column_list(source.expression.parent) else _selects(source.expression)
        return None if selects is None else self._names(selects[0])

    def _passed_on(self, select: exp.Select, scope: Scope, key: str) -> exp.Column | None:
        """The column that a SELECT passes on under a name."""
        named = [one for one in select.expressions if one.alias_or_name.casefold() == key and not one.is_star]
        if len(named) == 1:
            column = named[0].unalias()
            return column if isinstance(column, exp.Column) else None
        if named:
            return None
        stars = [one for one in select.expressions if one.is_star]
        holders = [
            star for star in stars if any(self._has(source, key) is True for source in _behind(star, scope))
        ]
        if len(holders) != 1 or any(_star(holders[0]).args.values()):
            return None
        table = holders[0].table if isinstance(holders[0], exp.Column) else ""
        return exp.column(key, table=table or None)

    def is_closed(self, scope: Scope, alias: str) -> bool:
        """Whether additional columns of a source can't be hidden from the query."""
        select = scope.expression
        if not isinstance(select, exp.Select):
            return True
        for node in own_nodes(select):
            if isinstance(node, exp.Columns | exp.Pivot):
                return True
            if (
                isinstance(node, exp.Star)
                and not isinstance(node.parent, exp.Count | exp.Anonymous)
                and (not node.meta.get("start") or any(node.args.values()))
            ):
                return True
            if isinstance(node, exp.Join) and str(node.args.get("method") or "").upper() == "NATURAL":
                return True
            if isinstance(node, exp.Column) and not node.table and node.name.casefold() == alias.casefold():
                return True  # the whole row as a struct
        return False


def sources_of(scope: Scope) -> dict[str, exp.Table | Scope]:
    """The tables and subqueries in the FROM clause of a scope, by their aliases."""
    found = {name: source for name, (_, source) in scope.selected_sources.items()}
    for join in scope.expression.args.get("joins") or ():  # sqlglot leaves out semi and anti joins
        if isinstance(join.this, exp.Table) and join.this.alias_or_name not in found:
            name = join.this.alias_or_name
            found[name] = scope.sources.get(name, join.this)
    return found


def _selects(query: exp.Expr) -> list[exp.Select] | None:
    """The SELECTs of a query: one, or those of a `UNION ALL`. None for other queries."""
    query = query.unnest()
    if isinstance(query, exp.Select):
        return [query]
    if not isinstance(query, exp.Union) or query.args.get("distinct"):
        return None
    left, right = _selects(query.this), _selects(query.expression)
    return None if left is None or right is None else left + right


def _name_subqueries(tree: exp.Expr) -> None:
    """Gives subqueries in FROM clauses that have no name one of their own, in the tree alone."""
    for number, node in enumerate(tree.find_all(exp.Subquery)):
        if isinstance(node.parent, exp.From | exp.Join) and not node.alias:
            node.set("alias", exp.TableAlias(this=exp.to_identifier(f"{HIDDEN}subquery{number}")))


def real_tables(tree: exp.Expr, scopes: Iterable[Scope]) -> list[exp.Table]:
    """The tables in all FROM clauses that are not references to common table expressions."""
    sources = [source for scope in scopes for source in scope.selected_sources.values()]
    passed = {id(node) for node, source in sources if isinstance(source, Scope)}
    real = {id(source) for _, source in sources if isinstance(source, exp.Table)}
    names = {cte.alias.casefold() for cte in tree.find_all(exp.CTE)}
    return [
        node
        for node in tree.find_all(exp.Table)
        if isinstance(node.this, exp.Identifier) and not node.db and id(node) not in passed
        and (id(node) in real or node.name.casefold() not in names)
    ]  # fmt: skip


def own_nodes(select: exp.Select) -> Iterator[exp.Expr]:
    """The nodes of a SELECT without those of SELECTs inside of it."""
    pending: list[exp.Expr] = [select]
    while pending:
        node = pending.pop()
        yield node
        pending += [child for child in node.iter_expressions() if not isinstance(child, exp.Query)]


def literal(text: str) -> str:
    """A text constant in DuckDB's SQL.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def _may_aggregate(node: exp.Expr) -> bool:
    """Whether a node may be an aggregate function, so that its SELECT has one row for many."""
    return isinstance(node, exp.AggFunc) or (
        isinstance(node, exp.Anonymous) and not node.name.startswith(MARK)
    )


def _stem(name: str) -> str:
    """The name of a table that is read by its path.

    >>> _stem("lake/events"), _stem("s3://bucket/day.parquet"), _stem("events")
    ('events', 'day', 'events')
    """
    return name.rstrip("/").rsplit("/", 1)[-1].partition(".")[0] or name


def _star(projection: exp.Expr) -> exp.Expr:
    return projection.this if isinstance(projection, exp.Column) else projection


def _behind(star: exp.Expr, scope: Scope) -> list[exp.Table | Scope]:
    """The sources that a `*` or `e.*` stands for."""
    sources = sources_of(scope)
    if isinstance(star, exp.Column) and star.table:
        return [source for name, source in sources.items() if name.casefold() == star.table.casefold()]
    return list(sources.values())


def _column_list(node: exp.Expr | None) -> list[str]:
    """The names of `AS e(a, b)`."""
    alias = node.args.get("alias") if node is not None else None
    columns = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
    return [column.name.casefold() for column in columns or []]
