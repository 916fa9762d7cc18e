"""The tour of `shredlake demo`: ingests events, shows their layout, queries them and times the queries."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table as Grid

from shredlake.jobs.engine import LocalEngine
from shredlake.jobs.ingest.ingest import IngestOptions, ingest_text
from shredlake.parquet.inspect.inspect import inspect
from shredlake.spark.engine import SparkEngine
from shredlake.spark.query.api import read
from shredlake.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = (
    ("likes", ["v:did::string AS who"], "v:commit.collection::string = 'app.bsky.feed.like'"),
    (
        "the first percent",
        ["v:time_us::bigint AS at", "v:kind::string AS kind"],
        "v:time_us::bigint < {early}",
    ),
    (
        "posts in Japanese",
        ["v:commit.record.text::string AS text"],
        "v:commit.record.langs[0]::string = 'ja'",
    ),
)
"""Name, columns and condition of each query."""


def tour(console: Console, spark: SparkSession | None, source: str, table: str) -> list[dict[str, Any]]:
    """Ingests, shows and queries the events; returns the rows and times of the queries."""
    chosen = LocalEngine() if spark is None else SparkEngine(spark)
    show_heading(
        console,
        "$ shredlake ingest events.ndjson events --sort-by v:time_us::bigint"
        + (" --engine local" if spark is None else " --engine spark"),
    )
    options = IngestOptions(sort_by=("v:time_us::bigint",), show_progress=console.is_terminal)
    report = ingest_text(chosen, source, table, options)
    console.print(report.grid())
    opened = Table(table)
    show_heading(
        console,
        "$ shredlake inspect: the paths of the first file, how many values are typed, and their bytes",
    )
    _layout(console, opened)
    times = pc.min_max(opened.scan(["v:time_us::bigint AS at"]).to_arrow().column("at"))
    early = times["min"].as_py() + (times["max"].as_py() - times["min"].as_py()) // 100
    queries = [(name, columns, where.format(early=early)) for name, columns, where in QUERIES]
    console.print("\nThree queries, and what each of them read:")
    for name, columns, where in queries:
        show_heading(
            console, f'{name}\n$ shredlake query events "{", ".join(columns)}" --where "{where}" --explain'
        )
        console.print(str(opened.scan(columns, where).explain()))
    show_heading(console, "The same queries, timed (best of three)")
    grid = Grid("query")
    headings = ["rows", "shredlake, no Spark"]
    if spark is not None:
        headings += ["shredlake on Spark", "Spark alone (variant_get)", "speed-up on Spark"]
    for heading in headings:
        grid.add_column(heading, justify="right")
    files = [str(path) for path in Path(table).glob("*.parquet")]
    timings: list[dict[str, Any]] = []
    for name, columns, where in queries:
        rows, seconds = _best(partial(_count_local, opened, columns, where))
        cells = [name, f"{rows:,}", f"{seconds:.3f} s"]
        if spark is not None:
            ours, fast = _best(partial(_count_on_spark, spark, table, columns, where))
            theirs, slow = _native(spark, files, columns, where)
            if not rows == ours == theirs:
                raise AssertionError(f"{name}: {rows}, {ours} and {theirs} rows")
            cells += [f"{fast:.3f} s", f"{slow:.3f} s", f"{slow / fast:.1f}x"]
            timings.append({"spark_seconds": fast, "spark_alone_seconds": slow})
        else:
            timings.append({})
        timings[-1] |= {"query": name, "rows": rows, "seconds": seconds}
        grid.add_row(*cells)
    console.print(grid)
    if spark is not None:
        console.print("Spark alone reads the same files as Variants. Both find the same rows.")
    return timings


def _count_local(opened: Table, columns: list[str], where: str) -> int:
    return int(opened.scan(columns, where).to_arrow().num_rows)


def _count_on_spark(spark: SparkSession, table: str, columns: list[str], where: str) -> int:
    return int(read(spark, table, columns, where).toArrow().num_rows)


def _layout(console: Console, opened: Table) -> None:
    file = inspect(f"{opened.uri.removeprefix('file://')}/{opened.files().column('path')[0].as_py()}")
    grid = Grid("path", "type")
    for heading in ("typed", "bytes"):
        grid.add_column(heading, justify="right")
    for column in file.variants:
        for path in column.root.walk():
            share = path.typed / path.places if path.places else 0.0
            grid.add_row(path.path, path.type, f"{share:.1%}", f"{path.bytes:,}")
    console.print(grid)


def _native(spark: SparkSession, files: list[str], columns: list[str], where: str) -> tuple[int, float]:
    """Runs the query on Spark alone, which reads the same files as Variants."""
    from shredlake.expr.parse import parse_columns, parse_predicate
    from shredlake.expr.sql import to_sql
    from shredlake.variant.identifiers import quote

    name = "spark.sql.parquet.ignoreVariantAnnotation"
    spark.conf.set(name, "false")
    try:
        wanted = [f"{to_sql(one.expr)} AS {quote(one.name)}" for one in parse_columns(columns)]
        condition = to_sql(parse_predicate(where))
        return _best(
            lambda: spark.read.parquet(*files).where(condition).selectExpr(*wanted).toArrow().num_rows
        )
    finally:
        spark.conf.set(name, "true")


def _best(work: Callable[[], int]) -> tuple[int, float]:
    """The answer, and the best of three timings."""
    timings: list[float] = []
    answer: Any = None
    for _ in range(3):
        started = time.perf_counter()
        answer = work()
        timings.append(time.perf_counter() - started)
    return int(answer), min(timings)


def show_heading(console: Console, heading: str) -> None:
    """Prints a heading, or a command."""
    console.print(f"\n{heading}", style="bold", soft_wrap=True)
