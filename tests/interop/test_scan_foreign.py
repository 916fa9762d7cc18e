"""Files that Spark and DuckDB wrote, scanned column by column: rows, statistics, page index."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from shredlake import kernels
from shredlake.parquet.read.scan import scan_parquet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNT = 4000
PREFIX = "p" * 70  # longer than the 64 bytes that parquet-java keeps of a bound


def document(n: int) -> str:
    """Documents of one shape, except that `a` is once a string, and that some have a rare field."""
    a = f'"{n}"' if n == 2007 else str(n)
    extra = f',"rare":{n}' if n % 900 == 3 else ""
    return f'{{"a":{a},"name":"{PREFIX}{n:05}","tags":["t{n % 3}","u"],"x":{n / 8}{extra}}}'


def parsed(texts: pa.Array | pa.ChunkedArray) -> list[object]:
    """Numbers as values: a file may hold 1.0 as a decimal, which prints as 1, or as a double, 1.0."""
    return [json.loads(text) for text in texts.to_pylist()]


QUERIES = {
    "v:a::bigint = 2500": [2500],
    "v:a::bigint = 2007": [2007],  # is text there
    "v:a::bigint between 3990 and 4100": list(range(3990, COUNT)),
    f"v:name::string = '{PREFIX}00123'": [123],
    f"v:name::string > '{PREFIX}03997'": [3998, 3999],
    "v:x::double >= 499.5": [3996, 3997, 3998, 3999],
    "v:rare::int = 1803": [1803],
    "v:tags[0]::string = 't1' and v:a::bigint < 5": [1, 4],
    "v:rare::int is not null and v:a::bigint > 3000": [3603],
    "v:nowhere::int = 1": [],
}


def check_queries(path: Path) -> None:
    for where, rows in QUERIES.items():
        scan = scan_parquet(path, columns=["id", "v", "v:name::string AS name"], where=where)
        table = scan.to_arrow().sort_by("id")
        assert table["id"].to_pylist() == rows, where
        assert parsed(kernels.to_json(table["v"])) == [json.loads(document(n)) for n in rows]
        assert table["name"].to_pylist() == [f"{PREFIX}{n:05}" for n in rows]
        assert scan_parquet(path, where=where).count() == len(rows)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("texts") / "documents.ndjson"
    path.write_text("\n".join(document(n) for n in range(COUNT)))
    return path


@pytest.mark.spark
@pytest.mark.parametrize("shredded", [True, False])
def test_spark(spark: SparkSession, texts: Path, tmp_path: Path, shredded: bool) -> None:
    schema = "a bigint, name string, tags array<string>, x double"
    settings = {
        "spark.sql.variant.writeShredding.enabled": str(shredded).lower(),
        "spark.sql.variant.forceShreddingSchemaForTest": schema if shredded else "",
    }
    for name, value in settings.items():
        spark.conf.set(name, value)
    path = tmp_path / "spark"
    try:
        (
            spark.read.text(str(texts))
            .selectExpr("get_json_object(value, '$.a')::bigint AS id", "parse_json(value) AS v")
            .repartitionByRange(1, "id")
            .sortWithinPartitions("id")
            .write.option("parquet.page.row.count.limit", "200")
            .option("parquet.block.row.count.limit", "1000")
            .parquet(str(path))
        )
    finally:
        for name in settings:
            spark.conf.unset(name)
    check_queries(path)
    scan = scan_parquet(path, columns=["v:name::string"], where="v:a::bigint = 2500")
    explained = scan.explain()
    if shredded:
        assert explained.row_groups_total >= 4
        assert explained.row_groups_read == 1
        # Pages of rows 2007 (may match: it is text) and 2500: of a, its value, the metadata; then one name.
        assert explained.pages_read <= 2 * 3 + 1
        assert explained.bytes_read < explained.bytes_total / 3
    else:
        assert explained.columns == ("v.value", "v.metadata") or explained.columns == (
            "v.metadata",
            "v.value",
        )


def test_duckdb(texts: Path, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.execute(
        "CREATE TABLE t AS SELECT (json->>'a')::BIGINT AS id, json::VARIANT AS v "
        "FROM read_json_objects(?, format = 'newline_delimited') ORDER BY id",
        [str(texts)],
    )
    layouts = {"automatic": "", "chosen": ", SHREDDING {v: 'STRUCT(a BIGINT, x DOUBLE, tags VARCHAR[])'}"}
    for name, option in layouts.items():
        path = tmp_path / f"{name}.parquet"
        connection.execute(f"COPY t TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 2048{option})")
        check_queries(path)
    explained = scan_parquet(
        tmp_path / "automatic.parquet", columns=["id"], where=f"v:name::string = '{PREFIX}03999'"
    ).explain()
    assert (explained.row_groups_read, explained.row_groups_total) == (1, 2)
