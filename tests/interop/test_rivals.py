"""The rules of other engines, as we state them, against the layouts that these engines write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from datagen import generate, write_ndjson
from rivals import DUCKDB, SPARK, infer_by

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = {"bluesky": 6000, "github": 4500, "logs": 6000, "telemetry": 300, "map_by_id": 1500}


def column(shape: str, rows: int) -> pa.StructArray:
    return sl.from_json(pa.array([line.decode() for line in generate(shape, rows)]))


def layout(file: Path) -> sl.ShreddingSchema | None:
    return sl.shredding_schema(pq.read_schema(file).field("v").type)


@pytest.mark.spark
@pytest.mark.parametrize("shape", ROWS)
def test_spark(spark: SparkSession, tmp_path: Path, shape: str) -> None:
    write_ndjson(shape, tmp_path / "rows.ndjson", ROWS[shape])
    settings = {
        "spark.sql.variant.writeShredding.enabled": "true",
        "spark.sql.variant.inferShreddingSchema": "true",
    }
    before = {key: spark.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        frame = (
            spark.read.text(str(tmp_path / "rows.ndjson")).selectExpr("parse_json(value) AS v").coalesce(1)
        )
        frame.write.parquet(str(tmp_path / "out"))
    finally:
        for key, value in before.items():
            spark.conf.unset(key) if value is None else spark.conf.set(key, value)
    [file] = (tmp_path / "out").glob("*.parquet")
    looked_at = sl.profile(column(shape, ROWS[shape]).slice(0, SPARK.looks_at))
    assert layout(file) == infer_by(SPARK, looked_at)


@pytest.mark.parametrize("shape", ["bluesky", "github", "telemetry"])
def test_duckdb(tmp_path: Path, shape: str) -> None:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install 'shredlake[bench]'")
    rows = ROWS[shape] // 3
    texts = pa.table({"text": [line.decode() for line in generate(shape, rows)]})
    with duckdb.connect() as connection:
        connection.register("texts", texts)
        connection.execute(
            f"COPY (SELECT text::JSON::VARIANT AS v FROM texts) TO '{tmp_path}/v.parquet' (FORMAT parquet)"
        )
    written = layout(tmp_path / "v.parquet")
    assert written is not None
    assert set(written.leaves()) == set(infer_by(DUCKDB, sl.profile(column(shape, rows))).leaves())
