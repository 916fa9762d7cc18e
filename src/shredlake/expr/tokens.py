"""Splits Spark SQL text into tokens, and reads the names of types, with sqlglot's Databricks dialect."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from sqlglot import Dialect, Token, TokenType, exp
from sqlglot.dialects.databricks import Databricks
from sqlglot.errors import SqlglotError, TokenError

from shredlake.errors import InvalidExpression
from shredlake.expr.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    TYPE_EXAMPLES,
    UUID,
    VARIANT,
    VOID,
    DataType,
    checked_decimal,
)  # fmt: skip
from shredlake.variant.identifiers import quote_if_needed

SPARK: Final[Dialect] = Databricks()

_OPEN: Final = (TokenType.L_PAREN, TokenType.L_BRACKET)
_CLOSE: Final = (TokenType.R_PAREN, TokenType.R_BRACKET)


def spark_tokens(sql: str) -> list[Token]:
    """The tokens of Spark SQL text; raises sqlglot's TokenError for a string that is not closed.

    A doubled quote inside a string is one quote, as in Spark since version 4. sqlglot follows earlier
    versions: it reads two strings side by side, to be concatenated.

    >>> [token.text for token in spark_tokens("name = 'O''Brien'")]
    ['name', '=', "O'Brien"]
    """
    found: list[Token] = []
    for token in SPARK.tokenize(sql):
        if found and _is_continued(sql, found[-1], token):
            last = found.pop()
            text = last.text + sql[token.start] + token.text
            token = Token(TokenType.STRING, text, last.line, last.col, last.start, token.end, token.comments)
        found.append(token)
    return found


def _is_continued(sql: str, last: Token, token: Token) -> bool:
    """Whether the quotes that end one string and start the next are one doubled quote."""
    return (
        last.token_type == token.token_type == TokenType.STRING
        and last.end + 1 == token.start
        and sql[last.end] == sql[token.start]
    )


def parts_between_commas(text: str) -> list[str]:
    """Splits a list at the commas outside brackets and strings."""
    try:
        tokens = spark_tokens(text)
    except TokenError as error:
        raise InvalidExpression(f"not a list of columns: {text!r} ({error})") from None
    parts: list[str] = []
    start = depth = 0
    for token in tokens:
        if token.token_type in _OPEN:
            depth += 1
        elif token.token_type in _CLOSE:
            depth -= 1
        elif token.token_type == TokenType.COMMA and depth == 0:
            parts.append(text[start : token.start].strip())
            start = token.end + 1
    return [*parts, text[start:].strip()]


_BY_SQLGLOT: Final = {
    exp.DType.BOOLEAN: BOOLEAN,
    exp.DType.TINYINT: TINYINT,
    exp.DType.SMALLINT: SMALLINT,
    exp.DType.INT: INT,
    exp.DType.BIGINT: BIGINT,
    exp.DType.FLOAT: FLOAT,
    exp.DType.DOUBLE: DOUBLE,
    exp.DType.TEXT: STRING,
    exp.DType.BINARY: BINARY,
    exp.DType.DATE: DATE,
    exp.DType.TIMESTAMPTZ: TIMESTAMP,
    exp.DType.TIMESTAMPLTZ: TIMESTAMP,
    exp.DType.TIMESTAMPNTZ: TIMESTAMP_NTZ,
    exp.DType.TIME: TIME,
    exp.DType.UUID: UUID,
    exp.DType.NULL: VOID,
    exp.DType.VARIANT: VARIANT,
}


def read_type(text: str) -> DataType:
    """Parses the name of a type in Spark's DDL."""
    try:
        node = exp.DataType.build(text, dialect="databricks")
    except SqlglotError:
        raise InvalidExpression(f"{text!r} is not a type; expected one like {TYPE_EXAMPLES}") from None
    return from_sqlglot(node)


def _digits(text: str, node: exp.DataType) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise InvalidExpression(f"{node.sql('databricks')} is not a type: a decimal has 1 to 38 digits")
    return int(text)


def from_sqlglot(node: exp.DataType) -> DataType:
    """Converts a parsed sqlglot type."""
    kind = node.this
    if kind == exp.DType.DECIMAL:
        return checked_decimal([_digits(parameter.name, node) for parameter in node.expressions])
    if kind == exp.DType.ARRAY and node.expressions:
        element = from_sqlglot(node.expressions[0])
        return DataType(f"array<{element}>", pa.list_(pa.field("element", element.arrow)))
    if kind == exp.DType.MAP and len(node.expressions) == 2:
        key, value = (from_sqlglot(part) for part in node.expressions)
        return DataType(f"map<{key},{value}>", pa.map_(key.arrow, value.arrow))
    if kind == exp.DType.STRUCT and node.expressions:
        fields = [(field.name, from_sqlglot(field.args["kind"])) for field in node.expressions]
        inner = ",".join(f"{quote_if_needed(name)}:{field}" for name, field in fields)
        return DataType(f"struct<{inner}>", pa.struct([(name, field.arrow) for name, field in fields]))
    plain = _BY_SQLGLOT.get(kind)
    if plain is None:
        raise InvalidExpression(f"the type {node.sql('databricks')} can't be used here: use {TYPE_EXAMPLES}")
    return plain
