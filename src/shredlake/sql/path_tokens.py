"""Recognises paths into Variants in the tokens of a query.

```
v:user.id::bigint     variant_get(e.v, '$.user.id', 'bigint')     try_cast(v:kind as string)
```

Only these three patterns are recognised; the engine that runs the query parses everything else. Spark's
queries and those of `shredlake.sql` share this rule.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import Dialect, Token, TokenType
from sqlglot.dialects.dialect import DialectType
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import TokenError
from sqlglot.parsers.duckdb import DuckDBParser

from shredlake.caches import cached
from shredlake.errors import InvalidExpression
from shredlake.expr.ast import Get
from shredlake.expr.parse import parse_columns
from shredlake.expr.tokens import SPARK, spark_tokens
from shredlake.expr.types import VARIANT
from shredlake.variant.identifiers import quote
from shredlake.variant.path import Path

GETTERS: Final = {"variant_get": True, "try_variant_get": False}
"""Functions that read a path of a Variant, and whether they raise if the value can't be cast."""
CASTS: Final = {"cast": None, "try_cast": False}
"""Casts, and whether they raise if the value can't be cast; None leaves it to the query."""

NESTED: Final = ("array", "map", "struct")

AFTER_PATH: Final = (TokenType.DCOLON, TokenType.ALIAS)
DUCKDB_TYPES: Final = {
    "int8": "bigint", "int64": "bigint", "int4": "int", "int32": "int", "int2": "smallint",
    "int16": "smallint", "int1": "tinyint", "blob": "binary", "bytea": "binary", "varbinary": "binary",
    "datetime": "timestamp", "bpchar": "string", "logical": "boolean",
}  # fmt: skip
"""Names of types in DuckDB that Spark's parser does not know, or takes for others."""

ANY: Final = "v"
"""A placeholder for the column of a path, because every path is read from all Variants."""


DOLLAR_QUOTE: Final = re.compile(r"\$([^\W\d]\w*)?\$")
"""The opening of a string between dollars: `$$` or `$tag$`."""


class DuckDBWithBackticks(DuckDB):
    """DuckDB's SQL, with the backticks around odd names that Spark's paths have."""

    class Tokenizer(DuckDB.Tokenizer):
        IDENTIFIERS = ['"', "`"]  # noqa: RUF012

    class Parser(DuckDBParser):
        def _warn_unsupported(self) -> None:
            """DuckDB decides what is supported, and its errors say so."""

    def tokenize(self, sql: str, dialect: DialectType = None) -> list[Token]:
        """The tokens of a text. sqlglot takes the `$1,$` of two parameters for the start of a string."""
        if DOLLAR_QUOTE.search(sql):
            return super().tokenize(sql, dialect)
        return _WithoutDollarQuotes(dialect=dialect or self).tokenize(sql)


class _WithoutDollarQuotes(DuckDBWithBackticks.Tokenizer):
    """Every dollar starts a parameter."""

    HEREDOC_STRINGS = []  # noqa: RUF012


DUCKDB: Final[Dialect] = DuckDBWithBackticks()


def tokenize(sql: str, dialect: Dialect = SPARK) -> list[Token]:
    """The tokens of a query."""
    try:
        return list(_spark_tokens(sql)) if dialect is SPARK else dialect.tokenize(sql)
    except TokenError as error:
        raise InvalidExpression(f"not SQL: {error}. Is a quote or a comment not closed?") from None


@cached(256, "tokens of queries")
def _spark_tokens(sql: str) -> tuple[Token, ...]:
    """The tokens of a text, which the steps of planning a query ask for one after the other."""
    return tuple(spark_tokens(sql))


@dataclass(frozen=True)
class PathMatch:
    """A path in a query."""

    column: str
    """The column as written in the query, with its qualifiers."""
    get: Get
    end: int
    """The index of the first token after the match."""
    name: str = ""
    """The name of such a column of a result. Empty for a function call, which is named after its text."""
    is_whole_cast: bool = False
    """Whether it is a cast of a whole column; DuckDB casts columns that are not Variants."""


def match_path(
    sql: str,
    tokens: Sequence[Token],
    start: int,
    *,
    names: Collection[str] | None = None,
    scalar: bool = True,
) -> PathMatch | None:
    """The path that starts at a token, if there is one.

    `names` are the casefolded names of the columns that may be Variants; None for any. With `scalar`, only
    paths with a scalar type are matched; otherwise also those with a nested type, and those without a type.

    >>> sql = "select e.v:user.id::bigint from e"
    >>> found = match_path(sql, tokenize(sql), 1)
    >>> found.column, str(found.get.path), str(found.get.type), found.name
    ('e.v', '$.user.id', 'bigint', 'id')
    """
    return _Matcher(sql, tokens, start, names, scalar).match()


def match_variant(sql: str, tokens: Sequence[Token], start: int, names: Collection[str]) -> PathMatch | None:
    """The Variant that starts at a token, whole or at a path without a type, if there is one.

    >>> sql = "select e.v, v:a.b from e"
    >>> found = [match_variant(sql, tokenize(sql), start, {"v"}) for start in (1, 5, 9)]
    >>> [one and str(one.get.path) for one in found]
    ['$', '$.a.b', None]
    """
    return _Matcher(sql, tokens, start, names, False).variant()


def match_whole_cast(
    sql: str, tokens: Sequence[Token], start: int, names: Collection[str]
) -> PathMatch | None:
    """The cast of a whole Variant that starts at a token, if there is one and shredlake has the type.

    >>> sql = "select e.v::string, cast(v as int), v::json from e"
    >>> found = [match_whole_cast(sql, tokenize(sql), start, {"v"}) for start in (1, 7, 14)]
    >>> [one and (one.column, str(one.get.type)) for one in found]
    [('e.v', 'string'), ('v', 'int'), None]
    """
    try:
        return _Matcher(sql, tokens, start, names, False).whole_cast()
    except InvalidExpression:
        return None


class _Matcher:
    """Tries the patterns at one token."""

    def __init__(
        self, sql: str, tokens: Sequence[Token], start: int, names: Collection[str] | None, scalar: bool
    ) -> None:
        self._sql, self._tokens, self._start = sql, tokens, start
        self._names, self._scalar = names, scalar
        self._ours = names is not None and not scalar
        """Whether the query is ours, so that no rule of Spark's SQL applies."""

    def match(self) -> PathMatch | None:
        token = self._tokens[self._start]
        before = self._kind(self._start - 1)
        if before == TokenType.DOT or (before == TokenType.COLON and not self._ours):
            return None  # inside a qualified name, or inside a path that is left to Spark
        word = token.text.casefold()
        if self._kind(self._start + 1) == TokenType.L_PAREN and token.token_type != TokenType.IDENTIFIER:
            if word in GETTERS:
                return self._getter(GETTERS[word])
            if word in CASTS:
                return self._cast(CASTS[word])
        return self._extraction()

    def variant(self) -> PathMatch | None:
        """Matches `v` and `v:a.b`."""
        column = self._column(self._start)
        if not column or (self._start and self._kind(self._start - 1) in (TokenType.DOT, TokenType.COLON)):
            return None
        path = self._path(column)
        if path:
            return self._found(column, path, strict=None)
        spelled = self._sql[self._tokens[self._start].start : self._tokens[column - 1].end + 1]
        return PathMatch(spelled, Get(ANY, Path(())), column)

    def whole_cast(self) -> PathMatch | None:
        """Matches `v::type` and `cast(v as type)`."""
        if self._kind(self._start - 1) == TokenType.DOT:
            return None
        word = self._tokens[self._start].text.casefold()
        called = word in CASTS and self._kind(self._start + 1) == TokenType.L_PAREN
        first = self._start + 2 if called else self._start
        column = self._column(first)
        if not column or self._kind(column) != (TokenType.ALIAS if called else TokenType.DCOLON):
            return None
        end = self._type(column + 1)
        if not end or (called and self._kind(end) != TokenType.R_PAREN):
            return None
        kind = _as_spark(_with_spark_types(self._tokens[column:end])[1:])
        [projection] = parse_columns([f"{ANY}:{ANY}::{kind}"])
        if not isinstance(projection.expr, Get) or projection.expr.type in (None, VARIANT):
            return None
        spelled = self._sql[self._tokens[first].start : self._tokens[column - 1].end + 1]
        get = Get(ANY, Path(()), projection.expr.type, CASTS[word] if called else None)
        return PathMatch(spelled, get, end + called, is_whole_cast=True)

    def _extraction(self) -> PathMatch | None:
        """Matches `v:a.b[0]::type`, and without a type if such paths are wanted."""
        column = self._column(self._start)
        path = column and self._path(column)
        if not column or not path:
            return None
        if self._kind(path) == TokenType.DCOLON and (end := self._type(path + 1)):
            return self._found(column, end, strict=None)
        if self._scalar:
            return None
        if self._ours and self._kind(path) == TokenType.L_BRACKET:
            text = self._sql[self._tokens[self._start].start : self._tokens[path - 1].end + 1]
            raise InvalidExpression(
                f"an index in a path is a number from 0: {text}[0]; for other indexes, read an array: "
                f"({text}::variant[])[i]"
            )
        return self._found(column, path, strict=None)

    def _cast(self, strict: bool | None) -> PathMatch | None:
        """Matches `cast(v:a as type)`, with nothing else inside the parentheses."""
        column = self._column(self._start + 2)
        path = column and self._path(column)
        end = path and self._kind(path) == TokenType.ALIAS and self._type(path + 1)
        if not column or not end or self._kind(end) != TokenType.R_PAREN:
            return None
        return self._found(column, end + 1, strict, first=self._start + 2)

    def _getter(self, strict: bool) -> PathMatch | None:
        """Matches `variant_get(v, 'path', 'type')` with all three arguments, the last two constant."""
        column = self._column(self._start + 2)
        wanted = [
            TokenType.COMMA, TokenType.STRING, TokenType.COMMA, TokenType.STRING, TokenType.R_PAREN,
        ]  # fmt: skip
        if not column or [self._kind(column + n) for n in range(5)] != wanted:
            return None
        found = self._found(column, column + 5, strict, first=self._start + 2)
        return found and replace(found, name="")

    def _column(self, index: int) -> int | None:
        """The index after `v`, `e.v` or `db.e.v`, if its last name may be that of a Variant."""
        first = index
        while self._is_name(index) and self._kind(index + 1) == TokenType.DOT:
            index += 2
        if not self._is_name(index):
            return None
        name = self._tokens[index].text.casefold()
        in_struct = index > first and self._names is not None and f".{name}" in self._names
        return index + 1 if self._names is None or name in self._names or in_struct else None

    def _path(self, index: int) -> int | None:
        """The index after `:a.b[0]`."""
        if self._kind(index) != TokenType.COLON:
            return None
        index += 1
        if self._is_step(index):
            index += 1
        elif self._kind(index) != TokenType.L_BRACKET:
            return None
        while True:
            if self._kind(index) in (TokenType.DOT, TokenType.COLON) and self._is_step(index + 1):
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
        """The index after a type. Nested types are matched only if they are wanted."""
        if not self._is_name(index):
            return None
        if self._tokens[index].text.casefold() in NESTED:
            end = None if self._scalar else self._nested_type(index + 1)
            if end is None:
                return None
            index = end
        else:
            index += 1
        if self._kind(index) == TokenType.L_PAREN:
            while index < len(self._tokens) and self._kind(index) != TokenType.R_PAREN:
                index += 1
            index += 1
        while (
            not self._scalar
            and self._kind(index) == TokenType.L_BRACKET
            and self._kind(index + 1) == TokenType.R_BRACKET
        ):
            index += 2  # bigint[]
        return index

    def _nested_type(self, index: int) -> int | None:
        """The index after the brackets of `array<...>`."""
        depth = 0
        while index < len(self._tokens):
            depth += self._tokens[index].text.count("<") - self._tokens[index].text.count(">")
            index += 1
            if depth <= 0:
                return index
        return None

    def _found(
        self, column: int, end: int, strict: bool | None, first: int | None = None
    ) -> PathMatch | None:
        """Parses the matched text with the expression parser.

        Text that it rejects is not matched, or an error if the column is known to be a Variant.
        """
        first = self._start if first is None else first
        path = self._tokens[column:end]
        path = _with_spark_types(path) if self._ours else path
        try:
            before = _as_spark(self._tokens[self._start : first])
            [projection] = parse_columns([f"{before}{ANY}{_as_spark(path)}"])
        except InvalidExpression as error:
            if not self._ours:
                return None
            text = self._sql[self._tokens[self._start].start : self._tokens[end - 1].end + 1]
            raise InvalidExpression(f"{text}: {str(error).partition(chr(10))[0]}") from None
        get = projection.expr
        if not isinstance(get, Get) or (self._scalar and get.type in (None, VARIANT)):
            return None
        spelled = self._sql[self._tokens[first].start : self._tokens[column - 1].end + 1]
        keys = [step for step in get.path.steps if isinstance(step, str)]
        return PathMatch(spelled, replace(get, strict=strict), end, keys[-1] if keys else "")

    def _kind(self, index: int) -> TokenType | None:
        return self._tokens[index].token_type if 0 <= index < len(self._tokens) else None

    def _is_step(self, index: int) -> bool:
        """Whether the token is a step of a path.

        Spark drops the backticks around a name in a path, and then splits the name at dots and brackets.
        """
        return self._is_name(index) and (self._ours or not set(".[") & set(self._tokens[index].text))

    def _is_name(self, index: int) -> bool:
        """Whether the token is a name. Keywords can name columns, fields and types, so any word counts."""
        if index >= len(self._tokens):
            return False
        token = self._tokens[index]
        return token.token_type == TokenType.IDENTIFIER or (
            is_word(token.text) and token.token_type != TokenType.STRING
        )


def _with_spark_types(tokens: Sequence[Token]) -> list[Token]:
    """A path with the names of types that mean something else, or nothing, to Spark's parser replaced."""
    place = max((n for n, one in enumerate(tokens) if one.token_type in AFTER_PATH), default=len(tokens))
    named = [Token(one.token_type, DUCKDB_TYPES.get(one.text.casefold(), one.text)) for one in tokens[place:]]
    return [*tokens[:place], *named]


def closing(tokens: Sequence[Token], opening: int) -> int:
    """The index of the parenthesis that closes the one at an index; the last token if there is none."""
    depth = 0
    for index in range(opening, len(tokens)):
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(tokens[index].token_type, 0)
        if not depth:
            return index
    return len(tokens) - 1


def is_word(text: str) -> bool:
    """Whether a text is a name that needs no quotes.

    >>> is_word("time_us"), is_word("0x"), is_word("a b"), is_word("")
    (True, False, False, False)
    """
    return text.replace("_", "").replace("$", "").isalnum() and not text[0].isdigit()


def _as_spark(tokens: Sequence[Token]) -> str:
    """Tokens of any dialect as the text of a Spark expression."""
    pieces: list[str] = []
    for token in tokens:
        text = token.text
        if token.token_type == TokenType.IDENTIFIER:
            text = quote(text)
        elif token.token_type == TokenType.STRING:
            text = "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
        between = pieces and is_word(text) and is_word(pieces[-1])
        pieces += [" ", text] if between else [text]
    return "".join(pieces)
