"""Conditions that Spark and shredlake read alike under all settings, so that they can prune files."""

from __future__ import annotations

from shredlake.delta.schema.names import resolve
from shredlake.delta.schema.types import Field, Struct
from shredlake.errors import ShredlakeError
from shredlake.expr import And, Column, Compare, Expr, Get, In, IsNull, Like, Literal, Not, Or
from shredlake.expr.ast import children
from shredlake.expr.coerce import is_numeric
from shredlake.expr.parse import parse_predicate
from shredlake.expr.types import BOOLEAN, STRING, DataType, parse_type
from shredlake.spark.query.text.selects import NotSimple, require


def condition_on(text: str, schema: Struct) -> Expr:
    """A condition on one table. Raises NotSimple if Spark may read it another way.

    >>> from shredlake.delta.schema.types import Field
    >>> condition_on("id > 5", Struct((Field("id", "long"),))).op
    '>'
    """
    try:
        found = parse_predicate(text)
    except ShredlakeError as reason:
        raise NotSimple(str(reason)) from None
    _check(found, schema)
    return found


def is_false_of_nulls(expr: Expr) -> bool:
    """Whether a condition of `condition_on` holds for no row in which all columns are NULL."""
    match expr:
        case Compare(op, _, _):
            return op != "<=>"
        case In() | Like():
            return True
        case Not(Compare(op, _, _)):
            return op != "<=>"
        case Not(In() | Like() | IsNull()):
            return True
        case And(operands):
            return any(map(is_false_of_nulls, operands))
        case Or(operands):
            return all(map(is_false_of_nulls, operands))
        case _:
            return False


def _check(expr: Expr, schema: Struct) -> None:
    """Raises NotSimple unless the expression means the same under all settings."""
    match expr:
        case And() | Or() | Not():
            for part in children(expr):
                _check(part, schema)
        case IsNull(Column() | Get() as ref):
            kind = _field(ref, schema).type
            require(kind == "variant" if isinstance(ref, Get) else isinstance(kind, str))
        case Compare(_, Column() | Get() as ref, Literal() as literal) | Compare(
            _, Literal() as literal, Column() | Get() as ref
        ):
            require(_alike(_type(ref, schema), literal.type))
        case In(Column() | Get() as ref, options):
            require(all(_alike(_type(ref, schema), option.type) for option in options))
        case Like(Column() | Get() as ref):
            require(_type(ref, schema) == STRING)
        case _:
            raise NotSimple


def _field(ref: Column | Get, schema: Struct) -> Field:
    """The column of a reference."""
    try:
        return resolve(schema, ref.column if isinstance(ref, Get) else ref.name)[-1]
    except ShredlakeError:
        raise NotSimple from None


def _type(ref: Column | Get, schema: Struct) -> DataType:
    """The type of a column or path of a table."""
    try:
        field = _field(ref, schema)
        if isinstance(ref, Get):
            require(field.type == "variant" and ref.type is not None)
            assert ref.type is not None
            return ref.type
        require(isinstance(field.type, str) and field.type != "variant")
        return parse_type(str(field.type))
    except ShredlakeError:
        raise NotSimple from None


def _alike(kind: DataType, other: DataType) -> bool:
    """Whether values of these types compare without a conversion that may fail."""
    return (is_numeric(kind) and is_numeric(other)) or (kind == other and kind in (STRING, BOOLEAN))
