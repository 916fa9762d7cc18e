"""The prompt of `shredlake sql`: history, and completion of tables, columns and known paths."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final

from shredlake.cli.messages import say
from shredlake.cli.rows import write_rows
from shredlake.cli.verbs.querying.known_paths import known_paths
from shredlake.cli.verbs.querying.query import DRAWN_ROWS
from shredlake.errors import MissingDependency, ShredlakeError
from shredlake.sql.api import sql
from shredlake.sql.sources import source_of

WORDS: Final = (
    "select", "from", "where", "group by", "order by", "limit", "having", "join", "left join", "with", "as",
    "count(*)", "count(distinct", "min(", "max(", "sum(", "avg(", "unnest(", "distinct", "desc", "is null",
)  # fmt: skip
LEAVING: Final = ("exit", "quit", "\\q", ".exit", ".quit")


def converse(tables: Mapping[str, Any], *, strict: bool, memory_limit: str | None) -> None:
    """Reads queries and shows their answers until the user leaves. A query ends with a semicolon.

    Text from a pipe gets no greeting. Its last query needs no semicolon, and a mistake ends the command.
    """
    typed = sys.stdin.isatty()
    if typed:
        say(
            f"Tables: {', '.join(tables) or 'none; use --table name=path, or from a path in quotes'}.",
            err=True,
        )
        say("End a query with a semicolon. Leave with exit or Ctrl-D.", err=True)
    given: dict[str, Any] = {"strict": strict, "memory_limit": memory_limit, **tables}
    for query in queries(_lines(tables) if typed else chain(_lines(tables), [";"])):
        explain = query.casefold().startswith("explain ")
        try:
            result = sql(query[len("explain ") :] if explain else query, **given)
            if explain:
                say(str(result.explain()))
                continue
            head = result.head(DRAWN_ROWS + 1)
            write_rows(head.slice(0, DRAWN_ROWS).to_batches(), head.schema, "table", None)
            if len(head) > DRAWN_ROWS:
                say(f"Only the first {DRAWN_ROWS} rows are shown.", err=True)
        except ShredlakeError as error:
            if not typed:
                raise
            say(f"error: {error}", err=True)


def queries(lines: Iterable[str]) -> Iterator[str]:
    """Joins lines to queries, each of which ends with a semicolon; stops when the user leaves.

    >>> list(queries(["select 1", "from t;", "", "select 2;", "exit", "select 3;"]))
    ['select 1\\nfrom t', 'select 2']
    """
    pending: list[str] = []
    for line in lines:
        if not pending and line.strip().rstrip(";").casefold() in LEAVING:
            return
        if not pending and not line.strip():
            continue
        pending.append(line)
        if line.rstrip().endswith(";"):
            query = "\n".join(pending).strip().rstrip(";").strip()
            pending = []
            if query:
                yield query


def _lines(tables: Mapping[str, Any]) -> Iterator[str]:
    """The lines that the user types; those of standard input if it is not a terminal."""
    if not sys.stdin.isatty():
        yield from (line.rstrip("\n") for line in sys.stdin)
        return
    try:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
        from prompt_toolkit.completion import FuzzyWordCompleter
        from prompt_toolkit.history import FileHistory
    except ModuleNotFoundError:
        raise MissingDependency("the prompt needs prompt_toolkit: run pip install 'shredlake[sql]'") from None
    session: Any = PromptSession(
        history=FileHistory(str(history_file())),
        completer=FuzzyWordCompleter(completions(tables), WORD=True),
        auto_suggest=AutoSuggestFromHistory(),
    )
    while True:
        try:
            yield session.prompt("sql> ")
        except KeyboardInterrupt:
            continue
        except EOFError:
            return


def completions(tables: Mapping[str, Any]) -> list[str]:
    """The words that the prompt completes: SQL, tables, and the columns and paths of tables."""
    known: list[str] = []
    for path in tables.values():
        known += known_paths(source_of(path))
    return [*tables, *dict.fromkeys(known), *WORDS]


def history_file() -> Path:
    """Where queries are remembered, readable by the user alone."""
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "shredlake"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder / "sql_history"
