"""Finds the containers (files, row groups, pages) that may hold a matching row.

Pruning is sound: a container with a match is never dropped. Statistics can't decide some parts of a
predicate: two columns compared, arithmetic, and casts that are not monotonic (see `cast_bounds.py`). Such a
part may match anywhere; the other parts still prune.

A row is kept only if the predicate is true, by three-valued logic. So NOT is pushed down to the comparisons:
`NOT (x < 5)` becomes `x >= 5`, which never matches nulls. A container with only nulls matches no comparison;
one without nulls does not match IS NULL, unless a cast may fail and produce null.

Failed casts are null here. If they raise instead (`variant_get`, `strict=True`), a container that is not read
can't raise: pruning may hide the error of a row that would not have matched anyway.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.errors import ShredlakeError
from shredlake.expr.ast import (
    MIRRORED,
    And,
    Cast,
    Column,
    Compare,
    ComparisonOp,
    Expr,
    Get,
    In,
    IsNan,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    conjuncts,
    references,
    walk,
)
from shredlake.expr.cast_bounds import Bounds, Image, cast_image, image_of_bounds
from shredlake.expr.coerce import common_type, is_decimal
from shredlake.expr.constants import depends_on_engine, fold_cast
from shredlake.expr.evaluate import evaluate
from shredlake.expr.like import ANY, pattern_parts
from shredlake.expr.types import BINARY, BOOLEAN, DOUBLE, FLOAT, INTEGRALS, STRING, UUID, DataType
from shredlake.kernels.cast_options import DEFAULT, CastOptions

__all__ = ["Bounds", "StatsSource", "always_matches", "may_match"]

_NEGATED: Final[dict[ComparisonOp, ComparisonOp]] = {
    "=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<",
}  # fmt: skip
_MOST_OPERANDS: Final = 1000  # operands of AND and OR that are examined; more would cost more than they save
_LARGEST_PRODUCT: Final = 20_000_000  # options of IN times containers; above it, only their range is used


class StatsSource(Protocol):
    """Provides statistics for pruning.

    For a `Get`, bounds are those of the typed leaf, in its shredded type, provided that the leaf's own
    `value` is all null; otherwise bounds and counts are null. null_count includes missing values.
    """

    @property
    def length(self) -> int:
        """The number of containers."""
        ...

    def bounds(self, ref: Column | Get) -> Bounds | None:
        """Returns the statistics of `ref`, or None if there are none."""
        ...


def may_match(predicate: Expr, stats: StatsSource, options: CastOptions = DEFAULT) -> pa.BooleanArray:
    """Returns which containers must be read; never null.

    >>> class Files:
    ...     length = 2
    ...     def bounds(self, ref):
    ...         return Bounds(pa.array([1, 100]), pa.array([9, 200]), pa.array([0, 0]), pa.array([10, 10]))
    >>> from shredlake.expr import parse_predicate
    >>> may_match(parse_predicate("a > 50 and b + 1 < c"), Files()).to_pylist()
    [False, True]
    """
    return _Pruner(stats, options).may_be(predicate, True)


def always_matches(predicate: Expr, stats: StatsSource, options: CastOptions = DEFAULT) -> pa.BooleanArray:
    """True where every row of a container makes the predicate true; never null.

    >>> class Files:
    ...     length = 2
    ...     def bounds(self, ref):
    ...         return Bounds(pa.array([1, 100]), pa.array([9, 200]), pa.array([0, 0]), pa.array([10, 10]))
    >>> from shredlake.expr import Column, Compare, Literal
    >>> from shredlake.expr.types import BIGINT
    >>> always_matches(Compare(">", Column("a"), Literal(50, BIGINT)), Files()).to_pylist()
    [False, True]
    """
    pruner = _Pruner(stats, options)
    if not all(pruner.compares_as_is(part) for part in conjuncts(predicate)):
        return pruner.everywhere(False)
    doubtful = pruner.everywhere(False)
    for reference in references(predicate):
        doubtful = pc.or_(doubtful, pruner.null(reference, True))
    if doubtful.false_count:  # nulls are counted, which is quicker than comparing bounds
        doubtful = pc.or_(doubtful, pruner.may_be(predicate, False))
    return pc.invert(doubtful)


class _Pruner:
    """`may_be(expr, truth)`: where the expression may be true (or, with False, false) for some row."""

    def __init__(self, stats: StatsSource, options: CastOptions) -> None:
        self.stats = stats
        self.constants = CastOptions(timezone=options.timezone)
        self.utc = options.timezone == "UTC"
        self.known: dict[Column | Get, Bounds | None] = {}
        self.images: dict[Expr, Image | None] = {}

    def may_be(self, expr: Expr, truth: bool) -> pa.Array:
        match expr:
            case And(operands) | Or(operands) if isinstance(expr, And) == truth:
                # All must hold: ignoring some keeps more containers, never fewer.
                result = self.everywhere()
                for operand in operands[:_MOST_OPERANDS]:
                    result = pc.and_(result, self.may_be(operand, truth))
                return result
            case And(operands) | Or(operands):
                result = self.everywhere(len(operands) > _MOST_OPERANDS)
                for operand in operands if len(operands) <= _MOST_OPERANDS else ():
                    result = pc.or_(result, self.may_be(operand, truth))
                return result
            case Not(value):
                return self.may_be(value, not truth)
            case _ if not references(expr):
                return self.constant(expr, truth)
            case Compare(op, left, right):
                return self.compare(op, left, right, truth)
            case In(value, options):
                return self.membership(value, options, truth)
            case Like(value, pattern, escape):
                return self.like(value, pattern, escape, truth)
            case IsNull(value):
                return self.null(value, truth)
            case IsNan(value):
                return self.nan(value) if truth else self.everywhere()
            case Column() | Get() | Cast():
                return self.compare("=", expr, Literal(truth, BOOLEAN), True)
            case _:
                return self.everywhere()

    def everywhere(self, truth: bool = True) -> pa.Array:
        return pa.repeat(pa.scalar(truth), self.stats.length)

    def constant(self, expr: Expr, truth: bool) -> pa.Array:
        literals = [node for node in walk(expr) if isinstance(node, Literal)]
        if any(depends_on_engine(literal.type, STRING) for literal in literals):
            return self.everywhere()  # its text or decimal form may depend on the engine
        try:
            value = evaluate(expr, pa.table({"row": [0]}), self.constants)[0].as_py()
        except ShredlakeError:
            return self.everywhere()  # evaluation reports the error
        return self.everywhere(value is truth)

    def compares_as_is(self, expr: Expr) -> bool:
        """Whether a condition compares a column or path with constants of its own type, or tests it for null.

        Only then is the condition null just where its operand is. Integers of all widths compare alike.
        """

        def is_alike(value: Expr, constant: Literal) -> bool:
            kind = self.type_of(value)
            alike = kind == constant.type or (kind in INTEGRALS and constant.type in INTEGRALS)
            return alike and constant.value is not None

        match expr:
            case Compare(op, Column() | Get() as value, Literal() as literal) if op != "<=>":
                return is_alike(value, literal)
            case In(Column() | Get() as value, options):
                return all(is_alike(value, option) for option in options)
            case Not(IsNull(Column() | Get())):
                return True
            case _:
                return False

    # Facts about an operand

    def bounds(self, ref: Column | Get) -> Bounds | None:
        if ref not in self.known:
            self.known[ref] = self.stats.bounds(ref)
        return self.known[ref]

    def image(self, expr: Expr) -> Image | None:
        if expr not in self.images:
            self.images[expr] = self.new_image(expr)
        return self.images[expr]

    def new_image(self, expr: Expr) -> Image | None:
        match expr:
            case Column():
                bounds = self.bounds(expr)
                return None if bounds is None else image_of_bounds(bounds)
            case Get(_, _, kind):
                bounds = self.bounds(expr)
                leaf = None if bounds is None or kind is None else image_of_bounds(bounds, of_path=True)
                return None if leaf is None or kind is None else cast_image(leaf, kind, self.utc)
            case Cast(value, kind):
                inner = self.image(value)
                return None if inner is None else cast_image(inner, kind, self.utc)
            case _:
                return None

    def operand(self, expr: Expr) -> Column | Get | None:
        """Returns the only reference of an operand, whose counts are the operand's."""
        while isinstance(expr, Cast):
            expr = expr.value
        return expr if isinstance(expr, Column | Get) else None

    def has_value(self, expr: Expr) -> pa.Array:
        """Returns where some value is not null."""
        ref = self.operand(expr)
        bounds = None if ref is None else self.bounds(ref)
        if bounds is None:
            return self.everywhere()
        return pc.fill_null(pc.less(bounds.null_count, bounds.row_count), True)

    # Conditions

    def compare(self, op: ComparisonOp, left: Expr, right: Expr, truth: bool) -> pa.Array:
        if isinstance(left, Literal):
            op, left, right = MIRRORED[op], right, left
        if not isinstance(right, Literal):
            return self.everywhere()
        if op == "<=>":
            if right.value is None:
                return self.null_compared(left, right, truth)
            if not truth:
                return pc.or_(self.null_compared(left, right, True), self.compare("=", left, right, False))
            op = "="
        if right.value is None:
            return self.everywhere(False)
        if not truth:
            op = _NEGATED[op]
        return pc.and_(self.has_value(left), self.compare_image(op, left, right))

    def compare_image(self, op: ComparisonOp, operand: Expr, literal: Literal) -> pa.Array:
        compared = self.in_common_type(operand, [literal])
        if compared is None:
            return self.everywhere()
        image, (option,) = compared
        return _may_compare(op, image, option)

    def in_common_type(self, operand: Expr, literals: list[Literal]) -> tuple[Image, list[Literal]] | None:
        """Returns the operand's image and the constants, in the type in which they are compared."""
        kind = self.compared_as(operand, literals)
        image = self.image(operand)
        if kind is None or image is None:
            return None
        converted = cast_image(image, kind, self.utc)
        folded = [_fold(literal, kind, self.constants) for literal in literals]
        known = [literal for literal in folded if literal is not None]
        if converted is None or len(known) < len(literals):
            return None
        return converted, known

    def compared_as(self, operand: Expr, literals: Iterable[Literal]) -> DataType | None:
        """Returns the type in which an operand and constants are compared."""
        kind = self.type_of(operand)
        for literal in literals:
            kind = None if kind is None else common_type(kind, literal.type)
        return kind

    def type_of(self, operand: Expr) -> DataType | None:
        match operand:
            case Get(_, _, kind) | Cast(_, kind):
                return kind
            case Column():
                image = self.image(operand)
                return None if image is None else image.kind
            case _:
                return None

    def membership(self, value: Expr, options: tuple[Literal, ...], truth: bool) -> pa.Array:
        present = [option for option in options if option.value is not None]
        if not truth and len(present) < len(options):
            return self.everywhere(False)  # NOT IN with a null is never true
        if not present:
            return self.everywhere(False)
        compared = self.in_common_type(value, present)
        if compared is None:
            return self.has_value(value)
        image, literals = compared
        keep = self.one_of(image, literals) if truth else self.none_of(image, literals)
        return pc.and_(self.has_value(value), keep)

    def one_of(self, image: Image, literals: list[Literal]) -> pa.Array:
        """Returns where some value may equal one of the constants."""
        numbers = [literal for literal in literals if not _is_nan(literal)]
        keep = self.everywhere(False)
        if len(numbers) < len(literals) and image.nan is not None:
            keep = image.nan
        if len(numbers) * self.stats.length > _LARGEST_PRODUCT:
            kind, ordered = numbers[0].type, sorted(literal.value for literal in numbers)
            least = _may_compare(">=", image, Literal(ordered[0], kind))
            return pc.or_(keep, pc.and_(least, _may_compare("<=", image, Literal(ordered[-1], kind))))
        if numbers:
            low, high = _comparable_bounds(image, numbers[0].type)
            for literal in numbers:
                keep = pc.or_(keep, _may_equal(low, high, _comparable_constant(image, literal)))
        return keep

    def none_of(self, image: Image, literals: list[Literal]) -> pa.Array:
        """Returns where some value may differ from all constants."""
        keep = self.everywhere()
        for literal in literals:
            keep = pc.and_(keep, _may_compare("<>", image, literal))
        return keep

    def like(self, value: Expr, pattern: str, escape: str, truth: bool) -> pa.Array:
        parts = pattern_parts(pattern, escape)
        if all(isinstance(part, str) for part in parts):
            return self.compare("=", value, Literal("".join(parts), STRING), truth)
        image = self.image(value) if self.type_of(value) == STRING else None
        has_value = self.has_value(value)
        if image is None or image.kind != STRING or not isinstance(parts[0], str):
            return has_value
        prefix = parts[0].encode()
        low, high = image.low.cast(BINARY.arrow), image.high.cast(BINARY.arrow)
        if truth:
            # A string with this prefix is between the prefix itself and the next string of its length.
            starts_before = pc.less(low, pa.scalar(_successor(prefix), BINARY.arrow))
            return pc.and_(has_value, _or_unknown(starts_before, pc.greater_equal(high, pa.scalar(prefix))))
        if parts[1:] != [ANY]:
            return has_value
        # If both bounds have the prefix, everything between them has it.
        all_match = pc.and_(pc.starts_with(low, pattern=prefix), pc.starts_with(high, pattern=prefix))
        return pc.and_(has_value, pc.invert(pc.fill_null(all_match, False)))

    def null(self, value: Expr, truth: bool) -> pa.Array:
        if not truth:
            return self.has_value(value)
        ref = self.operand(value)
        bounds = None if ref is None else self.bounds(ref)
        if bounds is None:
            return self.everywhere()
        whole = isinstance(value, Column) or (isinstance(value, Get) and value.type is None)
        image = None if whole else self.image(value)
        if not whole and (image is None or image.can_fail):
            return self.everywhere()
        return pc.fill_null(pc.greater(bounds.null_count, 0), True)

    def null_compared(self, value: Expr, literal: Literal, truth: bool) -> pa.Array:
        """As `null`, for a value in the type of its comparison, since a cast to it may produce nulls."""
        kind = self.compared_as(value, [literal])
        if kind is None:
            return self.everywhere()
        return self.null(value if kind == self.type_of(value) else Cast(value, kind), truth)

    def nan(self, value: Expr) -> pa.Array:
        image = self.image(value)
        if image is None or image.kind not in (FLOAT, DOUBLE):
            return self.everywhere()
        return pc.and_(self.has_value(value), image.nan or self.everywhere(False))


def _fold(literal: Literal, kind: DataType, options: CastOptions) -> Literal | None:
    if pa.types.is_decimal256(kind.arrow):
        return literal
    return fold_cast(literal, kind, options)


def _successor(prefix: bytes) -> bytes:
    """Returns the smallest bytes greater than everything with the prefix; UTF-8 has no byte FF."""
    return prefix[:-1] + bytes([prefix[-1] + 1])


def _or_unknown(*conditions: pa.Array) -> pa.Array:
    """Returns where no condition is known to be false."""
    result = pc.fill_null(conditions[0], True)
    for condition in conditions[1:]:
        result = pc.and_(result, pc.fill_null(condition, True))
    return result


def _is_nan(literal: Literal) -> bool:
    return isinstance(literal.value, float) and math.isnan(literal.value)


def _may_equal(low: pa.Array, high: pa.Array, value: pa.Scalar) -> pa.Array:
    return _or_unknown(pc.less_equal(low, value), pc.greater_equal(high, value))


def _may_compare(op: ComparisonOp, image: Image, literal: Literal) -> pa.Array:
    """Returns where some value between the bounds, or a NaN, may satisfy the comparison."""
    everywhere = pa.repeat(pa.scalar(True), len(image.low))
    nan = image.nan if image.nan is not None else pc.invert(everywhere)
    if _is_nan(literal):
        if op in ("=", ">="):
            return nan
        return pc.invert(everywhere) if op == ">" else everywhere
    low, high, value = _comparable(image, literal)
    match op:
        case "=":
            return _may_equal(low, high, value)
        case "<":
            return _or_unknown(pc.less(low, value))
        case "<=":
            return _or_unknown(pc.less_equal(low, value))
        case ">":
            return pc.or_(nan, _or_unknown(pc.greater(high, value)))
        case ">=":
            return pc.or_(nan, _or_unknown(pc.greater_equal(high, value)))
        case _:
            only_this = pc.and_(pc.equal(low, value), pc.equal(high, value))
            return pc.or_(nan, pc.invert(pc.fill_null(only_this, False)))


def _comparable(image: Image, literal: Literal) -> tuple[Any, Any, Any]:
    """Returns bounds and constant in one Arrow type, with bounds that are not narrowed."""
    low, high = _comparable_bounds(image, literal.type)
    return low, high, _comparable_constant(image, literal)


def _comparable_bounds(image: Image, kind: DataType) -> tuple[pa.Array, pa.Array]:
    """Returns the bounds in the form in which they are compared with constants of a type."""
    if image.kind in (UUID, DOUBLE):
        return image.low, image.high
    if image.kind == BOOLEAN:
        return image.low.cast(pa.int8()), image.high.cast(pa.int8())
    wide = _wide_decimal(image, kind)
    if wide is not None:
        return _exact(image.low, wide), _exact(image.high, wide)
    common = (common_type(image.kind, kind) or image.kind).arrow
    return image.low.cast(common), image.high.cast(common)


def _comparable_constant(image: Image, literal: Literal) -> pa.Scalar:
    """Returns a constant in the form in which it is compared with the bounds of an image."""
    if image.kind == UUID:
        return pa.scalar(literal.value.bytes, pa.binary(16))
    if image.kind == BOOLEAN:
        return pa.scalar(int(literal.value), pa.int8())
    if image.kind == DOUBLE:
        return pa.scalar(float(literal.value), pa.float64())
    wide = _wide_decimal(image, literal.type)
    if wide is not None:
        return _exact(pa.array([literal.value], literal.type.arrow), wide)[0]
    return pa.scalar(literal.value, (common_type(image.kind, literal.type) or image.kind).arrow)


def _wide_decimal(image: Image, kind: DataType) -> pa.DataType | None:
    """Returns a decimal type that holds both sides, if one of them is a decimal."""
    if not is_decimal(image.kind) and not is_decimal(kind):
        return None
    return pa.decimal256(76, max(getattr(side.arrow, "scale", 0) for side in (image.kind, kind)))


def _exact(array: pa.Array, wide: pa.DataType) -> pa.Array:
    if pa.types.is_integer(array.type):
        array = array.cast(pa.decimal128(19, 0))
    return array.cast(wide)
