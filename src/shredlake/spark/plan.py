"""What Spark knows of a query: for each table, the columns it needs and the filters over them.

Plans are walked node by node in the JVM; expressions come as JSON, their trees written in prefix order with
the number of children at each node. Filters that are not understood are left out: they only prune nothing.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

from shredlake.errors import ShredlakeError
from shredlake.expr import And, Column, Compare, Expr, Get, In, IsNull, Like, Literal, Not, Or, join_name
from shredlake.expr.types import parse_type
from shredlake.variant.path import Path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Json = dict[str, Any]

MARK: Final = "__shredlake_table"
"""What columns carry as metadata, to tell the tables of a query apart."""


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
    """A node of a logical plan in the JVM, read with few calls: each costs a fraction of a millisecond.

    The plan's own JSON would not do: it leaves out lists of lists, and the plans of subqueries.
    """

    def __init__(self, plan: Any, array: Any) -> None:
        """`array` is Spark's expression of that name: it makes one tree of many."""
        self._plan, self._array = plan, array
        self.name: str = plan.getClass().getSimpleName()

    @classmethod
    def of(cls, spark: SparkSession, plan: Any) -> Plan:
        """The root of a plan."""
        return cls(plan, spark._jvm.org.apache.spark.sql.catalyst.expressions.CreateArray)

    @cached_property
    def output(self) -> tuple[Node, ...]:
        return self._trees(self._plan.output())

    @cached_property
    def expressions(self) -> tuple[Node, ...]:
        return self._trees(self._plan.expressions())

    @cached_property
    def children(self) -> tuple[Plan, ...]:
        return tuple(Plan(child, self._array) for child in _items(self._plan.children()))

    @cached_property
    def subqueries(self) -> tuple[Plan, ...]:
        """The plans inside its expressions."""
        if not any(_holds_plan(tree) for tree in self.expressions):
            return ()
        return tuple(Plan(inner, self._array) for inner in _items(self._plan.subqueries()))

    def table(self) -> str:
        """The name that a stub carries on its columns, or nothing; their JSON leaves metadata out."""
        columns = self._plan.output()
        return str(json.loads(columns.head().metadata().json()).get(MARK, "")) if columns.size() else ""

    def walk(self) -> Iterator[Plan]:
        yield self
        for child in (*self.children, *self.subqueries):
            yield from child.walk()

    def views(self) -> dict[str, tuple[list[str], str]]:
        """The temporary views that the query uses, inner ones first: their columns and their text."""
        found: dict[str, tuple[list[str], str]] = {}
        for child in (*self.children, *self.subqueries):
            found.update(child.views())
        if self.name == "View" and self._plan.isTempView():
            view = self._plan.desc()
            if view.viewText().isDefined() and not view.identifier().database().isDefined():
                found[view.identifier().table()] = (list(view.schema().fieldNames()), view.viewText().get())
        return found

    def _trees(self, found: Any) -> tuple[Node, ...]:
        return parse_tree(json.loads(self._array(found, False).toJSON())).children


def _items(found: Any) -> Iterator[Any]:
    return (found.apply(index) for index in range(found.size()))


def _is_subquery(tree: Node) -> bool:
    return tree.name.endswith(("Subquery", "Exists", "ListQuery", "SubqueryArgumentExpression"))


def _holds_plan(tree: Node) -> bool:
    return _is_subquery(tree) or any(map(_holds_plan, tree.children))


# ── tables ──────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Relation:
    """One occurrence of a table in a query."""

    table: str
    """The name that the query knows it by."""
    filters: list[Node] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    """Columns that the query needs."""
    taken: dict[str, set[int]] = field(default_factory=dict)
    """Per column, the fields of its struct that are read by themselves."""
    whole: set[str] = field(default_factory=set)
    """Columns that are used, or passed on, as they are: all their fields count as read."""
    names: dict[str, str] = field(default_factory=dict)
    """The names of the relation's columns, by the optimiser's identity of them."""


LEAF: Final = "LogicalRDD"
"""The class of the stubs that stand in for tables."""

BY_IDENTITY: Final = frozenset({
    "Aggregate", "Expand", "Filter", "Generate", "GlobalLimit", "Join", "LocalLimit", "Offset", "Project",
    "RebalancePartitions", "Repartition", "RepartitionByExpression", "Sample", "Sort", "SubqueryAlias",
    "Window", "WindowGroupLimit",
})  # fmt: skip
"""Plans that know columns of their children by identity. Others, as a union does, may go by position."""


def relations(plan: Plan) -> list[Relation]:
    """The tables of an optimised plan, with their filters and the columns asked of them."""
    found: list[Relation] = []
    _visit(plan, [], found)
    by_id = {identity: relation for relation in found for identity in relation.names}
    for node in plan.walk():
        if node.name == LEAF:
            continue
        for tree in node.expressions:
            _mark(tree, by_id)
        by_position = node.subqueries if node.name in BY_IDENTITY else (*node.subqueries, *node.children)
        for attribute in (attribute for child in by_position for attribute in child.output):
            _mark(attribute, by_id)
    for attribute in plan.output:
        _mark(attribute, by_id)
    return found


def _visit(node: Plan, filters: list[Node], found: list[Relation]) -> None:
    if node.name == LEAF:
        names = {_identity(one): one.fields["name"] for one in node.output}
        found.append(Relation(node.table(), filters, names=names))
        return
    if node.name == "Filter":
        filters = [*filters, *node.expressions]
    elif node.name not in ("Project", "SubqueryAlias"):
        filters = []  # what holds above a join or an aggregate need not hold of single rows below it
    for child in node.children:
        _visit(child, filters, found)
    for subquery in node.subqueries:
        _visit(subquery, [], found)


def _mark(tree: Node, by_id: Mapping[str, Relation], parent: Node | None = None) -> None:
    if tree.name == "AttributeReference" and (relation := by_id.get(_identity(tree))) is not None:
        name = relation.names[_identity(tree)]
        relation.used.add(name)
        if parent is not None and parent.name == "GetStructField":
            relation.taken.setdefault(name, set()).add(int(parent.fields["ordinal"]))
        elif parent is None or parent.name not in ("IsNotNull", "IsNull"):
            relation.whole.add(name)
    for child in tree.children:
        _mark(child, by_id, tree)


def _identity(attribute: Node) -> str:
    identity = attribute.fields["exprId"]
    return f"{identity['id']}-{identity['jvmId']}"


# ── Variants as a whole ─────────────────────────────────────────────────────────────────────────────────


def takes_variants_whole(plan: Plan) -> bool:
    """Whether an analysed query does anything with a Variant but pass it on and take paths from it."""
    return any(_takes_whole(tree) for node in plan.walk() for tree in node.expressions if node.name != LEAF)


def _takes_whole(tree: Node) -> bool:
    """Whether a Variant column stands below anything but `variant_get` and a new name."""
    if _is_variant_column(tree):
        return False
    passes = tree.name in ("Alias", "VariantGet") or _is_subquery(tree)
    return any(_takes_whole(child) or (_is_variant_column(child) and not passes) for child in tree.children)


def _is_variant_column(tree: Node) -> bool:
    if tree.name == "Cast" and tree.fields.get("dataType") == "variant":
        return _is_variant_column(tree.children[0])  # views cast all their columns, to what they are
    if tree.name == "OuterReference":
        [inner] = tree.fields["e"] if isinstance(tree.fields.get("e"), list) else [{}]
        return bool(inner.get("dataType", "variant") == "variant")
    return tree.name == "AttributeReference" and tree.fields.get("dataType") == "variant"


# ── filters in our own words ────────────────────────────────────────────────────────────────────────────


class _NotUnderstood(Exception):
    """A part of a filter that only Spark can judge."""


Resolve = Callable[[str, int | None], Column | Get | None]
"""A column of a relation by name, or a field of its struct by position, as a reference."""


def predicate(relation: Relation, resolve: Resolve, zone: str) -> Expr | None:
    """The filters over a relation as one expression; parts that are not understood are left out.

    `zone` is the default time zone of the JVM, in which plans print timestamps.
    """
    parts: list[Expr] = []
    for condition in relation.filters:
        for conjunct in _conjuncts(condition):
            try:
                parts.append(_Translator(relation, resolve, zone).expr(conjunct))
            except (_NotUnderstood, ShredlakeError):
                continue
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _conjuncts(node: Node) -> Iterator[Node]:
    if node.name == "And":
        for child in node.children:
            yield from _conjuncts(child)
    else:
        yield node


COMPARISONS: Final = {
    "EqualTo": "=",
    "EqualNullSafe": "<=>",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
}


class _Translator:
    """Catalyst's expressions to ours."""

    def __init__(self, relation: Relation, resolve: Resolve, zone: str) -> None:
        self._relation, self._resolve, self._zone = relation, resolve, zone

    def expr(self, node: Node) -> Expr:
        match node.name:
            case "And":
                return And(tuple(self.expr(child) for child in node.children))
            case "Or":
                return Or(tuple(self.expr(child) for child in node.children))
            case "Not":
                return Not(self.expr(node.children[0]))
            case "IsNull":
                return IsNull(self.reference(node.children[0]))
            case "IsNotNull":
                return Not(IsNull(self.reference(node.children[0])))
            case "In":
                value, *options = node.children
                return In(self.reference(value), tuple(self.literal(option) for option in options))
            case "StartsWith":
                value, prefix = node.children
                text = str(self.literal(prefix).value)
                escaped = "".join("\\" + char if char in "\\%_" else char for char in text)
                return Like(self.reference(value), escaped + "%")
            case name if name in COMPARISONS:
                left, right = (self.operand(child) for child in node.children)
                return Compare(COMPARISONS[name], left, right)  # type: ignore[arg-type]
            case _:
                return self.reference(node)

    def operand(self, node: Node) -> Expr:
        return self.literal(node) if node.name == "Literal" else self.reference(node)

    def reference(self, node: Node) -> Column | Get:
        found = None
        if node.name == "GetStructField" and (name := self._name(node.children[0])):
            found = self._resolve(name, int(node.fields["ordinal"]))
        elif name := self._name(node):
            found = self._resolve(name, None)
        elif node.name in ("VariantGet", "Cast"):
            found = self.path(node)
        if not found:
            raise _NotUnderstood(node.name)
        return found

    def path(self, node: Node) -> Get | None:
        """`variant_get(v, 'path', 'type')`, or a cast of `v:path`."""
        kind, getter = node.fields.get("targetType"), node
        if node.name == "Cast":
            kind, getter = node.fields["dataType"], node.children[0]
            if getter.name != "VariantGet" or getter.fields["targetType"] != "variant":
                return None
        column, path = getter.children
        name = self._name(column)
        if not name or not isinstance(kind, str) or kind == "variant":
            return None
        steps = Path.parse(str(self.literal(path).value))
        return Get(join_name((name,)), steps, parse_type(SQL_NAMES.get(kind, kind)), strict=False)

    def _name(self, node: Node) -> str | None:
        return self._relation.names.get(_identity(node)) if node.name == "AttributeReference" else None

    def literal(self, node: Node) -> Literal:
        if node.name != "Literal":
            raise _NotUnderstood(node.name)
        kind, text = node.fields["dataType"], node.fields["value"]
        reader = LITERALS.get(kind.partition("(")[0] if isinstance(kind, str) else "")
        if reader is None or text is None:
            raise _NotUnderstood(f"literal {kind}")
        return Literal(reader(text, self._zone), parse_type(SQL_NAMES.get(kind, kind)))


SQL_NAMES: Final = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
"""Names of types in SQL, where Spark's JSON has others."""

CALENDARS_AGREE: Final = 1900
"""Plans print dates and times by Java's old classes, whose calendar and zones differ from ours before."""


def _date(text: str, _: str) -> date:
    found = date.fromisoformat(text)
    if found.year < CALENDARS_AGREE:
        raise _NotUnderstood(text)
    return found


def _timestamp(text: str, zone: str) -> datetime:
    local = datetime.fromisoformat(text)
    found = local.replace(tzinfo=ZoneInfo(zone))
    twice = found.utcoffset() != found.replace(fold=1).utcoffset()  # or never: clocks were put forward
    if local.year < CALENDARS_AGREE or twice:
        raise _NotUnderstood(text)
    return found.astimezone(ZoneInfo("UTC"))


def _float32(text: str) -> float:
    return float(struct.unpack("<f", struct.pack("<f", float(text)))[0])


LITERALS: Final[Mapping[str, Callable[[str, str], Any]]] = {
    **dict.fromkeys(SQL_NAMES, lambda text, _: int(text)),
    "boolean": lambda text, _: text == "true",
    "date": _date,
    "decimal": lambda text, _: Decimal(text),
    "double": lambda text, _: float(text),
    "float": lambda text, _: _float32(text),
    "string": lambda text, _: text,
    "timestamp": _timestamp,
    "timestamp_ntz": lambda text, _: datetime(1970, 1, 1) + timedelta(microseconds=int(text)),
}
"""How the plan writes constants, by Spark's name of the type."""
