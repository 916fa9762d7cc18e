"""`sql`: queries over tables, Parquet files and Arrow data in this process."""

from __future__ import annotations

import atexit
import gc
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import pyarrow as pa

from shredlake import caches
from shredlake.caches import LruCache, cached
from shredlake.errors import InvalidExpression, MissingDependency, WrongType
from shredlake.formatting import kind_of
from shredlake.kernels.arrow.types import is_variant
from shredlake.kernels.cast_options import CastOptions
from shredlake.sql.explain import RunLog
from shredlake.sql.functions import register_getter
from shredlake.sql.parameters import Parameters, as_given
from shredlake.sql.references import TableColumns, literal
from shredlake.sql.result import SqlResult, close_running
from shredlake.sql.rewrite import RewrittenQuery, rewrite, tables_of, words_of
from shredlake.sql.sources import ArrowSource, QueriedTable, Source, names_a_place, path_source, source_of
from shredlake.sql.weights import EngineFunctions

ONLY_QUERIES: Final = "sql() runs one query, such as a SELECT; to change a table, use Table or ingest"
COMMANDS: Final = frozenset(
    {"alter", "copy", "create", "delete", "drop", "insert", "merge", "truncate", "update"}
)
"""Statements that may not parse any more after the names of tables in them were rewritten."""

_rewrites: Final[LruCache[object, RewrittenQuery]] = LruCache(64, "queries rewritten for DuckDB")


def sql(
    query: str,
    /,
    args: Parameters = None,
    *,
    strict: bool = False,
    timezone: str = "UTC",
    threads: int | None = None,
    memory_limit: str | None = None,
    **tables: QueriedTable,
) -> SqlResult:
    """Runs a query over Delta tables, Parquet files and Arrow data, without Spark.

    DuckDB runs the query, in its dialect. Paths into Variants (`v:user.id::bigint`) may be used anywhere, and
    are read as in `Table.scan`: only the columns, files and pages that the query needs. `tables` gives tables
    their names: each is a `Table`, a path or URI of a Delta table or Parquet files, or an object with an
    Arrow stream. A table can also be read by its path: `from 'lake/events'`. `args` are the values of markers
    in the query: a dict for `$name`, a list for `?`.

    A value that can't be cast is null; with `strict`, it is an error. `memory_limit` ("2GB") bounds what
    DuckDB keeps in memory before it spills to disk.

    >>> from shredlake.example import example_table
    >>> events = example_table("sql")
    >>> found = sql("select v:a::int as a, count(*) as n from events group by a order by a", events=events)
    >>> found.to_arrow().to_pylist()
    [{'a': 10, 'n': 1}, {'a': 20, 'n': 1}]
    >>> found = sql("select count(*) as n from events where v:a::int > ?", [15], events=events)
    >>> found.to_arrow().to_pylist()
    [{'n': 1}]
    """
    if not isinstance(query, str):
        raise WrongType(f"a query is SQL text, not {kind_of(query)}")
    parameters = as_given(args)
    sources = _sources(query, tables)
    rewritten = _rewritten(query, {name: source.schema for name, source in sources.items()})
    _require_query(_connection(threads, memory_limit, timezone), rewritten.sql)
    for name, source in sources.items():
        uses = [reference for reference in rewritten.references if reference.table == name]
        once = len(uses) == 1 and uses[0].node is not None
        if isinstance(source, ArrowSource) and not once:
            source.keep()
    options = CastOptions.of(strict=strict, timezone=timezone)

    def connect(log: RunLog) -> Any:
        from shredlake.sql.dataset import TableDataset  # imports pyarrow.dataset, which imports pandas

        duckdb = _duckdb()
        connection = _connection(threads, memory_limit, timezone)
        for reference in rewritten.references:
            dataset = TableDataset(sources[reference.table], reference, options, log)
            try:
                connection.register(reference.name, dataset)
            except duckdb.Error as error:
                raise InvalidExpression(
                    f"DuckDB can't read {reference.table}: {error}. Cast the column to another type first"
                ) from None
        return connection

    result = SqlResult(query, rewritten, parameters, sources, connect)
    shared = _connection(threads, memory_limit, timezone)
    for get, name in rewritten.functions.items():  # all connections of a database see them
        register_getter(shared, name, get, options)
        weakref.finalize(result, shared.remove_function, name).atexit = False
    return result


def _duckdb() -> Any:
    try:
        import duckdb
    except ModuleNotFoundError:
        raise MissingDependency("sql needs DuckDB: run pip install 'shredlake[sql]'") from None
    return duckdb


@cached(8, "DuckDB databases")
def _database(threads: int | None, memory_limit: str | None) -> Any:
    """An empty database. Making one takes longer than many queries, so it is kept."""
    # Only the given tables can be queried, not Python variables of the caller.
    config: dict[str, Any] = {
        "temp_directory": tempfile.gettempdir(), "python_enable_replacements": False,
    }  # fmt: skip
    if threads is not None:
        config["threads"] = threads
    if memory_limit is not None:
        config["memory_limit"] = memory_limit
    try:
        database = _duckdb().connect(":memory:", config=config)
        atexit.register(_close_databases)  # DuckDB complains of connections that outlive the interpreter
        return database
    except _duckdb().Error as error:
        raise InvalidExpression(f"DuckDB rejects a setting: {error}") from None


def _close_databases() -> None:
    close_running()
    caches.clear("DuckDB databases")
    gc.collect()


def _connection(threads: int | None, memory_limit: str | None, timezone: str) -> Any:
    """A connection with its own names."""
    connection = _database(threads, memory_limit).cursor()
    try:
        connection.execute(f"SET TimeZone = {literal(timezone)}")
    except _duckdb().Error as error:
        raise InvalidExpression(f"timezone={timezone!r}: {error}") from None
    return connection


def _require_query(connection: Any, query: str) -> None:
    """Raises for commands, which would run in a temporary database."""
    duckdb = _duckdb()
    try:
        statements = connection.extract_statements(query)
    except duckdb.Error as error:
        first = query.partition(" ")[0].casefold()
        raise InvalidExpression(ONLY_QUERIES if first in COMMANDS else str(error)) from None
    kinds = [statement.type for statement in statements]
    if kinds == [duckdb.StatementType.EXPLAIN]:
        raise InvalidExpression("sql() takes a query without EXPLAIN; its result has explain()")
    if kinds == [duckdb.StatementType.MULTI]:  # DuckDB would run another query for the values
        raise InvalidExpression("PIVOT needs the values that become columns: PIVOT ... ON kind IN ('a', 'b')")
    if kinds != [duckdb.StatementType.SELECT]:
        raise InvalidExpression(ONLY_QUERIES)


def _sources(query: str, tables: Mapping[str, QueriedTable]) -> dict[str, Source]:
    """The tables of a query, by their names as the query writes them."""
    given = {name.casefold(): table for name, table in tables.items()}
    opened: dict[str, Source] = {}
    found: dict[str, Source] = {}
    words = dict.fromkeys(word for word in words_of(query) if word.casefold() in given)
    for name in {**dict.fromkeys(tables_of(query)), **words}:
        key = name.casefold()
        if key in given:
            opened[key] = opened.get(key) or source_of(given[key])
            found[name] = opened[key]
        elif names_a_place(name):
            source = path_source(name)
            if source is not None:
                found[name] = source
    return found


def _rewritten(query: str, schemas: Mapping[str, pa.Schema]) -> RewrittenQuery:
    """The query for DuckDB, kept for the next time that it is asked of tables with the same columns."""
    key = (query, tuple(schemas.items()))
    found = _rewrites.find(key)
    if found is None:
        columns = {name: _columns(schema) for name, schema in schemas.items()}
        types = {name: {field.name: field.type for field in schema} for name, schema in schemas.items()}
        found = rewrite(query, columns, lambda table, name: types[table][name], _engine_functions())
        if not found.functions:  # functions are registered for one result
            _rewrites.put(key, found)
    return found


def _columns(schema: pa.Schema) -> TableColumns:
    variants = frozenset(field.name for field in schema if is_variant(field.type))
    return TableColumns(tuple(schema.names), variants, frozenset(_nested_variants(schema)))


def _nested_variants(fields: Iterable[pa.Field]) -> Iterator[str]:
    for field in fields:
        if pa.types.is_struct(field.type) and not is_variant(field.type):
            inner = list(field.type)
            yield from (f".{one.name}" for one in inner if is_variant(one.type))
            yield from _nested_variants(inner)


@cached(1, "functions of DuckDB")
def _engine_functions() -> EngineFunctions:
    found = _database(None, None).cursor().execute(
        "select function_name, function_type, stability from duckdb_functions() "
        "where function_type = 'aggregate' or stability = 'VOLATILE'"
    ).fetchall()  # fmt: skip
    return EngineFunctions(
        frozenset(name for name, kind, _ in found if kind == "aggregate"),
        frozenset(name for name, _, stability in found if stability == "VOLATILE"),
    )
