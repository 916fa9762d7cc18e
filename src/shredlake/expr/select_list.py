"""A list of columns as it stands behind SELECT, cut into its columns."""

from __future__ import annotations

from typing import Final

from sqlglot import TokenType
from sqlglot.dialects.databricks import Databricks
from sqlglot.errors import TokenError

from shredlake.errors import InvalidExpression

_OPEN: Final = (TokenType.L_PAREN, TokenType.L_BRACKET)
_CLOSE: Final = (TokenType.R_PAREN, TokenType.R_BRACKET)


def split_columns(text: str) -> list[str]:
    """The columns between the commas; commas in brackets and strings are no ends.

    >>> split_columns("v:a::decimal(9,2) AS a, variant_get(v, '$.b,c', 'int') AS b")
    ['v:a::decimal(9,2) AS a', "variant_get(v, '$.b,c', 'int') AS b"]
    """
    try:
        tokens = Databricks().tokenize(text)
    except TokenError as error:
        raise InvalidExpression(f"not a list of columns: {text!r} ({error})") from None
    columns: list[str] = []
    start = depth = 0
    for token in tokens:
        if token.token_type in _OPEN:
            depth += 1
        elif token.token_type in _CLOSE:
            depth -= 1
        elif token.token_type == TokenType.COMMA and depth == 0:
            columns.append(text[start : token.start].strip())
            start = token.end + 1
    columns.append(text[start:].strip())
    if not all(columns):
        raise InvalidExpression(f"not a list of columns: {text!r} has an empty column between its commas")
    return columns
