"""What Spark knows of a query: for each table, the columns it needs and the filters over them.

Plans are walked node by node in the JVM; expressions come as JSON, their trees written in prefix order with
the number of children at each node. What filters mean is read in `filters.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from shredlake.errors import ShredlakeError
from shredlake.expr import Get
from shredlake.expr.types import DataType, parse_type
from shredlake.spark.settings import session_constant
from shredlake.variant.path import Path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Json = dict[str, Any]

MARK: Final = "__shredlake_table"
"""What columns carry as metadata, to tell the tables of a query apart."""

CLOCK: Final = (
    "CurrentTimestamp", "Now", "CurrentDate", "LocalTimestamp", "CurrentTime", "CurrentDatabase",
    "CurrentCatalog", "CurrentUser", "CurrentTimeZone",
)  # fmt: skip
"""What the optimiser turns into constants: those of the moment of planning, and a frame may run later."""

LEAF: Final = "LogicalRDD"
"""The class of the stubs that stand in for tables."""

SQL_NAMES: Final = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
"""Names of types in SQL, where Spark's JSON has others."""

COUNTED: Final = ("date", "timestamp", "timestamp_ntz")
"""Types whose constants are counts of days or microseconds. JSON has them printed: by an older calendar, in
the zone of Java or of the session, as it was written down or not."""

WITH_ONE_CHILD: Final = frozenset({
    "Aggregate", "Distinct", "Filter", "GlobalLimit", "LocalLimit", "Project", "Sort", "SubqueryAlias",
    "View", "Window",
})  # fmt: skip
WITHOUT_EXPRESSIONS: Final = frozenset({
    "Distinct", "GlobalLimit", "LocalLimit", LEAF, "SubqueryAlias", "View",
})  # fmt: skip
"""Plans of which this is known, and no call needed; limits are constants."""


@dataclass(frozen=True)
class Node:
    """An expression: its class without the package, its fields, its children."""

    name: str
    fields: Json
    children: tuple[Node, ...] = ()


def parse_tree(flat: Sequence[Json]) -> Node:
    """A tree from its nodes in prefix order.

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
    """A node of a logical plan in the JVM, read with few calls: each takes a tenth of a millisecond.

    The plan's own JSON would not do: it leaves out lists of lists, and the plans of subqueries. Nor would it
    be faster: an answer of more than 8 kB waits 40 ms for the network's acknowledgement.
    """

    def __init__(self, plan: Any, array: Any) -> None:
        """`array` is Spark's expression of that name: it makes one tree of many."""
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
        """The plans inside its expressions."""
        if not any(_holds_plan(tree) for tree in self.expressions):
            return ()
        return tuple(Plan(inner, self._array) for inner in items(self._plan.subqueries()))

    def table(self) -> tuple[str, dict[int, str]]:
        """Of a stub, the name that its columns carry, and their names by identity."""
        fields = json.loads(self._plan.schema().json())["fields"]
        if not fields or MARK not in fields[0]["metadata"]:
            return "", {}
        names = {}
        rest = self._plan.output().mkString(",")
        for item in fields:  # `id#7L,v#8`: JSON would say the same at ten times the length
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
        """Whether an expression of one of these names occurs anywhere."""
        return any(_holds(tree, name) for node in self.walk() for tree in node.expressions for name in names)

    def views(self) -> dict[str, tuple[list[str], str | None]]:
        """The temporary views that the query uses, inner ones first: their columns, and their text if any."""
        found: dict[str, tuple[list[str], str | None]] = {}
        for child in (*self.children, *self.subqueries):
            found.update(child.views())
        if self.name == "View":
            view = self._plan.desc()
            text = view.viewText()
            if self._plan.isTempView() and not view.identifier().database().isDefined():
                columns = list(view.schema().fieldNames())
                found[view.identifier().table()] = columns, text.get() if text.isDefined() else None
        return found

    # Of a limit, a sort, a projection:

    def limit(self) -> int | None:
        """How many rows; None where only Spark knows."""
        text = str(self._plan.limitExpr().toString())
        return int(text) if text.isdecimal() else None

    def is_global(self) -> bool:
        """Whether it sorts all rows, not those of each part."""
        return bool(getattr(self._plan, "global")())

    def named(self) -> Iterator[Any]:
        """Its columns in the JVM."""
        return items(self._plan.projectList())

    # Of an aggregate:

    def groupings(self) -> tuple[Node, ...]:
        """What it groups by."""
        return self.expressions[: self._plan.groupingExpressions().size()]

    def results(self) -> tuple[Node, ...]:
        """Its columns."""
        return self.expressions[self._plan.groupingExpressions().size() :]

    def aggregates(self) -> Iterator[Any]:
        """The same in the JVM."""
        return items(self._plan.aggregateExpressions())

    def has_try_sum(self) -> bool:
        """Whether a sum that overflows is null, which the JSON of expressions does not tell."""
        sums = any(_holds(tree, "Sum") for tree in self.expressions)
        return sums and "try_sum(" in self._plan.aggregateExpressions().mkString(" ")

    def with_children(self, children: Any) -> Any:
        """The node in the JVM, over other children."""
        return self._plan.withNewChildren(children)

    def _trees(self, found: Any) -> tuple[Node, ...]:
        trees = parse_tree(json.loads(self._array(found, False).toJSON())).children
        return tuple(
            _with_counts(tree, found.apply(number)) if _has_counts(tree) else tree
            for number, tree in enumerate(trees)
        )


def _has_counts(tree: Node) -> bool:
    is_count = tree.name == "Literal" and tree.fields["dataType"] in COUNTED
    return is_count or any(map(_has_counts, tree.children))


def _with_counts(tree: Node, expression: Any) -> Node:
    """The tree with `count` among the fields of constants that are one, as the JVM has it."""
    if not _has_counts(tree):
        return tree
    if tree.name == "Literal":
        return replace(tree, fields={**tree.fields, "count": expression.value()})
    below = zip(tree.children, items(expression.children()), strict=True)
    return replace(tree, children=tuple(_with_counts(child, one) for child, one in below))


def inline_ctes(spark: SparkSession, analysed: Any) -> Any:
    """An analysed plan with its common table expressions where they are used, as the optimiser begins too."""
    from py4j.protocol import Py4JError

    for flags in (3, 2):  # how many there are depends on Spark's version; all are off by default
        try:
            rule = spark._jvm.org.apache.spark.sql.catalyst.optimizer.InlineCTE(*[False] * flags)
            return rule.apply(analysed)
        except (Py4JError, TypeError):
            continue
    return analysed  # less is understood of it, with the same answer


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
    """The name that the query knows it by."""
    filters: list[Node] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    """Columns that the query needs."""
    taken: dict[str, set[tuple[Path, DataType]]] = field(default_factory=dict)
    """Per Variant column, the paths that are read by themselves, as what."""
    whole: set[str] = field(default_factory=set)
    """Columns that are used, or passed on, as they are: all their paths count as read."""
    names: dict[int, str] = field(default_factory=dict)
    """The names of the relation's columns, by the optimiser's identity of them."""
    exact: bool = False
    """Whether an aggregate or a sort takes just the rows that pass the filters: nothing stands in between."""

    def takes(self, column: str, get: Get) -> bool:
        """Whether the query may read a path of a Variant column."""
        return column in self.whole or (get.path, get.type) in self.taken.get(column, ())


BY_IDENTITY: Final = frozenset({
    "Aggregate", "Expand", "Filter", "Generate", "GlobalLimit", "Join", "LocalLimit", "Offset", "Project",
    "RebalancePartitions", "Repartition", "RepartitionByExpression", "Sample", "Sort", "SubqueryAlias",
    "Window", "WindowGroupLimit",
})  # fmt: skip
"""Plans that know columns of their children by identity. Others, as a union does, may go by position."""


def relations(plan: Plan) -> list[Relation]:
    """The tables of an optimised plan, with their filters and the columns and paths asked of them."""
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
        filters = []  # what holds above a join or an aggregate need not hold of single rows below it
        exact = node.name in ("Aggregate", "Sort")
    for child in node.children:
        _visit(child, filters, exact, found)
    for subquery in node.subqueries:
        _visit(subquery, [], False, found)


def _mark_output(plan: Plan, by_id: Mapping[int, Relation]) -> None:
    """Everything that a plan gives; what an expression of its own makes is marked with that."""
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
    """Which path of the Variant below these expressions is read, and as what.

    That is `variant_get(v, 'path', 'type')` or a cast of `v:path`; None for anything else.
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
    return found if found[1].name == name else None  # a collation, or another precision of time


def identity(attribute: Node) -> int:
    """Within one JVM, the number is enough."""
    return int(attribute.fields["exprId"]["id"])


# ── Variants as a whole ─────────────────────────────────────────────────────────────────────────────────


def takes_variants_whole(plan: Plan) -> bool:
    """Whether an analysed query does anything with a Variant but pass it on and take paths from it."""
    return any(_takes_whole(tree) for node in plan.walk() for tree in node.expressions)


def _takes_whole(tree: Node) -> bool:
    """Whether a Variant column stands below anything but `variant_get` and a new name."""
    if is_variant_column(tree):
        return False
    passes = tree.name in ("Alias", "VariantGet") or _is_subquery(tree)
    return any(_takes_whole(child) or (is_variant_column(child) and not passes) for child in tree.children)


def names_paths(plan: Plan) -> bool:
    """Whether an analysed query makes structs whose fields are named after paths: `struct(v:a::int)`."""
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
        return is_variant_column(tree.children[0])  # views cast all their columns, to what they are
    if tree.name == "OuterReference":
        [inner] = tree.fields["e"] if isinstance(tree.fields.get("e"), list) else [{}]
        return bool(inner.get("dataType", "variant") == "variant")
    return tree.name == "AttributeReference" and tree.fields.get("dataType") == "variant"
