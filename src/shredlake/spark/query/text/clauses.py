"""The columns and conditions of a query, one by one, by the tokens of its text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from sqlglot import Token, TokenType

from shredlake.sql.path_tokens import tokenize

NAMES: Final = (TokenType.VAR, TokenType.IDENTIFIER)
BEFORE_NAME: Final = (
    *NAMES, TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.STRING, TokenType.NUMBER, TokenType.END,
)  # fmt: skip
"""The tokens that end an expression, so that a name behind them is the column's."""
NESTING: Final = {
    TokenType.L_PAREN: 1, TokenType.L_BRACKET: 1, TokenType.CASE: 1,
    TokenType.R_PAREN: -1, TokenType.R_BRACKET: -1, TokenType.END: -1,
}  # fmt: skip


def has_name(text: str) -> bool:
    """Whether a column has a name of its own, with or without AS.

    >>> [has_name(text) for text in ("upper(a) AS b", "upper(a) b", "a || b", "cast(a AS int) || 'b'")]
    [True, True, False, False]
    """
    tokens = tokenize(text)
    if any(token.token_type == TokenType.ALIAS for token in _outermost(tokens)):
        return True
    kinds = [token.token_type for token in tokens[-2:]]
    return len(kinds) == 2 and kinds[0] in BEFORE_NAME and kinds[1] in NAMES


def _outermost(tokens: Sequence[Token]) -> Iterator[Token]:
    """The tokens outside of brackets and CASE."""
    depth = 0
    for token in tokens:
        step = NESTING.get(token.token_type, 0)
        depth += step
        if not depth and not step:
            yield token


def conjuncts_of(where: str) -> list[str]:
    """The parts of a condition that AND joins, as text.

    >>> conjuncts_of("a between 1 and 2 and (b or c and d) AND case when e and f then g end")
    ['a between 1 and 2', '(b or c and d)', 'case when e and f then g end']
    >>> conjuncts_of("a and b or c")
    ['a and b or c']
    """
    found: list[str] = []
    start = betweens = 0
    for token in _outermost(tokenize(where)):
        if token.token_type == TokenType.OR:
            return [where]
        if token.token_type == TokenType.BETWEEN:
            betweens += 1
        elif token.token_type == TokenType.AND and betweens:
            betweens -= 1
        elif token.token_type == TokenType.AND:
            found.append(where[start : token.start].strip())
            start = token.end + 1
    return [*found, where[start:].strip()]
