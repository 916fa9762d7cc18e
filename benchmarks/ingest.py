"""Compares ingest with Spark's own `parse_json` and shredded write, in one session.

python benchmarks/ingest.py                         three shapes of 1 GB
python benchmarks/ingest.py --gigabytes 0.1 --shapes bluesky
python benchmarks/ingest.py --level 0.1,1,4         throughput by size, shredlake only
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from rich.console import Console
from rich.table import Table as Grid

from datasets import write_ndjson
from shredlake.spark import ingest, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHAPES = ("bluesky", "logs", "telemetry")

SPARK_SHREDS = {
    "spark.sql.variant.writeShredding.enabled": "true",
    "spark.sql.variant.inferShreddingSchema": "true",
    "spark.sql.parquet.variant.annotateLogicalType.enabled": "true",
    "spark.sql.parquet.compression.codec": "zstd",
}
"""Spark's own shredded write, with the codec that shredlake uses."""

WARM = 50_000_000
"""Size of the warm-up run of both, which is not timed: the JVM compiles code that runs often."""

LEVEL_SECONDS = 15.0
"""Seconds for which each size is ingested repeatedly."""


class PeakMemory:
    """The peak resident memory of any Python worker of this process while it is observed."""

    def __init__(self) -> None:
        self.bytes = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        own = psutil.Process()
        while not self._stop.wait(0.05):
            for process in own.children(recursive=True):
                try:
                    if "python" in process.name():
                        self.bytes = max(self.bytes, process.memory_info().rss)
                except psutil.Error:
                    continue


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.parquet"))


def by_shredlake(spark: SparkSession, source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    ingest(spark, str(source), target)


def by_spark(spark: SparkSession, source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    frame = spark.read.text(str(source)).selectExpr("parse_json(value) AS v")
    frame.write.parquet(str(target))


def compare(spark: SparkSession, folder: Path, shapes: list[str], size: int, grid: Grid) -> bool:
    """One row per shape: seconds, MB/s, ratio, sizes, memory."""
    met = True
    for shape in shapes:
        source = folder / f"{shape}.ndjson"
        write_ndjson(shape, source, size=size)
        warm = folder / "warm.ndjson"
        write_ndjson(shape, warm, size=min(size // 10, WARM))
        for run in (by_shredlake, by_spark):
            run(spark, warm, folder / "warm")
        with PeakMemory() as memory:
            ours = timed(lambda source=source: by_shredlake(spark, source, folder / "ours"))  # type: ignore[misc]
        theirs = timed(lambda source=source: by_spark(spark, source, folder / "theirs"))  # type: ignore[misc]
        text = source.stat().st_size
        our_size, their_size = size_of(folder / "ours"), size_of(folder / "theirs")
        grid.add_row(
            shape,
            f"{text / 1e6:,.0f}",
            f"{text / 1e6 / ours:,.0f}",
            f"{text / 1e6 / theirs:,.0f}",
            f"{theirs / ours:.1f}x",
            f"{our_size / 1e6:,.1f}",
            f"{their_size / 1e6:,.1f}",
            f"{our_size / their_size:.2f}x",
            f"{memory.bytes / 1e6:,.0f}",
        )
        met &= theirs / ours >= 3 and our_size <= their_size and memory.bytes < 1e9
        source.unlink()
    return met


def level(spark: SparkSession, folder: Path, shape: str, sizes: list[float], grid: Grid) -> None:
    """Throughput by size of the input: the best of as many runs as fit the time, at least two."""
    warm = folder / "warm.ndjson"
    write_ndjson(shape, warm, size=WARM)
    for gigabytes in sizes:
        source = folder / f"{shape}.ndjson"
        write_ndjson(shape, source, size=int(gigabytes * 1e9))
        for _ in range(5):  # each time: idle workers end after a minute
            by_shredlake(spark, warm, folder / "warm")
        times: list[float] = []
        with PeakMemory() as memory:
            while len(times) < 2 or sum(times) < LEVEL_SECONDS:
                times.append(timed(lambda source=source: by_shredlake(spark, source, folder / "ours")))  # type: ignore[misc]
        seconds = min(times)
        text = source.stat().st_size
        grid.add_row(
            f"{text / 1e6:,.0f}",
            f"{seconds:.2f}",
            str(len(times)),
            f"{text / 1e6 / seconds:,.0f}",
            f"{text / 1e6 / sorted(times)[len(times) // 2]:,.0f}",
            f"{memory.bytes / 1e6:,.0f}",
        )
        source.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--level", help="sizes in GB, with commas: shredlake alone over these")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--folder", help="where the data goes; a temporary folder by default")
    options = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = session(master=options.master, settings={**SPARK_SHREDS, "spark.ui.enabled": "false"})
    console = Console(width=140)
    met = True
    with tempfile.TemporaryDirectory(prefix="shredlake-bench-", dir=options.folder) as place:
        if options.level:
            grid = Grid(
                "text, MB", "best, seconds", "of runs", "MB/s", "median, MB/s", "worker's peak, MB",
                title=f"on {options.master}",
            )  # fmt: skip
            sizes = [float(size) for size in options.level.split(",")]
            level(spark, Path(place), options.shapes.split(",")[0], sizes, grid)
        else:
            grid = Grid(title=f"JSON text to shredded files, {options.master}, warm")
            for heading in (
                "shape", "text, MB", "shredlake, MB/s", "Spark, MB/s", "ratio", "shredlake, MB", "Spark, MB",
                "size", "worker's peak, MB",
            ):  # fmt: skip
                grid.add_column(heading, justify="right")
            size = int(options.gigabytes * 1e9)
            met = compare(spark, Path(place), options.shapes.split(","), size, grid)
    console.print(grid)
    spark.stop()
    if not options.level:
        console.print("at least 3x, no larger, under 1 GB:", "yes" if met else "no")


if __name__ == "__main__":
    main()
