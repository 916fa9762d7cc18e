"""Frames over the files of a table: live rows with partition values. Frames are kept and found again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shredlake as sl
from random_tables import delete_by_vectors
from shredlake.spark.query import frames
from shredlake.spark.query.data_files import DataFiles, value_name
from shredlake.spark.query.frames import cached_frame, table_rows, url_of


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("file:///a b/c.parquet", "file:/a%20b/c.parquet"),
        ("s3a://bucket/a%b#c?d[e].parquet", "s3a://bucket/a%25b%23c%3Fd%5Be%5D.parquet"),
        ("file:///x/k=v;a:b@c,!'()*~+$&.parquet", "file:/x/k=v;a:b@c,!'()*~+$&.parquet"),
        ("file:///ü/€/𝄞\u00a0\u2028.parquet", "file:/ü/€/𝄞%C2%A0%E2%80%A8.parquet"),
    ],
)
def test_paths_are_escaped_as_java_does_it(path: str, url: str) -> None:
    assert url_of(path) == url


@pytest.mark.spark
def test_java_escapes_alike(spark: Any) -> None:
    text = "".join(map(chr, (*range(32, 127), *range(0x80, 0x180), 0x1680, 0x2003, 0x2029, 0x3000, 0x1D11E)))
    path = "/x/" + text.replace("/", "").replace(".", "")
    java = spark._jvm.org.apache.hadoop.fs.Path("file", None, path).toUri().toString()
    assert url_of(f"file://{path}") == java


@pytest.mark.spark
def test_a_frame_is_kept_under_its_key_and_the_settings(spark: Any) -> None:
    made: list[int] = []

    def make() -> Any:
        made.append(1)
        return spark.range(3)

    first = cached_frame(spark, ("test of frames", 1), make)
    assert cached_frame(spark, ("test of frames", 1), make) is first
    assert cached_frame(spark, ("test of frames", 2), make) is not first
    spark.conf.set("spark.sql.session.timeZone", "Europe/Paris")
    try:
        assert cached_frame(spark, ("test of frames", 1), make) is not first
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert len(made) == 3


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> sl.Table:
    """Two partitions of five rows, from each of which a deletion vector takes one."""
    place = tmp_path_factory.mktemp("frames") / "t"
    made = sl.Table.create(
        place,
        pa.schema([("id", pa.int64()), ("p", pa.string())]),
        ["p"],
        {"delta.enableDeletionVectors": "true"},
    )
    made.append(pa.table({"id": range(10), "p": ["a/b"] * 5 + ["c"] * 5}))
    delete_by_vectors(made, {3, 7})
    return sl.Table(place)


@pytest.mark.spark
@pytest.mark.parametrize("indexed", [True, False], ids=["by an index", "by paths"])
def test_live_rows_with_partition_values(
    spark: Any, table: sl.Table, indexed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql.types import StructType

    if not indexed:
        monkeypatch.setattr(frames, "relation", lambda *_, **__: None)
        monkeypatch.setattr(frames, "cached_frame", lambda spark, key, make, files: make())
    snapshot = table.snapshot
    files = DataFiles.of(snapshot, np.ones(len(snapshot.files), dtype=bool))
    found = table_rows(spark, StructType.fromDDL("id bigint"), files, values=True)
    rows = {row["id"]: row[value_name("p")] for row in found.collect()}
    assert rows == {n: "a/b" if n < 5 else "c" for n in range(10) if n not in (3, 7)}
