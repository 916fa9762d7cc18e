"""Expressions as columns of Spark, built from their parts.

Spark replaces `${env:HOME}` and the like in every text that it reads as SQL, also inside quotes. So no name,
no path and no text of a query, of data or of a log is printed into SQL: they are handed over as values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from shredlake.errors import InvalidExpression, UnsupportedExpression
from shredlake.expr.ast import (
    And,
    Arithmetic,
    Cast,
    Column,
    Compare,
    Expr,
    Get,
    In,
    IsNan,
    IsNull,
    IsVariantNull,
    Like,
    Literal,
    Negate,
    Not,
    Or,
    name_parts,
)
from shredlake.expr.parse import parse_columns
from shredlake.expr.sort_key import parse_sort_keys
from shredlake.expr.sql import literal_sql, spark_path
from shredlake.expr.types import VOID
from shredlake.variant.identifiers import quote

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

Names = tuple[str | int, ...]
"""The way to a column of a file: names of groups, and the index where the way leads into a list."""

SUBSTITUTED: Final = "${"
"""What begins a name that Spark replaces, wherever it stands in a text of SQL."""

OPERATORS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "<=>": lambda left, right: left.eqNullSafe(right),
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
}


def at(names: Names) -> SparkColumn:
    """The column at the end of a way: elements of lists by `get`, which is null beyond them."""
    from pyspark.sql import functions as F

    ends = [number for number, name in enumerate(names) if isinstance(name, int)] or [len(names)]
    found = F.col(".".join(quote(str(name)) for name in names[: ends[0]]))
    for name in names[ends[0] :]:
        found = F.get(found, F.lit(name)) if isinstance(name, int) else found.getField(name)
    return found


def column_of(
    expr: Expr, *, strict: bool = False, refs: Callable[[Column | Get], SparkColumn] | None = None
) -> SparkColumn:
    """The expression as a column: paths become (try_)variant_get.

    `strict` decides for casts that leave it open, as `v:a::int` does. `refs` says columns and paths in
    other words.
    """
    from pyspark.sql import functions as F

    def part(inner: Expr) -> SparkColumn:
        return column_of(inner, strict=strict, refs=refs)

    def must_cast(own: bool | None) -> bool:
        return strict if own is None else own

    match expr:
        case Column() | Get() if refs is not None:
            return refs(expr)
        case Column(name):
            return at(name_parts(name))
        case Get(name, path, kind, own):
            get = F.variant_get if must_cast(own) else F.try_variant_get
            return get(at(name_parts(name)), spark_path(path), "variant" if kind is None else kind.name)
        case Literal():
            return constant(expr)
        case Cast(value, kind, own):
            inner = part(value)
            return inner.cast(kind.name) if must_cast(own) else inner.try_cast(kind.name)
        case Compare(op, left, right) | Arithmetic(op, left, right):
            found: SparkColumn = OPERATORS[op](part(left), part(right))
            return found
        case In(value, options):
            return part(value).isin(*map(constant, options))
        case Like(value, pattern, escape):
            return F.like(part(value), F.lit(pattern), F.lit(escape))
        case IsNull(value):
            return part(value).isNull()
        case IsVariantNull(value):
            return F.is_variant_null(part(value))
        case IsNan(value):
            return F.isnan(part(value))
        case Not(IsNull(value)):
            return part(value).isNotNull()
        case Not(value):
            return ~part(value)
        case And(operands):
            return combined(operator.and_, [part(operand) for operand in operands])
        case Or(operands):
            return combined(operator.or_, [part(operand) for operand in operands])
        case Negate(value):
            return -part(value)


def combined(
    join: Callable[[SparkColumn, SparkColumn], SparkColumn], columns: Sequence[SparkColumn]
) -> SparkColumn:
    """Columns joined in pairs, and the pairs in pairs: a chain of thousands would be too deep for Spark."""
    while len(columns) > 1:
        pairs = [columns[index : index + 2] for index in range(0, len(columns), 2)]
        columns = [join(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return columns[0]


def constant(literal: Literal) -> SparkColumn:
    """A constant, of its type. Only texts can hold what they like; all others are printed by us."""
    from pyspark.sql import functions as F

    if literal.value is None:
        return F.lit(None) if literal.type == VOID else F.lit(None).cast(literal.type.name)
    if isinstance(literal.value, str):
        return F.lit(literal.value)
    return F.expr(literal_sql(literal))


def from_user(text: str) -> SparkColumn:
    """An expression of a user; casts of paths give null where a value does not fit, as everywhere.

    What only Spark understands is handed over as it is: it knows more, or says what is wrong.
    """
    from pyspark.sql import functions as F

    try:
        return column_of(parse_columns([text])[0].expr)
    except InvalidExpression:
        return F.expr(_without_substitution(text))


def from_log(text: str) -> SparkColumn:
    """An expression of a table: Spark's own, unless it holds what Spark would replace."""
    from pyspark.sql import functions as F

    if SUBSTITUTED not in text:
        return F.expr(text)
    try:
        return column_of(parse_columns([text])[0].expr, strict=True)
    except InvalidExpression:
        return F.expr(_without_substitution(text))


def _without_substitution(text: str) -> str:
    if SUBSTITUTED in text:
        raise UnsupportedExpression(
            f"{text!r} holds ${{…}}, which Spark would replace by a setting or by a variable of its "
            "environment: write such a text in parts, as in concat('$', '{a}')"
        )
    return text


def spark_order(sort_by: Sequence[str]) -> list[Column]:
    """Sort keys as Spark's columns."""
    ordered = []
    for key in parse_sort_keys(sort_by):
        column = from_user(key.text)
        order = "desc" if key.descending else "asc"
        nulls = "first" if key.nulls_first else "last"
        ordered.append(getattr(column, f"{order}_nulls_{nulls}")())
    return ordered
