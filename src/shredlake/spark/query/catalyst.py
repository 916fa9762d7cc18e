"""Reads Spark's plan of a query: for each table, the columns that the query needs and the filters on them.

Plans are traversed node by node in the JVM. Expressions arrive as JSON, as trees in prefix order with the
number of children at each node. `filters.py` translates the filters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from shredlake.delta.schema.types import SQL_NAMES
from shredlake.errors import ShredlakeError
from shredlake.expr import Get
from shredlake.expr.types import DataType, parse_type
from shredlake.spark.settings import session_constant
from shredlake.variant.path import Path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Json = dict[str, Any]

MARK: Final = "__shredlake_table"
"""The metadata key of columns that tells the tables of a query apart."""

CLOCK: Final = (
    "CurrentTimestamp", "Now", "CurrentDate", "LocalTimestamp", "CurrentTime", "CurrentDatabase",
    "CurrentCatalog", "CurrentUser", "CurrentTimeZone",
)  # fmt: skip
"""Expressions that the optimiser replaces by their value at planning time, although a frame may run later."""

LEAF: Final = "LogicalRDD"
"""The class of the stubs that stand in for tables."""

COUNTED: Final = ("date", "timestamp", "timestamp_ntz")
"""Types whose constants are counts of days or microseconds.

JSON holds these constants as text, which is ambiguous: it may follow an older calendar, and the time zone of
Java or of the session.
"""

WITH_ONE_CHILD: Final = frozenset({
    "Aggregate", "Distinct", "Filter", "GlobalLimit", "LocalLimit", "Project", "Sort", "SubqueryAlias",
    "View", "Window",
})  # fmt: skip
WITHOUT_EXPRESSIONS: Final = frozenset({
    "Distinct", "GlobalLimit", "LocalLimit", LEAF, "SubqueryAlias", "View",
})  # fmt: skip
"""Plans known to have one child, or no expressions, which saves a call. Limits are constants."""


@dataclass(frozen=True)
class Node:
    """An expression: the name of its class without the package, its fields and its children."""

    name: str
    fields: Json
    children: tuple[Node, ...] = ()


def parse_tree(flat: Sequence[Json]) -> Node:
    """Builds a tree from its nodes in prefix order.

    >>> tree = parse_tree([{"class": "x.And", "num-children": 2}, {"class": "x.A", "num-children": 0},
    ...                    {"class": "x.B", "num-children": 0}])
    >>> tree.name, [child.name for child in tree.children]
    ('And', ['A', 'B'])
    """
    rest = iter(flat)

    def build() -> Node:
        fields = next(rest)
        children = tuple(build() for _ in range(fields["num-children"]))
        return Node(fields["class"].rpartition(".")[2], fields, children)

    return build()


class Plan:
    """A node of a logical plan in the JVM, read with few calls, because each takes a tenth of a millisecond.

    The plan's own JSON omits lists of lists and the plans of subqueries. It would not be faster either,
    because an answer of more than 8 kB waits 40 ms for a network acknowledgement.
    """

    def __init__(self, plan: Any, array: Any) -> None:
        """`array` is the class of Spark's `CreateArray`, which combines many expressions into one tree."""
        self._plan, self._array = plan, array
        self.name: str = plan.nodeName()

    @classmethod
    def of(cls, spark: SparkSession, plan: Any) -> Plan:
        """The root of a plan."""
        return cls(plan, session_constant(spark, "CreateArray", lambda: _array_class(spark._jvm)))

    @cached_property
    def output(self) -> tuple[Node, ...]:
        return self._trees(self._plan.output())

    @cached_property
    def expressions(self) -> tuple[Node, ...]:
        return () if self.name in WITHOUT_EXPRESSIONS else self._trees(self._plan.expressions())

    @cached_property
    def children(self) -> tuple[Plan, ...]:
        if self.name == LEAF:
            return ()
        if self.name in WITH_ONE_CHILD:
            return (Plan(self._plan.child(), self._array),)
        return tuple(Plan(child, self._array) for child in items(self._plan.children()))

    @cached_property
    def subqueries(self) -> tuple[Plan, ...]:
        """The plans inside this node's expressions."""
        if not any(_holds_plan(tree) for tree in self.expressions):
            return ()
        return tuple(Plan(inner, self._array) for inner in items(self._plan.subqueries()))

    def table(self) -> tuple[str, dict[int, str]]:
        """For a stub, the table name in its columns' metadata, and the columns' names by identity."""
        fields = json.loads(self._plan.schema().json())["fields"]
        if not fields or MARK not in fields[0]["metadata"]:
            return "", {}
        names = {}
        rest = self._plan.output().mkString(",")
        for item in fields:  # `id#7L,v#8`: the same in JSON would be ten times as long
            found = re.match(r"#(\d+)\w*(,|$)", rest.removeprefix(item["name"]))
            if found is None:
                return fields[0]["metadata"][MARK], {identity(one): one.fields["name"] for one in self.output}
            names[int(found[1])] = item["name"]
            rest = rest[len(item["name"]) + found.end() :]
        return fields[0]["metadata"][MARK], names

    def walk(self) -> Iterator[Plan]:
        yield self
        for child in (*self.children, *self.subqueries):
            yield from child.walk()

    def holds(self, *names: str) -> bool:
        """Whether an expression with one of these names occurs anywhere in the plan."""
        return any(_holds(tree, name) for node in self.walk() for tree in node.expressions for name in names)

    def views(self) -> dict[str, TemporaryView]:
        """The temporary views that the query uses, inner views first."""
        found: dict[str, TemporaryView] = {}
        for child in (*self.children, *self.subqueries):
            found.update(child.views())
        if self.name == "View":
            view = self._plan.desc()
            text = view.viewText()
            if self._plan.isTempView() and not view.identifier().database().isDefined():
                columns = list(view.schema().fieldNames())
                found[view.identifier().table()] = TemporaryView(
                    columns, text.get() if text.isDefined() else None, settings_of_view(view)
                )
        return found

    # For limits, sorts and projections:

    def limit(self) -> int | None:
        """The number of rows, or None if the limit is not a constant number."""
        text = str(self._plan.limitExpr().toString())
        return int(text) if text.isdecimal() else None

    def is_global(self) -> bool:
        """Whether the node sorts all rows, rather than the rows within each partition."""
        return bool(getattr(self._plan, "global")())

    def named(self) -> Iterator[Any]:
        """The columns of a projection, as JVM objects."""
        return items(self._plan.projectList())

    # For aggregates:

    def groupings(self) -> tuple[Node, ...]:
        """The grouping expressions."""
        return self.expressions[: self._plan.groupingExpressions().size()]

    def results(self) -> tuple[Node, ...]:
        """The result columns."""
        return self.expressions[self._plan.groupingExpressions().size() :]

    def aggregates(self) -> Iterator[Any]:
        """The result columns, as JVM objects."""
        return items(self._plan.aggregateExpressions())

    def has_try_sum(self) -> bool:
        """Whether a sum is null on overflow, which the JSON of expressions does not show."""
        sums = any(_holds(tree, "Sum") for tree in self.expressions)
        return sums and "try_sum(" in self._plan.aggregateExpressions().mkString(" ")

    def with_children(self, children: Any) -> Any:
        """A copy of the JVM node with other children."""
        return self._plan.withNewChildren(children)

    def _trees(self, found: Any) -> tuple[Node, ...]:
        trees = parse_tree(json.loads(self._array(found, False).toJSON())).children
        return tuple(
            _with_counts(tree, found.apply(number)) if _has_counts(tree) else tree
            for number, tree in enumerate(trees)
        )


@dataclass(frozen=True)
class TemporaryView:
    """A temporary view that a query uses."""

    columns: list[str]
    text: str | None
    """Its SQL; None if it shows a DataFrame."""
    settings: Any
    """The settings under which Spark analyses the SQL."""


def settings_of_view(view: Any) -> Any:
    """The settings that Spark keeps with a view, those under which it was created, as a map of the JVM."""
    return view.viewSQLConfigs()


def _has_counts(tree: Node) -> bool:
    is_count = tree.name == "Literal" and tree.fields["dataType"] in COUNTED
    return is_count or any(map(_has_counts, tree.children))


def _with_counts(tree: Node, expression: Any) -> Node:
    """The tree with the JVM's value added as the field `count` of each constant that is a count."""
    if not _has_counts(tree):
        return tree
    if tree.name == "Literal":
        return replace(tree, fields={**tree.fields, "count": expression.value()})
    below = zip(tree.children, items(expression.children()), strict=True)
    return replace(tree, children=tuple(_with_counts(child, one) for child, one in below))


def inline_ctes(spark: SparkSession, analysed: Any) -> Any:
    """Inlines the common table expressions of an analysed plan, which is also the optimiser's first step."""
    rule = session_constant(spark, "InlineCTE", lambda: _inlining_rule(spark._jvm))
    return analysed if rule is None else rule.apply(analysed)


def _inlining_rule(jvm: Any) -> Any:
    """The rule, or None if this Spark has another: fewer optimisations apply, but the result is the same.

    To look up a class takes a round trip to the JVM for each part of its name.
    """
    from py4j.protocol import Py4JError

    for flags in (3, 2):  # the number of flags depends on Spark's version; all are off by default
        try:
            return jvm.org.apache.spark.sql.catalyst.optimizer.InlineCTE(*[False] * flags)
        except (Py4JError, TypeError):
            continue
    return None


def _array_class(jvm: Any) -> Any:
    return jvm.org.apache.spark.sql.catalyst.expressions.CreateArray


def items(found: Any) -> Iterator[Any]:
    return (found.apply(index) for index in range(found.size()))


def _is_subquery(tree: Node) -> bool:
    return tree.name.endswith(("Subquery", "Exists", "ListQuery", "SubqueryArgumentExpression"))


def _holds_plan(tree: Node) -> bool:
    return _is_subquery(tree) or any(map(_holds_plan, tree.children))


def _holds(tree: Node, name: str) -> bool:
    return tree.name == name or any(_holds(child, name) for child in tree.children)


# ── tables ──────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Relation:
    """One occurrence of a table in a query."""

    table: str
    """The table's name in the query."""
    filters: list[Node] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    """Columns that the query needs."""
    taken: dict[str, set[tuple[Path, DataType]]] = field(default_factory=dict)
    """Per Variant column, the paths that are read individually, with their types."""
    whole: set[str] = field(default_factory=set)
    """Columns that are used or passed on as a whole. All their paths count as read."""
    names: dict[int, str] = field(default_factory=dict)
    """The names of the relation's columns, by the identity that the optimiser gives each."""
    exact: bool = False
    """Whether an aggregate or a sort reads exactly the rows that pass the filters, with nothing between."""

    def takes(self, column: str, get: Get) -> bool:
        """Whether the query may read a path of a Variant column."""
        return column in self.whole or (get.path, get.type) in self.taken.get(column, ())


BY_IDENTITY: Final = frozenset({
    "Aggregate", "Expand", "Filter", "Generate", "GlobalLimit", "Join", "LocalLimit", "Offset", "Project",
    "RebalancePartitions", "Repartition", "RepartitionByExpression", "Sample", "Sort", "SubqueryAlias",
    "Window", "WindowGroupLimit",
})  # fmt: skip
"""Plans that refer to their children's columns by identity. Others, such as unions, may use positions."""


def relations(plan: Plan) -> list[Relation]:
    """The tables of an optimised plan, with their filters and the columns and paths that the query reads."""
    found: list[Relation] = []
    _visit(plan, [], False, found)
    by_id = {number: relation for relation in found for number in relation.names}
    for node in plan.walk():
        for tree in node.expressions:
            _mark(tree, by_id)
        by_position = node.subqueries if node.name in BY_IDENTITY else (*node.subqueries, *node.children)
        for child in by_position:
            _mark_output(child, by_id)
    _mark_output(plan, by_id)
    return found


def _visit(node: Plan, filters: list[Node], exact: bool, found: list[Relation]) -> None:
    if node.name == LEAF:
        table, names = node.table()
        found.append(Relation(table, filters, names=names, exact=exact))
        return
    if node.name == "Filter":
        filters = [*filters, *node.expressions]
    elif node.name not in ("Project", "SubqueryAlias"):
        filters = []  # filters above a join or an aggregate need not hold for single rows below it
        exact = node.name in ("Aggregate", "Sort")
    for child in node.children:
        _visit(child, filters, exact, found)
    for subquery in node.subqueries:
        _visit(subquery, [], False, found)


def _mark_output(plan: Plan, by_id: Mapping[int, Relation]) -> None:
    """Marks all output columns of a plan. Projections and aggregates are marked through their expressions."""
    while plan.name in ("GlobalLimit", "LocalLimit", "Sort"):
        [plan] = plan.children
    if plan.name not in ("Aggregate", "Project"):
        for attribute in plan.output:
            _mark(attribute, by_id)


def _mark(tree: Node, by_id: Mapping[int, Relation], above: tuple[Node, ...] = ()) -> None:
    if tree.name == "AttributeReference" and (relation := by_id.get(identity(tree))) is not None:
        name = relation.names[identity(tree)]
        relation.used.add(name)
        path = path_of(above)
        if path is not None:
            relation.taken.setdefault(name, set()).add(path)
        elif not above or above[-1].name not in ("IsNotNull", "IsNull"):
            relation.whole.add(name)
    for child in tree.children:
        _mark(child, by_id, (*above, tree))


def path_of(above: Sequence[Node]) -> tuple[Path, DataType] | None:
    """The path that these expressions read from the Variant below them, and its type.

    Recognises `variant_get(v, 'path', 'type')` and casts of `v:path`. Returns None for anything else.
    """
    if not above or above[-1].name != "VariantGet":
        return None
    getter = above[-1]
    kind = getter.fields.get("targetType")
    if kind == "variant" and len(above) > 1 and above[-2].name == "Cast":
        kind = above[-2].fields.get("dataType")
    path = getter.children[1]
    if not isinstance(kind, str) or kind == "variant" or path.name != "Literal":
        return None
    name = SQL_NAMES.get(kind, kind)
    try:
        found = Path.parse_spark(str(path.fields["value"])), parse_type(name)
    except ShredlakeError:
        return None
    return found if found[1].name == name else None  # otherwise a collation, or another time precision


def identity(attribute: Node) -> int:
    """The number that identifies an attribute within one JVM."""
    return int(attribute.fields["exprId"]["id"])


# ── Variants as a whole ─────────────────────────────────────────────────────────────────────────────────


PRESENCE: Final = ("Count", "IsNotNull", "IsNull")
"""Expressions that ask only whether their argument is NULL."""


def takes_variants_whole(plan: Plan) -> bool:
    """Whether an analysed query uses a Variant other than by passing it on, reading typed paths from it, or
    asking whether it is NULL."""
    return any(_takes_whole(tree) for node in plan.walk() for tree in node.expressions)


def _takes_whole(tree: Node) -> bool:
    if is_variant_column(tree):
        return False
    passes = tree.name in ("Alias", "VariantGet", *PRESENCE) or _is_subquery(tree)
    return any(_takes_whole(child) or (is_variant_column(child) and not passes) for child in tree.children)


def asks_for_presence(plan: Plan) -> bool:
    """Whether an analysed query asks if a Variant, or a value in it, is NULL."""
    return any(_asks_for_presence(tree) for node in plan.walk() for tree in node.expressions)


def _asks_for_presence(tree: Node) -> bool:
    asks = tree.name in PRESENCE and any(_is_variant(child) for child in tree.children)
    return asks or any(map(_asks_for_presence, tree.children))


def _is_variant(tree: Node) -> bool:
    return is_variant_column(tree) or (
        tree.name == "VariantGet" and tree.fields.get("targetType") == "variant"
    )


def names_paths(plan: Plan) -> bool:
    """Whether an analysed query creates structs with fields named after paths, as `struct(v:a::int)` does."""
    return any(_names_path(tree) for node in plan.walk() for tree in node.expressions)


def _names_path(tree: Node) -> bool:
    if tree.name == "CreateNamedStruct":
        names, values = tree.children[::2], tree.children[1::2]
        if any("variant_get(" in str(name.fields.get("value")) for name in names):
            return True
        if any(value.name in ("Cast", "VariantGet") and _holds(value, "VariantGet") for value in values):
            return True
    return any(map(_names_path, tree.children))


def is_variant_column(tree: Node) -> bool:
    if tree.name == "Cast" and tree.fields.get("dataType") == "variant":
        return is_variant_column(tree.children[0])  # views cast all their columns to their own types
    if tree.name == "OuterReference":
        [inner] = tree.fields["e"] if isinstance(tree.fields.get("e"), list) else [{}]
        return bool(inner.get("dataType", "variant") == "variant")
    return tree.name == "AttributeReference" and tree.fields.get("dataType") == "variant"
