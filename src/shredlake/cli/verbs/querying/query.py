"""`shredlake query`: reads paths of a table, filtered, as a table, JSON, CSV or Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import typer

from shredlake.cli.engines import quiet_session
from shredlake.cli.formats import Format, format_of
from shredlake.cli.inputs import open_table
from shredlake.cli.messages import say
from shredlake.cli.options import (
    FORMAT,
    FORMAT_JSON,
    LIMIT,
    OUTPUT,
    STORAGE,
    STRICT,
    TABLE,
    TIMESTAMP,
    VERSION,
    WHERE,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from shredlake.table import Table

LARGE_TABLE = 20 << 30
"""Scans of more than this many bytes are worth starting Spark for."""

DRAWN_ROWS = 20
"""Default limit for --format table."""

Engine = Literal["auto", "local", "spark"]


def query(
    table: str = TABLE,
    columns: str = typer.Argument("*", help="Columns, as after SELECT: 'v:user.id::bigint AS id, day'."),
    where: str | None = WHERE,
    limit: int | None = LIMIT,
    form: Format | None = FORMAT,
    output: str | None = OUTPUT,
    engine: Engine = typer.Option("auto", "--engine", help="auto chooses Spark for more than 20 GB."),
    explain: bool = typer.Option(
        False, "--explain", help="Show how much would be read, and why, instead of the rows."
    ),
    strict: bool = STRICT,
    version: int | None = VERSION,
    timestamp: str | None = TIMESTAMP,
    storage: list[str] = STORAGE,
    as_json: bool = FORMAT_JSON,
) -> None:
    """Query paths of a table; only the columns, files and pages that can match are read."""
    from shredlake.cli.path_hints import unknown_paths
    from shredlake.cli.rows import write_rows
    from shredlake.delta.read.scan import FIRST_ROWS
    from shredlake.expr.parse import split_columns

    chosen = format_of(form, output, as_json=as_json)
    wanted = None if columns.strip() == "*" else split_columns(columns)
    opened = open_table(table, version, timestamp, storage)
    local = opened.scan(wanted, where, strict=strict)
    left = sum(local.files().column("size").to_pylist())
    on_spark = engine == "spark" or (engine == "auto" and left > LARGE_TABLE)
    if explain:
        say(str(_spark_scan(opened, wanted, where, strict).explain() if on_spark else local.explain()))
        return
    rows = DRAWN_ROWS if limit is None and chosen == "table" else limit
    batches: Iterator[pa.RecordBatch]
    if on_spark:
        from shredlake.spark.arrow import collected

        frame = _spark_scan(opened, wanted, where, strict).frame()
        found = collected(frame if rows is None else frame.limit(rows + 1))
        batches, schema = iter(found.to_batches()), found.schema
    else:
        first = FIRST_ROWS if rows is None else min(rows + 1, FIRST_ROWS)
        batches, schema = local.stream(first), local.schema
    # The first batch is read before the output is opened, so that an error leaves the output untouched.
    batches = chain([start], batches) if (start := next(batches, None)) is not None else iter(())
    count = write_rows(_limited(batches, rows), schema, chosen, output)
    for hint in unknown_paths(local):
        say(hint, err=True)
    if limit is None and rows is not None and count == rows and next(batches, None) is not None:
        say(f"Only the first {rows} rows are shown. Use --limit to show more.", err=True)


def _spark_scan(opened: Table, columns: list[str] | None, where: str | None, strict: bool) -> Any:
    from shredlake.spark.query.scan import SparkScan
    from shredlake.spark.settings import session_options

    spark = quiet_session()
    spark.conf.set("spark.sql.session.timeZone", "UTC")  # the same as without Spark
    return SparkScan(spark, opened.snapshot, columns, where, options=session_options(spark, strict=strict))


def _limited(batches: Iterable[pa.RecordBatch], rows: int | None) -> Iterator[pa.RecordBatch]:
    """Stops after this many rows; the rest is never read."""
    left = rows
    if left == 0:
        return
    for batch in batches:
        yield batch if left is None else batch.slice(0, left)
        if left is not None:
            left -= batch.num_rows
            if left <= 0:
                return
