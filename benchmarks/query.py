"""Path queries on Spark, four ways side by side in one run, as ratios.

    make bench-query                      (python benchmarks/query.py --rows 2000000)

| way | what runs |
|---|---|
| ours | `shredlake.spark.read` and `sql` on the shredded table |
| native | Spark's own Variant reading of the same files: `variant_get` |
| delta | delta-spark on the same table, in its own process (needs `make interop` once) |
| relational | the same values as ordinary Parquet columns, in as many files, sorted alike |

Every query runs once to warm up, then for three seconds; the best run counts. Bytes are those that Hadoop's
file system counted in the first run, without vectored reads, which go past its counters. Rows of GitHub are
five times as long as the others', so there are a quarter as many.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table as Grid

import shredlake as sl
from datasets import write_ndjson
from shredlake.delta.files import as_adds
from shredlake.delta.read_file import DataFile
from shredlake.spark import session
from shredlake.spark import sql as ours_sql
from shredlake.spark.engine import LocalEngine
from shredlake.spark.ingest import IngestOptions, ingest_text
from shredlake.spark.query import native

RUNS = 3
QUICK = 3.0
"""Seconds after which a query is not measured again; quick ones run up to nine times."""
FILES = 64
VECTORED = "parquet.hadoop.vectored.io.enabled"

SELECTIVE = ("point lookup", "time range")
"""Queries that few rows answer; the others scan."""
MIXED = ("top n, mixed",)
"""Queries over a path that has two types."""

# Per shape: what it is sorted by, and the relational columns with the paths they come from.
SHAPES: dict[str, dict[str, Any]] = {
    "bluesky": {
        "sort_by": "v:time_us::bigint",
        "columns": {
            "did": "v:did::string",
            "time_us": "v:time_us::bigint",
            "kind": "v:kind::string",
            "operation": "v:commit.operation::string",
            "collection": "v:commit.collection::string",
            "text": "v:commit.record.text::string",
            "created": "v:commit.record.createdAt::string",
        },
        "queries": {
            "point lookup": "select count(*), max({text}) from {t} where {did} = '{a_did}'",
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
        "columns": {
            "type": "v:type::string",
            "login": "v:actor.login::string",
            "repo": "v:repo.name::string",
            "size": "v:payload.size::bigint",
            "number": "v:payload.number::bigint",
            "created": "v:created_at::string",
        },
        "queries": {
            "point lookup": "select count(*), max({type}) from {t} where {repo} = '{a_repo}'",
            "time range": "select count(*), min({login}) from {t} "
            "where {created} between '{low}' and '{high}'",
            "group by": "select {type}, count(*) from {t} group by 1",
            "nested sum": "select sum({size}), max({number}) from {t}",
            "top n": "select {login}, count(*) c from {t} where {type} = 'PushEvent' group by 1 "
            "order by c desc, 1 limit 10",
        },
    },
    "logs": {
        "sort_by": "v:http.bytes::bigint",
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
    """A path as `try_variant_get`, for columns whose values do not all cast."""
    column, _, rest = path.partition(":")
    keys, _, kind = rest.partition("::")
    return f"try_variant_get({column}, '$.{keys}', '{kind}')"


def prepare(shape: str, rows: int, place: Path) -> tuple[str, str, dict[str, str]]:
    """Makes the shredded table and its relational twin; returns their places and values to look up."""
    facts = SHAPES[shape]
    text = place / f"{shape}.ndjson"
    write_ndjson(shape, str(text), rows)
    table = str(place / f"{shape}_table")
    options = IngestOptions(
        sort_by=(facts["sort_by"],), task_bytes=max(1, -(-text.stat().st_size // FILES)), show_progress=True
    )
    report = ingest_text(LocalEngine(), str(text), table, options)
    print(report)
    opened = sl.Table(table)
    plain = place / f"{shape}_plain"
    plain.mkdir()
    columns = [f"{path} AS {name}" for name, path in facts["columns"].items()]
    scan = opened.scan(columns)
    for number, add in enumerate(as_adds(opened.files())):
        found = pa.Table.from_batches(DataFile(opened.snapshot, add).batches(scan.query), scan.schema)
        pq.write_table(
            found,
            plain / f"part-{number:05}.parquet",
            compression="zstd",
            row_group_size=1 << 17,
            write_page_index=True,
            store_decimal_as_integer=True,
        )
    sample = opened.scan(columns).to_arrow().slice(rows // 3, 1).to_pylist()[0]
    ordered = {"bluesky": "time_us", "github": "created", "logs": "bytes"}[shape]
    values = sorted(
        v
        for v in opened.scan([columns[scan.schema.names.index(ordered)]]).to_arrow().column(0).to_pylist()
        if v is not None
    )
    low, high = values[len(values) // 2], values[len(values) // 2 + len(values) // 200]
    known = {f"a_{name}": str(value) for name, value in sample.items()}
    text.unlink()
    return table, str(plain), {**known, "low": str(low), "high": str(high)}


def bytes_read(spark: Any) -> int:
    statistics = spark._jvm.org.apache.hadoop.fs.FileSystem.getAllStatistics()
    return sum(one.getBytesRead() for one in statistics)


def measured(spark: Any, make: Any) -> tuple[float, int, Any]:
    """The best of a few runs, the bytes of the first, which warms up, and the answer."""
    spark.conf.set(VECTORED, "false")
    before = bytes_read(spark)
    answer = make().collect()
    read = bytes_read(spark) - before
    spark.conf.unset(VECTORED)
    times: list[float] = []
    while not times or (sum(times) < QUICK and len(times) < 3 * RUNS):
        started = time.perf_counter()
        make().collect()
        times.append(time.perf_counter() - started)
    return min(times), read, answer


def delta_times(table: str, queries: dict[str, str]) -> dict[str, float]:
    """The same native queries by delta-spark, in its own process; empty where it is not installed."""
    python = Path(__file__).parents[1] / ".venv-delta" / "bin" / "python"
    if not python.exists():
        return {}
    script = Path(__file__).with_name("query_delta.py")
    with tempfile.NamedTemporaryFile("w+", suffix=".json") as answer:
        job = json.dumps(
            {"table": table, "queries": queries, "runs": RUNS, "seconds": QUICK, "answer": answer.name}
        )
        done = subprocess.run(
            [str(python), str(script)], input=job, text=True, capture_output=True, check=False
        )
        if done.returncode:
            print("delta-spark did not run:", done.stderr.strip().splitlines()[-1:])
            return {}
        return dict(json.load(open(answer.name)))


def run(shape: str, rows: int, place: Path, results: list[dict[str, Any]], with_delta: bool) -> None:
    table, plain, values = prepare(shape, rows // SHAPES[shape].get("fewer", 1), place)
    spark = session(
        master="local[2]",
        settings={
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "4",
            "spark.driver.memory": "4g",
            # Each seek reads a buffer full, and it is counted: small ones, so that bytes mean what they say.
            "spark.buffer.size": "4096",
        },
    )
    facts = SHAPES[shape]
    queries = dict(facts["queries"])
    if shape == "bluesky":
        queries |= JSONBENCH
    native(spark, sl.Table(table).snapshot).createOrReplaceTempView("native")
    spark.read.parquet(plain).createOrReplaceTempView("plain")
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
        ours, ours_bytes, answer = measured(
            spark, lambda text=text: ours_sql(spark, text["ours"], events=table)
        )
        theirs, native_bytes, expected = measured(spark, lambda text=text: spark.sql(text["native"]))
        flat, flat_bytes, same = measured(spark, lambda text=text: spark.sql(text["plain"]))
        equal = sorted(map(str, (tuple(r) for r in answer))) == sorted(map(str, (tuple(r) for r in expected)))
        equal = equal and sorted(map(str, (tuple(r) for r in answer))) == sorted(
            map(str, (tuple(r) for r in same))
        )
        results.append(
            {
                "shape": shape,
                "query": name,
                "rows": rows // facts.get("fewer", 1),
                "ours": ours,
                "native": theirs,
                "relational": flat,
                "delta": deltas.get(name),
                "ours_bytes": ours_bytes,
                "native_bytes": native_bytes,
                "relational_bytes": flat_bytes,
                "equal": equal,
            }
        )
        show(results[-1:], header=False)
    shutil.rmtree(place, ignore_errors=True)


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
    title = f"Path queries on Spark, local[2], warm, best of three, {FILES} files: {rows}"
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


def plot(results: list[dict[str, Any]], path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(12, 0.42 * len(results) + 1.5))
    names = [f"{one['shape']}: {one['query']}" for one in results]
    for offset, way, color in (
        (-0.3, "delta", "#8172b3"),
        (-0.1, "native", "#c44e52"),
        (0.1, "ours", "#4c72b0"),
        (0.3, "relational", "#55a868"),
    ):
        places = [number + offset for number, one in enumerate(results) if one[way]]
        axes.barh(places, [one[way] for one in results if one[way]], 0.19, label=way, color=color)
    axes.set_yticks(range(len(results)), names)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("seconds, warm, log scale")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--shapes", nargs="*", default=list(SHAPES))
    parser.add_argument("--plot", default="docs/query-benchmark.png")
    parser.add_argument("--no-delta", action="store_true")
    options = parser.parse_args()
    results: list[dict[str, Any]] = []
    for shape in options.shapes:
        place = Path(tempfile.mkdtemp(prefix="shredlake-bench-", dir=os.environ.get("TMPDIR")))
        run(shape, options.rows, place, results, not options.no_delta)
    show(results)
    plot(results, options.plot)
    json.dump(results, sys.stdout)
    print()


if __name__ == "__main__":
    main()
