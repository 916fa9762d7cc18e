"""Expressions as frozen trees, which the parser builds, and pruning and evaluation traverse.

The parser removes syntactic sugar: BETWEEN is two comparisons, and NOT IN and IS NOT NULL are `Not` of the
plain form. A path into a Variant, with its cast, is one node (`Get`), because a scan reads it as one column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from typing import Literal as OneOf

from shredlake.expr.types import DataType
from shredlake.variant.identifiers import quote
from shredlake.variant.path import Path

ComparisonOp = OneOf["=", "<>", "<", "<=", ">", ">=", "<=>"]
ArithmeticOp = OneOf["+", "-", "*", "/", "%"]

MIRRORED: dict[ComparisonOp, ComparisonOp] = {
    "=": "=", "<>": "<>", "<=>": "<=>", "<": ">", "<=": ">=", ">": "<", ">=": "<=",
}  # fmt: skip
"""`a op b` means the same as `b MIRRORED[op] a`."""


@dataclass(frozen=True)
class Column:
    """A plain column; `s.a` is field `a` of struct `s` (see `name_parts`)."""

    name: str


@dataclass(frozen=True)
class Get:
    """A path into a Variant column, cast to `type` (None: stays a Variant).

    `strict` decides on a value that can't be cast: True raises (`variant_get`), False gives null
    (`try_variant_get`), None leaves it to the evaluation (`v:a::int`).
    """

    column: str
    path: Path
    type: DataType | None = None
    strict: bool | None = None


@dataclass(frozen=True)
class Literal:
    """A constant as a Python object: a timestamp is an aware datetime in UTC, NULL is None."""

    value: Any
    type: DataType


@dataclass(frozen=True)
class Cast:
    """A cast of anything except a path; `strict` as in `Get`."""

    value: Expr
    type: DataType
    strict: bool | None = None


@dataclass(frozen=True)
class Compare:
    op: ComparisonOp
    left: Expr
    right: Expr


@dataclass(frozen=True)
class In:
    value: Expr
    options: tuple[Literal, ...]


@dataclass(frozen=True)
class Like:
    """LIKE with a constant pattern: `%` is any characters, `_` one; `escape` makes the next one literal."""

    value: Expr
    pattern: str
    escape: str = "\\"


@dataclass(frozen=True)
class IsNull:
    value: Expr


@dataclass(frozen=True)
class IsVariantNull:
    """True for a Variant null; false for everything else, never null."""

    value: Expr


@dataclass(frozen=True)
class IsNan:
    value: Expr


@dataclass(frozen=True)
class Not:
    value: Expr


@dataclass(frozen=True)
class And:
    operands: tuple[Expr, ...]


@dataclass(frozen=True)
class Or:
    operands: tuple[Expr, ...]


@dataclass(frozen=True)
class Arithmetic:
    op: ArithmeticOp
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Negate:
    value: Expr


Expr = (
    Column | Get | Literal | Cast | Compare | In | Like | IsNull | IsVariantNull | IsNan | Not | And | Or
    | Arithmetic | Negate
)  # fmt: skip


@dataclass(frozen=True)
class Projection:
    """One output column: its name and its expression."""

    name: str
    expr: Expr


def children(expr: Expr) -> tuple[Expr, ...]:
    """Returns the direct parts of an expression."""
    match expr:
        case Column() | Get() | Literal():
            return ()
        case Compare(_, left, right) | Arithmetic(_, left, right):
            return (left, right)
        case And(operands) | Or(operands):
            return operands
        case In(value, options):
            return (value, *options)
        case _:
            return (expr.value,)


def walk(expr: Expr) -> Iterator[Expr]:
    """Yields the expression and every part of it, outermost first."""
    yield expr
    for child in children(expr):
        yield from walk(child)


def references(expr: Expr) -> set[Column | Get]:
    """Returns the columns and paths that an expression reads.

    >>> from shredlake.expr import parse_predicate
    >>> sorted(map(str, references(parse_predicate("id > 5 and id < 9"))))
    ["Column(name='id')"]
    """
    return {node for node in walk(expr) if isinstance(node, Column | Get)}


def conjuncts(expr: Expr) -> tuple[Expr, ...]:
    """Returns the parts of a predicate that must all be true.

    >>> from shredlake.expr import parse_predicate
    >>> len(conjuncts(parse_predicate("a > 5 and b < 9 and (c = 1 or d = 2)")))
    3
    """
    if not isinstance(expr, And):
        return (expr,)
    return tuple(part for operand in expr.operands for part in conjuncts(operand))


def all_of(parts: Sequence[Expr]) -> Expr | None:
    """Returns the conjunction of the parts; None if there are none.

    >>> all_of([Column("a")])
    Column(name='a')
    """
    return And(tuple(parts)) if len(parts) > 1 else next(iter(parts), None)


_NAME_PART = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")


def name_parts(name: str) -> tuple[str, ...]:
    """Splits a column's name at its dots; a part with a dot or a backtick is quoted in backticks.

    >>> name_parts("s.a"), name_parts("`a.b`.c"), name_parts("user id")
    (('s', 'a'), ('a.b', 'c'), ('user id',))
    """
    parts, at = [], 0
    while at <= len(name):
        match = _NAME_PART.match(name, at)
        if match is None or (match.end() < len(name) and name[match.end()] != "."):
            return (name,)  # an unquoted name with special characters is one part
        parts.append(match[2] if match[1] is None else match[1].replace("``", "`"))
        at = match.end() + 1
    return tuple(parts)


def join_name(parts: tuple[str, ...]) -> str:
    """Join the parts of a name; the inverse of `name_parts`.

    >>> join_name(("s", "a")), join_name(("a.b", "c"))
    ('s.a', '`a.b`.c')
    """
    return ".".join(quote(part) if "." in part or "`" in part or not part else part for part in parts)


LONG: Final = 32
"""Chains of at least this many operands are shortened; shorter ones stay as the user wrote them."""


def conjunction(operands: Sequence[Expr]) -> Expr:
    """Returns the conjunction of the operands; a long one is shortened.

    >>> from shredlake.expr.types import INT
    >>> parts = [Compare("<>", Column("a"), Literal(n, INT)) for n in range(100)]
    >>> len(conjunction(parts).value.options)
    100
    """
    short = _shortened(operands, "<>")
    return short[0] if len(short) == 1 else And(tuple(short))


def disjunction(operands: Sequence[Expr]) -> Expr:
    """Returns the disjunction of the operands; a long one is shortened."""
    short = _shortened(operands, "=")
    return short[0] if len(short) == 1 else Or(tuple(short))


def _shortened(operands: Sequence[Expr], op: ComparisonOp) -> list[Expr]:
    """Drops repeated operands, and replaces many comparisons of one value with constants by one IN.

    Generated conditions have thousands of parts, such as `x = 1 OR x = 2 OR ...`.
    """
    if len(operands) < LONG:
        return list(operands)
    others: list[Expr] = []
    options: dict[tuple[Expr, DataType], list[Literal]] = {}
    for operand in dict.fromkeys(operands):
        match operand:
            case Compare(found, value, Literal() as constant) if found == op and constant.value is not None:
                options.setdefault((value, constant.type), []).append(constant)
            case _:
                others.append(operand)
    for (value, _), constants in options.items():
        if len(constants) == 1:
            others.append(Compare(op, value, constants[0]))
        else:
            member = In(value, tuple(constants))
            others.append(member if op == "=" else Not(member))
    return others
