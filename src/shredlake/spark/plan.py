"""What Spark's optimiser knows of a query: for each table, the columns it needs and the filters over them.

The optimised plan comes as JSON, trees written in prefix order with the number of children at each node.
Filters that are not understood are left out: they only prune nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any, Final

from shredlake.errors import InvalidExpression
from shredlake.expr import And, Column, Compare, Expr, Get, In, IsNull, Like, Literal, Not, Or
from shredlake.expr.types import STRING, DataType, parse_type

Json = dict[str, Any]


@dataclass(frozen=True)
class Node:
    """A plan or an expression: its class without the package, its fields, its children."""

    name: str
    fields: Json
    children: tuple[Node, ...] = ()

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.walk()


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


@dataclass
class Relation:
    """One occurrence of a table in a query."""

    marker: str
    filters: list[Node] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    """Plain columns that the query needs, and Variant columns that it takes apart."""
    taken: dict[str, set[int]] = field(default_factory=dict)
    """Per Variant column, the fields of its struct that are read."""
    whole: set[str] = field(default_factory=set)
    """Columns that are used as they are; a Variant among them can't be answered from its parts."""
    names: dict[str, str] = field(default_factory=dict)
    """The names of the relation's columns, by the optimiser's identity of them."""


def relations(plan_json: str, leaf: str) -> list[Relation]:
    """The tables of a plan, with their filters and the columns asked of them; `leaf` is their class."""
    plan = parse_tree(json.loads(plan_json))
    found: list[Relation] = []
    _visit(plan, [], leaf, found)
    by_id = {identity: relation for relation in found for identity in relation.names}
    for node in plan.walk():
        if node.name != leaf:
            for tree in _expressions(node.fields):
                _mark(tree, by_id)
    return found


def _visit(node: Node, filters: list[Node], leaf: str, found: list[Relation]) -> None:
    if node.name == leaf:
        outputs = [parse_tree(tree) for tree in _lists(node.fields.get("output", []))]
        names = {_identity(one): one.fields["name"] for one in outputs}
        found.append(Relation("".join(n for n in names.values() if n.startswith(MARK)), filters, names=names))
        return
    if node.name == "Filter":
        filters = [*filters, parse_tree(node.fields["condition"])]
    elif node.name not in ("Project", "SubqueryAlias"):
        filters = []  # what holds above a join or an aggregate need not hold of single rows below it
    for child in node.children:
        _visit(child, filters, leaf, found)


MARK: Final = "__shredlake_"
"""Begins the name of the column that tells the tables of a query apart."""


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


def _expressions(fields: Json) -> Iterator[Node]:
    """Every expression among the fields of a plan node, wherever it sits."""
    for value in fields.values():
        for flat in _lists(value):
            yield parse_tree(flat)


def _lists(value: Any) -> Iterator[list[Json]]:
    if isinstance(value, list) and value:
        if isinstance(value[0], dict) and "num-children" in value[0]:
            yield value
        else:
            for inner in value:
                yield from _lists(inner)


# ── filters in our own words ────────────────────────────────────────────────────────────────────────────


class _NotUnderstood(Exception):
    """A part of a filter that only Spark can judge."""


Resolve = Callable[[str, int | None], Column | Get | None]
"""A column of a relation by name, or a field of its struct by position, as a reference."""


def predicate(relation: Relation, resolve: Resolve) -> Expr | None:
    """The filters over a relation as one expression; parts that are not understood are left out."""
    parts: list[Expr] = []
    for condition in relation.filters:
        for conjunct in _conjuncts(condition):
            try:
                parts.append(_Translator(relation, resolve).expr(conjunct))
            except (_NotUnderstood, InvalidExpression):
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

    def __init__(self, relation: Relation, resolve: Resolve) -> None:
        self._relation, self._resolve = relation, resolve

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
        if node.name == "GetStructField" and node.children[0].name == "AttributeReference":
            name = self._relation.names.get(_identity(node.children[0]))
            found = name and self._resolve(name, int(node.fields["ordinal"]))
        elif node.name == "AttributeReference":
            name = self._relation.names.get(_identity(node))
            found = name and self._resolve(name, None)
        if not found:
            raise _NotUnderstood(node.name)
        return found

    def literal(self, node: Node) -> Literal:
        if node.name != "Literal":
            raise _NotUnderstood(node.name)
        kind, text = node.fields["dataType"], node.fields["value"]
        reader = LITERALS.get(kind if isinstance(kind, str) else "")
        if reader is None or text is None:
            raise _NotUnderstood(f"literal {kind}")
        return reader(text)


def _number(kind: str) -> Callable[[str], Literal]:
    type_: DataType = parse_type(kind)
    return lambda text: Literal(int(text), type_)


def _dated(text: str) -> Literal:
    from datetime import date

    return Literal(date.fromisoformat(text), parse_type("date"))


def _timed(text: str) -> Literal:
    from datetime import datetime

    # Printed in the session's zone, which is not named: only a text that carries its own is sure.
    parsed = datetime.fromisoformat(text)
    if parsed.tzinfo is None:
        raise _NotUnderstood("a timestamp without zone")
    return Literal(parsed.astimezone(UTC), parse_type("timestamp"))


LITERALS: Final[Mapping[str, Callable[[str], Literal]]] = {
    "byte": _number("tinyint"),
    "short": _number("smallint"),
    "integer": _number("int"),
    "long": _number("bigint"),
    "string": lambda text: Literal(text, STRING),
    "boolean": lambda text: Literal(text == "true", parse_type("boolean")),
    "double": lambda text: Literal(float(text), parse_type("double")),
    "date": _dated,
    "timestamp": _timed,
}
"""How the plan writes constants, by Spark's name of the type."""
