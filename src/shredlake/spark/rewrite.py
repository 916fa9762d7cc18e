"""Finding the paths that a query asks for, in its own text, and asking for plain columns in their place.

Spark stays the only one who understands the query. This module knows just three local patterns, found in the
stream of tokens, and leaves every other character as it was:

```
v:user.id::bigint                       ──▶  v.p0
variant_get(e.v, '$.user.id', 'bigint') ──▶  e.v.p0
try_cast(v:kind as string)              ──▶  v.p1
```

Behind the new text, `v` is a struct with one field per path. A struct travels through joins, subqueries,
common table expressions and views exactly as the Variant did, and Spark's optimiser takes it apart again at
the scan: the field becomes the plain column, and a filter on it a pushed-down filter. If the struct ends up
where a Variant was needed, the analysis of the new text fails or its types differ, and the caller falls
back.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import Token, TokenType
from sqlglot.dialects.databricks import Databricks
from sqlglot.errors import TokenError

from shredlake.errors import InvalidExpression
from shredlake.expr.ast import Get
from shredlake.expr.parse import parse_columns

GETTERS: Final = {"variant_get": True, "try_variant_get": False}
"""Functions that take a Variant and a path; whether a value that does not cast raises."""
CASTS: Final = {"cast": True, "try_cast": False}


@dataclass(frozen=True)
class Rewritten:
    """A query that asks for fields of structs, and what each field stands for."""

    sql: str
    fields: dict[Get, str]
    """The name of the field that holds each path: `p0`, `p1`, ..."""


def rewrite(sql: str, variants: Collection[str]) -> Rewritten:
    """Replaces every typed path into one of the Variant columns, by the names of these columns.

    >>> found = rewrite("select v:a.b::bigint from t where cast(t.v:k as int) > 1", {"v"})
    >>> found.sql
    'select v.p0 from t where t.v.p1 > 1'
    >>> [(field, str(get.path), str(get.type), get.strict) for get, field in found.fields.items()]
    [('p0', '$.a.b', 'bigint', True), ('p1', '$.k', 'int', True)]
    """
    try:
        tokens = Databricks().tokenize(sql)
    except TokenError as error:
        raise InvalidExpression(f"not SQL: {error}") from None
    names = {name.casefold() for name in variants}
    fields: dict[Get, str] = {}
    pieces: list[str] = []
    copied = index = 0
    while index < len(tokens):
        match = _Matcher(sql, tokens, index, names).match()
        if match is None:
            index += 1
            continue
        field = fields.setdefault(match.get, f"p{len(fields)}")
        pieces += [sql[copied : tokens[index].start], f"{match.column}.{field}"]
        index = match.end
        copied = tokens[index - 1].end + 1
    return Rewritten("".join([*pieces, sql[copied:]]), fields)


@dataclass(frozen=True)
class _Match:
    column: str
    """The column as the query spells it, with its qualifiers."""
    get: Get
    end: int
    """The index of the first token behind the match."""


class _Matcher:
    """Tries the patterns at one token."""

    def __init__(self, sql: str, tokens: list[Token], start: int, names: set[str]) -> None:
        self._sql, self._tokens, self._start, self._names = sql, tokens, start, names

    def match(self) -> _Match | None:
        token = self._tokens[self._start]
        if self._start and self._tokens[self._start - 1].token_type == TokenType.DOT:
            return None  # inside a qualified name
        word = token.text.casefold()
        if self._kind(self._start + 1) == TokenType.L_PAREN and token.token_type != TokenType.IDENTIFIER:
            if word in GETTERS:
                return self._getter(GETTERS[word])
            if word in CASTS:
                return self._cast(CASTS[word])
        return self._extraction()

    def _extraction(self) -> _Match | None:
        """`v:a.b[0]::type`: a path that stays a Variant is left alone."""
        column = self._column(self._start)
        path = column and self._path(column)
        end = path and self._kind(path) == TokenType.DCOLON and self._type(path + 1)
        return self._found(column, end, strict=True) if column and end else None

    def _cast(self, strict: bool) -> _Match | None:
        """`cast(v:a as type)`, and nothing else inside the brackets."""
        column = self._column(self._start + 2)
        path = column and self._path(column)
        end = path and self._kind(path) == TokenType.ALIAS and self._type(path + 1)
        if not column or not end or self._kind(end) != TokenType.R_PAREN:
            return None
        return self._found(column, end + 1, strict, first=self._start + 2)

    def _getter(self, strict: bool) -> _Match | None:
        """`variant_get(v, 'path', 'type')`, all three given and the last two constants."""
        column = self._column(self._start + 2)
        wanted = [
            TokenType.COMMA, TokenType.STRING, TokenType.COMMA, TokenType.STRING, TokenType.R_PAREN,
        ]  # fmt: skip
        if not column or [self._kind(column + n) for n in range(5)] != wanted:
            return None
        return self._found(column, column + 5, strict, first=self._start + 2)

    def _column(self, index: int) -> int | None:
        """The index behind `v`, `e.v` or `db.e.v`, if it is a Variant column by its last name."""
        while self._is_name(index) and self._kind(index + 1) == TokenType.DOT:
            index += 2
        named = self._is_name(index) and self._tokens[index].text.casefold() in self._names
        return index + 1 if named else None

    def _path(self, index: int) -> int | None:
        """The index behind `:a.b[0]`."""
        if self._kind(index) != TokenType.COLON:
            return None
        index += 1
        if self._is_name(index):
            index += 1
        elif self._kind(index) != TokenType.L_BRACKET:
            return None
        while True:
            if self._kind(index) in (TokenType.DOT, TokenType.COLON) and self._is_name(index + 1):
                index += 2
            elif (
                self._kind(index) == TokenType.L_BRACKET
                and self._kind(index + 1) in (TokenType.NUMBER, TokenType.STRING)
                and self._kind(index + 2) == TokenType.R_BRACKET
            ):
                index += 3
            else:
                return index

    def _type(self, index: int) -> int | None:
        """The index behind a scalar type; nested types stay with Spark."""
        if not self._is_name(index) or self._kind(index + 1) == TokenType.LT:
            return None
        if self._kind(index + 1) != TokenType.L_PAREN:
            return index + 1
        while index < len(self._tokens) and self._kind(index) != TokenType.R_PAREN:
            index += 1
        return index + 1

    def _found(self, column: int, end: int, strict: bool, first: int | None = None) -> _Match | None:
        """Lets the parser of expressions say what the text means; what it does not take is left alone."""
        first = self._start if first is None else first
        spelled = self._text(first, column)
        whole = self._text(self._start, end)
        bare = self._text(column - 1, column)
        try:
            [projection] = parse_columns([whole.replace(spelled, bare, 1)])
        except InvalidExpression:
            return None
        if not isinstance(projection.expr, Get) or projection.expr.type is None:
            return None
        return _Match(spelled, replace(projection.expr, strict=strict), end)

    def _text(self, first: int, end: int) -> str:
        return self._sql[self._tokens[first].start : self._tokens[end - 1].end + 1]

    def _kind(self, index: int) -> TokenType | None:
        return self._tokens[index].token_type if index < len(self._tokens) else None

    def _is_name(self, index: int) -> bool:
        """Keywords may be names of columns, fields and types too: anything that reads as a word will do."""
        if index >= len(self._tokens):
            return False
        token = self._tokens[index]
        word = token.text.replace("_", "").replace("$", "").isalnum() and not token.text[0].isdigit()
        return token.token_type == TokenType.IDENTIFIER or (word and token.token_type != TokenType.STRING)
