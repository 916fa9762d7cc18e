"""Converts expressions to Spark columns through Spark's column API.

Spark substitutes variables such as `${env:HOME}` in all SQL text, even inside quotes. Names, paths and
strings that come from queries, data or a log are therefore passed as values, and never formatted into SQL.

Its parser also takes more than expressions: `java_method` and `reflect` call any static method of the JVM,
`transform(...) using 'command'` in a subquery starts a program, and a subquery opens any file by its path.
Expressions that Spark is to parse are therefore searched for such calls, as text: no odd quote or comment can
hide one. Rather too much is refused than too little, such as a string that looks like a call.
"""

from __future__ import annotations

import operator
import re
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

_CALLS: Final = re.compile(
    # A name, quotes and blanks of any kind, and what opens arguments or a comment before them.
    r"\b(JAVA_METHOD|TRY_REFLECT|REFLECT|IDENTIFIER)\b[^\w=<>!,)+|&]*?(?:\(|/\*|--)"
)
_SCRIPTS: Final = re.compile(r"\b(TRANSFORM|MAP|REDUCE)\b")
_SCRIPT: Final = re.compile(r"\b(USING)\b")
_SUBQUERIES: Final = re.compile(r"\b(SELECT|TABLE|USING)\b|(\|>)")

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
    """A user's expression as a Spark column. As elsewhere, a path is null if its value can't be cast.

    Expressions that shredlake cannot parse go to Spark, which supports more or reports the error, unless they
    can run code.
    """
    from pyspark.sql import functions as F

    try:
        return column_of(parse_columns([text])[0].expr)
    except InvalidExpression:
        return F.expr(users_text(text))


def from_log(text: str) -> SparkColumn:
    """An expression of a table's log. Spark parses it, unless it may not; then shredlake does."""
    from pyspark.sql import functions as F

    try:
        return F.expr(logs_text(text))
    except UnsupportedExpression as reason:
        try:
            return column_of(parse_columns([text])[0].expr, CastOptions(on_error="raise"))
        except InvalidExpression:
            raise reason from None


def users_text(text: str) -> str:
    """An expression of the user, which Spark is to parse.

    >>> users_text("upper(kind) = 'A'")
    "upper(kind) = 'A'"
    >>> users_text("java_method('java.lang.System', 'exit', 1) = 1")
    Traceback (most recent call last):
    ...
    shredlake.errors.UnsupportedExpression: "java_method('java.lang.System', 'exit', 1) = 1" contains ...
    """
    if SUBSTITUTED in text:
        raise UnsupportedExpression(
            f"{text!r} contains ${{…}}, which Spark would replace with a setting or an environment variable. "
            "Split such a string, as in concat('$', '{a}')."
        )
    reason = "can run code. Use it in a query of your own, with spark.sql."
    start = _SCRIPTS.search(text.upper())
    return _without(_CALLS, text if start is None else _without(_SCRIPT, text, reason, start.end()), reason)


def logs_text(text: str) -> str:
    """An expression of a table's log, which Spark is to parse. It comes from an untrusted writer.

    >>> logs_text("exists (select * from text.`/etc/passwd`)")
    Traceback (most recent call last):
    ...
    shredlake.errors.UnsupportedExpression: 'exists (select * from text.`/etc/passwd`)' contains SELECT, ...
    """
    return _without(_SUBQUERIES, users_text(text), "can read other tables; the expressions of a log may not.")


def _without(refused: re.Pattern[str], text: str, reason: str, start: int = 0) -> str:
    found = refused.search(text.upper(), start)  # as Spark's lexer: a dotless i counts as an i
    if found is not None:
        word = next(group for group in found.groups() if group)
        raise UnsupportedExpression(f"{text!r} contains {word}, which {reason}")
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
