"""Binds a query on a table to one file: physical names, partition values as constants, nulls for columns that
the file lacks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from shredlake.delta.schema.names import resolve
from shredlake.delta.schema.types import Field, Struct, arrow_type, field_id
from shredlake.errors import InvalidExpression
from shredlake.expr import (
    And,
    Arithmetic,
    Cast,
    Column,
    Compare,
    Expr,
    Get,
    Literal,
    Or,
    from_arrow,
    join_name,
)
from shredlake.expr.parse import check_condition, read_condition
from shredlake.expr.types import VARIANT
from shredlake.kernels.cast_options import DEFAULT, CastOptions
from shredlake.variant.path import Path


def rewrite(
    expr: Expr,
    change: Callable[[Column | Get], Expr],
    lift: Callable[[Expr], Expr | None] = lambda _: None,
) -> Expr:
    """Replace every reference in an expression, and every node for which `lift` returns an expression."""
    lifted = lift(expr)
    if lifted is not None:
        return lifted
    match expr:
        case Column() | Get():
            return change(expr)
        case Literal():
            return expr
        case And(operands) | Or(operands):
            return type(expr)(tuple(rewrite(operand, change, lift) for operand in operands))
        case Compare(op, left, right):
            return Compare(op, rewrite(left, change, lift), rewrite(right, change, lift))
        case Arithmetic(op, left, right):
            return Arithmetic(op, rewrite(left, change, lift), rewrite(right, change, lift))
        case _:
            return dataclasses.replace(expr, value=rewrite(expr.value, change, lift))


def canonical(expr: Expr, schema: Struct) -> Expr:
    """Spell names as the schema does, and turn the cast of a whole Variant (`v::bigint`) into the path `$`.

    An unknown name raises an error here, before any file is read.

    >>> from shredlake.expr import parse_predicate
    >>> canonical(parse_predicate("ID > 5"), Struct((Field("id", "long"),))).left
    Column(name='id')
    """

    def change(ref: Column | Get) -> Expr:
        name = ref.name if isinstance(ref, Column) else ref.column
        full = join_name(tuple(field.name for field in resolve(schema, name)))
        return Column(full) if isinstance(ref, Column) else dataclasses.replace(ref, column=full)

    def lift(node: Expr) -> Expr | None:
        match node:
            case Cast(Column(name), kind, strict) if resolve(schema, name)[-1].type == "variant":
                return change(Get(name, Path(), kind, strict))
        return None

    return rewrite(expr, change, lift)


def condition(where: str | Expr | None, schema: Struct, options: CastOptions = DEFAULT) -> Expr | None:
    """Parses a condition on rows of a table and spells its names as the schema does. It must be boolean.

    >>> condition("ID > 5", Struct((Field("id", "long"),))).left
    Column(name='id')
    """
    found = read_condition(where, options)
    if found is None:
        return None
    found = canonical(found, schema)
    check_condition(found, pa.schema(list(arrow_type(schema))), options)
    return found


@dataclass(frozen=True)
class Binding:
    """Maps the columns of a table to those of one file."""

    schema: Struct
    partition: Mapping[str, Any]
    """Typed partition values, by logical name."""
    physical: Mapping[tuple[str, ...], str]
    """Maps the logical names from the root to the last field's name in the file, if the file has it."""

    def expression(self, expr: Expr) -> Expr:
        """The expression with the names of the file."""
        return rewrite(expr, self._reference)

    def _reference(self, ref: Column | Get) -> Expr:
        name = ref.name if isinstance(ref, Column) else ref.column
        fields = resolve(self.schema, name)
        if fields[0].name in self.partition:
            if isinstance(ref, Get):
                raise InvalidExpression(f"{name} is a partition column, not a Variant")
            return Literal(self.partition[fields[0].name], from_arrow(arrow_type(fields[-1].type)))
        located = self.locate(fields)
        if isinstance(ref, Get):
            if fields[-1].type != "variant":
                raise InvalidExpression(f"{name} is a {fields[-1].type}, not a Variant: it has no paths")
            if located is None:
                return Literal(None, VARIANT if ref.type is None else ref.type)
            return dataclasses.replace(ref, column=join_name(located))
        if located is None:
            return Literal(None, from_arrow(arrow_type(fields[-1].type)))
        return Column(join_name(located))

    def locate(self, fields: list[Field]) -> tuple[str, ...] | None:
        """The names of a column in the file, or None if the file lacks it."""
        names: tuple[str, ...] = ()
        located = []
        for field in fields:
            names = (*names, field.name)
            if names not in self.physical:
                return None
            located.append(self.physical[names])
        return tuple(located)


def bind(schema: Struct, partition: Mapping[str, Any], file: pa.Schema, *, by_id: bool) -> Binding:
    """Finds the table's columns in a file, by physical name or by id."""

    def visit(kind: Struct, inside: Any, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
        present = {field_id(item) if by_id else item.name: item for item in inside}
        for field in kind.fields:
            item = present.get(field.id if by_id else field.physical_name)
            if item is None:
                continue
            here = (*names, field.name)
            yield here, item.name
            if isinstance(field.type, Struct) and pa.types.is_struct(item.type):
                yield from visit(field.type, item.type, here)

    return Binding(schema, partition, dict(visit(schema, file, ())))
