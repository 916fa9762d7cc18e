"""Converts expressions to Spark columns through Spark's column API.

Spark substitutes variables such as `${env:HOME}` in all SQL text, even inside quotes. Names, paths and
strings that come from queries, data or a log are therefore passed as values, and never formatted into SQL.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from shredlake.errors import InvalidExpression, UnsupportedExpression
from shredlake.expr import ast
from shredlake.expr.parse import parse_columns
from shredlake.expr.sort_key import parse_sort_keys
from shredlake.expr.sql import literal_sql, spark_path
from shredlake.expr.types import VOID
from shredlake.kernels.cast_options import DEFAULT, CastOptions
from shredlake.variant.identifiers import quote

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

Names = tuple[str | int, ...]
"""The path to a column of a file: names of groups, and an index for each list on the path."""

SUBSTITUTED: Final = "${"
"""The start of a variable that Spark substitutes anywhere in SQL text."""

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
    """The column at a path. List elements are read with `get`, which is null when out of bounds."""
    from pyspark.sql import functions as F

    ends = [number for number, name in enumerate(names) if isinstance(name, int)] or [len(names)]
    found = F.col(".".join(quote(str(name)) for name in names[: ends[0]]))
    for name in names[ends[0] :]:
        found = F.get(found, F.lit(name)) if isinstance(name, int) else found.getField(name)
    return found


def column_of(
    expr: ast.Expr,
    options: CastOptions = DEFAULT,
    *,
    refs: Callable[[ast.Column | ast.Get], SparkColumn] | None = None,
) -> SparkColumn:
    """The expression as a Spark column, with paths as `variant_get` or `try_variant_get`.

    `options` decides for casts that do not say whether they may fail, such as `v:a::int`. `refs` maps
    columns and paths to other Spark columns.
    """
    from pyspark.sql import functions as F

    def part(inner: ast.Expr) -> SparkColumn:
        return column_of(inner, options, refs=refs)

    def must_cast(own: bool | None) -> bool:
        return options.overridden_by(own).raises

    match expr:
        case ast.Column() | ast.Get() if refs is not None:
            return refs(expr)
        case ast.Column(name):
            return at(ast.name_parts(name))
        case ast.Get(name, path, kind, own):
            get = F.variant_get if must_cast(own) else F.try_variant_get
            return get(at(ast.name_parts(name)), spark_path(path), "variant" if kind is None else kind.name)
        case ast.Literal():
            return constant(expr)
        case ast.Cast(value, kind, own):
            inner = part(value)
            return inner.cast(kind.name) if must_cast(own) else inner.try_cast(kind.name)
        case ast.Compare(op, left, right) | ast.Arithmetic(op, left, right):
            found: SparkColumn = OPERATORS[op](part(left), part(right))
            return found
        case ast.In(value, members):
            return part(value).isin(*map(constant, members))
        case ast.Like(value, pattern, escape):
            return F.like(part(value), F.lit(pattern), F.lit(escape))
        case ast.IsNull(value):
            return part(value).isNull()
        case ast.IsVariantNull(value):
            return F.is_variant_null(part(value))
        case ast.IsNan(value):
            return F.isnan(part(value))
        case ast.Not(ast.IsNull(value)):
            return part(value).isNotNull()
        case ast.Not(value):
            return ~part(value)
        case ast.And(operands):
            return combined(operator.and_, [part(operand) for operand in operands])
        case ast.Or(operands):
            return combined(operator.or_, [part(operand) for operand in operands])
        case ast.Negate(value):
            return -part(value)


def combined(
    join: Callable[[SparkColumn, SparkColumn], SparkColumn], columns: Sequence[SparkColumn]
) -> SparkColumn:
    """Joins columns as a balanced tree, because a chain of thousands would be too deep for Spark."""
    while len(columns) > 1:
        pairs = [columns[index : index + 2] for index in range(0, len(columns), 2)]
        columns = [join(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return columns[0]


def constant(literal: ast.Literal) -> SparkColumn:
    """A literal as a Spark column of the same type.

    Only strings can hold arbitrary text. The other types are safe to format as SQL.
    """
    from pyspark.sql import functions as F

    if literal.value is None:
        return F.lit(None) if literal.type == VOID else F.lit(None).cast(literal.type.name)
    if isinstance(literal.value, str):
        return F.lit(literal.value)
    return F.expr(literal_sql(literal))


def from_user(text: str) -> SparkColumn:
    """A user's expression as a Spark column. As elsewhere, a path is null if its value does not cast.

    Expressions that shredlake cannot parse go to Spark unchanged, which supports more or reports the error.
    """
    from pyspark.sql import functions as F

    try:
        return column_of(parse_columns([text])[0].expr)
    except InvalidExpression:
        return F.expr(without_substitution(text))


def from_log(text: str) -> SparkColumn:
    """An expression from a table's log. Spark parses it, unless Spark would substitute a variable in it."""
    from pyspark.sql import functions as F

    if SUBSTITUTED not in text:
        return F.expr(text)
    try:
        return column_of(parse_columns([text])[0].expr, CastOptions(on_error="raise"))
    except InvalidExpression:
        return F.expr(without_substitution(text))


def without_substitution(text: str) -> str:
    """The text, which Spark is to parse. Raises if Spark would replace a part of it."""
    if SUBSTITUTED in text:
        raise UnsupportedExpression(
            f"{text!r} contains ${{…}}, which Spark would replace with a setting or an environment variable. "
            "Split such a string, as in concat('$', '{a}')."
        )
    return text


def spark_order(sort_by: Sequence[str]) -> list[ast.Column]:
    """Sort keys as Spark columns."""
    ordered = []
    for key in parse_sort_keys(sort_by):
        column = from_user(key.text)
        order = "desc" if key.descending else "asc"
        nulls = "first" if key.nulls_first else "last"
        ordered.append(getattr(column, f"{order}_nulls_{nulls}")())
    return ordered
