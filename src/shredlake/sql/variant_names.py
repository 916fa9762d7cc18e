"""Finds the names that a query gives to Variants, so that paths can be read from them.

```
select v AS document        unnest(v:items) AS t(item)        max_by(v, key) newest
```
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from sqlglot import Token, TokenType

from shredlake.expr.types import VARIANT, parse_type
from shredlake.sql.path_tokens import PathMatch, closing

PASSING: Final = (
    "unnest", "coalesce", "first", "last", "any_value", "min", "max", "min_by", "max_by", "arg_min",
    "arg_max",
)  # fmt: skip
"""Functions whose result is a Variant, or the Variants of a list, if their first argument is."""

VARIANTS: Final = parse_type("array<variant>")
NAMES: Final = (TokenType.VAR, TokenType.IDENTIFIER)


def as_list(path: PathMatch) -> PathMatch:
    """The path, read as an array of Variants."""
    return replace(path, get=replace(path.get, type=VARIANTS))


def new_variants(tokens: Sequence[Token], names: Collection[str], paths: Mapping[int, PathMatch]) -> set[str]:
    """The names that follow an expression which gives a Variant."""
    return {
        token.text.casefold()
        for end in _ends(tokens, names, paths)
        for token in _aliases(tokens, end)
    }  # fmt: skip


def _ends(tokens: Sequence[Token], names: Collection[str], paths: Mapping[int, PathMatch]) -> Iterator[int]:
    """The places behind expressions that give a Variant."""
    for index, token in enumerate(tokens):
        path = paths.get(index)
        if path is not None:
            end, gives = path.end, path.get.type in (None, VARIANT, VARIANTS)
        else:
            end, gives = index + 1, token.text.casefold() in names
        if not gives:
            continue
        yield end
        call = _call_around(tokens, index)
        if call is not None:
            yield call


def _call_around(tokens: Sequence[Token], index: int) -> int | None:
    """The place behind `max_by(v, key)`, if the first argument of such a function starts at a token."""
    while index >= 2 and tokens[index - 1].token_type == TokenType.DOT:
        index -= 2
    if index < 2 or tokens[index - 1].token_type != TokenType.L_PAREN:
        return None
    if tokens[index - 2].text.casefold() not in PASSING:
        return None
    return closing(tokens, index - 1) + 1


def _aliases(tokens: Sequence[Token], place: int) -> Iterator[Token]:
    """The names at a place: `AS name`, `name`, and those of the columns in `AS t(name)`."""
    following = list(tokens[place : place + 2])
    if following and following[0].token_type == TokenType.ALIAS:
        yield from following[1:]
        place += 2
    elif following and following[0].token_type in NAMES:
        yield following[0]
        place += 1
    else:
        return
    if place < len(tokens) and tokens[place].token_type == TokenType.L_PAREN:
        for token in tokens[place + 1 :]:
            if token.token_type == TokenType.R_PAREN:
                return
            if token.token_type in NAMES:
                yield token
