"""Planning on Spark over tables of many partitions and of many files, beside Spark's own, in one run.

    make bench-partitions                                  (python benchmarks/partitions.py)
    python benchmarks/partitions.py --partitions 10 100 1000 10000 --files 10000 100000

Every partition has one file of a few rows. All files have the same bytes: each is a hard link to the first.
Spark's own way is `spark.read.parquet(folder)`, which lists folders and infers partitions; ours is
`shredlake.spark.sql`. A query is planned, up to Spark's physical plan, the first time in a session that has
never seen the table (`first`), for new shapes of query over the same files (`new shape`), and `again`; then
the same for joins, subqueries, windows and the like (`several`), and for plain SELECTs (`plain`). With
`--large`, every table counts as large enough for workers, as one of 256 MB would. Ours and Spark's
alternate, and medians count. Seconds depend on what else runs on the machine, so the processor time of the
two threads that plan, one of Python and one of the JVM, is shown as well.

Queries over a table of one file with 600 rows run to their result, and with `--run` the others do, too. The
tables of `--files` have no partitions. For them, the memory that the driver keeps is measured: what Python
and Arrow have allocated, and the live objects of the JVM, after full garbage collections.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from rich.console import Console

import shredlake as sl
from shredlake import caches
from shredlake.delta.log.files import FILE_SCHEMA, Files
from shredlake.delta.write.checkpoint import write_checkpoint
from shredlake.spark import register, session, sql
from shredlake.spark.query.workers import pushdown

ROWS, SMALL = 6, 600
"""Rows of each file, and of the only file of a small table."""
LINKS = 50_000
"""The most links to one file; ext4 allows 65,000."""
ROUNDS = 4
"""How often all shapes are asked for."""
COLLECTIONS = 5
LAYOUT = {"v": "struct<a bigint, kind string, user struct<id bigint>>"}
SCHEMA = pa.schema([("day", pa.string()), ("v", sl.variant())])

SHAPES = [
    "select day, count(*) n, sum({a}) s from {t} where {a} < {n} group by day",
    "select day, max({a}) m from {t} where {a} < {n} group by day",
    "select count(*) n from {t} where {a} > 3 and {a} < {n}",
    "select day, min({id}) m from {t} where {a} < {n} and {kind} = 'k1' group by day",
    "select max({id}) m from {t} where {a} < {n}",
]
"""Shapes of queries over one table; `n` is another number for every query."""
PLAIN = [
    "select day, {a} AS a from {t} where {a} < {n}",
    "select {id} AS i, {kind} AS k from {t} where {a} > {n} and {kind} = 'k1'",
    "select day from {t} where {a} = {n} limit 5",
]
"""Queries of rows, not of groups, which workers never answer in parts."""
SEVERAL = [
    "select e.day, count(*) n from {t} e join {t} s on {e.a} = {s.a} where {s.id} < {n} group by e.day",
    "select count(*) n from {t} e left join {t} s on {e.a} = {s.id} and {s.kind} = 'k1' where {e.a} < {n}",
    "select day, max({a}) m from {t} where {a} > (select avg({a}) from {t} where {id} < {n}) group by day",
    "select day from {t} e where exists (select 1 from {t} s where {s.id} = {e.id} and {s.a} < {n})",
    "select day, count(*) n from {t} where {a} < {n} group by day having count(*) > 2",
    "select day, r from (select day, row_number() over (partition by day order by {a}) r from {t} "
    "where {a} < {n}) s where r = 1",
    "with k as (select day, sum({a}) s from {t} where {a} < {n} group by day) select max(s) m from k",
    "select day, {a} AS a from {t} where {a} < {n} union all select day, {id} AS i from {t} where {a} = 9",
]
"""Joins, subqueries, HAVING, windows, common table expressions and unions."""
PATHS = {"a": ("a", "bigint"), "kind": ("kind", "string"), "id": ("user.id", "bigint")}


def written(text: str, number: int, table: str, path: str) -> str:
    """A query with its paths as one of the ways writes them."""

    def paths(column: str) -> dict[str, str]:
        return {name: path.format(column, *one) for name, one in PATHS.items()}

    sides = {side: SimpleNamespace(**paths(f"{side}.v")) for side in ("e", "s")}
    return text.format(t=table, n=number, **paths("v"), **sides)


OURS, NATIVE = "{0}:{1}::{2}", "variant_get({0}, '$.{1}', '{2}')"
"""A path, of a column, a place and a type."""


# ── tables ──────────────────────────────────────────────────────────────────────────────────────────────


def make_table(place: Path, files: int, *, partitioned: bool = True, rows: int = ROWS) -> None:
    """A table of this many files, each in its own partition if `partitioned`. Its log is a checkpoint."""
    source, paths = make_log(place, files, partitioned=partitioned, rows=rows)
    for number, path in enumerate(paths):
        target = place / path
        target.parent.mkdir(exist_ok=True)
        if number % LINKS == 0:
            shutil.copy(source, target)
            linked = target
        else:
            os.link(linked, target)
    source.unlink()


def make_log(
    place: Path, files: int, *, partitioned: bool = False, rows: int = ROWS
) -> tuple[Path, list[str]]:
    """The log of such a table. Returns the only file that exists, and the paths of those that should."""
    keys = ["day"] if partitioned else []
    table = sl.Table.create(place, SCHEMA, keys, {"delta.enableVariantShredding": "true"})
    texts = [json.dumps({"a": n, "kind": f"k{n % 3}", "user": {"id": n * 7}}) for n in range(rows)]
    table.append(pa.table({"day": ["d0"] * rows, "v": sl.from_json(pa.array(texts))}), shredding=LAYOUT)
    [first] = table.snapshot.files.table().to_pylist()
    source = place / first["path"]
    columns: dict[str, list[Any]] = {item.name: [first[item.name]] * files for item in FILE_SCHEMA}
    folders = [f"day=d{n}/" if partitioned else "" for n in range(files)]
    columns["path"] = [f"{folder}{n:06}-{source.name}" for n, folder in enumerate(folders)]
    if partitioned:
        columns["partitionValues"] = [[("day", f"d{n}")] for n in range(files)]
    arrays = [pa.array(columns[item.name], item.type) for item in FILE_SCHEMA]
    added = pa.Table.from_arrays(arrays, schema=FILE_SCHEMA)
    write_checkpoint(replace(table.snapshot, files=Files([], added, ())))
    return source, columns["path"]


# ── measuring ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Times:
    """Seconds to the physical plan and to the result, and seconds of processor time to the plan."""

    plan: float
    run: float
    processor: float


class Clock:
    """The processor time of this thread and of the JVM's thread that serves it."""

    def __init__(self, spark: Any) -> None:
        self._threads = spark._jvm.java.lang.management.ManagementFactory.getThreadMXBean()
        self._id = spark._jvm.java.lang.Thread.currentThread().getId()

    def seconds(self) -> float:
        return float(self._threads.getThreadCpuTime(self._id)) / 1e9 + time.thread_time()


def measured(clock: Clock, query: Callable[[], Any], run: bool) -> Times:
    busy = clock.seconds()
    started = time.perf_counter()
    frame = query()
    frame._jdf.queryExecution().executedPlan()
    planned = time.perf_counter() - started
    busy = clock.seconds() - busy
    if run:
        frame._jdf.queryExecution().executedPlan().executeCollect()
    return Times(planned, time.perf_counter() - started, busy)


def median(times: list[Times]) -> Times:
    return Times(*(statistics.median(getattr(one, item.name) for one in times) for item in fields(Times)))


class Contest:
    """Queries over one table, planned by us and by Spark alone."""

    def __init__(self, spark: Any, place: Path, run: bool) -> None:
        self.spark, self.place, self.run = spark, str(place), run
        self.clock = Clock(spark)

    def ours(self, text: str, number: int) -> Times:
        query = written(text, number, "t", OURS)
        return measured(self.clock, lambda: sql(self.spark, query, t=self.place), self.run)

    def theirs(self, text: str, number: int) -> Times:
        def query() -> Any:
            if not self.spark.catalog.tableExists("native_t"):
                frame = self.spark.read.schema("v variant, day string").parquet(self.place)
                frame.createOrReplaceTempView("native_t")
            return self.spark.sql(written(text, number, "native_t", NATIVE))

        return measured(self.clock, query, self.run)

    def forget(self) -> None:
        caches.clear()
        self.spark.catalog.dropTempView("native_t")

    def compared(self) -> dict[str, tuple[Times, Times]]:
        """By moment, the times of ours and of Spark's own."""

        def both(text: str, number: int) -> tuple[Times, Times]:
            return self.ours(text, number), self.theirs(text, number)

        self.forget()
        found = {"first": both(SHAPES[0], 1)}
        for name, shapes in (("new shape", SHAPES), ("several", SEVERAL), ("plain", PLAIN)):
            for moment in (name, f"{name}, again"):
                pairs = [both(text, 1000 + number) for number in range(ROUNDS) for text in shapes]
                found[moment] = median([one for one, _ in pairs]), median([other for _, other in pairs])
        return found

    def kept(self) -> dict[str, tuple[float, float]]:
        """Megabytes of Python and of the JVM that one query leaves behind, by way."""
        found = {}
        for way in (self.theirs, self.ours):
            way(SHAPES[2], 1)  # what does not depend on the files, such as code and classes
            self.forget()
            tracemalloc.start()
            before = allocated(), used_by_jvm(self.spark)
            way(SHAPES[2], 1)
            found[way.__name__] = allocated() - before[0], used_by_jvm(self.spark) - before[1]
            tracemalloc.stop()
        return found


def used_by_jvm(spark: Any) -> float:
    """Megabytes that live objects of the driver's JVM take: the least after several collections."""
    memory = spark._jvm.java.lang.management.ManagementFactory.getMemoryMXBean()
    found = []
    for _ in range(COLLECTIONS):
        gc.collect()  # lets go of objects of the JVM, too
        memory.gc()
        found.append(float(memory.getHeapMemoryUsage().getUsed()) / 1e6)
    return min(found)


def allocated() -> float:
    """Megabytes that Python and Arrow have allocated."""
    gc.collect()
    return float(tracemalloc.get_traced_memory()[0] + pa.total_allocated_bytes()) / 1e6


def report(console: Console, label: str, found: Mapping[str, tuple[Times, Times]], run: bool) -> None:
    for moment, (mine, theirs) in found.items():
        line = f"{label:>18}  {moment:<16}"
        for name, one, other in (
            ("plan", mine.plan, theirs.plan),
            ("processor", mine.processor, theirs.processor),
        ):
            line += f"  {name} {one:6.3f} {other:6.3f} {one / other:5.2f}x"
        if run:
            line += f"  result {mine.run:6.3f} {theirs.run:6.3f} {mine.run / theirs.run:5.2f}x"
        console.print(line, highlight=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, nargs="*", default=[10, 100, 1000, 10_000])
    parser.add_argument("--files", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--folder", help="keep the tables here")
    parser.add_argument("--run", action="store_true", help="run the queries, too")
    parser.add_argument("--large", action="store_true", help="plan as if every table had 256 MB")
    asked = parser.parse_args()
    if asked.large:
        pushdown.ENOUGH_BYTES = 0  # type: ignore[misc]
    settings = {"spark.driver.memory": "3g", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
    spark = session(master="local[2]", settings=settings)
    console = Console(width=140)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(asked.folder or temporary)

        def table(count: int, partitioned: bool) -> Path:
            place = folder / f"{'partitions' if partitioned else 'files'}{count}"
            if not place.exists():
                make_table(place, count, partitioned=partitioned)
            return place

        for _ in range(2):  # Java compiles what both ways need
            Contest(spark, table(20, True), run=False).compared()
        console.print("seconds: ours, Spark's own, and the ratio")
        small = folder / "small"
        if not small.exists():
            make_table(small, 1, partitioned=False, rows=SMALL)
        report(console, f"{SMALL} rows", Contest(spark, small, run=True).compared(), run=True)
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
