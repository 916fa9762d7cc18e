"""Binds expressions to a scan: every reference becomes a slot that the scan fills.

The same path in the predicate and in two columns is one slot, read and cast once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal as OneOf
from typing import TypeAlias

from shredlake.expr.ast import (
    And,
    Arithmetic,
    Column,
    Compare,
    Expr,
    Get,
    In,
    IsNull,
    Literal,
    Or,
    Projection,
    all_of,
    conjuncts,
    join_name,
    references,
)
from shredlake.expr.sql import spelled_ref

View: TypeAlias = OneOf["variant", "struct", "json"]
"""The output form of a Variant column: a Variant, the file's raw struct, or JSON text."""


@dataclass(frozen=True)
class Viewed:
    """A whole column, with its Variants in the form `view`."""

    name: str
    view: View


@dataclass(frozen=True)
class Presence:
    """Whether a column is present: `v IS NULL` reads only one of its leaves."""

    name: str


Reference: TypeAlias = Column | Get | Viewed | Presence


@dataclass(frozen=True)
class Bound:
    """An expression over slots, and the references that fill the slots."""

    expr: Expr
    references: frozenset[Reference]
    written: Expr | None = field(default=None, compare=False)
    """A condition as it was before its references became slots."""


@dataclass
class Binder:
    """Assigns a slot to each reference."""

    slots: dict[Reference, str] = field(default_factory=dict)

    def slot(self, reference: Reference) -> str:
        """The slot's name, which is the text of the reference, since errors show it."""
        if reference not in self.slots:
            name = spelled_ref(reference) if isinstance(reference, Column | Get) else reference.name
            taken = set(self.slots.values())
            while name in taken:
                name += "'"
            self.slots[reference] = name
        return self.slots[reference]

    def predicate(self, predicate: Expr | None) -> tuple[Bound, ...]:
        """Splits a predicate into conjuncts; those that read the same references are evaluated together."""
        together: dict[frozenset[Column | Get], list[Expr]] = {}
        for part in () if predicate is None else conjuncts(predicate):
            together.setdefault(frozenset(references(part)), []).append(part)
        return tuple(
            replace(self.bound(whole), written=whole)
            for parts in together.values()
            if (whole := all_of(parts)) is not None
        )

    def projection(self, projection: Projection, view: View) -> Bound:
        """An output column; a whole Variant column takes the form `view`."""
        if isinstance(projection.expr, Column):
            reference = Viewed(projection.expr.name, view)
            return Bound(self._slot_column(reference), frozenset({reference}))
        return self.bound(projection.expr)

    def bound(self, expr: Expr) -> Bound:
        used: set[Reference] = set()
        return Bound(self._bind(expr, used), frozenset(used))

    def _bind(self, expr: Expr, used: set[Reference]) -> Expr:
        match expr:
            case Column() | Get():
                return self._use(expr, used)
            case IsNull(Column(name)):
                return IsNull(self._use(Presence(name), used))
            case Literal():
                return expr
            case And(operands) | Or(operands):
                return type(expr)(tuple(self._bind(operand, used) for operand in operands))
            case Compare(op, left, right):
                return Compare(op, self._bind(left, used), self._bind(right, used))
            case Arithmetic(op, left, right):
                return Arithmetic(op, self._bind(left, used), self._bind(right, used))
            case In(value, options):
                return In(self._bind(value, used), options)
            case _:
                return dataclasses.replace(expr, value=self._bind(expr.value, used))

    def _use(self, reference: Reference, used: set[Reference]) -> Column:
        used.add(reference)
        return self._slot_column(reference)

    def _slot_column(self, reference: Reference) -> Column:
        return Column(join_name((self.slot(reference),)))


def column_of(reference: Reference) -> str:
    """The name of the column that a reference reads."""
    return reference.column if isinstance(reference, Get) else reference.name


def prunable(exprs: Iterable[Expr]) -> frozenset[Column | Get]:
    """The references that statistics can prune by."""
    return frozenset(reference for expr in exprs for reference in references(expr))
