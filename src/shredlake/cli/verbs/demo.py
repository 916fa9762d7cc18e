"""`shredlake demo`: generates, ingests and queries events, and times the queries against Spark alone."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow.compute as pc
import typer
from rich.console import Console
from rich.table import Table as Grid

from shredlake.cli.engines import quiet_session
from shredlake.cli.messages import say
from shredlake.cli.terminal import screen
from shredlake.cli.verbs.demo_data import bluesky, write_lines
from shredlake.errors import MissingDependency
from shredlake.jobs.engine import LocalEngine
from shredlake.jobs.ingest.ingest import IngestOptions, ingest_text
from shredlake.parquet.inspect.inspect import inspect
from shredlake.spark.engine import SparkEngine
from shredlake.spark.query.api import read
from shredlake.spark.session import check_java, check_spark
from shredlake.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVENTS = 200_000

SETTINGS = {"spark.ui.enabled": "false"}
"""Nobody looks at the web page of a session that lasts for seconds, and starting its server takes one."""

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


def demo(
    events: int = typer.Option(EVENTS, min=1, help="Number of events to generate."),
    engine: Literal["spark", "local"] = typer.Option(
        "spark", help="spark, or local: threads of this process, without Spark."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the rows and times of the queries as JSON."),
) -> None:
    """Generate events, ingest them, show the layout, and query paths."""
    console = screen(width=100)
    console.quiet = as_json
    started = time.perf_counter()
    try:
        if engine == "spark":
            check_spark()
            check_java()
    except MissingDependency as missing:
        console.print(f"{str(missing).partition(':')[0]}: the demo runs in this process, without Spark.")
        engine = "local"
    with tempfile.TemporaryDirectory(prefix="shredlake-demo-") as folder:
        source, table = str(Path(folder) / "events.ndjson"), str(Path(folder) / "events")
        _say(console, f"{events:,} events of a social network, as NDJSON. The first one:")
        with console.status("generating"):
            write_lines(bluesky, source, events)
        console.print(_first_line(source))
        spark = None
        if engine == "spark":
            with console.status("starting Spark"):
                spark = quiet_session(settings=SETTINGS)
        try:
            times = _tour(console, spark, source, table)
        finally:
            if spark is not None:
                spark.stop()
    if as_json:
        say(json.dumps({"events": events, "queries": times}))
    console.print(
        f"\nFinished in {time.perf_counter() - started:.0f} s. Next: shredlake --help and docs/index.md."
    )


def _first_line(source: str) -> str:
    with open(source, encoding="utf-8") as file:
        return file.readline().strip()


def _tour(console: Console, spark: SparkSession | None, source: str, table: str) -> list[dict[str, Any]]:
    """Ingests, shows and queries the events; returns the rows and times of the queries."""
    chosen = LocalEngine() if spark is None else SparkEngine(spark)
    _say(
        console,
        "$ shredlake ingest events.ndjson events --sort-by v:time_us::bigint"
        + (" --engine local" if spark is None else " --engine spark"),
    )
    options = IngestOptions(sort_by=("v:time_us::bigint",), show_progress=console.is_terminal)
    report = ingest_text(chosen, source, table, options)
    console.print(report.grid())
    opened = Table(table)
    _say(
        console,
        "$ shredlake inspect: the paths of the first file, how many values are typed, and their bytes",
    )
    _layout(console, opened)
    times = pc.min_max(opened.scan(["v:time_us::bigint AS at"]).to_arrow().column("at"))
    early = times["min"].as_py() + (times["max"].as_py() - times["min"].as_py()) // 100
    queries = [(name, columns, where.format(early=early)) for name, columns, where in QUERIES]
    console.print("\nThree queries, and what each of them read:")
    for name, columns, where in queries:
        _say(console, f'{name}\n$ shredlake query events "{", ".join(columns)}" --where "{where}" --explain')
        console.print(str(opened.scan(columns, where).explain()))
    _say(console, "The same queries, timed (best of three)")
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
            grid.add_row(path.path, path.type, f"{share:.1%}", f"{path.compressed_size:,}")
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


def _say(console: Console, heading: str) -> None:
    console.print(f"\n{heading}", style="bold", soft_wrap=True)
