"""Compares the kernels with DuckDB, Spark and PySpark's own decoder, in one run.

python benchmarks/kernels.py                          # three shapes, 100 MB of JSON each
python benchmarks/kernels.py --megabytes 20 --without-spark --shapes bluesky

All engines use one thread (two threads have a separate column in the table), on data in memory, warm, best of
several runs. Results are dropped batch by batch, like DuckDB's count() and Spark's noop sink do; only the
runs on two threads get the whole column. MB/s always refers to the JSON text, whatever the operation reads or
writes. Spark's time excludes reading its cached input. PySpark's decoder is slow and gets a sample of the
rows.

A shared machine does not always provide two cores. Runs on one and two threads therefore alternate with two
processes that do half of the work each; rounds in which these did not get two cores are ignored, if there are
others.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import duckdb
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import datasets
import shredlake as sl
from shredlake.kernels.dispatch import COMPILED
from timing import best_of

PATHS: dict[str, tuple[str, str]] = {
    "bluesky": ("$.commit.collection", "string"),
    "github": ("$.actor.login", "string"),
    "telemetry": ("$.part03.m2.voltage", "double"),
    "logs": ("$.http.bytes", "bigint"),
    "relational": ("$.partkey", "bigint"),
    "map_by_id": ("$.shard", "bigint"),
}
"""The path that `get` reads in each shape, and Spark's name of its type."""

ARROW_TYPES = {"string": pa.string(), "double": pa.float64(), "bigint": pa.int64()}
DUCKDB_TYPES = {"string": "varchar", "double": "double", "bigint": "bigint"}
SAMPLE_ROWS = 2000
BATCH_BYTES = 8e6
TWO_CORES = 1.85
WHOLE_TURNS = 20


@dataclass
class Measured:
    """MB/s of JSON by engine, for one operation on one shape."""

    operation: str
    shape: str
    speeds: dict[str, float] = field(default_factory=dict)
    machine: float | None = None
    """Speed-up of two separate processes in the same rounds."""


@dataclass(frozen=True)
class Target:
    """Target of the ratio of two columns in one line."""

    operation: str
    against: str
    at_least: float


TARGETS = [
    Target("from_json", "DuckDB", 5.0),
    Target("from_json", "Spark", 3.5),
    Target("to_json", "DuckDB", 3.0),
    Target("get", "DuckDB", 5.0),
    Target("shred", "from_json", 1.0),
    Target("unshred", "from_json", 1.0),
]
TWO_THREADS = 1.7


def best(runs: int, work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of the fastest run after a warm-up; short operations are repeated for a second."""
    work()
    times: list[float] = []
    while len(times) < runs or (sum(times) < 1 and len(times) < 20 * runs):
        started = clock()
        result = work()
        times.append(clock() - started)
        del result  # giving its memory back is not the work
    return min(times)


def texts_of(shape: str, megabytes: float) -> pa.Array:
    """Rows of a shape, of at least this many megabytes."""
    sample = datasets.column(shape, 200)
    rows = int(200 * megabytes * 1e6 / sample.nbytes * 1.02) + 1
    return datasets.column(shape, rows)


def batches_of(column: pa.Array, count: int) -> list[pa.Array]:
    """The column cut into batches of equal numbers of rows."""
    rows = -(-len(column) // count)
    return [column.slice(start, rows) for start in range(0, len(column), rows)]


def measure_ours(shape: str, texts: pa.Array, runs: int, clock: Callable[[], float]) -> list[Measured]:
    path, type_ = PATHS[shape]
    count = max(1, round(texts.nbytes / BATCH_BYTES))
    text_batches = batches_of(texts, count)
    variants = [sl.from_json(batch) for batch in text_batches]
    schema = sl.infer_schema(pa.chunked_array(variants))
    layout = getattr(schema, "schema", schema)
    shredded = [sl.shred(batch, layout) for batch in variants]
    operations: dict[str, tuple[list[pa.Array], Callable[..., object]]] = {
        "from_json": (text_batches, sl.from_json),
        "to_json": (variants, sl.to_json),
        "shred": (variants, lambda column, threads: sl.shred(column, layout, threads=threads)),
        "unshred": (shredded, sl.unshred),
        "get": (
            variants,
            lambda column, threads: sl.get(column, path, ARROW_TYPES[type_], threads=threads),
        ),
        "validate": (variants, sl.validate),
    }
    results = []
    for name, (batches, work) in operations.items():
        one, two, machine = in_turns(work, batches)
        seconds = {
            "ours": best(runs, partial(_each, work, batches), clock),
            "whole": one,
            "2 threads": two,
        }
        speeds = {column: texts.nbytes / 1e6 / time_ for column, time_ in seconds.items()}
        results.append(Measured(name, shape, speeds, machine))
    few = variants[0].slice(0, SAMPLE_ROWS)
    size = texts.slice(0, len(few)).nbytes / 1e6
    results.append(
        Measured("to_python", shape, {"ours": size / best(runs, partial(sl.to_python, few), clock)})
    )
    return results


def in_turns(work: Callable[..., object], batches: list[pa.Array]) -> tuple[float, float, float]:
    """Seconds on one thread and on two, and the speed-up of two processes in the same rounds.

    A neighbour may have taken the second core, or the memory's speed: turns in which two processes, which
    share nothing, did not get what two cores give are left out.
    """
    whole = pa.chunked_array(batches)
    halves = [pa.chunked_array(batches[start::2]) for start in range(2)]
    turns: list[tuple[float, float, float]] = []
    counted: list[tuple[float, float, float]] = []
    with _second_process(partial(work, halves[1], threads=1)) as beside:

        def in_two_processes() -> None:
            beside.send(None)
            work(halves[0], threads=1)
            beside.recv()

        ways = (partial(work, whole, threads=1), partial(work, whole, threads=2), in_two_processes)
        while len(counted) < WHOLE_TURNS and len(turns) < 3 * WHOLE_TURNS:
            # Each twice in its turn: the first run finds memory as the other one left it.
            one, two, apart = (best_of(2, way)[0] for way in ways)
            turns.append((one, two, one / apart))
            counted = [turn for turn in turns if turn[-1] >= TWO_CORES]
    counted = counted or turns
    ratio = sum(turn[-1] for turn in counted) / len(counted)
    return min(turn[0] for turn in counted), min(turn[1] for turn in counted), ratio


@contextmanager
def _second_process(work: Callable[[], object]) -> Iterator[Connection]:
    """A process that does the work once for every message."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()

    def serve() -> None:
        ours.close()
        while True:
            try:
                theirs.recv()
            except EOFError:
                return
            work()
            theirs.send(None)

    process = context.Process(target=serve, daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        process.join()


def _each(work: Callable[..., object], batches: list[pa.Array]) -> None:
    for batch in batches:
        work(batch, threads=1)


def measure_duckdb(shape: str, texts: pa.Array, runs: int, clock: Callable[[], float]) -> dict[str, float]:
    path, type_ = PATHS[shape]
    keys = "".join(f'."{key}"' for key in path.removeprefix("$.").split("."))
    database = duckdb.connect(config={"threads": 1})
    source = pa.table({"j": texts})
    database.execute("create table texts as select j::json as j from source")
    database.execute("create table variants as select j::variant as v from texts")
    del source
    queries = {
        "from_json": "select count(j::variant) from texts",
        "to_json": "select sum(strlen(v::json)) from variants",
        "get": f"select count((v{keys})::{DUCKDB_TYPES[type_]}) from variants",
    }
    return {
        name: texts.nbytes / 1e6 / best(runs, partial(_fetch, database, query), clock)
        for name, query in queries.items()
    }


def _fetch(database: duckdb.DuckDBPyConnection, query: str) -> object:
    return database.execute(query).fetchall()


def measure_spark(shape: str, texts: pa.Array, runs: int, cpu: bool) -> dict[str, float]:
    from pyspark.sql import DataFrame, SparkSession

    path, type_ = PATHS[shape]
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(pa.table({"j": texts}), Path(folder) / "texts.parquet", row_group_size=50_000)
        spark = (
            SparkSession.builder.master("local[1]")
            .appName("shredlake-kernels")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.memory", "4g")
            .config("spark.sql.inMemoryColumnarStorage.compressed", "false")
            .config("spark.sql.files.maxPartitionBytes", str(1 << 40))
            .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
            .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={folder}")
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("ERROR")
        clock = _java_seconds if cpu else time.perf_counter

        def run(frame: DataFrame, expression: str) -> float:
            chosen = frame.selectExpr(expression)
            return best(runs, lambda: chosen.write.format("noop").mode("overwrite").save(), clock)

        texts_frame = spark.read.parquet(f"{folder}/texts.parquet").cache()
        idle = {"from_json": run(texts_frame, "*")}
        # Before the Variants are cached: Spark would find the same expression in the cache and parse nothing.
        busy = {"from_json": run(texts_frame, "parse_json(j) as x")}
        variants = texts_frame.selectExpr("parse_json(j) as v").cache()
        idle["to_json"] = idle["get"] = run(variants, "*")
        busy["to_json"] = run(variants, "to_json(v) as x")
        busy["get"] = run(variants, f"variant_get(v, '{path}', '{type_}') as x")
        spark.stop()
    # Where the work does not stand out from reading its input, there is nothing to report.
    return {
        name: texts.nbytes / 1e6 / (busy[name] - idle[name]) for name in busy if busy[name] > 1.2 * idle[name]
    }


def _java_seconds() -> float:
    """CPU time of Spark's JVM, including its compiler and garbage collector."""
    times = [
        child.cpu_times() for child in psutil.Process().children(recursive=True) if child.name() == "java"
    ]
    return float(sum(used.user + used.system for used in times))


def measure_pyspark(texts: pa.Array) -> dict[str, float]:
    """PySpark's own decoder in Python, on a sample."""
    from pyspark.sql.types import VariantVal

    few = texts.slice(0, SAMPLE_ROWS)
    values = [VariantVal(row["value"], row["metadata"]) for row in sl.from_json(few).to_pylist()]
    return {
        "to_python": few.nbytes / 1e6 / best(1, lambda: [value.toPython() for value in values]),
        "to_json": few.nbytes / 1e6 / best(1, lambda: [value.toJson() for value in values]),
    }


def judged(measured: Measured, all_results: list[Measured]) -> list[tuple[str, float, float]]:
    """(against what, ratio, target) for each target of the line."""
    verdicts = []
    ours = measured.speeds["ours"]
    for target in TARGETS:
        if target.operation != measured.operation:
            continue
        if target.against == "from_json":
            other = next(
                m.speeds["ours"]
                for m in all_results
                if m.operation == "from_json" and m.shape == measured.shape
            )
        else:
            other = measured.speeds.get(target.against, 0.0)
        if other:
            verdicts.append((target.against, ours / other, target.at_least))
    if "2 threads" in measured.speeds and measured.operation not in ("get", "validate"):
        ratio = measured.speeds["2 threads"] / measured.speeds["whole"]
        verdicts.append(("one thread", ratio, TWO_THREADS))
    return verdicts


def report(results: list[Measured], sizes: dict[str, int], console: Console) -> None:
    amounts = ", ".join(f"{shape} {size / 1e6:.0f} MB" for shape, size in sizes.items())
    speeds = Table(title="MB of JSON per second", caption=amounts)
    columns = ["ours", "whole", "2 threads", "DuckDB", "Spark", "pyspark"]
    for name in ["operation", "shape", *columns]:
        speeds.add_column(name, justify="right" if name in columns else "left")
    targets = Table(title="Against the targets")
    for name in ("operation", "shape", "against", "ratio", "target", "", "machine"):
        targets.add_column(name, justify="right" if name in ("ratio", "target", "machine") else "left")
    for measured in results:
        cells = [f"{measured.speeds[name]:.1f}" if name in measured.speeds else "" for name in columns]
        speeds.add_row(measured.operation, measured.shape, *cells)
        for against, ratio, target in judged(measured, results):
            met = "[green]met[/green]" if ratio >= target else "[red]missed[/red]"
            machine = f"{measured.machine:.2f}x" if against == "one thread" else ""
            targets.add_row(
                measured.operation, measured.shape, against, f"{ratio:.2f}x", f"{target:g}x", met, machine
            )
    console.print(speeds)
    console.print(targets)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=float, default=100, help="of JSON per shape")
    parser.add_argument(
        "--shapes", nargs="+", default=["bluesky", "github", "telemetry"], choices=sorted(PATHS)
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--without-spark", action="store_true")
    parser.add_argument(
        "--cpu",
        action="store_true",
        help="processor time instead of wall time for one thread: on a busy machine",
    )
    options = parser.parse_args()
    clock = time.process_time if options.cpu else time.perf_counter
    if not COMPILED:
        raise SystemExit("the kernels are not compiled: make build")
    console = Console(width=None if sys.stdout.isatty() else 110)
    results: list[Measured] = []
    sizes = {}
    for shape in options.shapes:
        console.print(f"[dim]{shape} ...[/dim]")
        texts = texts_of(shape, options.megabytes)
        sizes[shape] = texts.nbytes
        ours = measure_ours(shape, texts, options.runs, clock)
        others = {"DuckDB": measure_duckdb(shape, texts, options.runs, clock)}
        if not options.without_spark:
            others["Spark"] = measure_spark(shape, texts, options.runs, options.cpu)
            others["pyspark"] = measure_pyspark(texts)
        for engine, speeds in others.items():
            for measured in ours:
                if measured.operation in speeds:
                    measured.speeds[engine] = speeds[measured.operation]
        results += ours
    order = list(dict.fromkeys(measured.operation for measured in results))
    report(sorted(results, key=lambda measured: order.index(measured.operation)), sizes, console)


if __name__ == "__main__":
    main()
