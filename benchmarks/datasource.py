"""Compares `format("shredlake")` with `sls.read`, `sls.sql` and Spark's own Variants, in one run.

    make bench-datasource                   (python benchmarks/datasource.py [--rows 200000] [--runs 3])

Every query runs once as a warm-up and is checked: all four ways must give the same rows. Then the ways take
turns, and the best run of each counts.

`files` are those that the log leaves for the filters that Spark pushes into the source, and for the same
condition in `sls.read`. `kB` are the bytes that the operating system counts as read by the processes that
read the files, in the run after the warm-up: Python processes for the source, the JVM for `sls.read`. The
log, footers and page indexes are in them.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table as Grid

import shredlake as sl
from datasets import write_ndjson
from shredlake import spark as sls
from shredlake.spark.query.strategies.whole_variants import variants_frame, variants_scan
from timing import best_of

QUERIES = {
    "point": ("v:time_us::bigint AS t, v:kind::string AS k", "{t} = {point}", "count(*), max(k)"),
    "range": ("v:time_us::bigint AS t, v:did::string AS d", "{t} between {low} and {high}", "count(d)"),
    "group": ("v:kind::string AS k, v:time_us::bigint AS t", "{t} > 0", "k, count(*), max(t)"),
    "like": ("v:did::string AS d, v:time_us::bigint AS t", "{d} like 'did:plc:a%'", "count(*), min(t)"),
}
"""The columns, the condition over them, and what is asked of the rows."""
PATHS = {"t": "v:time_us::bigint", "d": "v:did::string"}
NAMES = {name: name for name in PATHS}
WAYS = ("source", "read", "sql", "native")
FILES = 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder), given.rows, given.runs)


def run(folder: Path, rows: int, runs: int) -> None:
    write_ndjson("bluesky", folder / "events.ndjson", rows)
    place = str(folder / "table")
    text = folder / "events.ndjson"
    sl.ingest(text, place, task_bytes=-(-text.stat().st_size // FILES))
    times = sl.Table(place).scan(["v:time_us::bigint AS t"]).to_arrow().column("t").to_pylist()
    times.sort()
    middle = len(times) // 2
    values = {"point": times[middle], "low": times[middle], "high": times[middle + len(times) // 100]}
    spark = sls.session(settings={"spark.ui.enabled": "false"})
    native = variants_frame(variants_scan(spark, sl.Table(place).snapshot))
    native.createOrReplaceTempView("native_events")
    files = sl.Table(place).files().num_rows
    grid = Grid(title=f"{rows:,} rows in {files} files: milliseconds; files and kB, source and read")
    for name in ("query", *WAYS, "source / read", "files", "kB", "kB / kB"):
        grid.add_column(name, justify="left" if name == "query" else "right")
    for name, (columns, condition, answer) in QUERIES.items():
        filtered, where = (condition.format(**values, **names) for names in (NAMES, PATHS))
        ways = _ways(spark, place, columns, filtered, where, answer)
        answers = {}
        for way, frame in ways.items():
            answers[way] = sorted(map(str, frame().collect()))
        assert len({tuple(found) for found in answers.values()}) == 1, (name, answers)
        seconds = best_of(runs, *(lambda frame=frame: frame().collect() for frame in ways.values()))
        frame = (
            spark.read.format("shredlake")
            .options(columns=columns, partitionBytes=1, pushFilters=True)
            .load(place)
        )
        pruned = frame.where(filtered)._jdf.queryExecution().executedPlan().execute().getNumPartitions()
        expected = len(sls.scan(spark, place, columns, where=where).files)
        by_workers, _ = read_by(spark, ways["source"])
        _, by_spark = read_by(spark, ways["read"])
        shown = [f"{one * 1000:,.0f}" for one in seconds]
        counted = f"{pruned}, {expected}", f"{by_workers / 1e3:,.0f}, {by_spark / 1e3:,.0f}"
        ratios = f"{seconds[0] / seconds[1]:.2f}", f"{by_workers / by_spark:.2f}"
        grid.add_row(name, *shown, ratios[0], *counted, ratios[1])
    Console(width=120).print(grid)
    spark.stop()


def read_by(spark: Any, frame: Callable[[], Any]) -> tuple[int, int]:
    """The bytes that the Python processes and the JVM read while a query runs."""
    jvm = psutil.Process(spark.sparkContext._gateway.proc.pid)

    def counted() -> dict[int, int]:
        found = {}
        for process in (jvm, *jvm.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                found[process.pid] = process.io_counters().read_chars
        return found

    before = counted()
    frame().collect()
    after = counted()
    read = {pid: chars - before.get(pid, 0) for pid, chars in after.items()}
    return sum(read.values()) - read[jvm.pid], read[jvm.pid]


def _ways(
    spark: Any, place: str, columns: str, filtered: str, where: str, answer: str
) -> dict[str, Callable[[], Any]]:
    """The same query four ways; planning counts."""
    group = " group by 1" if answer.startswith("k,") else ""
    whole = f"select {answer} from (select {columns} from {{}}) where {filtered}{group}"
    asked = f"select {answer} from {{frame}}{group}"

    def source() -> Any:
        frame = spark.read.format("shredlake").options(columns=columns, pushFilters=True).load(place)
        return spark.sql(asked, frame=frame.where(filtered))

    return {
        "source": source,
        "read": lambda: spark.sql(asked, frame=sls.read(spark, place, columns, where=where)),
        "sql": lambda: sls.sql(spark, whole.format("events"), events=place),
        "native": lambda: spark.sql(whole.format("native_events")),
    }


if __name__ == "__main__":
    main()
