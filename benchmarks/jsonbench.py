"""JSONBench, ClickHouse's benchmark of JSON in databases, on Bluesky-like rows: ours, chdb, DuckDB, Polars.

    python benchmarks/jsonbench.py --rows 1000000
    python benchmarks/jsonbench.py --rows 10000000 --engines ours chdb variant json --folder /data/jsonbench
    python benchmarks/jsonbench.py --engines ours chdb variant json polars spark

The rules: default settings, a sort key is allowed, no cached answers, three tries of each query, the fastest
counts (hot), two threads each. Engines take turns query by query. Score: the geometric mean of
(10 ms + time) / (10 ms + best time). Tables stay in the folder, and are loaded only if they are missing.
ClickHouse merges parts in the background after an import, on a whole core; the run waits until that is over.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as Grid

from datagen import write_ndjson

THREADS = 2
TRIES = 3
MOST_SECONDS_OF_MERGES = 3600
QUIET_SECONDS = 5
"""ClickHouse plans its merges in the background: so long without one means that there are no more."""

WHERE = "v:kind::string = 'commit' and v:commit.operation::string = 'create'"
FEEDS = "('app.bsky.feed.post', 'app.bsky.feed.repost', 'app.bsky.feed.like')"
POSTS = "v:commit.collection::string = 'app.bsky.feed.post'"
SORT_KEY = ["v:kind::string", "v:commit.operation::string", "v:commit.collection::string", "v:did::string",
            "v:time_us::bigint"]  # fmt: skip

QUERIES = (
    "select v:commit.collection::string as event, count(*) as n from bluesky group by event order by n desc",
    f"select v:commit.collection::string as event, count(*) as n, count(distinct v:did::string) as users "
    f"from bluesky where {WHERE} group by event order by n desc",
    f"select v:commit.collection::string as event, hour(make_timestamp(v:time_us::bigint)) as hour_of_day, "
    f"count(*) as n from bluesky where {WHERE} and v:commit.collection::string in {FEEDS} "
    f"group by event, hour_of_day order by hour_of_day, event",
    f"select v:did::string as user_id, make_timestamp(min(v:time_us::bigint)) as first_post from bluesky "
    f"where {WHERE} and {POSTS} group by user_id order by first_post limit 3",
    f"select v:did::string as user_id, date_diff('milliseconds', make_timestamp(min(v:time_us::bigint)), "
    f"make_timestamp(max(v:time_us::bigint))) as span from bluesky where {WHERE} and {POSTS} "
    f"group by user_id order by span desc limit 3",
)

CLICKHOUSE_TABLE = """
create table bench.bluesky (data JSON(max_dynamic_paths = 0, kind LowCardinality(String),
    commit.operation LowCardinality(String), commit.collection LowCardinality(String), did String,
    time_us UInt64) CODEC(ZSTD(1)))
engine = MergeTree
order by (data.kind, data.commit.operation, data.commit.collection, data.did,
    fromUnixTimestamp64Micro(data.time_us))
settings object_serialization_version = 'v3', dynamic_serialization_version = 'v3',
    object_shared_data_serialization_version = 'advanced',
    object_shared_data_serialization_version_for_zero_level_parts = 'map_with_buckets'
"""
"""The table of ClickHouse's own entry."""

CLICKHOUSE_WHERE = "data.kind = 'commit' and data.commit.operation = 'create'"
CLICKHOUSE_POSTS = "data.commit.collection = 'app.bsky.feed.post'"
CLICKHOUSE_TIME = "fromUnixTimestamp64Micro(data.time_us)"
CLICKHOUSE = (
    "select data.commit.collection as event, count() as n from bench.bluesky group by event order by n desc",
    f"select data.commit.collection as event, count() as n, uniqExact(data.did) as users from bench.bluesky "
    f"where {CLICKHOUSE_WHERE} group by event order by n desc",
    f"select data.commit.collection as event, toHour({CLICKHOUSE_TIME}) as hour_of_day, count() as n "
    f"from bench.bluesky where {CLICKHOUSE_WHERE} and data.commit.collection in {FEEDS} "
    f"group by event, hour_of_day order by hour_of_day, event",
    f"select data.did::String as user_id, min({CLICKHOUSE_TIME}) as first_post from bench.bluesky "
    f"where {CLICKHOUSE_WHERE} and {CLICKHOUSE_POSTS} group by user_id order by first_post limit 3",
    f"select data.did::String as user_id, date_diff('milliseconds', min({CLICKHOUSE_TIME}), "
    f"max({CLICKHOUSE_TIME})) as span from bench.bluesky where {CLICKHOUSE_WHERE} and {CLICKHOUSE_POSTS} "
    f"group by user_id order by span desc limit 3",
)


class Engine(ABC):
    """A database that holds the rows."""

    name: str
    shown_as: str | None = None
    """The name in tables, if it is not that of the folder."""

    @property
    def label(self) -> str:
        return self.shown_as or self.name

    def __init__(self, folder: Path, source: Path) -> None:
        self.place = folder / f"{source.stem}-{self.name.replace(' ', '-')}"
        self.source = source

    @abstractmethod
    def load(self) -> None:
        """Loads the rows."""

    @abstractmethod
    def run(self, query: int) -> Any:
        """Runs a query to its last row, and returns how many rows it found."""

    @property
    def size(self) -> int:
        files = self.place.rglob("*") if self.place.is_dir() else [self.place]
        return sum(file.stat().st_size for file in files if file.is_file())

    def open(self) -> float | None:
        """Loads the rows unless they are there. Returns the seconds that this took."""
        done = self.place.with_name(f"{self.place.name}.loaded")
        if done.exists():
            self.settle()
            return json.loads(done.read_text()) or None
        shutil.rmtree(self.place, ignore_errors=True)
        started = time.perf_counter()
        self.load()
        took = time.perf_counter() - started
        done.write_text(json.dumps(took))
        self.settle()
        return took

    def settle(self) -> None:
        """Waits for what the engine does in the background, which would take time from all engines."""
        return


class Ours(Engine):
    name = "shredlake"

    def load(self) -> None:
        import shredlake as sl

        sl.ingest(self.source, self.place, sort_by=SORT_KEY)
        sl.optimize(self.place, sort_by=SORT_KEY)

    @property
    def size(self) -> int:
        import shredlake as sl

        return sum(sl.Table(self.place).files().column("size").to_pylist())

    def run(self, query: int) -> int:
        import shredlake as sl

        return len(sl.sql(QUERIES[query], threads=THREADS, bluesky=str(self.place)).to_arrow())


class OursOnSpark(Ours):
    shown_as = "shredlake on Spark"
    spark: Any = None

    def run(self, query: int) -> int:
        from shredlake import spark as sls

        self.spark = self.spark or sls.session(master=f"local[{THREADS}]")
        text = QUERIES[query].replace("make_timestamp(", "timestamp_micros(")
        text = text.replace("date_diff('milliseconds',", "timestampdiff(millisecond,")
        return len(sls.sql(self.spark, text, bluesky=str(self.place)).collect())


class Chdb(Engine):
    name = "chdb"
    session: Any = None

    def _session(self) -> Any:
        from chdb import session

        self.session = self.session or session.Session(str(self.place))
        return self.session

    def load(self) -> None:
        session = self._session()
        session.query("create database if not exists bench")
        session.query(CLICKHOUSE_TABLE)
        session.query(
            f"insert into bench.bluesky select json from file('{self.source}', JSONAsObject) "
            f"settings max_threads = {THREADS}, max_insert_threads = {THREADS}"
        )

    def settle(self) -> None:
        """Waits until ClickHouse has merged the parts that the import wrote."""
        quiet = 0
        for _ in range(MOST_SECONDS_OF_MERGES):
            merges = self._session().query("select count() from system.merges")
            quiet = quiet + 1 if int(str(merges).strip()) == 0 else 0
            if quiet == QUIET_SECONDS:
                return
            time.sleep(1)
        raise TimeoutError("chdb still merges parts")

    @property
    def size(self) -> int:
        found = self._session().query(
            "select sum(bytes_on_disk) from system.parts where database = 'bench' and active"
        )
        return int(str(found).strip())

    def run(self, query: int) -> int:
        found = self._session().query(f"{CLICKHOUSE[query]} settings max_threads = {THREADS}")
        return len(str(found).splitlines())


class DuckDB(Engine):
    """DuckDB's own table of one column; `column` makes it from a document."""

    column = "json"
    connection: Any = None

    def _open(self) -> Any:
        import duckdb

        if self.connection is None:
            self.connection = duckdb.connect(str(self.place), config={"threads": THREADS})
        return self.connection

    def load(self) -> None:
        self.place.unlink(missing_ok=True)
        self._open().execute(
            f"create table bluesky as select {self.column} as v from "
            f"read_ndjson_objects('{self.source}', maximum_object_size = 16777216)"
        )
        self._open().execute("checkpoint")

    @abstractmethod
    def path(self, path: str, kind: str) -> str:
        """A path in DuckDB's words."""

    def run(self, query: int) -> int:
        import re

        text = re.sub(r"v:([\w.]+)::(\w+)", lambda found: self.path(found[1], found[2]), QUERIES[query])
        return len(self._open().execute(text).fetchall())


class DuckDBJson(DuckDB):
    name = "DuckDB JSON"

    def path(self, path: str, kind: str) -> str:
        text = f"(v->>'$.{path}')"
        return text if kind == "string" else f"cast({text} as {kind})"


class DuckDBVariant(DuckDB):
    name = "DuckDB VARIANT"
    column = "json::variant"

    def path(self, path: str, kind: str) -> str:
        return f"cast(v.{path} as {kind.replace('string', 'varchar')})"


class PolarsJson(Engine):
    """Polars has no type for JSON: it decodes text, kept in a Parquet file, with each query."""

    name = "Polars"

    def load(self) -> None:
        import polars as pl

        lines = pl.scan_csv(
            self.source, has_header=False, new_columns=["v"], separator="\x01", quote_char=None
        )
        lines.sink_parquet(self.place)

    def run(self, query: int) -> int:
        import polars as pl

        def path(name: str) -> pl.Expr:
            return pl.col("v").str.json_path_match(f"$.{name}")

        event, user = path("commit.collection").alias("event"), path("did").alias("user")
        micros = path("time_us").cast(pl.Int64).alias("time")
        rows = pl.scan_parquet(self.place)
        if query:
            rows = rows.filter((path("kind") == "commit") & (path("commit.operation") == "create"))
        found = rows.select(event, user, micros) if query else rows.select(event)
        feeds = ["app.bsky.feed.post", "app.bsky.feed.repost", "app.bsky.feed.like"]
        posts = found.filter(pl.col("event") == feeds[0]) if query > 2 else found
        answers = (
            lambda: found.group_by("event").len().sort("len", descending=True),
            lambda: found.group_by("event").agg(pl.len(), pl.col("user").n_unique()).sort("len"),
            lambda: found.filter(pl.col("event").is_in(feeds))
            .group_by("event", pl.from_epoch("time", time_unit="us").dt.hour()).len().sort("time", "event"),
            lambda: posts.group_by("user").agg(pl.col("time").min()).sort("time").head(3),
            lambda: posts.group_by("user").agg((pl.col("time").max() - pl.col("time").min()) // 1000)
            .sort("time", descending=True).head(3),
        )  # fmt: skip
        return len(answers[query]().collect())


ENGINES: dict[str, type[Engine]] = {
    "ours": Ours, "spark": OursOnSpark, "chdb": Chdb, "json": DuckDBJson, "variant": DuckDBVariant,
    "polars": PolarsJson,
}  # fmt: skip


def measure(
    engines: Sequence[Engine], queries: int, tries: int
) -> tuple[list[list[float]], list[list[float]]]:
    """Seconds of the fastest try of each query on each engine, and the least processor time.

    Engines take turns.
    """
    best = [[math.inf] * queries for _ in engines]
    work = [[math.inf] * queries for _ in engines]
    for query in range(queries):
        for _ in range(tries):
            for number, engine in enumerate(engines):
                started, used = time.perf_counter(), time.process_time()
                engine.run(query)
                best[number][query] = min(best[number][query], time.perf_counter() - started)
                work[number][query] = min(work[number][query], time.process_time() - used)
    return best, work


def score(times: Sequence[float], best: Sequence[float]) -> float:
    """The geometric mean of the ratios to the best times, each with 10 ms added.

    >>> round(score([0.09, 0.19], [0.04, 0.19]), 3)
    1.414
    """
    ratios = [(0.01 + time) / (0.01 + least) for time, least in zip(times, best, strict=True)]
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--tries", type=int, default=TRIES)
    parser.add_argument("--folder", type=Path, help="where tables are kept; a temporary folder by default")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=["ours", "chdb", "variant", "json"])
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="jsonbench-"))
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / f"bluesky-{options.rows}.ndjson"
    if not source.exists():
        write_ndjson("bluesky", source, options.rows)
    engines = [ENGINES[name](folder, source) for name in options.engines]
    loading = [engine.open() for engine in engines]
    times, work = measure(engines, len(QUERIES), options.tries)
    best = [min(column) for column in zip(*times, strict=True)]
    grid = Grid(title=f"JSONBench, {options.rows:,} rows, {THREADS} threads, milliseconds, hot")
    for heading in ("", *(f"q{query + 1}" for query in range(len(QUERIES))), "score", "MB", "load s"):
        grid.add_column(heading, justify="right")
    for engine, own, load in zip(engines, times, loading, strict=True):
        grid.add_row(
            engine.label, *(f"{1000 * seconds:,.1f}" for seconds in own), f"{score(own, best):.2f}",
            f"{engine.size / 1e6:,.0f}", "" if load is None else f"{load:,.0f}",
        )  # fmt: skip
    Console(width=120).print(grid)
    ours = times[0]
    for engine, own in list(zip(engines, times, strict=True))[1:]:
        print(f"{engines[0].label} / {engine.label}: {score(ours, own):.3f} by the geometric mean")
    print("Processor time in milliseconds, without that of other processes such as Spark's:")
    for engine, own in zip(engines, work, strict=True):
        print(
            f"{engine.label:>20}",
            *(f"{1000 * seconds:10,.1f}" for seconds in own),
            f"{score(work[0], own):.3f}",
        )
    if options.folder is None:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
