"""`shredlake sql`: SQL over tables and files, as one query or at a prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, cast

import typer

from shredlake.cli.formats import Format, format_of
from shredlake.cli.inputs import open_table
from shredlake.cli.messages import say
from shredlake.cli.options import FORMAT, FORMAT_JSON, LIMIT, OUTPUT, STRICT
from shredlake.cli.verbs.querying.query import DRAWN_ROWS
from shredlake.errors import InvalidExpression

if TYPE_CHECKING:
    from shredlake.table import Table

Engine = Literal["local", "spark"]


def run_sql(
    query: str | None = typer.Argument(
        None, help="A query; '-' reads it from standard input. Without it, a prompt is shown."
    ),
    tables: list[str] = typer.Option(
        [],
        "--table",
        "-t",
        metavar="NAME=ADDRESS",
        help="Name a table in the query, e.g. events=lake/events. Repeatable.",
    ),
    args: list[str] = typer.Option(
        [],
        "--arg",
        metavar="NAME=VALUE",
        help="The value of a marker in the query, as text: $name, or :name on Spark. Repeatable.",
    ),
    limit: int | None = LIMIT,
    form: Format | None = FORMAT,
    output: str | None = OUTPUT,
    engine: Engine = typer.Option("local", "--engine", help="spark runs the query on Spark."),
    explain: bool = typer.Option(
        False, "--explain", help="Run the query and show what its scans read, instead of the rows."
    ),
    strict: bool = STRICT,
    memory_limit: str | None = typer.Option(
        None,
        "--memory-limit",
        metavar="SIZE",
        help="Memory that the query may use before it spills to disk, e.g. 2GB.",
    ),
    storage: list[str] = typer.Option(
        [],
        "--storage-option",
        metavar="KEY=VALUE",
        help="A setting of the store of --table. Repeatable.",
    ),
    as_json: bool = FORMAT_JSON,
) -> None:
    """Run SQL over tables and Parquet files; paths are read as columns, without Spark."""
    from shredlake.cli.path_hints import unknown_paths_of_query
    from shredlake.cli.rows import write_rows
    from shredlake.sql.api import sql
    from shredlake.sql.result import SqlResult

    named, values = named_tables(tables, storage), given_values(args)
    if query is None:
        from shredlake.cli.verbs.querying.prompt import converse

        if args or explain or as_json or engine == "spark" or (form, output, limit) != (None, None, None):
            raise typer.BadParameter(
                "only --table, --storage-option, --strict and --memory-limit work without a query: "
                "give a query, or - to read one from standard input"
            )
        converse(named, strict=strict, memory_limit=memory_limit)
        return
    text = typer.get_text_stream("stdin").read() if query == "-" else query
    chosen = format_of(form, output, as_json=as_json)
    drawn = limit is None and chosen == "table"
    rows = DRAWN_ROWS + 1 if drawn else limit
    if engine == "spark":
        if memory_limit is not None:
            raise typer.BadParameter(
                "--memory-limit works only with --engine local; Spark has its own settings"
            )
        found = _on_spark(text, values, named, rows, explain=explain)
    else:
        given = cast("dict[str, Any]", named)
        result = sql(text, values, strict=strict, memory_limit=memory_limit, **given)
        if explain:
            say(str(result.explain()))
            return
        found = result if rows is None else result.limit(rows)
    if found is None:
        return
    hints = unknown_paths_of_query(result) if engine == "local" else iter(())
    if drawn:
        found = found.to_arrow() if isinstance(found, SqlResult) else found
        write_rows(found.slice(0, DRAWN_ROWS).to_batches(), found.schema, chosen, output)
        for hint in hints:
            say(hint, err=True)
        if len(found) > DRAWN_ROWS:
            say(f"Only the first {DRAWN_ROWS} rows are shown. Use --limit to show more.", err=True)
        return
    # The first batch is read before the output is opened, so that an error leaves the output untouched.
    batches = iter(found.to_batches())
    batches = chain([start], batches) if (start := next(batches, None)) is not None else iter(())
    write_rows(batches, found.schema, chosen, output)
    for hint in hints:
        say(hint, err=True)


def named_tables(given: list[str], storage: Sequence[str] = ()) -> dict[str, str | Table]:
    """Reads `name=path` pairs. With settings of a store, a URL becomes a table that is opened with them.

    >>> named_tables(["events=lake/events"])
    {'events': 'lake/events'}
    """
    found: dict[str, str | Table] = {}
    for one in given:
        name, equals, path = one.partition("=")
        if not equals or not name.strip() or not path:
            raise InvalidExpression(f"--table {one}: expected name=path, e.g. events=lake/events")
        found[name.strip()] = open_table(path, storage=storage) if storage and "://" in path else path
    return found


def given_values(given: Sequence[str]) -> dict[str, str]:
    """Reads the values of markers.

    >>> given_values(["kind=like", "text=a=b", "nothing="])
    {'kind': 'like', 'text': 'a=b', 'nothing': ''}
    """
    found: dict[str, str] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name.isidentifier():
            raise InvalidExpression(f"--arg {one}: expected name=value, e.g. kind=like for $kind")
        found[name] = value
    return found


def _on_spark(
    query: str,
    values: Mapping[str, str],
    tables: Mapping[str, str | Table],
    rows: int | None,
    *,
    explain: bool,
) -> Any:
    """The answer of Spark, or None after an explanation was printed. Paths of tables get names."""
    from shredlake.spark.arrow import collected
    from shredlake.spark.query import api
    from shredlake.spark.session import session
    from shredlake.sql.rewrite import rename_tables, tables_of
    from shredlake.sql.sources import names_a_place

    known = {name.casefold() for name in tables}
    paths = [name for name in tables_of(query) if name.casefold() not in known and names_a_place(name)]
    names = {path: f"__table{number}" for number, path in enumerate(paths)}
    query = rename_tables(query, names)
    given: dict[str, Any] = {**tables, **{name: path for path, name in names.items()}}
    spark = session()
    spark.conf.set("spark.sql.session.timeZone", "UTC")  # the same as without Spark
    if explain:
        say(str(api.explain(spark, query, values, **given)))
        return None
    frame = api.sql(spark, query, values, **given)
    return collected(frame if rows is None else frame.limit(rows))
