"""Translates Spark's filters on a table to shredlake's expressions, by which files are pruned and read.

A filter that cannot be translated is left out where it would only prune, and left to Spark where the
translation would have to be exact.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from shredlake.delta.schema.types import SQL_NAMES
from shredlake.errors import ShredlakeError
from shredlake.expr import (
    And,
    Column,
    Compare,
    Expr,
    Get,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    all_of,
    join_name,
)
from shredlake.expr.types import parse_type
from shredlake.spark.query.catalyst import Node, Relation, identity, is_variant_column, path_of


class NotUnderstood(Exception):
    """Raised for a part of a query that only Spark can evaluate."""


def predicate(relation: Relation, variants: Collection[str]) -> Expr | None:
    """The filters on a relation as one expression, without the parts that cannot be translated."""
    translator = Translator(relation, variants)
    parts: list[Expr] = []
    for condition in relation.filters:
        for conjunct in _conjuncts(condition):
            try:
                parts.append(translator.expr(conjunct))
            except (NotUnderstood, ShredlakeError):
                continue
    return all_of(parts)


def whole_predicate(relation: Relation, variants: Collection[str]) -> Expr | None:
    """All filters on a relation as one equivalent expression. Raises NotUnderstood if there is none."""
    translator = Translator(relation, variants, exact=True)
    parts = [
        translator.expr(conjunct)
        for condition in relation.filters
        for conjunct in _conjuncts(condition)
        # The optimiser adds this condition, which any filter on a path of the Variant already implies.
        if not (conjunct.name == "IsNotNull" and is_variant_column(conjunct.children[0]))
    ]
    return all_of(parts)


def not_understood(relation: Relation) -> Iterator[str]:
    """The filters that `predicate` leaves out, except those that Spark adds by itself."""
    translator = Translator(relation, relation.taken)
    for condition in relation.filters:
        for conjunct in _conjuncts(condition):
            if conjunct.name == "IsNotNull":
                continue
            try:
                translator.expr(conjunct)
            except (NotUnderstood, ShredlakeError):
                yield shown(conjunct)


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


SYMBOLS: Final = {**COMPARISONS, "Add": "+", "Subtract": "-", "Multiply": "*", "Divide": "/", "Or": "OR"}


def shown(node: Node) -> str:
    """A condition in a form close to SQL. Functions have Spark's internal names.

    >>> shown(Node("Upper", {}, (Node("AttributeReference", {"name": "k"}),)))
    'upper(k)'
    """
    parts = [shown(child) for child in node.children]
    path = path_of([node, *node.children[:1]] if node.name == "Cast" else [node])
    match node.name:
        case "AttributeReference":
            return str(node.fields["name"])
        case "Literal":
            text, kind = node.fields.get("value"), node.fields.get("dataType")
            if text is None:
                return "NULL"
            return f"'{text}'" if kind == "string" else str(text)
        case "Cast" | "VariantGet" if path is not None:
            variant = node.children[0].children[0] if node.name == "Cast" else node.children[0]
            return f"{shown(variant)}:{str(path[0]).removeprefix('$').removeprefix('.')}::{path[1]}"
        case "Cast":
            return f"cast({parts[0]} AS {node.fields.get('dataType')})"
        case name if name in SYMBOLS and len(parts) == 2:
            return f"({parts[0]} {SYMBOLS[name]} {parts[1]})"
        case name:
            return f"{name[0].lower()}{name[1:]}({', '.join(parts)})"


class Translator:
    """Translates Catalyst's expressions to shredlake's.

    With `exact`, a path keeps whether its cast may fail, and a Variant as a whole is not translated.
    """

    def __init__(self, relation: Relation, variants: Collection[str], *, exact: bool = False) -> None:
        self._relation, self._variants, self._exact = relation, variants, exact

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
        name = self._name(node)
        if name and name not in self._variants:
            return Column(join_name((name,)))
        chain = [node, *node.children[:1]] if node.name == "Cast" else [node]
        path = path_of(chain)
        if len(chain) > 1 and chain[1].fields.get("targetType") != "variant":
            path = None  # a second cast of the value
        name = self._name(chain[-1].children[0]) if path else None
        if path is None or name is None:
            raise NotUnderstood(node.name)
        if self._exact and not path[0].steps:
            raise NotUnderstood("a Variant as a whole")
        # The plan's JSON does not distinguish `try_cast` from `cast`.
        must_cast = len(chain) > 1 or chain[0].fields.get("failOnError") is not False
        return Get(join_name((name,)), *path, strict=self._exact and must_cast)

    def _name(self, node: Node) -> str | None:
        return self._relation.names.get(identity(node)) if node.name == "AttributeReference" else None

    def literal(self, node: Node) -> Literal:
        if node.name != "Literal":
            raise NotUnderstood(node.name)
        kind, value = node.fields["dataType"], node.fields.get("count", node.fields["value"])
        reader = LITERALS.get(kind.partition("(")[0] if isinstance(kind, str) else "")
        if reader is None or value is None:
            raise NotUnderstood(f"literal {kind}")
        try:
            return Literal(reader(value), parse_type(SQL_NAMES.get(str(kind), str(kind))))
        except (ValueError, OverflowError):  # times out of Python's range, or ambiguous strings
            raise NotUnderstood(f"literal {value}") from None


def _text(text: str) -> str:
    if "\ufffd" in text:
        raise ValueError  # the plan also prints invalid UTF-8 like this
    return text


def _float32(text: str) -> float:
    return float(struct.unpack("<f", struct.pack("<f", float(text)))[0])


LITERALS: Final[Mapping[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(SQL_NAMES, int),
    "boolean": lambda text: text == "true",
    "date": lambda days: date(1970, 1, 1) + timedelta(days=days),
    "decimal": Decimal,
    "double": float,
    "float": _float32,
    "string": _text,
    "timestamp": lambda micros: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros),
    "timestamp_ntz": lambda micros: datetime(1970, 1, 1) + timedelta(microseconds=micros),
}
"""Converts the plan's text, or count of days or microseconds, to a value, by Spark's name of the type."""
