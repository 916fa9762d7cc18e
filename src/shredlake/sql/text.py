"""Finds paths, countable aggregates and the columns of SELECTs in the text of a query.

What is found gets a mark: a function call in a copy of the text that sqlglot can parse, so that the marks can
be found again in the tree.

```
select v:kind::string, count(*) from events       the text
select __mark0(v), __mark1(*) from events         the copy
```
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from sqlglot import Token, TokenType

from shredlake.sql.path_tokens import DUCKDB, PathMatch, is_word, match_path, tokenize

MARK: Final = "__mark"

AGGREGATES: Final = ("count", "min", "max")
"""The aggregates of a column that a scan can prepare."""

TimePart = Literal["hour", "minute", "second"]
TIME_PARTS: Final = get_args(TimePart)
"""Functions of `make_timestamp(path)` that a scan computes."""

END_OF_COLUMNS: Final = (
    TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.QUALIFY,
    TokenType.ORDER_BY, TokenType.LIMIT, TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT,
    TokenType.SEMICOLON, TokenType.WINDOW, TokenType.USING,
)  # fmt: skip
OPENING: Final = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
CLOSING: Final = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)

Span = tuple[int, int]
"""Where something starts in the text, and where it ends."""


@dataclass(frozen=True)
class Mark:
    """A path, an aggregate of a column, or a part of a moment in the text of a query."""

    kind: Literal["path", "count", "min", "max"] | TimePart
    span: Span
    path: PathMatch | None = None
    items: tuple[Span, ...] = ()
    """The columns of SELECTs that it lies in, the innermost first."""


@dataclass(frozen=True)
class SelectItem:
    """A column of a SELECT, as its first and last token."""

    first: int
    last: int
    select: int
    """The token after SELECT, the same for all columns of one SELECT."""


@dataclass(frozen=True)
class MarkedQuery:
    """The text of a query, and what was found in it."""

    sql: str
    tokens: Sequence[Token]
    marks: tuple[Mark, ...]
    copy: str
    """The text with marks in place of what was found."""
    items: tuple[SelectItem, ...] = field(repr=False, default=())
    _breaks: tuple[tuple[int, int], ...] = field(repr=False, default=())
    """Places in the copy, in order, and the places in the text that they correspond to."""

    def place(self, copied: int) -> int:
        """The place in the text that corresponds to a place in the copy outside all marks."""
        at = bisect_right([place for place, _ in self._breaks], copied) - 1
        start, origin = self._breaks[at]
        return origin + copied - start

    def end_of_select_list(self, place: int) -> int | None:
        """The place in the text behind the last column of the innermost SELECT list around a place."""
        tokens = self.tokens
        around = [one for one in self.items if tokens[one.first].start <= place <= tokens[one.last].end]
        if not around:
            return None
        last = max(one.last for one in self.items if one.select == around[-1].select)
        return tokens[last].end + 1


def mark_query(sql: str, variants: Collection[str]) -> MarkedQuery:
    """Finds what scans can provide. `variants` are the names of Variant columns.

    >>> found = mark_query("select v:kind::string, min(v:n::int) from events", {"v"})
    >>> [(mark.kind, found.sql[slice(*mark.span)]) for mark in found.marks]
    [('path', 'v:kind::string'), ('min', 'min(v:n::int)'), ('path', 'v:n::int')]
    >>> found.copy
    'select __mark0(v), __mark1(__mark2(v)) from events'
    """
    tokens = tokenize(sql, DUCKDB)
    names = _with_aliases(tokens, variants)
    items = _select_items(tokens)
    marks: list[Mark] = []
    pieces: list[str] = []
    breaks: list[tuple[int, int]] = [(0, 0)]
    copied = length = 0

    def replace(span: Span, text: str) -> None:
        nonlocal copied, length
        for piece in (sql[copied : span[0]], text):
            pieces.append(piece)
            length += len(piece)
        copied = span[1]
        breaks.append((length, copied))

    index = 0
    braces: list[bool] = []
    while index < len(tokens):
        token = tokens[index]
        around = [item for item in items if item.first <= index <= item.last]
        spans = tuple((tokens[item.first].start, tokens[item.last].end + 1) for item in reversed(around))
        key = bool(braces and braces[-1]) and tokens[index - 1].token_type in (
            TokenType.L_BRACE, TokenType.COMMA,
        )  # fmt: skip
        path = None if key else match_path(sql, tokens, index, names=names, scalar=False)
        if path is not None:
            span = (token.start, tokens[path.end - 1].end + 1)
            replace(span, f"{MARK}{len(marks)}({path.column})")
            marks.append(Mark("path", span, path, spans))
            index = path.end
            continue
        end = _aggregate(sql, tokens, index, names) or _time_part(sql, tokens, index, names)
        if end is not None:
            replace((token.start, token.end + 1), f"{MARK}{len(marks)}")
            marks.append(Mark(token.text.casefold(), (token.start, tokens[end].end + 1), None, spans))  # type: ignore[arg-type]
        if token.token_type in OPENING:
            braces.append(token.token_type == TokenType.L_BRACE)
        elif token.token_type in CLOSING and braces:
            braces.pop()
        index += 1
    pieces.append(sql[copied:])
    return MarkedQuery(sql, tokens, tuple(marks), "".join(pieces), tuple(items), tuple(breaks))


def _aggregate(sql: str, tokens: Sequence[Token], index: int, names: Collection[str]) -> int | None:
    """The last token of `count(*)`, or of an aggregate of a single column or path."""
    word = tokens[index].text.casefold()
    if word not in AGGREGATES or index + 2 >= len(tokens):
        return None
    if tokens[index + 1].token_type != TokenType.L_PAREN or tokens[index].token_type == TokenType.IDENTIFIER:
        return None
    if index and tokens[index - 1].token_type == TokenType.DOT:
        return None
    inside = index + 2
    if word == "count" and tokens[inside].token_type == TokenType.R_PAREN:
        return inside
    if word == "count" and tokens[inside].token_type == TokenType.STAR:
        end = inside + 1
    elif path := match_path(sql, tokens, inside, names=names, scalar=False):
        end = path.end
    else:
        end = inside
        while end + 1 < len(tokens) and tokens[end + 1].token_type == TokenType.DOT:
            end += 2
        if not is_word(tokens[end].text) and tokens[end].token_type != TokenType.IDENTIFIER:
            return None
        end += 1
    return end if end < len(tokens) and tokens[end].token_type == TokenType.R_PAREN else None


def _time_part(sql: str, tokens: Sequence[Token], index: int, names: Collection[str]) -> int | None:
    """The last token of `hour(make_timestamp(path))`."""
    words = [token.text.casefold() for token in tokens[index : index + 4]]
    if words[0] not in TIME_PARTS or words[1:] != ["(", "make_timestamp", "("]:
        return None
    if any(tokens[at].token_type == TokenType.IDENTIFIER for at in (index, index + 2)):
        return None
    if index and tokens[index - 1].token_type == TokenType.DOT:
        return None
    path = match_path(sql, tokens, index + 4, names=names, scalar=False)
    end = None if path is None else path.end + 1
    closed = end is not None and [token.text for token in tokens[end - 1 : end + 1]] == [")", ")"]
    return end if closed else None


def _with_aliases(tokens: Sequence[Token], variants: Collection[str]) -> set[str]:
    """The names of Variants, with those that the query gives them (`v AS document`)."""
    names = {name.casefold() for name in variants}
    for before, middle, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if before.text.casefold() in names:
            if middle.token_type == TokenType.ALIAS:
                names.add(after.text.casefold())
            elif middle.token_type in (TokenType.VAR, TokenType.IDENTIFIER):
                names.add(middle.text.casefold())
    return names


def _select_items(tokens: Sequence[Token]) -> list[SelectItem]:
    """The columns of every SELECT, outer ones before those inside of them."""
    found: list[SelectItem] = []
    starts: list[tuple[int, int] | None] = [None]  # per open bracket: where a column and its SELECT start

    def close(index: int) -> None:
        if starts[-1] is not None and starts[-1][0] < index:
            found.append(SelectItem(starts[-1][0], index - 1, starts[-1][1]))
        starts[-1] = None

    for index, token in enumerate(tokens):
        kind = token.token_type
        before = tokens[index - 1].token_type if index else None
        if kind in OPENING:
            starts.append(None)
        elif kind in CLOSING:
            close(index)
            if len(starts) > 1:
                starts.pop()
        elif kind == TokenType.SELECT:
            starts[-1] = (index + 1, index + 1)
        elif before == TokenType.SELECT and kind in (TokenType.DISTINCT, TokenType.ALL):
            starts[-1] = (index + 1, index)
        elif kind == TokenType.COMMA and starts[-1] is not None:
            select = starts[-1][1]
            close(index)
            starts[-1] = (index + 1, select)
        elif kind in END_OF_COLUMNS and not (kind == TokenType.FROM and before == TokenType.DISTINCT):
            close(index)
    while starts:
        close(len(tokens))
        starts.pop()
    return sorted(found, key=lambda item: (item.first, -item.last))
