"""Shortens long chains of AND and OR, such as generated conditions with thousands of parts.

Repeated operands are dropped. A long `x = 1 OR x = 2 OR ...` becomes `x IN (1, 2, ...)`, a long
`x <> 1 AND x <> 2 AND ...` becomes `NOT x IN (1, 2, ...)`: the same results, computed in one step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shredlake.expr.ast import And, Compare, ComparisonOp, Expr, In, Literal, Not, Or
from shredlake.expr.types import DataType

LONG: Final = 32
"""Chains of at least this many operands are shortened; shorter ones stay as the user wrote them."""


def conjunction(operands: Sequence[Expr]) -> Expr:
    """Returns the conjunction of the operands.

    >>> from shredlake.expr.ast import Column
    >>> from shredlake.expr.types import INT
    >>> parts = [Compare("<>", Column("a"), Literal(n, INT)) for n in range(100)]
    >>> len(conjunction(parts).value.options)
    100
    """
    short = _shortened(operands, "<>")
    return short[0] if len(short) == 1 else And(tuple(short))


def disjunction(operands: Sequence[Expr]) -> Expr:
    """Returns the disjunction of the operands."""
    short = _shortened(operands, "=")
    return short[0] if len(short) == 1 else Or(tuple(short))


def _shortened(operands: Sequence[Expr], op: ComparisonOp) -> list[Expr]:
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
