"""The grammar of Spark SQL text: sqlglot's Databricks dialect, which accepts `v:a.b::t`, read into our trees.

This module, `tokens` and `parse_errors` need sqlglot, which takes long to import: `parse` does so with the
first text.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import TokenType

from shredlake.errors import InvalidExpression, InvalidPath
from shredlake.expr.ast import (
    And,
    Arithmetic,
    ArithmeticOp,
    Cast,
    Column,
    Compare,
    ComparisonOp,
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
    Projection,
    children,
    conjunction,
    disjunction,
    join_name,
    name_parts,
)
from shredlake.expr.constants import depends_on_engine, fold_cast, number
from shredlake.expr.like import has_stray_escape
from shredlake.expr.parse_errors import LONGEST_LINE, SourceText
from shredlake.expr.tokens import SPARK, from_sqlglot, spark_tokens
from shredlake.expr.types import BINARY, BOOLEAN, STRING, VARIANT, VOID, DataType, parse_type
from shredlake.kernels.cast_options import CastOptions
from shredlake.variant.path import Path

MOST_DIGITS: Final = 400
"""Maximum length of a number; the widest type has 38 digits, the smallest double 326 characters."""
MOST_LEVELS: Final = 100
"""Maximum nesting of an expression. Functions that traverse it recurse a few times per level."""

_COMPARISONS: dict[type[exp.Expr], ComparisonOp] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.NullSafeEQ: "<=>",
}  # fmt: skip
_AMBIGUOUS: Final = (*_COMPARISONS, exp.In, exp.Like, exp.Escape, exp.Between, exp.Not)
"""Operands that need parentheses after a comparison: Spark reads `a = b IN (c)` as `(a = b) IN (c)`."""
_ARITHMETIC: dict[type[exp.Expr], ArithmeticOp] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%",
}  # fmt: skip


class Reader(SourceText):
    """Parses one SQL text."""

    def __init__(self, sql: str, timezone: str) -> None:
        super().__init__(sql)
        self.timezone = timezone

    def predicate(self) -> Expr:
        tree = self.tree()
        if isinstance(tree, exp.Alias):
            self.invalid("a name (AS) is not allowed here", tree.args["alias"])
        return self.whole(tree)

    def projection(self) -> Projection:
        tree = self.tree()
        if (isinstance(tree, exp.Alias) and isinstance(tree.this, exp.Count)) or isinstance(tree, exp.Count):
            self.invalid("count(*) is not supported here; use scan().count(), or SQL", tree)
        if isinstance(tree, exp.Star) or tree.find(exp.Star):
            advice = "sql() runs whole queries" if tree.find(exp.Select) else "omit `columns` to select all"
            self.invalid(f"expected a list of columns; {advice}", tree)
        if isinstance(tree, exp.Alias):
            return Projection(tree.alias, self.whole(tree.this))
        expr = self.whole(tree)
        return Projection(self.default_name(expr), expr)

    def default_name(self, expr: Expr) -> str:
        while isinstance(expr, Cast):
            expr = expr.value
        match expr:
            case Column(name):
                return name_parts(name)[-1]
            case Get(column, path):
                keys = [step for step in path.steps if isinstance(step, str)]
                return keys[-1] if keys else name_parts(column)[-1]
            case _:
                return self.sql.strip()

    # Trees

    def tree(self) -> exp.Expr:
        lone = next((at for at, one in enumerate(self.sql) if "\ud800" <= one <= "\udfff"), None)
        if lone is not None:
            self.invalid("this is half of a surrogate pair, not a character", lone)
        try:
            tokens = spark_tokens(self.sql)
            for token in tokens:
                if token.token_type == TokenType.PARAMETER:  # sqlglot would drop it: v:$type is not v:type
                    self.invalid(f"{token.text!r} needs backticks here, as in v:`$type`", token.start)
                if token.token_type == TokenType.NUMBER and len(token.text) > MOST_DIGITS:
                    self.invalid(
                        f"a number of {len(token.text):,} characters does not fit any type", token.start
                    )
            trees = SPARK.parser().parse(tokens, self.sql)
        except ParseError as error:
            raise InvalidExpression(self.parse_problem(error)) from None
        except TokenError:
            shown = self.sql if len(self.sql) <= LONGEST_LINE else self.sql[:LONGEST_LINE] + "..."
            raise InvalidExpression(
                f"{shown!r} can't be parsed. Is a quote or a comment not closed?"
            ) from None
        except RecursionError:
            self.too_deep()
        if not self.sql.strip():
            raise InvalidExpression("the text is empty; leave it out to select everything")
        if len(trees) != 1 or trees[0] is None:
            self.invalid("expected one expression", 0)
        return trees[0]

    def whole(self, node: exp.Expr) -> Expr:
        """Returns the tree of the whole text; raises if it is nested too deeply."""
        try:
            found = self.expr(node)
        except RecursionError:
            self.too_deep()
        level: list[Expr] = [found]
        for _ in range(MOST_LEVELS):
            level = [child for expr in level for child in children(expr)]
        if level:
            self.too_deep()
        return found

    def expr(self, node: exp.Expr) -> Expr:
        if type(node) in _COMPARISONS:
            if isinstance(node.expression, _AMBIGUOUS):
                self.invalid("add parentheses: without them, Spark would compare the left part first", node)
            return Compare(_COMPARISONS[type(node)], self.expr(node.this), self.expr(node.expression))
        if type(node) in _ARITHMETIC:
            return Arithmetic(_ARITHMETIC[type(node)], self.expr(node.this), self.expr(node.expression))
        reader = _READERS.get(type(node))
        if reader is None:
            self.unsupported(node)
        return reader(self, node)

    def paren(self, node: exp.Expr) -> Expr:
        return self.expr(node.this)

    def conjunction(self, node: exp.Expr) -> Expr:
        return conjunction(self.operands(node, exp.And))

    def disjunction(self, node: exp.Expr) -> Expr:
        return disjunction(self.operands(node, exp.Or))

    def operands(self, node: exp.Expr, kind: type[exp.Connector]) -> tuple[Expr, ...]:
        """Flatten a chain of the same connector iteratively, since it may have thousands of operands."""
        found: list[exp.Expr] = []
        pending = [node]
        while pending:
            part = pending.pop()
            inner = part.unnest()
            if isinstance(inner, kind):
                pending += [inner.expression, inner.this]
            else:
                found.append(inner)
        return tuple(self.expr(part) for part in found)

    def negation(self, node: exp.Expr) -> Expr:
        return Not(self.expr(node.this))

    def is_(self, node: exp.Expr) -> Expr:
        value, what = self.expr(node.this), node.expression
        if isinstance(what, exp.Null):
            return IsNull(value)
        if isinstance(what, exp.Boolean):
            return Compare("<=>", value, Literal(bool(what.this), BOOLEAN))
        return self.unsupported(node)

    def distinct(self, node: exp.Expr) -> Expr:
        return Not(Compare("<=>", self.expr(node.this), self.expr(node.expression)))

    def in_(self, node: exp.Expr) -> Expr:
        if node.args.get("query") is not None or node.args.get("unnest") is not None:
            self.unsupported(node)
        if not node.expressions:
            self.invalid("IN needs at least one value", node)
        value = self.expr(node.this)
        options = [self.expr(option) for option in node.expressions]
        constants = tuple(option for option in options if isinstance(option, Literal))
        if len(constants) == len(options):
            return In(value, constants)
        return Or(tuple(Compare("=", value, option) for option in options))

    def between(self, node: exp.Expr) -> Expr:
        if node.args.get("symmetric"):
            self.unsupported(node, "Spark has no BETWEEN SYMMETRIC; write the lower bound first")
        value = self.expr(node.this)
        low, high = self.expr(node.args["low"]), self.expr(node.args["high"])
        return And((Compare(">=", value, low), Compare("<=", value, high)))

    def like(self, node: exp.Expr, escape: str = "\\") -> Expr:
        pattern = self.expr(node.expression)
        if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
            self.unsupported(node, "the pattern of LIKE must be a string constant")
        if has_stray_escape(pattern.value, escape):
            self.invalid(f"{escape!r} may only precede %, _ or itself", node.expression)
        like = Like(self.expr(node.this), pattern.value, escape)
        return Not(like) if node.args.get("negate") else like

    def escaped_like(self, node: exp.Expr) -> Expr:
        escape = self.expr(node.expression)
        if not isinstance(escape, Literal) or not isinstance(escape.value, str) or len(escape.value) != 1:
            self.invalid("ESCAPE takes one character", node.expression)
        if not isinstance(node.this, exp.Like):
            self.unsupported(node)
        return self.like(node.this, escape.value)

    def starts_with(self, node: exp.Expr) -> Expr:
        prefix = self.expr(node.expression)
        if not isinstance(prefix, Literal) or not isinstance(prefix.value, str):
            self.unsupported(node, "the prefix must be a string constant")
        escaped = "".join("\\" + char if char in "%_\\" else char for char in prefix.value)
        return Like(self.expr(node.this), escaped + "%")

    # Columns and paths

    def column(self, node: exp.Expr) -> Expr:
        return Column(self.column_name(node))

    def column_name(self, node: exp.Expr) -> str:
        parts: list[exp.Expr] = []
        while isinstance(node, exp.Dot):
            parts.insert(0, node.expression)
            node = node.this
        if not isinstance(node, exp.Column):
            if isinstance(node, exp.JSONExtract):
                self.invalid("a path has one colon, and its type two, as in v:kind::string", node)
            self.unsupported(node, "a path must start with a column")
        parts = [*node.parts, *parts]
        if not all(isinstance(part, exp.Identifier) for part in parts):
            self.unsupported(node)
        return join_name(tuple(part.name for part in parts))

    def extraction(self, node: exp.Expr) -> Expr:
        steps: list[str | int] = []
        for part in node.expression.expressions:
            if isinstance(part, exp.JSONPathRoot):
                continue
            step = part.this
            is_name = isinstance(part, exp.JSONPathKey) and isinstance(step, str)
            if not is_name and not (isinstance(step, int) and step >= 0):
                self.unsupported(node, "a path consists of names and of indexes from 0")
            steps.append(step)
        return Get(self.column_name(node.this), Path(tuple(steps)))

    def bracket(self, node: exp.Expr) -> Expr:
        """Parses `v['a']` and `v[0]`: a step into the operand before the bracket."""
        base = self.expr(node.this)
        index = self.expr(node.expressions[0]) if len(node.expressions) == 1 else None
        if (
            not isinstance(base, Get)
            or base.type is not None
            or not isinstance(index, Literal)
            or not (isinstance(index.value, str) or (type(index.value) is int and index.value >= 0))
        ):
            self.unsupported(node, "write a path as v:a[0].b, with constant keys and indexes")
        return Get(base.column, Path((*base.path.steps, index.value)))

    def function(self, node: exp.Expr) -> Expr:
        name = node.name.lower()
        arguments = node.expressions
        if name in ("variant_get", "try_variant_get"):
            return self.variant_get(node, strict=name == "variant_get")
        wrap = _FUNCTIONS.get(name)
        if wrap is None or len(arguments) != 1:
            self.unsupported(node)
        return wrap(self.expr(arguments[0]))

    def variant_get(self, node: exp.Expr, strict: bool) -> Expr:
        if len(node.expressions) not in (2, 3):
            self.invalid(f"{node.name} takes a column, a path and a type", node)
        column, path, *rest = node.expressions
        texts = [self.expr(argument) for argument in (path, *rest)]
        constants = _texts(texts)
        if len(constants) < len(texts):
            self.unsupported(node, "path and type must be string constants")
        target = self.type_named(constants[1], rest[0]) if rest else None
        try:
            steps = Path.parse_spark(constants[0]).steps
        except InvalidPath as error:
            self.invalid(str(error), path)
        base = self.expr(column)
        if isinstance(base, Get) and base.type is None:  # variant_get(v:a, '$.b')
            return Get(base.column, Path((*base.path.steps, *steps)), target, strict)
        if not isinstance(base, Column):
            self.unsupported(node, f"{node.name} takes a Variant column")
        return Get(base.name, Path(steps), target, strict)

    def type_named(self, name: str, node: exp.Expr) -> DataType | None:
        try:
            named = parse_type(name)
        except InvalidExpression as error:
            self.invalid(str(error), node)
        return None if named == VARIANT else named

    # Constants and casts

    def null(self, node: exp.Expr) -> Expr:
        return Literal(None, VOID)

    def boolean(self, node: exp.Expr) -> Expr:
        return Literal(bool(node.this), BOOLEAN)

    def literal(self, node: exp.Expr) -> Expr:
        if node.is_string:
            return Literal(node.this, STRING)
        constant = number(node.this)
        if constant is None:
            self.invalid("the number has more digits than any number type", node)
        return constant

    def raw_string(self, node: exp.Expr) -> Expr:
        return Literal(node.this, STRING)

    def adjacent_strings(self, node: exp.Expr) -> Expr:
        parts = [self.expr(part) for part in node.expressions]
        texts = _texts(parts)
        if len(texts) < len(parts):
            self.unsupported(node)
        return Literal("".join(texts), STRING)

    def hex_string(self, node: exp.Expr) -> Expr:
        digits = node.this
        try:
            return Literal(bytes.fromhex(digits if len(digits) % 2 == 0 else "0" + digits), BINARY)
        except ValueError:
            self.invalid(f"X'{digits}' has characters that are not hex digits", node)

    def minus(self, node: exp.Expr) -> Expr:
        inner = node.this
        if type(inner) is exp.Cast and inner.this.is_number and inner.is_type(*exp.DataType.NUMERIC_TYPES):
            # The sign belongs to the number: -128Y is a tinyint, though 128 is not.
            return self.cast(exp.Cast(this=exp.Neg(this=inner.this), to=inner.to))
        value = self.expr(inner)
        if isinstance(value, Literal) and isinstance(value.value, int | float | Decimal):
            sign = number(f"-{inner.this}") if isinstance(inner, exp.Literal) else None
            return sign or Literal(-value.value, value.type)
        return Negate(value)

    def cast(self, node: exp.Expr) -> Expr:
        try:
            target = from_sqlglot(node.args["to"])
        except InvalidExpression as error:
            self.invalid(str(error), node)
        strict = False if isinstance(node, exp.TryCast) else None
        value = self.expr(node.this)
        if isinstance(value, Get) and value.type is None:
            if target == VARIANT:
                return value
            return Get(value.column, value.path, target, strict if value.strict is None else value.strict)
        if isinstance(value, Literal) and not depends_on_engine(value.type, target):
            folded = fold_cast(value, target, CastOptions(timezone=self.timezone))
            if folded is not None:
                return folded
            if strict is None:
                self.invalid(f"{_plain(value)} is not a valid {target}", node)
            return Literal(None, target)
        return Cast(value, target, strict)


def _texts(parts: list[Expr]) -> list[str]:
    return [part.value for part in parts if isinstance(part, Literal) and isinstance(part.value, str)]


def _plain(literal: Literal) -> str:
    text = repr(literal.value) if isinstance(literal.value, str) else str(literal.value)
    return text if len(text) <= LONGEST_LINE else text[:LONGEST_LINE] + "..."


_FUNCTIONS: dict[str, Callable[[Expr], Expr]] = {
    "is_variant_null": IsVariantNull,
    "isnull": IsNull,
    "isnotnull": lambda value: Not(IsNull(value)),
}

_READERS: dict[type[exp.Expr], Callable[[Reader, Any], Expr]] = {
    exp.Paren: Reader.paren,
    exp.And: Reader.conjunction,
    exp.Or: Reader.disjunction,
    exp.Not: Reader.negation,
    exp.Is: Reader.is_,
    exp.NullSafeNEQ: Reader.distinct,
    exp.In: Reader.in_,
    exp.Between: Reader.between,
    exp.Like: Reader.like,
    exp.Escape: Reader.escaped_like,
    exp.StartsWith: Reader.starts_with,
    exp.IsNan: lambda reader, node: IsNan(reader.expr(node.this)),
    exp.Column: Reader.column,
    exp.Dot: Reader.column,
    exp.JSONExtract: Reader.extraction,
    exp.Bracket: Reader.bracket,
    exp.Anonymous: Reader.function,
    exp.Null: Reader.null,
    exp.Boolean: Reader.boolean,
    exp.Literal: Reader.literal,
    exp.RawString: Reader.raw_string,
    exp.Concat: Reader.adjacent_strings,
    exp.HexString: Reader.hex_string,
    exp.Neg: Reader.minus,
    exp.Cast: Reader.cast,
    exp.TryCast: Reader.cast,
}
