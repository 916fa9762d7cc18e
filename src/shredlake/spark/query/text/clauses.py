"""The columns and conditions of a query, one by one, by the tokens of its text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Span:
    """Some tokens of a query, by the indexes of the first one and of the one behind the last."""

    first: int
    end: int

    def text(self, sql: str, tokens: Sequence[Token]) -> str:
        """The text of these tokens."""
        return sql[tokens[self.first].start : tokens[self.end - 1].end + 1] if self.first < self.end else ""


def has_name(tokens: Sequence[Token], span: Span | None = None) -> bool:
    """Whether a column has a name of its own, with or without AS.

    >>> texts = ("upper(a) AS b", "upper(a) b", "a || b", "cast(a AS int) || 'b'")
    >>> [has_name(tokenize(text)) for text in texts]
    [True, True, False, False]
    """
    span = span or Span(0, len(tokens))
    if any(token.token_type == TokenType.ALIAS for _, token in _outermost(tokens, span)):
        return True
    kinds = [token.token_type for token in tokens[span.first : span.end][-2:]]
    return len(kinds) == 2 and kinds[0] in BEFORE_NAME and kinds[1] in NAMES


def conjuncts_of(where: str) -> list[str]:
    """The parts of a condition that AND joins, as text.

    >>> conjuncts_of("a between 1 and 2 and (b or c and d) AND case when e and f then g end")
    ['a between 1 and 2', '(b or c and d)', 'case when e and f then g end']
    >>> conjuncts_of("a and b or c")
    ['a and b or c']
    """
    tokens = tokenize(where)
    return [part.text(where, tokens) for part in parts_of(tokens)]


def parts_of(tokens: Sequence[Token], span: Span | None = None) -> list[Span]:
    """The parts of a condition that AND joins; the whole condition if OR does."""
    whole = span or Span(0, len(tokens))
    found: list[Span] = []
    start, betweens = whole.first, 0
    for index, token in _outermost(tokens, whole):
        if token.token_type == TokenType.OR:
            return [whole]
        if token.token_type == TokenType.BETWEEN:
            betweens += 1
        elif token.token_type == TokenType.AND and betweens:
            betweens -= 1
        elif token.token_type == TokenType.AND:
            found.append(Span(start, index))
            start = index + 1
    return [*found, Span(start, whole.end)]


def split_at_commas(tokens: Sequence[Token], span: Span) -> list[Span]:
    """The items of a list.

    >>> tokens = tokenize("a, f(b, c) AS d")
    >>> [(item.first, item.end) for item in split_at_commas(tokens, Span(0, len(tokens)))]
    [(0, 1), (2, 10)]
    """
    commas = [index for index, token in _outermost(tokens, span) if token.token_type == TokenType.COMMA]
    starts, ends = [span.first, *(index + 1 for index in commas)], [*commas, span.end]
    return [Span(first, end) for first, end in zip(starts, ends, strict=True)]


def _outermost(tokens: Sequence[Token], span: Span) -> Iterator[tuple[int, Token]]:
    """The tokens outside of brackets and CASE, with their indexes."""
    depth = 0
    for index in range(span.first, span.end):
        step = NESTING.get(tokens[index].token_type, 0)
        depth += step
        if not depth and not step:
            yield index, tokens[index]
