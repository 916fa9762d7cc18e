"""Measures the time and memory of the driver with many files, many inputs and many tasks.

    python benchmarks/driver.py                            (100,000 files and inputs, 10,000 tasks: minutes)
    python benchmarks/driver.py --files 1000000 --inputs 100000 --tasks 10000

Each measurement runs in its own process with its own Spark. It shows the seconds, the resident memory of
Python when it is done and at its peak, and the live objects of the JVM after full garbage collections, each
less what the same work with few files, inputs or tasks leaves.

- files: a table whose log has that many files (all of the same bytes) is opened and a query is planned.
- inputs: that many files of two lines are found, sampled, written and committed by Spark's tasks.
- tasks: that many tasks, each with a list of files as those of `optimize` have, are sent and their results
  come back.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from partitions import make_log, used_by_jvm

FEW = 50
"""As many files, inputs or tasks come first, so that imports and classes do not count."""
FILES_OF_TASK = 8
PATH = "day=2026-01-01/part-00000-8a1b2c3d-0000-4000-8000-000000000000.c000.zstd.parquet"


@dataclass(frozen=True)
class Cost:
    """The cost of one piece of work."""

    seconds: float
    python: float
    """Megabytes that Python has more than before."""
    peak: float
    jvm: float
    """Megabytes that live objects of the JVM take more than before."""


def session() -> Any:
    from shredlake.spark import session

    settings = {"spark.driver.memory": "3g", "spark.ui.enabled": "false"}
    return session(master="local[2]", settings=settings)


def plan(spark: Any, folder: Path, count: int) -> Callable[[], None]:
    from shredlake.spark import sql

    place = folder / f"files{count}"
    make_log(place, count)

    def work() -> None:
        frame = sql(spark, "select v:a::bigint AS a from t where v:a::bigint >= 0", t=str(place))
        frame._jdf.queryExecution().executedPlan()

    return work


def ingest(spark: Any, folder: Path, count: int) -> Callable[[], None]:
    from shredlake.spark import ingest

    source = folder / f"inputs{count}"
    for start in range(0, count, 1000):  # folders of a thousand
        inside = source / f"{start:07}"
        inside.mkdir(parents=True)
        for number in range(start, min(start + 1000, count)):
            text = "".join(json.dumps({"n": number, "k": k}) + "\n" for k in "ab")
            (inside / f"{number:07}.json").write_text(text)

    def work() -> None:
        report = ingest(spark, str(source), str(folder / f"table{count}"))
        assert report.rows == 2 * count, report

    return work


def tasks(spark: Any, folder: Path, count: int) -> Callable[[], None]:
    from shredlake.spark.engine import SparkEngine

    made = [[f"{number}-{file}-{PATH}" for file in range(FILES_OF_TASK)] for number in range(count)]

    def work() -> None:
        results = SparkEngine(spark).run(made, _answer)
        assert len(results) == count

    return work


def _answer(files: list[str]) -> str:
    """A text as long as the `add` actions of a few files."""
    return json.dumps([{"path": file, "stats": "x" * 500} for file in files])


WORK = {"files": plan, "inputs": ingest, "tasks": tasks}


def resident() -> float:
    """Megabytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def measure(kind: str, count: int, folder: Path) -> Cost:
    spark = session()
    WORK[kind](spark, folder, FEW)()
    work = WORK[kind](spark, folder, count)
    gc.collect()
    python, jvm = resident(), used_by_jvm(spark)
    started = time.perf_counter()
    work()
    seconds = time.perf_counter() - started
    gc.collect()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return Cost(seconds, resident() - python, peak - python, used_by_jvm(spark) - jvm)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, nargs="*", default=[100_000])
    parser.add_argument("--inputs", type=int, nargs="*", default=[100_000])
    parser.add_argument("--tasks", type=int, nargs="*", default=[10_000])
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.only:
        kind, count = asked.only
        print(json.dumps(asdict(measure(kind, int(count), Path(asked.folder)))))
        return
    table = Table("work", "count", "seconds", "Python MB", "peak MB", "JVM MB")
    for kind in WORK:
        for count in getattr(asked, kind):
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, __file__, "--only", kind, str(count), "--folder", folder]
                found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            cost = Cost(**json.loads(found.splitlines()[-1]))
            numbers = (f"{cost.seconds:.1f}", *(f"{one:.0f}" for one in (cost.python, cost.peak, cost.jvm)))
            table.add_row(kind, f"{count:,}", *numbers)
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
