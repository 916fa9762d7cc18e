"""Evaluates expressions over Arrow tables with three-valued logic and Spark's comparisons.

NaN equals itself and is greater than every other number, -0.0 equals 0.0, and strings compare by their bytes.
`coerce.py` has the table of operand types.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.errors import CastError, InvalidExpression
from shredlake.expr import ast
from shredlake.expr.arithmetic import arithmetic, negate
from shredlake.expr.coerce import common_type
from shredlake.expr.constants import depends_on_engine, fold_cast, literal_value
from shredlake.expr.like import like_mask
from shredlake.expr.sql import spelled
from shredlake.expr.types import BOOLEAN, DOUBLE, FLOAT, STRING, UUID, VARIANT, VOID, DataType, from_arrow
from shredlake.kernels.arrow.buffers import null_rows
from shredlake.kernels.arrow.normalize import unencoded
from shredlake.kernels.arrow.types import is_variant
from shredlake.kernels.cast_options import DEFAULT, CastOptions
from shredlake.kernels.casts.columns import cast_column
from shredlake.kernels.get import get_path

Data: TypeAlias = pa.Table | pa.RecordBatch


@dataclass(frozen=True)
class Typed:
    """An operand with its type: an array, or a scalar that applies to every row."""

    data: pa.Array | pa.Scalar
    type: DataType


def evaluate(expr: ast.Expr, data: Data, options: CastOptions = DEFAULT) -> pa.Array:
    """Evaluate the expression for every row.

    The options decide whether a failed cast gives null or a CastError; `variant_get` and `try_variant_get`
    override them.

    >>> from shredlake.expr import parse_predicate
    >>> table = pa.table({"a": [1, None, 3]})
    >>> evaluate(parse_predicate("a > 2 or a is null"), table).to_pylist()
    [False, True, True]
    """
    return _all_rows(_Evaluator(data, options).value(expr).data, data)


def matching(condition: ast.Expr, data: Data, options: CastOptions = DEFAULT) -> pa.BooleanArray:
    """Returns where a condition is true, never null; raises InvalidExpression if it is not a condition.

    >>> from shredlake.expr import parse_predicate
    >>> matching(parse_predicate("a > 2"), pa.table({"a": [1, None, 3]})).to_pylist()
    [False, False, True]
    """
    return pc.fill_null(_all_rows(_Evaluator(data, options).truth(condition), data), False)


def type_of(
    expr: ast.Expr, schema: pa.Schema, options: CastOptions = DEFAULT
) -> pa.DataType | InvalidExpression:
    """The type of an expression over rows of this schema, or the reason why it has none.

    >>> from shredlake.expr.parse import parse_value
    >>> type_of(parse_value("a + 1"), pa.schema([("a", pa.int64())]))
    DataType(int64)
    >>> type_of(parse_value("b + 1"), pa.schema([("a", pa.int64())]))
    InvalidExpression(...)
    """
    try:
        return evaluate(expr, schema.empty_table(), options).type
    except InvalidExpression as reason:
        return reason


def _all_rows(value: Any, data: Data) -> pa.Array:
    if not isinstance(value, pa.Scalar):
        return value
    rows = data.num_rows
    return pa.repeat(value, rows) if value.is_valid else null_rows(rows, value.type)


def resolve(schema: pa.Schema | pa.StructType, name: str) -> tuple[int, ...]:
    """Finds a column: its index in the schema, then the indexes of nested fields.

    Names match exactly, or otherwise case-insensitively, as in Spark.

    >>> resolve(pa.schema([("a", pa.int64()), ("S", pa.struct([("b", pa.int64())]))]), "s.b")
    (1, 0)
    """
    places: list[int] = []
    level: Any = schema
    for part in ast.name_parts(name):
        fields = list(level) if isinstance(level, pa.Schema) or pa.types.is_struct(level) else []
        if (
            fields
            and not isinstance(level, pa.Schema)
            and is_variant(level)
            and level.get_field_index(part) < 0
        ):
            raise InvalidExpression(f"{name} is a path into a Variant: write it with a colon, v:{part}")
        exact = [place for place, field in enumerate(fields) if field.name == part]
        found = exact or [p for p, field in enumerate(fields) if field.name.lower() == part.lower()]
        if len(found) != 1:
            names = ", ".join(field.name for field in fields) or "none"
            problem = "is ambiguous" if found else "does not exist"
            top = fields if isinstance(level, pa.Schema) and not found else []
            variant = next((field.name for field in top if is_variant(field.type)), None)
            path = f". For a path of a Variant, write {variant}:{name}::string" if variant else ""
            raise InvalidExpression(f"column {name} {problem}; the columns are {names}{path}")
        places.append(found[0])
        level = fields[found[0]].type
    return tuple(places)


class _Evaluator:
    def __init__(self, data: Data, options: CastOptions) -> None:
        self.table = data
        self.options = options
        self.constants = CastOptions(timezone=options.timezone)

    def value(self, expr: ast.Expr) -> Typed:
        match expr:
            case ast.Column(name):
                return self.column(name)
            case ast.Get():
                return self.path(expr)
            case ast.Literal(value, kind):
                return Typed(_scalar(value, kind), kind)
            case ast.Cast(inner, kind, strict):
                return self.cast(self.value(inner), kind, self.options.overridden_by(strict))
            case ast.Compare() | ast.In() if (shared := self.by_dictionary(expr)) is not None:
                return Typed(shared, BOOLEAN)
            case ast.Compare():
                return Typed(self.compare(expr), BOOLEAN)
            case ast.In():
                return Typed(self.membership(expr), BOOLEAN)
            case ast.Like(inner, pattern, escape):
                text = self.cast(self.scalar_value(inner), STRING, self.options)
                return Typed(like_mask(text.data, pattern, escape), BOOLEAN)
            case ast.IsNull(inner):
                return Typed(_is_null(self.value(inner).data), BOOLEAN)
            case ast.IsVariantNull(inner):
                return Typed(self.variant_null(expr, self.value(inner)), BOOLEAN)
            case ast.IsNan(inner):
                number = self.cast(self.scalar_value(inner), DOUBLE, self.options)
                return Typed(pc.fill_null(pc.is_nan(number.data), False), BOOLEAN)
            case ast.Not(inner):
                return Typed(pc.invert(self.truth(inner)), BOOLEAN)
            case ast.And(operands):
                return Typed(self.combine(pc.and_kleene, operands), BOOLEAN)
            case ast.Or(operands):
                return Typed(self.combine(pc.or_kleene, operands), BOOLEAN)
            case ast.Arithmetic(op, left, right):
                a, b = self.scalar_value(left), self.scalar_value(right)
                kind, result = arithmetic(op, (a.data, a.type), (b.data, b.type), self.options, spelled(expr))
                return Typed(result, kind)
            case ast.Negate(inner):
                operand = self.scalar_value(inner)
                kind, result = negate(operand.data, operand.type, self.options, spelled(expr))
                return Typed(result, kind)

    # Columns and paths

    def column(self, name: str) -> Typed:
        array = self.whole_column(name)
        array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        if pa.types.is_dictionary(array.type) or pa.types.is_run_end_encoded(array.type):
            array = unencoded(array)
        kind = from_arrow(array.type)
        if array.type == kind.arrow or kind == VARIANT or kind.name == str(array.type):
            return Typed(array, kind)
        return Typed(array.cast(kind.arrow), kind)

    def whole_column(self, name: str) -> pa.Array | pa.ChunkedArray:
        first, *rest = resolve(self.table.schema, name)
        column = self.table.column(first)
        for place in rest:
            column = pc.struct_field(column, [place])
        return column

    def path(self, ref: ast.Get) -> Typed:
        column = self.whole_column(ref.column)
        if not is_variant(column.type):
            raise InvalidExpression(
                f"{ref.column} is a {from_arrow(column.type)} column, but the path {ref.path} needs a Variant"
            )
        arrow = None if ref.type is None else ref.type.arrow
        found = get_path(column, ref.path, arrow, self.options.overridden_by(ref.strict))
        found = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
        return Typed(found, ref.type or VARIANT)

    # Types

    def scalar_value(self, expr: ast.Expr) -> Typed:
        """Evaluate an operand of a comparison or computation; a Variant is an error."""
        value = self.value(expr)
        if value.type == VARIANT:
            raise InvalidExpression(
                f"{spelled(expr)} is a Variant, which can't be compared. Add its type, as in v:a::bigint"
            )
        return value

    def cast(self, value: Typed, kind: DataType, options: CastOptions) -> Typed:
        if value.type == kind:
            return value
        if isinstance(value.data, pa.Scalar) and depends_on_engine(value.type, kind):
            return Typed(self.cast(Typed(pa.repeat(value.data, 1), value.type), kind, options).data[0], kind)
        if isinstance(value.data, pa.Scalar):
            folded = fold_cast(ast.Literal(literal_value(value.data), value.type), kind, self.constants)
            if folded is None and options.raises:
                raise CastError(f"{literal_value(value.data)!r} ({value.type}) can't be cast to {kind}")
            return Typed(_scalar(None if folded is None else folded.value, kind), kind)
        if value.type == VARIANT:
            cast = get_path(value.data, "$", kind.arrow, options)
        elif pa.types.is_decimal(kind.arrow) and not pa.types.is_decimal128(kind.arrow):
            cast = value.data.cast(kind.arrow)
        else:
            cast = cast_column(value.data, kind.arrow, options)
        return Typed(cast, kind)

    def in_type(self, value: Typed, kind: DataType, expr: ast.Expr) -> Any:
        """Cast an operand to the type of its comparison; raise if a constant does not fit."""
        if isinstance(value.data, pa.Scalar) and value.type != kind and value.data.is_valid:
            return _scalar(_folded(value, kind, self.constants, expr), kind)
        return self.cast(value, kind, self.options).data

    # Conditions

    def truth(self, expr: ast.Expr) -> Any:
        """Evaluate a condition: boolean, or NULL, which is an unknown boolean."""
        value = self.value(expr)
        if value.type == VOID:
            return pa.scalar(None, pa.bool_())
        if value.type == VARIANT:
            raise InvalidExpression(
                f"{spelled(expr)} is a Variant, not a condition. If it holds booleans, "
                f"write {spelled(expr)}::boolean"
            )
        if value.type != BOOLEAN:
            raise InvalidExpression(
                f"{spelled(expr)} ({value.type}) is not a condition. Compare it, as in {spelled(expr)} = ..."
            )
        return value.data

    def combine(self, connect: Any, operands: tuple[ast.Expr, ...]) -> Any:
        result = self.truth(operands[0])
        for operand in operands[1:]:
            result = connect(result, self.truth(operand))
        return result

    def compare(self, expr: ast.Compare) -> Any:
        left, right = self.scalar_value(expr.left), self.scalar_value(expr.right)
        kind = common_type(left.type, right.type)
        if kind is None:
            raise InvalidExpression(
                f"{spelled(expr)} compares a {left.type} with a {right.type}. Cast one of them"
            )
        a, b = self.in_type(left, kind, expr), self.in_type(right, kind, expr)
        return compare_arrays(expr.op, a, b, kind)

    def membership(self, expr: ast.In) -> Any:
        value = self.scalar_value(expr.value)
        kind = value.type
        for option_type in dict.fromkeys(option.type for option in expr.options):
            wider = common_type(kind, option_type)
            if wider is None:
                raise InvalidExpression(
                    f"{spelled(expr)} compares a {kind} with a {option_type}. Cast one of them"
                )
            kind = wider
        options = [
            None if option.value is None else literal_value(self.in_type(self.value(option), kind, expr))
            for option in expr.options
        ]
        found = is_member(self.in_type(value, kind, expr), [o for o in options if o is not None], kind)
        if None in options:  # not among the known values, so the result is unknown
            found = pc.if_else(found, found, pa.scalar(None, pa.bool_()))
        return found

    def by_dictionary(self, expr: ast.Compare | ast.In) -> pa.Array | None:
        """Evaluate a condition on a dictionary-encoded column, once per dictionary entry.

        None unless it compares such a column with strings, where no cast can fail.
        """
        match expr:
            case ast.Compare(op, ast.Column(name), ast.Literal(value, kind)) if op != "<=>":
                texts = [(value, kind)]
            case ast.In(ast.Column(name), options):
                texts = [(option.value, option.type) for option in options]
            case _:
                return None
        column = self.whole_column(name)
        if not pa.types.is_dictionary(column.type) or not pa.types.is_string(column.type.value_type):
            return None
        if any(value is None or kind != STRING for value, kind in texts):
            return None
        array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if isinstance(array, pa.ChunkedArray) or array.dictionary.null_count:
            return None
        found = _OfValues(Typed(array.dictionary, STRING), self.constants).value(expr).data
        return pc.take(found, array.indices)

    def variant_null(self, expr: ast.Expr, value: Typed) -> Any:
        if value.type != VARIANT:
            raise InvalidExpression(f"{spelled(expr)}: {value.type} is not a Variant, use IS NULL")
        whole = get_path(value.data, "$", None)
        is_null_value = pc.fill_null(pc.equal(whole.field("value"), pa.scalar(b"\x00")), False)
        return pc.and_(pc.is_valid(whole), is_null_value)


class _OfValues(_Evaluator):
    """Evaluates over given values instead of a column."""

    def __init__(self, values: Typed, options: CastOptions) -> None:
        super().__init__(pa.table({"": values.data}), options)
        self._values = values

    def column(self, name: str) -> Typed:
        return self._values

    def by_dictionary(self, expr: ast.Compare | ast.In) -> pa.Array | None:
        return None


def _scalar(value: Any, kind: DataType) -> pa.Scalar:
    if kind == UUID:
        return pa.scalar(None if value is None else value.bytes, pa.binary(16))
    return pa.scalar(value, kind.arrow)


def _folded(value: Typed, kind: DataType, options: CastOptions, expr: ast.Expr) -> Any:
    if pa.types.is_decimal256(kind.arrow):
        return literal_value(value.data)
    folded = fold_cast(ast.Literal(literal_value(value.data), value.type), kind, options)
    if folded is None:
        raise InvalidExpression(f"{spelled(expr)}: {literal_value(value.data)!r} is not a valid {kind}")
    return folded.value


def _is_null(data: pa.Array | pa.Scalar) -> Any:
    return pc.is_null(data) if isinstance(data, pa.Array) else pa.scalar(not data.is_valid)


_COMPARISONS = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def compare_arrays(op: ast.ComparisonOp, a: Any, b: Any, kind: DataType) -> Any:
    """Compares two operands of one type: null if either is null, except for `<=>`.

    >>> compare_arrays(">", pa.array([1.0, float("nan")]), pa.scalar(5.0), DOUBLE).to_pylist()
    [False, True]
    """
    if kind == VOID:
        return pa.scalar(True if op == "<=>" else None, pa.bool_())
    if op == "<=>":
        both_null = pc.and_(pc.is_null(a), pc.is_null(b))
        return pc.or_(both_null, pc.fill_null(compare_arrays("=", a, b, kind), False))
    if kind == UUID:
        a, b = (item.storage if isinstance(item, pa.ExtensionArray) else item for item in (a, b))
    if kind == BOOLEAN:
        a, b = pc.cast(a, pa.int8()), pc.cast(b, pa.int8())
    plain = _COMPARISONS[op](a, b)
    if kind not in (FLOAT, DOUBLE):
        return plain
    a_nan, b_nan = pc.is_nan(a), pc.is_nan(b)
    # If an operand is NaN, (a is NaN, b is NaN) decides instead of the numbers: NaN is the greatest.
    by_nan = _COMPARISONS[op](pc.cast(a_nan, pa.int8()), pc.cast(b_nan, pa.int8()))
    return pc.if_else(pc.or_(a_nan, b_nan), by_nan, plain)


def is_member(value: Any, options: list[Any], kind: DataType) -> Any:
    """Returns whether each value is one of the options; null if the value is null.

    >>> is_member(pa.array([1, 2, None]), [2, 3], from_arrow(pa.int64())).to_pylist()
    [False, True, None]
    """
    if not options or kind in (FLOAT, DOUBLE, UUID):
        found: Any = pa.scalar(False)
        for option in options:
            found = pc.or_(found, compare_arrays("=", value, _scalar(option, kind), kind))
        return pc.if_else(pc.is_valid(value), found, pa.scalar(None, pa.bool_()))
    found = pc.is_in(value, value_set=pa.array(options, kind.arrow))
    return pc.if_else(pc.is_valid(value), found, pa.scalar(None, pa.bool_()))
