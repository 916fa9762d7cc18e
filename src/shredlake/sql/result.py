"""The answer of a query: an Arrow stream that runs the query when it is read."""

from __future__ import annotations

import copy
import re
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from html import escape
from typing import Any, Final

import pyarrow as pa

from shredlake.errors import InvalidExpression, ShredlakeError
from shredlake.expr.ast import Get
from shredlake.expr.sql import spelled_ref
from shredlake.kernels.arrow.types import is_variant
from shredlake.parquet.arrow_stream import ArrowStream, library
from shredlake.sql.explain import RunLog, SqlExplain
from shredlake.sql.references import HIDDEN, Reference
from shredlake.sql.rewrite import RewrittenQuery
from shredlake.sql.sources import Source

SHOWN_ROWS: Final = 20
"""The rows that the `repr` of a result shows."""
BATCH_ROWS: Final = 1 << 16

_NO_TABLE: Final = re.compile(r"^Catalog Error: Table with name (\S+) does not exist")
_NO_COLUMN: Final = re.compile(r'^Binder Error: Referenced column "([^"]+)" not found in FROM clause')

_running: Final[weakref.WeakSet[Generator[pa.RecordBatch]]] = weakref.WeakSet()
"""The streams of queries that are being read."""


def close_running() -> None:
    """Ends the streams that are still being read, so that they release their DuckDB connections."""
    for stream in list(_running):
        with suppress(ValueError):  # another thread is reading it
            stream.close()


class SqlResult(ArrowStream):
    """The rows of a query. Each reader runs the query again."""

    def __init__(
        self,
        query: str,
        rewritten: RewrittenQuery,
        parameters: dict[str, Any] | list[Any] | None,
        sources: Mapping[str, Source],
        connect: Callable[[RunLog], Any],
    ) -> None:
        """`connect` makes a DuckDB connection in which the scans of the query have their names."""
        self._query, self._rewritten, self._parameters = query, rewritten, parameters
        self._sources, self._connect = sources, connect

    def _paths(self) -> Iterator[tuple[Source, set[Get]]]:
        """The tables of the query, each with the paths that it is asked for."""
        for reference in self._rewritten.references:
            merged = (what for _, what in reference.extremes if isinstance(what, Get))
            parts = (get for _, get in reference.time_parts)
            yield self._sources[reference.table], {*reference.paths, *merged, *parts}

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns and types of the result."""
        log = RunLog()
        connection = self._connect(log)
        with self._clear_errors(log):
            relation = self._relation(connection)
            found: pa.Schema = relation.limit(0).to_arrow_reader().schema
        return pa.schema([field.with_name(name) for field, name in zip(found, _names(relation), strict=True)])

    def _batches(self) -> Iterator[pa.RecordBatch]:
        stream = self._run(RunLog())
        _running.add(stream)
        return stream

    def _run(self, log: RunLog) -> Generator[pa.RecordBatch]:
        connection = self._connect(log)
        with self._clear_errors(log):
            relation = self._relation(connection)
            names = _names(relation)
            for batch in relation.to_arrow_reader(BATCH_ROWS):
                yield batch.rename_columns(names)

    def to_arrow(self) -> pa.Table:
        """All rows, as one table."""
        if self._limit is not None:
            return super().to_arrow()
        log = RunLog()
        connection = self._connect(log)
        with self._clear_errors(log):
            relation = self._relation(connection)
            return relation.to_arrow_table().rename_columns(_names(relation))

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows as a stream of Arrow batches that can be read once."""
        return pa.RecordBatchReader.from_batches(self.schema, self.to_batches())

    def explain(self) -> SqlExplain:
        """Runs the query and reports what its scans read."""
        log = RunLog()
        connection = self._connect(log)
        with self._clear_errors(log):
            for _ in self._relation(connection).to_arrow_reader(BATCH_ROWS):
                pass
            plan = connection.execute(f"EXPLAIN {self._rewritten.sql}", self._parameters).fetchall()[0][1]
        reports = [run.scan.report() for run in log.runs if not run.counted]
        return SqlExplain(
            scans=tuple(self._readable(str(run)) for run in log.runs),
            above=tuple(spelled_ref(get) for get in self._rewritten.functions),
            bytes_read=sum(getattr(report, "bytes_read", 0) for report in reports),
            plan=self._readable(plan),
        )

    def plan(self) -> dict[str, str]:
        """The query, and its columns."""
        return {"Sql": " ".join(self._query.split()), "columns": ", ".join(self.schema.names)}

    def __repr__(self) -> str:
        head = self.head(SHOWN_ROWS + 1)
        more = f"\nThe first {SHOWN_ROWS} rows are shown." if len(head) > SHOWN_ROWS else ""
        return str(library("duckdb").connect().from_arrow(head.slice(0, SHOWN_ROWS))).rstrip() + more

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"

    def _relation(self, connection: Any) -> Any:
        """The query in DuckDB, which runs it when rows are asked for."""
        return connection.sql(self._rewritten.sql, params=self._parameters)

    def _clear_errors(self, log: RunLog) -> _ClearErrors:
        return _ClearErrors(self, log)

    def _readable(self, text: str) -> str:
        """A message of DuckDB with paths in place of the names of hidden columns."""
        names = {name: spelled_ref(get) for get, name in self._rewritten.functions.items()}
        for reference in self._rewritten.references:
            names |= _spelled_columns(reference)
        return re.sub(rf'"?({HIDDEN}\w+)"?', lambda found: names.get(found[1], found[0]), text)

    def _explained(self, text: str) -> str:
        """A message of DuckDB; names that it does not know are explained in our words."""
        if found := _NO_TABLE.search(text):
            return (
                f"there is no table {found[1]!r}: write the path of a table or file in quotes, as in "
                f"from 'lake/events', or give it a name, as in events=path"
            )
        if found := _NO_COLUMN.search(text):
            schemas = {name: source.schema for name, source in self._sources.items()}
            known = ", ".join(dict.fromkeys(name for schema in schemas.values() for name in schema.names))
            variants = [field.name for one in schemas.values() for field in one if is_variant(field.type)]
            hint = f". For a path of a Variant, write {variants[0]}:{found[1]}::string" if variants else ""
            return f"no table has a column {found[1]!r}; they have: {known}{hint}" if known else text
        return self._readable(text)


def _spelled_columns(reference: Reference) -> dict[str, str]:
    """The spellings of a scan's hidden columns, and of the scan itself, by name."""
    found = {reference.name: reference.table}
    found |= {name: spelled_ref(get) for get, name in reference.paths.items()}
    for (_, what), name in reference.extremes.items():
        found[name] = spelled_ref(what) if isinstance(what, Get) else what
    for (part, get), name in reference.time_parts.items():
        found[name] = f"{part}(make_timestamp({spelled_ref(get)}))"
    return found


def _names(relation: Any) -> list[str]:
    """The names of the columns; a name that the query repeats gets a number, as frames and JSON need."""
    given: list[str] = relation.columns
    return given if len(set(given)) == len(given) else list(relation.limit(0).columns)


class _ClearErrors:
    """Raises the error of a scan in place of DuckDB's, and DuckDB's own as a `ShredlakeError`."""

    def __init__(self, result: SqlResult, log: RunLog) -> None:
        self._result, self._log = result, log

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, ShredlakeError | GeneratorExit):
            return
        if isinstance(self._log.error, ShredlakeError):
            # Arrow's stream keeps the original for as long as the connection lives, which the traceback would
            # keep alive in turn: so the original gets no traceback.
            raise copy.copy(self._log.error.with_traceback(None)) from None
        duckdb = library("duckdb")
        if isinstance(error, duckdb.Error | pa.ArrowException):
            raise InvalidExpression(self._result._explained(str(error))) from None
