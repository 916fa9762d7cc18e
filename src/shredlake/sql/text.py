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
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from sqlglot import Token, TokenType

from shredlake.errors import InvalidExpression
from shredlake.sql.path_tokens import (
    DUCKDB,
    PathMatch,
    closing,
    is_word,
    match_path,
    match_whole_cast,
    tokenize,
)
from shredlake.sql.variant_names import as_list, new_variants

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

    def names_after(self, words: Collection[str]) -> tuple[str, ...]:
        """The texts that follow any of these words."""
        pairs = zip(self.tokens, self.tokens[1:], strict=False)
        return tuple(dict.fromkeys(after.text for before, after in pairs if before.text.casefold() in words))

    def words(self) -> Counter[str]:
        """How often each word or string occurs, except as a qualifier."""
        ends = [*self.tokens[1:], None]
        return Counter(
            token.text
            for token, after in zip(self.tokens, ends, strict=False)
            if after is None or after.token_type != TokenType.DOT
        )

    def item_around(self, place: int) -> Span | None:
        """The column of the innermost SELECT list around a place in the text."""
        found = [
            (self.tokens[one.first].start, self.tokens[one.last].end + 1)
            for one in self.items
            if self.tokens[one.first].start <= place <= self.tokens[one.last].end
        ]
        return found[-1] if found else None

    def end_of_select_list(self, place: int) -> int | None:
        """The place in the text behind the last column of the innermost SELECT list around a place."""
        tokens = self.tokens
        around = [one for one in self.items if tokens[one.first].start <= place <= tokens[one.last].end]
        if not around:
            return None
        last = max(one.last for one in self.items if one.select == around[-1].select)
        return tokens[last].end + 1


def mark_query(sql: str, variants: Collection[str] | None) -> MarkedQuery:
    """Finds what scans can provide. `variants` are the names of Variant columns; None if they are not known.

    >>> found = mark_query("select v:kind::string, min(v:n::int) from events", {"v"})
    >>> [(mark.kind, found.sql[slice(*mark.span)]) for mark in found.marks]
    [('path', 'v:kind::string'), ('min', 'min(v:n::int)'), ('path', 'v:n::int')]
    >>> found.copy
    'select __mark0(v), __mark1(__mark2(v)) from events'
    """
    tokens = tokenize(sql, DUCKDB)
    paths = _find_paths(sql, tokens, variants)
    items = _select_items(tokens, paths)
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
    while index < len(tokens):
        token = tokens[index]
        around = [item for item in items if item.first <= index <= item.last]
        spans = tuple((tokens[item.first].start, tokens[item.last].end + 1) for item in reversed(around))
        path = paths.get(index)
        if path is not None:
            span = (token.start, tokens[path.end - 1].end + 1)
            replace(span, f"{MARK}{len(marks)}({path.column})")
            marks.append(Mark("path", span, path, spans))
            index = path.end
            continue
        end = _aggregate(tokens, index, paths) or _time_part(tokens, index, paths)
        if end is not None:
            replace((token.start, token.end + 1), f"{MARK}{len(marks)}")
            marks.append(Mark(token.text.casefold(), (token.start, tokens[end].end + 1), None, spans))  # type: ignore[arg-type]
        index += 1
    pieces.append(sql[copied:])
    return MarkedQuery(sql, tokens, tuple(marks), "".join(pieces), tuple(items), tuple(breaks))


def _find_paths(sql: str, tokens: Sequence[Token], variants: Collection[str] | None) -> dict[int, PathMatch]:
    """The paths by their first token, also those into Variants that the query gives a name."""
    if variants is None:
        names = {token.text.casefold() for token in tokens}
        return _paths(sql, tokens, names, certain=False)
    names = {name.casefold() for name in variants}
    while True:
        paths = _paths(sql, tokens, names)
        more = names | new_variants(tokens, names, paths)
        if more == names:
            return paths
        names = more


def _paths(
    sql: str, tokens: Sequence[Token], names: Collection[str], certain: bool = True
) -> dict[int, PathMatch]:
    """The paths by their first token. Text that can't be a path is an error if the names are certain."""
    found: dict[int, PathMatch] = {}
    braces: list[bool] = []
    index = 0
    while index < len(tokens):
        token, before = tokens[index], tokens[max(index - 1, 0)]
        key = bool(braces and braces[-1]) and before.token_type in (TokenType.L_BRACE, TokenType.COMMA)
        parameter = before.text.casefold() == "lambda"
        try:
            path = None if key or parameter else match_path(sql, tokens, index, names=names, scalar=False)
        except InvalidExpression:
            if certain:
                raise
            path = None
        if path is None and certain and not key and not parameter:
            path = match_whole_cast(sql, tokens, index, names)
        if path is not None:
            found[index] = as_list(path) if _is_unnested(tokens, index, path) else path
            index = path.end
            continue
        if token.token_type in OPENING:
            is_map = before.token_type == TokenType.MAP
            braces.append(token.token_type == TokenType.L_BRACE and not is_map)
        elif token.token_type in CLOSING and braces:
            braces.pop()
        index += 1
    return found


def _is_unnested(tokens: Sequence[Token], index: int, path: PathMatch) -> bool:
    """Whether a path without a type stands alone in `unnest(...)`, so that it must be an array."""
    return (
        path.get.type is None
        and [token.text.casefold() for token in tokens[max(index - 2, 0) : index]] == ["unnest", "("]
        and path.end < len(tokens)
        and tokens[path.end].token_type in (TokenType.R_PAREN, TokenType.COMMA)
    )


def _aggregate(tokens: Sequence[Token], index: int, paths: Mapping[int, PathMatch]) -> int | None:
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
    elif inside in paths:
        end = paths[inside].end
    else:
        end = inside
        while end + 1 < len(tokens) and tokens[end + 1].token_type == TokenType.DOT:
            end += 2
        if not is_word(tokens[end].text) and tokens[end].token_type != TokenType.IDENTIFIER:
            return None
        end += 1
    return end if end < len(tokens) and tokens[end].token_type == TokenType.R_PAREN else None


def _time_part(tokens: Sequence[Token], index: int, paths: Mapping[int, PathMatch]) -> int | None:
    """The last token of `hour(make_timestamp(path))`."""
    words = [token.text.casefold() for token in tokens[index : index + 4]]
    if words[0] not in TIME_PARTS or words[1:] != ["(", "make_timestamp", "("]:
        return None
    if any(tokens[at].token_type == TokenType.IDENTIFIER for at in (index, index + 2)):
        return None
    if index and tokens[index - 1].token_type == TokenType.DOT:
        return None
    path = paths.get(index + 4)
    end = None if path is None else path.end + 1
    closed = end is not None and [token.text for token in tokens[end - 1 : end + 1]] == [")", ")"]
    return end if closed else None


def _select_items(tokens: Sequence[Token], paths: Mapping[int, PathMatch]) -> list[SelectItem]:
    """The columns of every SELECT, outer ones before those inside of them."""
    inside = {index for start, path in paths.items() for index in range(start + 1, path.end)}  # `v:from`
    found: list[SelectItem] = []
    starts: list[tuple[int, int] | None] = [None]  # per open bracket: where a column and its SELECT start

    def close(index: int) -> None:
        if starts[-1] is not None and starts[-1][0] < index:
            found.append(SelectItem(starts[-1][0], index - 1, starts[-1][1]))
        starts[-1] = None

    for index, token in enumerate(tokens):
        if index in inside:
            continue
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
        elif before == TokenType.DISTINCT and kind == TokenType.ON and starts[-1] is not None:
            starts[-1] = (closing(tokens, index + 1) + 1, starts[-1][1])
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
