"""Finds the names of tables in the text of a query, and replaces some of them.

```
select events.id from db.events version as of 3   ──▶   select events.id from `db.events@v3` AS `events`
```

Only Spark parses the query. This module follows the tokens of FROM clauses. A name that is missed is left to
Spark, and so is a name that is not a table's: the caller looks each of them up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import Token, TokenType

from shredlake.caches import cached
from shredlake.sql.path_tokens import tokenize
from shredlake.variant.identifiers import quote

NAMES: Final = (TokenType.VAR, TokenType.IDENTIFIER)
VERSIONS: Final = ("version", "system_version")
TIMES: Final = ("timestamp", "system_time")
OPERATORS: Final = (TokenType.PLUS, TokenType.DASH)
BRACKETS: Final = {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}

BEFORE_TABLES: Final = (TokenType.FROM, TokenType.JOIN, TokenType.TABLE)
ENDS_OF_FROM: Final = (
    TokenType.SELECT, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY,
    TokenType.SORT_BY, TokenType.LIMIT, TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT,
    TokenType.LATERAL, TokenType.WINDOW, TokenType.PIPE_GT,
)  # fmt: skip


@dataclass(frozen=True)
class TableName:
    """A name behind FROM or JOIN, with the version that is asked for."""

    parts: tuple[str, ...]
    start: int
    end: int
    """Where the name and the version are in the text."""
    has_alias: bool
    version: str = ""
    """The text behind VERSION AS OF, without quotes."""
    timestamp: str = ""
    """The expression behind TIMESTAMP AS OF."""
    may_be_own: bool = False
    """Whether the query has a common table expression of this name."""

    @property
    def travels(self) -> bool:
        """Whether a version or a time is asked for."""
        return bool(self.version or self.timestamp)

    @property
    def shown(self) -> str:
        """The name in one word, as `explain` shows it.

        >>> TableName(("db", "events"), 0, 9, False, version="3").shown
        'db.events@v3'
        """
        name = ".".join(self.parts)
        if self.version:
            return f"{name}@v{self.version}"
        return f"{name}@{self.timestamp}" if self.timestamp else name


@cached(64, "tables named in queries")
def table_names(sql: str) -> tuple[TableName, ...]:
    """The names of tables in a query, and of its own common table expressions.

    >>> [name.shown for name in table_names("select extract(day from d) from a.b x join c on true, d")]
    ['a.b', 'c', 'd']
    >>> sql = "from delta.`/data/e` timestamp as of now() - interval 1 day t where v is distinct from w"
    >>> [(name.parts, name.timestamp, name.has_alias) for name in table_names(sql)]
    [(('delta', '/data/e'), 'now() - interval 1 day', True)]
    """
    tokens = tokenize(sql)
    found: list[TableName] = []
    frames = [_Frame()]
    index = 0
    while index < len(tokens):
        kind, frame = tokens[index].token_type, frames[-1]
        if frame.expects and (end := _name_end(tokens, index)):
            if _kind(tokens, end) != TokenType.L_PAREN:  # otherwise a function that makes a table
                found.append(_table_name(sql, tokens, index, end))
            frame.expects, frame.begun = False, True
            index = end
            continue
        if kind == TokenType.L_PAREN:
            frames.append(_Frame(expects=frame.expects))
        elif kind == TokenType.R_PAREN and len(frames) > 1:
            frames.pop()
        elif kind in BEFORE_TABLES and _opens(tokens, index, frame, len(frames) == 1):
            frame.expects = frame.in_from = True
        elif kind == TokenType.COMMA:
            frame.expects = frame.in_from
        else:
            frame.expects = False
            if kind in ENDS_OF_FROM:
                frame.in_from, frame.selects = False, frame.selects or kind == TokenType.SELECT
        if kind == TokenType.L_PAREN:
            frame.expects = False
        frame.begun = True
        index += 1
    own = _own_names(tokens)
    return tuple(replace(name, may_be_own=".".join(name.parts).casefold() in own) for name in found)


@dataclass
class _Frame:
    """The state inside a pair of parentheses."""

    expects: bool = False
    """Whether a table's name may come next."""
    in_from: bool = False
    selects: bool = False
    begun: bool = False


def _opens(tokens: Sequence[Token], index: int, frame: _Frame, outermost: bool) -> bool:
    """Whether a FROM, JOIN or TABLE is followed by a table. `extract(day FROM d)` is not."""
    if tokens[index].token_type != TokenType.FROM:
        return True
    if index and tokens[index - 1].token_type == TokenType.DISTINCT:
        return False  # IS DISTINCT FROM
    return outermost or frame.selects or not frame.begun


def _kind(tokens: Sequence[Token], index: int) -> TokenType | None:
    return tokens[index].token_type if index < len(tokens) else None


def _word(tokens: Sequence[Token], index: int) -> str:
    return tokens[index].text.casefold() if index < len(tokens) else ""


def _name_end(tokens: Sequence[Token], index: int) -> int:
    """The index after a name of one or more parts; 0 if there is none."""
    if _kind(tokens, index) not in NAMES and _kind(tokens, index + 1) != TokenType.DOT:
        return 0
    index += 1
    while _kind(tokens, index) == TokenType.DOT and index + 1 < len(tokens):
        index += 2
    return index


def _table_name(sql: str, tokens: Sequence[Token], first: int, end: int) -> TableName:
    parts = tuple(token.text for token in tokens[first:end:2])
    start = tokens[first].start
    version = timestamp = ""
    clause = end + (_kind(tokens, end) == TokenType.FOR)
    behind = clause + 3
    as_of = _word(tokens, clause + 1) == "as" and _word(tokens, clause + 2) == "of"
    if as_of and behind < len(tokens):
        if _word(tokens, clause) in VERSIONS:
            version, end = tokens[behind].text, behind + 1
        elif _word(tokens, clause) in TIMES:
            end = _expression_end(tokens, behind)
            timestamp = sql[tokens[behind].start : tokens[end - 1].end + 1]
    has_alias = _kind(tokens, end) in (*NAMES, TokenType.ALIAS)
    return TableName(parts, start, tokens[end - 1].end + 1, has_alias, version, timestamp)


def _expression_end(tokens: Sequence[Token], index: int) -> int:
    """The index after the expression of a time: constants, calls and brackets, added and subtracted."""
    while True:
        if _kind(tokens, index) == TokenType.INTERVAL:
            index += 3  # INTERVAL 1 DAY
        elif _kind(tokens, index) == TokenType.L_PAREN:
            index = _closing(tokens, index)
        elif _kind(tokens, index + 1) == TokenType.L_PAREN:
            index = _closing(tokens, index + 1)
        elif _kind(tokens, index + 1) == TokenType.STRING:
            index += 2  # TIMESTAMP '2026-01-01'
        else:
            index += 1
        if index > len(tokens) or _kind(tokens, index) not in OPERATORS:
            return min(index, len(tokens))
        index += 1


def _closing(tokens: Sequence[Token], index: int) -> int:
    """The index after the parenthesis that closes the one at an index."""
    depth = 0
    while index < len(tokens):
        depth += BRACKETS.get(tokens[index].token_type, 0)
        index += 1
        if not depth:
            break
    return index


def _own_names(tokens: Sequence[Token]) -> set[str]:
    """The names of the common table expressions: `WITH a AS (`, `, b(x, y) AS (`."""
    found = set()
    for index, token in enumerate(tokens):
        after = _closing(tokens, index + 1) if _kind(tokens, index + 1) == TokenType.L_PAREN else index + 1
        opens = _kind(tokens, after) == TokenType.ALIAS and _kind(tokens, after + 1) == TokenType.L_PAREN
        if opens and token.token_type in NAMES:
            found.add(token.text.casefold())
    return found


def replaced(sql: str, names: Mapping[TableName, str]) -> str:
    """The query with other names of tables. Columns keep their qualifiers.

    >>> sql = "select db.e.id, e.x from db.e where db.e.y"
    >>> replaced(sql, {name: "e7" for name in table_names(sql)})
    'select `e`.id, e.x from `e7` AS `e` where `e`.y'
    """
    pieces = [
        (name.start, name.end, quote(new) + ("" if name.has_alias else f" AS {quote(name.parts[-1])}"))
        for name, new in names.items()
    ]
    unaliased = {
        tuple(part.casefold() for part in name.parts)
        for name in names
        if len(name.parts) > 1 and not name.has_alias
    }
    pieces += _qualifiers(sql, unaliased, {name.start for name in table_names(sql)})
    for start, end, text in sorted(pieces, reverse=True):
        sql = sql[:start] + text + sql[end:]
    return sql


def _qualifiers(sql: str, names: set[tuple[str, ...]], tables: set[int]) -> list[tuple[int, int, str]]:
    """The places where a column is qualified by one of these names of several parts: `db.e.id`."""
    found = []
    tokens = tokenize(sql)
    for index, token in enumerate(tokens):
        if token.start in tables or (index and tokens[index - 1].token_type == TokenType.DOT):
            continue
        for name in names:
            end = index + 2 * len(name) - 1
            parts = tuple(part.text.casefold() for part in tokens[index:end:2])
            dots = [_kind(tokens, at) for at in range(index + 1, end + 1, 2)]
            if parts == name and dots == [TokenType.DOT] * len(name):
                last = tokens[end - 1]
                found.append((token.start, last.end + 1, quote(last.text)))
    return found
