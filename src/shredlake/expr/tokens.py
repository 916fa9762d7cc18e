"""Splits Spark SQL text into tokens, with sqlglot's Databricks dialect."""

from __future__ import annotations

from typing import Final

from sqlglot import Dialect, Token, TokenType
from sqlglot.dialects.databricks import Databricks
from sqlglot.errors import TokenError

from shredlake.errors import InvalidExpression

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
