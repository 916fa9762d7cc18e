"""Planning on Spark over tables of many partitions and of many files, beside Spark's own, in one run.

    make bench-partitions                                  (python benchmarks/partitions.py)
    python benchmarks/partitions.py --partitions 10 100 1000 10000 --files 10000 100000

Every partition has one file of a few rows. All files have the same bytes: each is a hard link to the first.
Spark's own way is `spark.read.parquet(folder)`, which lists folders and infers partitions; ours is
`shredlake.spark.sql`. A query is planned, up to Spark's physical plan, the first time in a session that has
never seen the table (`first`), for a new shape of query over the same files (`new shape`, the best of four),
and again (`again`, the best of three). Ours and Spark's alternate. With `--run`, queries run to their result,
too. The tables of `--files` have no partitions; for them, the memory that the driver keeps is measured after
full garbage collections: of Python, and of the JVM.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console

import shredlake as sl
from shredlake import caches
from shredlake.delta.log.files import FILE_SCHEMA, Files
from shredlake.delta.write.checkpoint import write_checkpoint
from shredlake.spark import register, session, sql

ROWS = 6
LINKS = 50_000
"""The most links to one file; ext4 allows 65,000."""
RUNS = 3
LAYOUT = {"v": "struct<a bigint, kind string, user struct<id bigint>>"}
SCHEMA = pa.schema([("day", pa.string()), ("v", sl.variant())])

SHAPES = [
    "select day, count(*) n, sum({a}) s from t group by day",
    "select day, max({a}) m from t group by day",
    "select count(*) n from t where {a} > 3",
    "select day, min({id}) m from t where {kind} = 'k1' group by day",
    "select max({id}) m from t",
]
OURS = {"a": "v:a::bigint", "kind": "v:kind::string", "id": "v:user.id::bigint"}
NATIVE = {
    "a": "variant_get(v, '$.a', 'bigint')",
    "kind": "variant_get(v, '$.kind', 'string')",
    "id": "variant_get(v, '$.user.id', 'bigint')",
}


# ── tables ──────────────────────────────────────────────────────────────────────────────────────────────


def make_table(place: Path, files: int, *, partitioned: bool = True) -> None:
    """A table of this many files, each in its own partition if `partitioned`. Its log is a checkpoint."""
    keys = ["day"] if partitioned else []
    table = sl.Table.create(place, SCHEMA, keys, {"delta.enableVariantShredding": "true"})
    texts = [json.dumps({"a": n, "kind": f"k{n % 3}", "user": {"id": n * 7}}) for n in range(ROWS)]
    table.append(pa.table({"day": ["d0"] * ROWS, "v": sl.from_json(pa.array(texts))}), shredding=LAYOUT)
    [first] = table.snapshot.files.table().to_pylist()
    source = place / first["path"]
    columns: dict[str, list[Any]] = {item.name: [first[item.name]] * files for item in FILE_SCHEMA}
    folders = [f"day=d{n}/" if partitioned else "" for n in range(files)]
    columns["path"] = [f"{folder}{n:06}-{source.name}" for n, folder in enumerate(folders)]
    if partitioned:
        columns["partitionValues"] = [[("day", f"d{n}")] for n in range(files)]
    for number, path in enumerate(columns["path"]):
        target = place / path
        target.parent.mkdir(exist_ok=True)
        if number % LINKS == 0:
            shutil.copy(source, target)
            linked = target
        else:
            os.link(linked, target)
    source.unlink()
    arrays = [pa.array(columns[item.name], item.type) for item in FILE_SCHEMA]
    added = pa.Table.from_arrays(arrays, schema=FILE_SCHEMA)
    write_checkpoint(replace(table.snapshot, files=Files([], added, ())))


# ── measuring ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Times:
    """Seconds to the physical plan and to the result."""

    plan: float
    run: float


def measured(query: Callable[[], Any], run: bool) -> Times:
    started = time.perf_counter()
    frame = query()
    frame._jdf.queryExecution().executedPlan()
    planned = time.perf_counter() - started
    if run:
        frame._jdf.queryExecution().executedPlan().executeCollect()
    return Times(planned, time.perf_counter() - started)


def best(times: list[Times]) -> Times:
    return Times(min(one.plan for one in times), min(one.run for one in times))


class Contest:
    """Queries over one table, planned by us and by Spark alone."""

    def __init__(self, spark: Any, place: Path, run: bool) -> None:
        self.spark, self.place, self.run = spark, str(place), run

    def ours(self, text: str) -> Times:
        return measured(lambda: sql(self.spark, text.format(**OURS), t=self.place), self.run)

    def theirs(self, text: str) -> Times:
        def query() -> Any:
            if not self.spark.catalog.tableExists("native_t"):
                frame = self.spark.read.schema("v variant, day string").parquet(self.place)
                frame.createOrReplaceTempView("native_t")
            return self.spark.sql(text.format(**NATIVE).replace("from t", "from native_t"))

        return measured(query, self.run)

    def forget(self) -> None:
        caches.clear()
        self.spark.catalog.dropTempView("native_t")

    def compared(self) -> dict[str, tuple[Times, Times]]:
        """By moment, the times of ours and of Spark's own."""

        def both(text: str) -> tuple[Times, Times]:
            return self.ours(text), self.theirs(text)

        self.forget()
        found = {"first": both(SHAPES[0])}
        new = [both(text) for text in SHAPES[1:]]
        again = [both(SHAPES[0]) for _ in range(RUNS)]
        for moment, pairs in (("new shape", new), ("again", again)):
            found[moment] = best([one for one, _ in pairs]), best([other for _, other in pairs])
        return found

    def kept(self) -> dict[str, tuple[float, float]]:
        """Megabytes of Python and of the JVM that one query leaves behind, by way."""
        found = {}
        for way in (self.theirs, self.ours):
            self.forget()
            before = resident(), used_by_jvm(self.spark)
            way(SHAPES[2])
            found[way.__name__] = resident() - before[0], used_by_jvm(self.spark) - before[1]
        return found


def used_by_jvm(spark: Any) -> float:
    """Megabytes that live objects of the driver's JVM take."""
    for _ in range(3):
        spark._jvm.System.gc()
    runtime = spark._jvm.Runtime.getRuntime()
    return float(runtime.totalMemory() - runtime.freeMemory()) / 1e6


def resident() -> float:
    """Megabytes of this process."""
    gc.collect()
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1e3


def report(console: Console, label: str, found: Mapping[str, tuple[Times, Times]], run: bool) -> None:
    for moment, (mine, theirs) in found.items():
        ratio = mine.plan / theirs.plan
        line = f"{label:>18}  {moment:<9}  plan {mine.plan:6.2f} {theirs.plan:6.2f} {ratio:5.2f}x"
        if run:
            line += f"   result {mine.run:6.2f} {theirs.run:6.2f} {mine.run / theirs.run:5.2f}x"
        console.print(line, highlight=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, nargs="*", default=[10, 100, 1000, 10_000])
    parser.add_argument("--files", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--folder", help="keep the tables here")
    parser.add_argument("--run", action="store_true", help="run the queries, too")
    asked = parser.parse_args()
    settings = {"spark.driver.memory": "3g", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
    spark = session(master="local[2]", settings=settings)
    console = Console(width=120)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(asked.folder or temporary)

        def table(count: int, partitioned: bool) -> Path:
            place = folder / f"{'partitions' if partitioned else 'files'}{count}"
            if not place.exists():
                make_table(place, count, partitioned=partitioned)
            return place

        for _ in range(3):  # Java compiles what both ways need
            Contest(spark, table(20, True), run=False).compared()
        console.print("seconds: ours, Spark's own, and the ratio")
        for count in asked.partitions:
            contest = Contest(spark, table(count, True), asked.run)
            report(console, f"{count:,} partitions", contest.compared(), asked.run)
            started = time.perf_counter()
            register(spark, "registered", contest.place)
            registered = time.perf_counter()
            spark.sql("select * from registered limit 5").collect()
            limited = time.perf_counter() - registered
            text = f"register {registered - started:.2f}, select * limit 5 {limited:.2f}"
            console.print(f"{count:>7,} partitions  {text}", highlight=False)
        for count in asked.files:
            contest = Contest(spark, table(count, False), run=False)
            report(console, f"{count:,} files", contest.compared(), run=False)
            for way, (python, java) in contest.kept().items():
                text = f"{way} keeps {python:.0f} MB in Python, {java:.0f} MB in the JVM"
                console.print(f"{count:>12,} files  {text}", highlight=False)


if __name__ == "__main__":
    main()
