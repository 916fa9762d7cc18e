"""Compares files of shredded Variants with pyarrow on plain columns, DuckDB, Spark and JSON text.

python benchmarks/parquet.py --rows 1000000
python benchmarks/parquet.py --rows 50000 --without-spark

Prints one table of ratios. Times are the best of several runs, in alternation.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import datasets
import shredlake as sl
from timing import best_of

SHREDDING = {
    "bluesky": """struct<did string, time_us bigint, kind string, commit struct<rev string, operation string,
        collection string, rkey string, cid string, record struct<`$type` string, createdAt string,
        langs array<string>, text string, subject struct<cid string, uri string>>>>""",
}
"""The layout of the main file, the same for Spark and for us. Other shapes are shredded by `infer_schema`."""

TEXT_CODECS = {"zstd": 3, "snappy": None}
"""Codecs of JSON text: ours, and the default of Spark and pyarrow."""

PATH, TEXT_PATH = "v:time_us::bigint", "v:commit.collection::string"


@dataclass(frozen=True)
class Result:
    """One line of the report: our figure, the other's figure, and the target of the ratio."""

    what: str
    ours: float
    theirs: float
    limit: float
    unit: str
    at_most: bool = True
    """Whether ours / theirs must stay below the limit; else theirs / ours must reach it."""

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs if self.at_most else self.theirs / self.ours

    @property
    def holds(self) -> bool:
        return self.ratio <= self.limit if self.at_most else self.ratio >= self.limit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--size-rows", type=int, default=100_000, help="rows of the files compared by size only"
    )
    parser.add_argument(
        "--shapes", nargs="*", default=["bluesky", "github", "logs", "telemetry", "relational"]
    )
    parser.add_argument("--without-spark", action="store_true")
    parser.add_argument("--keep", type=Path, help="a folder for the files, used again by the next run")
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp(prefix="shredlake-bench-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        main_file = prepare(folder, options.rows)
        results = [
            *paths(main_file, options.runs),
            *selective(main_file),
            *whole(main_file, options.runs),
        ]
        for shape in options.shapes:
            results += sizes(folder, shape, options.size_rows, options.without_spark)
        report(results, options.rows, main_file)
    finally:
        if options.keep is None:
            shutil.rmtree(folder)


def prepare(folder: Path, rows: int) -> Path:
    """The main file, and a file with the same two paths as plain columns."""
    path = folder / f"bluesky-{rows}.parquet"
    if not path.exists():
        schema = pa.schema([("v", sl.variant())])
        with sl.ParquetWriter(path, schema, shredding={"v": SHREDDING["bluesky"]}) as writer:
            for texts in datasets.batches("bluesky", rows):
                writer.write(pa.table({"v": sl.from_json(texts)}))
    plain = plain_file(path)
    if not plain.exists():
        columns = sl.read_parquet(path, columns=[f"{PATH} AS number", f"{TEXT_PATH} AS text"])
        pq.write_table(columns, plain, compression="zstd", row_group_size=1 << 17)
    return path


def plain_file(path: Path) -> Path:
    return path.with_suffix(".plain.parquet")


def answered(connection: duckdb.DuckDBPyConnection, query: str) -> object:
    return connection.execute(query).fetchall()


def paths(path: Path, runs: int) -> list[Result]:
    """One shredded path, compared with pyarrow on a plain column and with DuckDB on the same file."""
    connection = duckdb.connect()
    connection.execute(f"SET threads = {pa.cpu_count()}")
    results = []
    for expression, column, sql in (
        (PATH, "number", "sum(v.time_us::BIGINT)"),
        (TEXT_PATH, "text", "max(v.commit.collection::VARCHAR)"),
    ):
        ours, plain = best_of(
            4 * runs,
            partial(sl.read_parquet, path, columns=[expression]),
            partial(pq.read_table, plain_file(path), columns=[column]),
        )
        [duck] = best_of(1, partial(answered, connection, f"SELECT {sql} FROM '{path}'"))
        results.append(Result(f"{expression} against a plain column, pyarrow", ours, plain, 1.3, "ms"))
        results.append(Result(f"{expression} against DuckDB", ours, duck, 20, "ms", at_most=False))
    return results


def selective(path: Path) -> list[Result]:
    """A filter that keeps a thousandth of the rows of a sorted path: the share of the file's bytes read."""
    moments = sl.read_parquet(path, columns=[f"{PATH} AS moment"])["moment"]
    first, last = (
        moments[len(moments) // 2].as_py(),
        moments[len(moments) // 2 + len(moments) // 1000].as_py(),
    )
    where = f"{PATH} between {min(first, last)} and {max(first, last)}"
    results = []
    for columns in (["v:did::string"], ["v"]):
        explained = sl.scan_parquet(path, columns=columns, where=where).explain()
        what = f"bytes of the file for {columns[0]} where {PATH.partition('::')[0]} between ..."
        results.append(Result(what, explained.bytes_read, explained.bytes_total, 0.03, "MB"))
    return results


def whole(path: Path, runs: int) -> list[Result]:
    """Whole Variants, reassembled, compared with DuckDB."""
    connection = duckdb.connect()
    connection.execute(f"SET threads = {pa.cpu_count()}")
    ours, duck = best_of(
        runs,
        lambda: sl.read_parquet(path, columns=["v"]),
        lambda: connection.execute(f"CREATE OR REPLACE TEMP TABLE t AS SELECT v FROM '{path}'"),
    )
    return [Result("whole Variants against DuckDB", ours, duck, 2, "ms", at_most=False)]


def sizes(folder: Path, shape: str, rows: int, without_spark: bool) -> list[Result]:
    """The same rows as our file (zstd), as JSON text in Parquet, and as Spark's shredded file (zstd)."""
    texts = datasets.column(shape, rows)
    column = sl.from_json(texts)
    ddl = SHREDDING.get(shape) or str(sl.infer_schema(column))
    ours = sl.write_parquet(pa.table({"v": column}), folder / f"{shape}.parquet", shredding={"v": ddl}).size
    text_file = folder / f"{shape}.text.parquet"
    results = []
    for codec, level in TEXT_CODECS.items():
        pq.write_table(pa.table({"text": texts}), text_file, compression=codec, compression_level=level)
        text_size = text_file.stat().st_size
        results.append(Result(f"{shape}: file size against JSON text, {codec}", ours, text_size, 0.5, "MB"))
    if not without_spark:
        spark = spark_size(folder, shape, texts, ddl)
        results.append(Result(f"{shape}: file size against Spark's shredded file", ours, spark, 1.0, "MB"))
    return results


def spark_size(folder: Path, shape: str, texts: pa.Array, ddl: str) -> int:
    """The size of the file that Spark 4.3 writes of the same rows, shredded by the same schema."""
    from pyspark.sql import SparkSession

    source = folder / f"{shape}.ndjson"
    with source.open("w") as file:
        file.writelines(f"{text}\n" for text in texts.to_pylist())
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "3g")
        .config("spark.sql.variant.writeShredding.enabled", "true")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    spark.conf.set(
        "spark.sql.variant.forceShreddingSchemaForTest", ddl.removeprefix("struct<").removesuffix(">")
    )
    target = folder / f"{shape}.spark"
    (
        spark.read.text(str(source))
        .selectExpr("parse_json(value) AS v")
        .coalesce(1)
        .write.mode("overwrite")
        .option("compression", "zstd")
        .parquet(str(target))
    )
    return sum(file.stat().st_size for file in target.glob("*.parquet"))


SCALE = {"ms": 1e3, "MB": 1e-6}


def report(results: list[Result], rows: int, path: Path) -> None:
    size = os.path.getsize(path) / 1e6
    table = Table(title=f"{rows:,} rows, {size:,.1f} MB, {pa.cpu_count()} threads")
    for name in ("", "shredlake", "other", "ratio", "wanted", ""):
        table.add_column(name, justify="left" if not name else "right")
    for result in results:
        scale = SCALE[result.unit]
        sign = "≤" if result.at_most else "≥"
        table.add_row(
            result.what,
            f"{result.ours * scale:,.1f} {result.unit}",
            f"{result.theirs * scale:,.1f} {result.unit}",
            f"{result.ratio:.3g}",
            f"{sign} {result.limit:g}",
            "[green]yes[/]" if result.holds else "[red]no[/]",
        )
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
