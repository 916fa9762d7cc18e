"""Explains errors in SQL text, with a caret under the position."""

from __future__ import annotations

from typing import Final, NoReturn, cast

from sqlglot import exp
from sqlglot.errors import ParseError

from shredlake.errors import InvalidExpression, UnsupportedExpression

LONGEST_LINE: Final = 100
"""Maximum number of characters of a line that an error shows."""

ELSEWHERE: Final = "evaluate it in SQL (shredlake.sql, or shredlake.spark.sql on Spark)"

_PROBLEMS: Final = {
    "Required keyword": "an operand is missing",
    "Expected type": "unknown type; use one like bigint, double, decimal(10,2), string or timestamp",
    "Invalid expression / Unexpected token": "unexpected text",
    "Expecting )": "expected a closing parenthesis",
    "Expected ]": "expected a closing bracket",
}
"""Prefixes of sqlglot's messages, with our explanation."""
_CLAUSES: Final[dict[type[exp.Expr], str]] = {
    exp.Case: "CASE", exp.Select: "a query", exp.Subquery: "a query", exp.In: "IN with a query",
    exp.ILike: "ILIKE", exp.DPipe: "||", exp.Star: "*", exp.Interval: "INTERVAL", exp.RegexpLike: "RLIKE",
    exp.JSONExtractScalar: "->>",
}  # fmt: skip
_ADVICE: Final[dict[type[exp.Expr], str]] = {
    exp.JSONExtractScalar: "write a path, as in v:kind::string",
    exp.Select: "sql() runs whole queries",
}


class SourceText:
    """A text being parsed; errors point into it."""

    def __init__(self, sql: str) -> None:
        self.sql = sql

    def invalid(self, problem: str, node: exp.Expr | int) -> NoReturn:
        raise InvalidExpression(self.pointed(problem, node))

    def unsupported(self, node: exp.Expr, advice: str = "") -> NoReturn:
        advice = (
            advice
            or _ADVICE.get(type(node), "")
            or "evaluate it in SQL (shredlake.sql, or shredlake.spark.sql on Spark)"
        )
        raise UnsupportedExpression(self.pointed(f"{_described(node)} is not supported here: {advice}", node))

    def pointed(self, problem: str, node: exp.Expr | int) -> str:
        """Format the problem, its line of SQL, and a caret under its position."""
        at = node if isinstance(node, int) else _start(node)
        start = self.sql.rfind("\n", 0, at) + 1
        end = self.sql.find("\n", start)
        line, at = self.sql[start : len(self.sql) if end < 0 else end], at - start
        if len(line) > LONGEST_LINE:
            start = max(at - LONGEST_LINE // 2, 0)
            cut = line[start : start + LONGEST_LINE]
            ahead = "..." if start else ""
            behind = "..." if start + LONGEST_LINE < len(line) else ""
            line, at = f"{ahead}{cut}{behind}", at - start + len(ahead)
        return f"{problem}\n  {line}\n  {' ' * at}^"

    def parse_problem(self, error: ParseError) -> str:
        if not error.errors:
            return self.pointed("expected an expression", 0)
        first = error.errors[0]
        lines = self.sql.split("\n")
        line = cast(int, first["line"] or 1) - 1
        end = sum(len(text) + 1 for text in lines[:line]) + cast(int, first["col"] or 1)
        at = max(end - len(cast(str, first["highlight"] or " ")), 0)
        said = cast(str, first["description"])
        problem = next((ours for start, ours in _PROBLEMS.items() if said.startswith(start)), said)
        return self.pointed(problem, at)

    def too_deep(self) -> NoReturn:
        self.invalid("the expression is nested too deeply: use fewer levels of parentheses and operators", 0)


def _described(node: exp.Expr) -> str:
    """Describe a node in a few words, since sqlglot's text differs from what the user wrote."""
    if (clause := _CLAUSES.get(type(node))) is not None:
        return clause
    if isinstance(node, exp.Anonymous):
        return f"{node.name}()"
    if isinstance(node, exp.Func) and not isinstance(node, exp.Connector | exp.Case | exp.Cast):
        return f"{node.sql_name().lower()}()"
    return "this expression"


def _start(node: exp.Expr) -> int:
    """Returns the offset of a node in the text: that of its first token with a known position."""
    starts = [part.meta["start"] for part in node.walk() if "start" in part.meta]
    return min(starts, default=0)
