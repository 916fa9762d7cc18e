"""Compares four ways to run path queries on Spark, in one run, as ratios.

    make bench-query                                  (python benchmarks/query.py)
    python benchmarks/query.py --folder DIR           the tables are written once and kept there
    python benchmarks/query.py --partitions 1000      the tables have so many partitions

| way | what is measured |
|---|---|
| ours | `shredlake.spark.sql` on the shredded table |
| native | Spark's own Variant reading of the same files: `variant_get` |
| delta | delta-spark on the same table, in its own process (needs `make interop` once) |
| relational | every typed path as an ordinary Parquet column, in as many files, sorted the same way |

Every query runs once as a warm-up, then for three seconds and at least twice; the best run counts. Ours and
the relational way alternate. delta-spark is slow: it warms up with one query and runs each query once.
Hadoop's file system counts the bytes of the first run, without vectored reads, which bypass its counters; if
the workers group the rows, our own reader counts them for the same files, including footers. Rows of GitHub
are five times as long as the others, so there are a quarter as many. Logs are sorted globally; the other
shapes are already in order.

With `--partitions`, rows that follow each other are a partition, as those of a day would be, and each has at
least one file. The relational columns are in as many files. No query has a condition on the partitions.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table as Grid

import shredlake as sl
from datasets import write_ndjson
from shredlake.delta.log.files import as_adds
from shredlake.delta.read.data_file import DataFile
from shredlake.shredding.schema import ARRAY_ELEMENT, Scalar, node_ddl
from shredlake.spark import ingest, session
from shredlake.spark import sql as ours_sql
from shredlake.spark.query.api import planned
from shredlake.spark.query.layouts import FileLayouts
from shredlake.spark.query.strategies.whole_variants import variants_frame, variants_scan

RUNS = 12
FEWEST = 2
WARM = 8.0
QUICK = 3.0
"""Seconds after which a query is not measured again. Java compiles while queries run, nested columns later
than the rest: ours and relational columns get the time for it, up to twelve runs."""
FILES = 64
PARTITION = "part"
"""The column that the tables of `--partitions` are partitioned by."""
VECTORED = "parquet.hadoop.vectored.io.enabled"

SELECTIVE = ("point lookup", "time range")
"""Selective queries; the others scan."""
MIXED = ("top n, mixed",)
"""Queries over a path that has two types."""

# Per shape: what it is sorted by, and the relational columns with the paths they come from. `point lookup` is
# by a key that comes nearly in order, but in logs, where a Bloom filter finds it.
SHAPES: dict[str, dict[str, Any]] = {
    "bluesky": {
        "sort_by": "v:time_us::bigint",
        "key": "rkey",
        "columns": {
            "did": "v:did::string",
            "rkey": "v:commit.rkey::string",
            "time_us": "v:time_us::bigint",
            "kind": "v:kind::string",
            "operation": "v:commit.operation::string",
            "collection": "v:commit.collection::string",
            "text": "v:commit.record.text::string",
            "created": "v:commit.record.createdAt::string",
        },
        "queries": {
            "point lookup": "select count(*), max({text}) from {t} where {rkey} = '{a_rkey}'",
            "time range": "select count(*), min({did}) from {t} where {time_us} between {low} and {high}",
            "group by": "select {collection}, count(*) from {t} group by 1",
            "nested sum": "select sum(length({text})) from {t} where {operation} = 'create'",
            "top n": "select {did}, {created} c from {t} where {created} > '2024-11-21T16:3' "
            "order by c, 1 limit 10",
        },
    },
    "github": {
        "fewer": 4,
        "sort_by": "v:created_at::string",
        "key": "id",
        "columns": {
            "id": "v:id::string",
            "type": "v:type::string",
            "login": "v:actor.login::string",
            "repo": "v:repo.name::string",
            "size": "v:payload.size::bigint",
            "created": "v:created_at::string",
        },
        "queries": {
            "point lookup": "select count(*), max({repo}) from {t} where {id} = '{a_id}'",
            "time range": "select count(*), min({login}) from {t} "
            "where {created} between '{low}' and '{high}'",
            "group by": "select {type}, count(*) from {t} group by 1",
            "nested sum": "select sum({size}) from {t} where {type} = 'PushEvent'",
            "top n": "select {login}, count(*) c from {t} where {type} = 'PushEvent' group by 1 "
            "order by c desc, 1 limit 10",
        },
    },
    "logs": {
        "sort_by": "v:http.bytes::bigint",
        "key": "trace",
        "range_partition": True,
        "bloom_filters": ("v:trace",),
        "columns": {
            "level": "v:level::string",
            "service": "v:service::string",
            "bytes": "v:http.bytes::bigint",
            "path": "v:http.path::string",
            "status": "v:status::int",
            "trace": "v:trace::string",
        },
        "queries": {
            "point lookup": "select count(*), max({path}) from {t} where {trace} = '{a_trace}'",
            "time range": "select count(*), min({path}) from {t} where {bytes} between {low} and {high}",
            "group by": "select {service}, {level}, count(*) from {t} group by 1, 2",
            "nested sum": "select sum({bytes}) from {t} where {level} = 'ERROR'",
            "top n, mixed": "select {path}, count(*) c from {t} where {status} >= 500 group by 1 "
            "order by 2 desc, 1 limit 10",
        },
    },
}

JSONBENCH = {
    "q1 by collection": "select {collection} e, count(*) c from {t} group by e order by c desc, e",
    "q2 with users": "select {collection} e, count(*) c, count(distinct {did}) u from {t} "
    "where {kind} = 'commit' and {operation} = 'create' group by e order by c desc, e",
    "q3 by hour": "select {collection} e, hour(timestamp_micros({time_us})) h, count(*) c from {t} "
    "where {kind} = 'commit' and {operation} = 'create' and {collection} in "
    "('app.bsky.feed.post', 'app.bsky.feed.repost', 'app.bsky.feed.like') group by e, h order by h, e",
    "q4 first posts": "select {did} u, min({time_us}) f from {t} where {kind} = 'commit' and "
    "{operation} = 'create' and {collection} = 'app.bsky.feed.post' group by u order by f limit 3",
    "q5 longest spans": "select {did} u, max({time_us}) - min({time_us}) s from {t} "
    "where {kind} = 'commit' and {operation} = 'create' and {collection} = 'app.bsky.feed.post' "
    "group by u order by s desc, u limit 3",
}


def lenient(path: str) -> str:
    """A path as `try_variant_get`, for columns in which some values can't be cast."""
    column, _, rest = path.partition(":")
    keys, _, kind = rest.partition("::")
    return f"try_variant_get({column}, '$.{keys}', '{kind}')"


@dataclass(frozen=True)
class Prepared:
    """The shredded table, the relational table, and values to look up."""

    table: str
    plain: str
    rows: int
    values: dict[str, str]


def relational_columns(schema: sl.ShreddingSchema, named: Mapping[str, str]) -> list[str]:
    """A column for each typed path except lists, starting with those that queries use."""
    asked = {path.partition("::")[0] for path in named.values()}
    columns = [f"{path} AS {name}" for name, path in named.items()]
    for steps, node in schema.leaves():
        if not isinstance(node, Scalar) or ARRAY_ELEMENT in steps:
            continue
        path = "v:" + ".".join(map(str, steps))
        if path not in asked:
            keys = "".join(f"['{step}']" for step in steps)
            columns.append(f"v:{keys}::{node_ddl(node)} AS `{path.removeprefix('v:')}`")
    return columns


def divided(text: Path, rows: int, partitions: int) -> Path:
    """The lines of a text, in their order, in as many folders as there are partitions."""
    whole = text.with_suffix(".parts")
    shutil.rmtree(whole, ignore_errors=True)
    with open(text, "rb") as lines:
        for number in range(partitions):
            count = rows * (number + 1) // partitions - rows * number // partitions
            folder = whole / f"{PARTITION}={number}"
            folder.mkdir(parents=True)
            with open(folder / "rows.ndjson", "wb") as part:
                part.writelines(islice(lines, count))
    return whole


def prepare(spark: Any, shape: str, rows: int, place: Path, partitions: int = 0) -> Prepared:
    """Writes the tables of a shape, unless the folder already has them."""
    name = f"{shape}_{partitions}" if partitions else shape
    known = place / f"{name}.json"
    if known.exists():
        return Prepared(**json.loads(known.read_text()))
    facts = SHAPES[shape]
    text, table, plain = (place / f"{name}{end}" for end in (".ndjson", "_table", "_plain"))
    for half_made in (table, plain):
        shutil.rmtree(half_made, ignore_errors=True)
    if not text.exists():
        write_ndjson(shape, f"{text}.part", rows)
        Path(f"{text}.part").rename(text)
    source = divided(text, rows, partitions) if partitions else text
    print(
        ingest(
            spark,
            str(source),
            table,
            sort_by=facts["sort_by"],
            range_partition=facts.get("range_partition", False),
            task_bytes=max(1, -(-text.stat().st_size // FILES)),
            writing=sl.WriteOptions(bloom_filters=facts.get("bloom_filters", ())),
            folder_columns={PARTITION: "int"} if partitions else {},
            partition_by=[PARTITION] if partitions else [],
        )
    )
    if source != text:
        shutil.rmtree(source)
    opened = sl.Table(str(table))
    adds = as_adds(opened.files())
    [layout] = FileLayouts(spark, opened.snapshot).of(adds[:1])
    scan = opened.scan(relational_columns(layout["v"].schema, facts["columns"]))
    plain.mkdir()
    written = 0
    for number, add in enumerate(adds):
        found = pa.Table.from_batches(DataFile(opened.snapshot, add).batches(scan.query), scan.schema)
        pq.write_table(
            found,
            plain / f"part-{number:05}.parquet",
            compression="zstd",
            row_group_size=1 << 17,
            write_page_index=True,
            store_decimal_as_integer=True,
        )
        written += len(found)
        if number == len(adds) // 3:
            filled = found.filter(pc.field(facts["key"]).is_valid())
            sample = filled.slice(len(filled) // 2, 1).to_pylist()[0]
    ordered = next(name for name, path in facts["columns"].items() if path == facts["sort_by"])
    column = pq.read_table(plain, columns=[ordered]).column(0).drop_null().combine_chunks()
    column = column.take(pc.sort_indices(column))
    low, high = (column[len(column) // 2 + more].as_py() for more in (0, len(column) // 200))
    values = {f"a_{facts['key']}": str(sample[facts["key"]]), "low": str(low), "high": str(high)}
    prepared = Prepared(str(table), str(plain), written, values)
    known.write_text(json.dumps(asdict(prepared)))
    text.unlink()
    return prepared


def bytes_read(spark: Any) -> int:
    statistics = spark._jvm.org.apache.hadoop.fs.FileSystem.getAllStatistics()
    return sum(one.getBytesRead() for one in statistics)


@dataclass(frozen=True)
class Measured:
    """The best of a few runs, the bytes of the warm-up run, and the answer."""

    seconds: float
    bytes: int
    answer: Any


def measured(spark: Any, *ways: Callable[[], Any], seconds: float = QUICK) -> list[Measured]:
    """Runs each way once, then all in alternation, so that noise affects them alike."""
    first = []
    spark.conf.set(VECTORED, "false")
    for make in ways:
        before = bytes_read(spark)
        answer = make().collect()
        first.append((bytes_read(spark) - before, answer))
    spark.conf.unset(VECTORED)
    times: list[list[float]] = []
    while len(times) < FEWEST or (sum(map(sum, times)) < seconds * len(ways) and len(times) < RUNS):
        times.append([])
        for make in ways:
            started = time.perf_counter()
            make().collect()
            times[-1].append(time.perf_counter() - started)
    return [Measured(min(runs), *one) for runs, one in zip(zip(*times, strict=True), first, strict=True)]


def delta_times(table: str, queries: dict[str, str]) -> dict[str, float]:
    """The same native queries on delta-spark, in its own process; empty if it is not installed."""
    python = Path(__file__).parents[1] / ".venv-delta" / "bin" / "python"
    if not python.exists():
        return {}
    script = Path(__file__).with_name("query_delta.py")
    with tempfile.NamedTemporaryFile("w+", suffix=".json") as answer:
        job = json.dumps({"table": table, "queries": queries, "answer": answer.name})
        done = subprocess.run(
            [str(python), str(script)], input=job, text=True, capture_output=True, check=False
        )
        if done.returncode:
            print("delta-spark did not run:", done.stderr.strip().splitlines()[-1:])
            return {}
        return dict(json.load(open(answer.name)))


def run(spark: Any, shape: str, prepared: Prepared, with_delta: bool) -> Iterator[dict[str, Any]]:
    """Runs each query of a shape in all ways."""
    table, values = prepared.table, prepared.values
    facts = SHAPES[shape]
    queries = dict(facts["queries"])
    if shape == "bluesky":
        queries |= JSONBENCH
    variants_frame(variants_scan(spark, sl.Table(table).snapshot)).createOrReplaceTempView("native")
    spark.read.parquet(prepared.plain).createOrReplaceTempView("plain")
    texts: dict[str, dict[str, str]] = {}
    for name, query in queries.items():
        paths = {column: lenient(path) for column, path in facts["columns"].items()}
        named = {column: column for column in facts["columns"]}
        texts[name] = {
            "ours": query.format(t="events", **paths, **values),
            "native": query.format(t="native", **paths, **values),
            "plain": query.format(t="plain", **named, **values),
        }
    deltas = (
        delta_times(
            table,
            {name: text["native"].replace("from native", "from events") for name, text in texts.items()},
        )
        if with_delta
        else {}
    )
    for name, text in texts.items():
        ours, flat = measured(
            spark,
            partial(ours_sql, spark, text["ours"], events=table),
            partial(spark.sql, text["plain"]),
            seconds=WARM,
        )
        [theirs] = measured(spark, partial(spark.sql, text["native"]))
        answer = planned(spark, text["ours"], {"events": table})
        by_workers = answer.scans["events"].local.explain().bytes_read if answer.by_workers else 0
        one = {
            "shape": shape,
            "query": name,
            "rows": prepared.rows,
            "ours": ours.seconds,
            "native": theirs.seconds,
            "relational": flat.seconds,
            "delta": deltas.get(name),
            "ours_bytes": ours.bytes + by_workers,
            "native_bytes": theirs.bytes,
            "relational_bytes": flat.bytes,
            "equal": as_set(ours.answer) == as_set(theirs.answer) == as_set(flat.answer),
        }
        show([one], header=False)
        yield one


def as_set(rows: list[Any]) -> list[str]:
    """An answer, independent of the order of rows."""
    return sorted(str(tuple(row)) for row in rows)


def missed(one: dict[str, Any]) -> list[str]:
    """The targets that a query missed: against relational columns, against native reading, in bytes."""
    faster = 10 if one["query"] in SELECTIVE else 2
    typed = one["query"] not in MIXED
    checks = {
        "time of relational": not typed or one["ours"] <= 1.25 * one["relational"],
        f"{faster}x native": one["native"] >= faster * one["ours"],
        "bytes": not typed or one["ours_bytes"] <= 1.3 * one["relational_bytes"],
    }
    return [name for name, met in checks.items() if not met]


def show(results: list[dict[str, Any]], header: bool = True) -> None:
    rows = ", ".join(dict.fromkeys(f"{one['shape']} {one['rows']:,} rows" for one in results))
    title = f"Path queries on Spark, local[2], warm, {FILES} files: {rows}"
    grid = Grid(title=title if header else None)
    for name in (
        "shape",
        "query",
        "ours s",
        "/relational",
        "native/ours",
        "delta/ours",
        "MB ours",
        "/relational MB",
        "equal",
        "targets missed",
    ):
        grid.add_column(name, justify="left" if name in ("shape", "query") else "right")
    for one in results:
        grid.add_row(
            one["shape"],
            one["query"],
            f"{one['ours']:.3f}",
            f"{one['ours'] / one['relational']:.2f}x",
            f"{one['native'] / one['ours']:.1f}x",
            f"{one['delta'] / one['ours']:.1f}x" if one["delta"] else "-",
            f"{one['ours_bytes'] / 1e6:.1f}",
            f"{one['ours_bytes'] / max(one['relational_bytes'], 1):.2f}x",
            "yes" if one["equal"] else "NO",
            ", ".join(missed(one)) or "none",
        )
    Console(width=160).print(grid)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--shapes", nargs="*", default=list(SHAPES))
    parser.add_argument("--partitions", type=int, default=0, help="partition the tables by as many values")
    parser.add_argument("--no-delta", action="store_true")
    parser.add_argument("--folder", type=Path, help="where the tables stay; a temporary folder by default")
    parser.add_argument("--only-prepare", action="store_true")
    options = parser.parse_args()
    place = options.folder or Path(tempfile.mkdtemp(prefix="shredlake-bench-"))
    place.mkdir(parents=True, exist_ok=True)
    spark = session(
        master="local[2]",
        settings={
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "4",
            "spark.driver.memory": "4g",
            # Each seek reads a whole buffer, which is counted; small buffers keep the count accurate.
            "spark.buffer.size": "4096",
        },
    )
    results: list[dict[str, Any]] = []
    try:
        for shape in options.shapes:
            rows = options.rows // SHAPES[shape].get("fewer", 1)
            prepared = prepare(spark, shape, rows, place, options.partitions)
            if not options.only_prepare:
                results += run(spark, shape, prepared, not options.no_delta)
    finally:
        spark.stop()
        if options.folder is None:
            shutil.rmtree(place, ignore_errors=True)
    if results:
        show(results)
        print(json.dumps(results))


if __name__ == "__main__":
    main()
