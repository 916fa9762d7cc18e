"""Compares inferred layouts with those that Spark's and DuckDB's own writers choose.

    python benchmarks/infer.py                   everything: many minutes, most of them in Spark and DuckDB
    python benchmarks/infer.py --scale 0.1 --tries 20
    python benchmarks/infer.py --only profile

Layouts: for each shape of data, Spark and DuckDB write the rows with their own inference. Their layouts and
ours are then written and read by shredlake, so that only the layouts differ; the sizes of the engines' own
files (zstd) are shown too. DuckDB reads fractions as doubles: its layout gets decimals instead, like the
data. Bytes are those fetched, with and without the footer, which is read once per file.
Profile: speed relative to `from_json`, merging, memory. Stability: samples and drift.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import datasets
import shredlake as sl
from rivals import with_decimals
from shredlake.kernels import merge_profiles, profile_bytes
from timing import best_of

ROWS = {"bluesky": 200_000, "github": 60_000, "logs": 200_000, "telemetry": 8_000, "map_by_id": 20_000}
DUCKDB_SECONDS = 120
"""DuckDB creates a column for every path; for maps that takes too long, so it is stopped."""

PROFILED = 120_000_000
"""Bytes of text to profile, at most a million rows."""

MOST_LEAVES = 5000
"""Layouts with more are not written again."""

Query = tuple[list[str], str | None]
QUERIES: dict[str, list[Query]] = {
    "bluesky": [
        (["v:commit.record.subject.uri::string"], "v:commit.collection::string = 'app.bsky.feed.like'"),
        (["v:commit.collection::string", "v:did::string"], "v:commit.operation::string = 'create'"),
        (["v:commit.collection::string", "v:time_us::bigint"], "v:kind::string = 'commit'"),
        (["v:did::string", "v:time_us::bigint"], "v:commit.collection::string = 'app.bsky.feed.post'"),
        (["v:commit.record.text::string"], "v:time_us::bigint BETWEEN 1732206360000000 AND 1732206365000000"),
    ],
    "github": [
        (["v:type::string"], None),
        (["v:repo.name::string"], "v:type::string = 'WatchEvent'"),
        (["v:actor.login::string"], "v:created_at::string BETWEEN '2024-01-15T00:02' AND '2024-01-15T00:03'"),
        (["v:payload.size::bigint"], "v:payload.size::bigint >= 4"),
        (["v:payload.ref::string"], "v:payload.ref_type::string = 'tag'"),
    ],
    "logs": [
        (["v:status::bigint"], None),
        (["v:service::string"], "v:status::bigint >= 500"),
        (["v:user_id::bigint"], "v:level::string = 'ERROR'"),
        (["v:duration::double"], "v:duration::double > 500"),
        (["v:http.path::string"], "v:ts::string BETWEEN '2024-11-21T16:27' AND '2024-11-21T16:28'"),
    ],
    "telemetry": [
        (["v:device::string", "v:at::string"], None),
        (["v:part00.m0.voltage::double"], None),
        (["v:device::string"], "v:part01.m2.load::double > 50"),
        (["v:part02.m4.power::double", "v:part02.m4.current::double"], "v:model::string = 'S'"),
        (["v:seq::bigint"], "v:at::string BETWEEN '2024-11-21T16:26:00' AND '2024-11-21T16:26:10'"),
    ],
    "map_by_id": [
        (["v:day::string"], None),
        (["v:shard::bigint"], "v:region::string = 'eu'"),
        (["v:region::string", "v:day::string"], None),
        (["v:shard::bigint"], "v:day::string = '2024-03-01'"),
        (["v:day::string"], "v:shard::bigint < 4"),
    ],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of rows")
    parser.add_argument("--shapes", nargs="+", choices=sorted(ROWS), default=sorted(ROWS))
    parser.add_argument("--only", choices=["layouts", "profile", "stability"])
    parser.add_argument("--tries", type=int, default=100, help="pairs of samples")
    parser.add_argument("--folder", help="keep the files here")
    options = parser.parse_args()
    console = Console(width=150)
    sections: dict[str, Callable[[], object]] = {
        "layouts": lambda: layouts(console, options.shapes, options.scale, options.folder),
        "profile": lambda: profiles(console, options.scale),
        "stability": lambda: stability(console, options.shapes, options.scale, options.tries),
    }
    for name, section in sections.items():
        if options.only in (None, name):
            section()


# ── Layouts ─────────────────────────────────────────────────────────────────────────────────────────────


def layouts(console: Console, shapes: list[str], scale: float, folder: str | None) -> None:
    place = Path(folder or tempfile.mkdtemp(prefix="shredlake-infer-"))
    place.mkdir(parents=True, exist_ok=True)
    try:
        for shape in shapes:
            files, native = write_files(place, shape, max(int(ROWS[shape] * scale), 500))
            report(console, shape, files, native)
    finally:
        if folder is None:
            shutil.rmtree(place)


def write_files(place: Path, shape: str, rows: int) -> tuple[dict[str, Path], dict[str, int]]:
    """Files by our writer in each layout, and sizes of the engines' own files, without stopped engines."""
    text = place / f"{shape}.ndjson"
    datasets.write_ndjson(shape, text, rows)
    table = pa.table(
        {"v": pa.chunked_array([sl.from_json(batch) for batch in datasets.batches(shape, rows)])}
    )
    profile = sl.profile(table["v"])
    chosen: dict[str, sl.ShreddingSchema] = {"shredlake": sl.infer_schema(profile)}
    native = {}
    # Each engine in a process of its own: Spark's settings are the session's, and DuckDB may not come back.
    for engine, write, seconds in (("Spark", write_spark, 900), ("DuckDB", write_duckdb, DUCKDB_SECONDS)):
        target = place / f"{shape}-{engine.lower()}-native.parquet"
        process = multiprocessing.get_context("spawn").Process(target=write, args=(str(text), str(target)))
        process.start()
        process.join(seconds)
        if process.is_alive():
            process.terminate()
            process.join()
        elif target.exists():
            native[engine] = target.stat().st_size
            layout = sl.shredding_schema(pq.read_schema(target).field("v").type)
            if layout is not None:
                chosen[engine] = with_decimals(layout, profile)
    text.unlink()
    files = {}
    for engine, schema in chosen.items():
        if sum(1 for _ in schema.leaves()) <= MOST_LEAVES:
            files[engine] = place / f"{shape}-{engine.lower()}.parquet"
            sl.write_parquet(table, files[engine], shredding={"v": schema})
    return files, native


def write_spark(text: str, target: str) -> None:
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.variant.writeShredding.enabled", "true")
        .config("spark.sql.variant.inferShreddingSchema", "true")
        .config("spark.sql.parquet.compression.codec", "zstd")
        .getOrCreate()
    )
    spark.read.text(text).selectExpr("parse_json(value) AS v").coalesce(1).write.parquet(target + ".d")
    [part] = Path(target + ".d").glob("*.parquet")
    part.rename(target)
    shutil.rmtree(target + ".d")
    spark.stop()


def write_duckdb(text: str, target: str) -> None:
    import duckdb

    options = (
        "columns={'j': 'VARCHAR'}, header=false, delim='\\x01', quote='', escape='', max_line_size=100000000"
    )
    lines = f"read_csv('{text}', {options})"
    half = target + ".half"
    with duckdb.connect() as connection:
        connection.execute("SET preserve_insertion_order = true")
        connection.execute(
            f"COPY (SELECT j::JSON::VARIANT AS v FROM {lines}) TO '{half}' (FORMAT parquet, COMPRESSION zstd)"
        )
    Path(half).rename(target)


def report(console: Console, shape: str, files: dict[str, Path], native: dict[str, int]) -> None:
    """One table per shape: sizes, then bytes and time of each query."""
    sizes = {engine: path.stat().st_size for engine, path in files.items()}
    parts = [f"{engine} {size / 1e6:.2f} MB" for engine, size in sizes.items()]
    parts += [f"{engine}'s own file {size / 1e6:.2f}" for engine, size in native.items()]
    table = Table(title=f"{shape}: {', '.join(parts)}", title_justify="left")
    table.add_column("query")
    for engine in files:
        table.add_column(f"{engine}, kB read", justify="right")
        table.add_column("ms", justify="right")
    touched = dict.fromkeys(files, 0)
    worst = 0.0
    for columns, where in QUERIES[shape]:
        found = {engine: run_query(path, columns, where) for engine, path in files.items()}
        assert len({rows for _, _, rows in found.values()}) == 1, f"{shape}: {where}: {found}"
        cells = [cell for count, ms, _ in found.values() for cell in (f"{count / 1e3:.0f}", f"{ms:.1f}")]
        table.add_row(f"{', '.join(columns)}{f' WHERE {where}' if where else ''}"[:90], *cells)
        for engine, (count, _, _) in found.items():
            touched[engine] += count
        others = [count for engine, (count, _, _) in found.items() if engine != "shredlake"]
        worst = max(worst, found["shredlake"][0] / min(others)) if others else worst
    console.print(table)
    if len(files) > 1:
        size = sizes["shredlake"] / min(size for engine, size in sizes.items() if engine != "shredlake")
        read = touched["shredlake"] / min(count for engine, count in touched.items() if engine != "shredlake")
        footers = {engine: pq.read_metadata(path).serialized_size for engine, path in files.items()}
        bare = {engine: count - len(QUERIES[shape]) * footers[engine] for engine, count in touched.items()}
        data = bare["shredlake"] / min(count for engine, count in bare.items() if engine != "shredlake")
        console.print(f"size {size:.3f}x the smallest of the others (limit 1.02): {verdict(size <= 1.02)}")
        console.print(
            f"bytes of the five queries {read:.3f}x the least of the others (limit 1): {verdict(read <= 1)}; "
            f"without footers {data:.3f}x; of the single query that is worst {worst:.3f}x"
        )
    if native:
        own = sizes["shredlake"] / min(native.values())
        console.print(f"size {own:.3f}x the smallest file of the engines' own writers")
    console.print(f"gave up: {', '.join({'Spark', 'DuckDB'} - set(native)) or 'none'}\n")


def run_query(path: Path, columns: list[str], where: str | None) -> tuple[int, float, int]:
    """(bytes read, best time in ms, rows)"""
    best, rows = float("inf"), 0
    for _ in range(3):
        scan = sl.scan_parquet(str(path), columns=columns, where=where)
        start = time.perf_counter()
        rows = scan.to_arrow().num_rows
        best = min(best, time.perf_counter() - start)
    return scan.explain().bytes_read, best * 1e3, rows


def verdict(holds: bool) -> str:
    return "[green]holds[/green]" if holds else "[red]fails[/red]"


# ── Profiles ────────────────────────────────────────────────────────────────────────────────────────────


def profiles(console: Console, scale: float) -> None:
    table = Table(title="profile next to from_json, MB of JSON per second, one thread", title_justify="left")
    for name in ("shape", "MB", "from_json", "profile", "ratio"):
        table.add_column(name, justify="left" if name == "shape" else "right")
    for shape in ROWS:
        rows = min(1_000_000, datasets.rows_of_size(shape, PROFILED))
        texts = datasets.column(shape, max(int(rows * scale), 500))
        column = sl.from_json(texts)
        parse, profile = best_of(
            5,
            partial(sl.from_json, texts, threads=1),
            partial(profile_bytes, column, threads=1),
            clock=time.process_time,
        )
        size = texts.nbytes / 1e6
        table.add_row(
            shape, f"{size:.0f}", f"{size / parse:.0f}", f"{size / profile:.0f}", f"{parse / profile:.2f}"
        )
    console.print(table)
    rows = max(int(1_000_000 * scale), 10_000)
    batches = [
        sl.from_json(batch) for batch in datasets.batches("bluesky", rows, batch_rows=max(rows // 1000, 1))
    ]
    parts = [profile_bytes(batch) for batch in batches][:1000]
    [merging] = best_of(3, lambda: merge_profiles(parts))
    limit = f"(limit 1 s): {verdict(merging < 1)}"
    console.print(f"merging {len(parts)} profiles of {rows:,} Bluesky rows: {merging:.3f} s {limit}")
    queue = multiprocessing.get_context("spawn").Queue()
    process = multiprocessing.get_context("spawn").Process(
        target=many_paths, args=(queue, int(10_000_000 * scale))
    )
    process.start()
    paths, megabytes, seconds = queue.get()
    process.join()
    console.print(
        f"{paths:,.0f} distinct paths: {megabytes:.0f} MB at the peak, the process in all (limit 500), "
        f"{seconds:.0f} s: {verdict(megabytes < 500)}"
    )


def many_paths(queue: multiprocessing.Queue[tuple[float, float, float]], paths: int) -> None:
    def batches() -> Iterator[pa.Array]:
        for start in range(0, paths, 200_000):
            rows = range(start, min(start + 200_000, paths), 100)
            yield pa.array([json.dumps({f"key-{key}": 1 for key in range(row, row + 100)}) for row in rows])

    start = time.perf_counter()
    merged = merge_profiles([profile_bytes(sl.from_json(batch)) for batch in batches()])
    found = sl.Profile.from_bytes(merged)
    # Not getrusage: its maximum outlives the start of a new program.
    status = Path("/proc/self/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0]) / 1e3
    queue.put((found.root.distinct_keys, peak, time.perf_counter() - start))


# ── Stability ───────────────────────────────────────────────────────────────────────────────────────────


def stability(console: Console, shapes: list[str], scale: float, tries: int) -> None:
    for shape in shapes:
        rows = max(int(ROWS[shape] * scale / 4), 1000)
        column = sl.from_json(datasets.column(shape, rows))
        chance = random.Random(shape)
        same = 0
        for _ in range(tries):
            pair = [
                sl.infer_schema(column.take(pa.array(sorted(chance.sample(range(rows), rows // 2)))))
                for _ in range(2)
            ]
            same += pair[0] == pair[1]
        before = sl.infer_schema(column)
        odd = sl.from_json(pa.array(['{"brand_new": {"a": 1}, "id": [1]}'] * (rows // 100)))
        kept = sl.infer_schema(pa.chunked_array([column, odd]), previous=before) == before
        console.print(
            f"{shape}: {same} of {tries} pairs of samples of {rows // 2:,} rows agree: "
            f"{verdict(same >= 0.95 * tries)}; 1% of drift changes nothing: {verdict(kept)}"
        )


if __name__ == "__main__":
    main()
