"""Dates and times mean the same in files, in the log and in Spark, in every zone and calendar."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from long_runs import some
from shredlake import caches
from shredlake.spark.query import api as query
from shredlake.spark.query.api import explain, read, sql
from shredlake.spark.query.workers import aggregate
from shredlake.spark.query.workers import pushdown as by_workers
from shredlake.spark.settings import temporary_settings
from spark_tables import adopt

pytestmark = pytest.mark.spark

ZONES = ["UTC", "America/Los_Angeles", "Asia/Tokyo"]

QUERIES = [
    "select id, k, v:n::int from {t} where k < timestamp'2024-03-10 00:00:00'",
    "select id, k, v:n::int from {t} where k >= timestamp'2024-03-10 00:00:00'",
    "select id from {t} where k between timestamp'2024-03-10 05:01:00Z' and timestamp'2024-03-10 05:03:00Z'",
    "select id from {t} where k in (timestamp'2024-03-10 05:01:00Z', timestamp'2024-03-09 21:02:00')",
    "select id from {t} where d <= date'2024-01-01' and d > date'1582-10-04'",
    "select id from {t} where d = date'0001-01-01'",
    "select id from {t} where w < timestamp_ntz'2024-03-10 05:02:00'",
    "select count(*) from {t} where k < timestamp'2024-03-10 00:00:00'",
    "select count(*) from {t} where try_variant_get(v, '$.at', 'timestamp') > timestamp'2024-03-10 02:30:00'",
    "select count(*) from {t} where try_variant_get(v, '$.at', 'timestamp') >= timestamp'2024-11-03 01:30'",
    "select id, k from {t} where k > timestamp'2024-03-09 21:01:00' order by k desc, id limit 3",
]
LOCAL_TIMES = ["2024-03-10 02:30:00", "2024-03-10 01:30:00", "2024-03-10 03:30:00", "2024-11-03 01:30:00"]


@pytest.fixture(scope="module")
def times(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("times") / "t"
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("k", pa.timestamp("us", "UTC")),
            ("w", pa.timestamp("us")),
            ("d", pa.date32()),
            ("v", sl.variant()),
        ]
    )
    table = sl.Table.create(place, schema, properties={"delta.enableVariantShredding": "true"})
    minutes = [datetime(2024, 3, 10, 5, minute) for minute in range(4)]
    texts = [json.dumps({"n": number, "at": text}) for number, text in enumerate(LOCAL_TIMES)]
    columns = {
        "id": range(4),
        "k": pa.array(minutes, pa.timestamp("us", "UTC")),
        "w": pa.array(minutes, pa.timestamp("us")),
        "d": [date(2024, 1, 1), date(1, 1, 1), date(1582, 10, 4), date(2024, 1, 2)],
        "v": sl.from_json(pa.array(texts)),
    }
    table.append(pa.table(columns, schema), shredding={"v": "struct<n bigint, at string>"})
    query.register(spark, "native_times", place)
    return str(place)


@pytest.fixture(params=ZONES)
def zone(request: pytest.FixtureRequest, spark: Any) -> Iterator[str]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield request.param
    spark.conf.set("spark.sql.session.timeZone", before)


@pytest.fixture(params=[True, False], ids=["by the workers", "by Spark"])
def by_the_workers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if request.param:
        use_workers(monkeypatch)
    return bool(request.param)


def use_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uses workers for small tables, too."""
    monkeypatch.setattr(by_workers, "ENOUGH_BYTES", 0)
    monkeypatch.setattr(by_workers, "FILES_PER_CORE", 0)
    monkeypatch.setattr(aggregate, "FEW_GROUPS", 100.0)
    caches.clear()


def rows(frame: Any) -> list[str]:
    return sorted(map(repr, frame.collect()))


@pytest.mark.parametrize("text", some(QUERIES))
def test_constants_are_those_of_the_session(
    spark: Any, times: str, zone: str, by_the_workers: bool, text: str
) -> None:
    found = sql(spark, text.format(t="t"), t=times)
    assert rows(found) == rows(spark.sql(text.format(t="native_times")))


def test_the_constant_of_another_zone_prunes(spark: Any, times: str, zone: str) -> None:
    """No file is read, and none has a matching row."""
    before = explain(spark, "select id from t where k < timestamp'2024-03-10 05:00:00Z'", t=times)
    assert [one.files for one in before.tables.values()] == [0]
    until = explain(spark, "select id from t where k <= timestamp'2024-03-10 05:00:00Z'", t=times)
    assert [one.files for one in until.tables.values()] == [1]


INSTANTS = [
    "ts <= timestamp'2024-03-10 05:00:01Z'",
    "ts > timestamp'2024-03-10 05:00:01Z'",
    "s.t = timestamp'2024-03-10 05:00:02Z' or ts in (timestamp'2024-03-10 05:00:00Z')",
    "cast(ts as date) = date'2024-03-09'",
]


def test_instants_that_name_no_zone(spark: Any, tmp_path: Path, zone: str) -> None:
    """Spark writes INT96 by default. Whole Variants and structs are read by the workers."""
    kinds = [("id", pa.int64()), ("ts", pa.timestamp("us", "UTC"))]
    schema = pa.schema([*kinds, ("s", pa.struct([("t", pa.timestamp("us", "UTC"))])), ("v", sl.variant())])
    table = sl.Table.create(tmp_path / "t", schema, properties={"delta.enableVariantShredding": "true"})
    made = spark.sql(
        "select id, ts, named_struct('t', ts) s, to_variant_object(named_struct('n', id)) v "
        "from (select id, timestamp_seconds(1710046800 + id) ts from range(5))"
    )
    with temporary_settings(spark, {"spark.sql.parquet.outputTimestampType": "INT96"}):
        made.coalesce(1).write.parquet(str(tmp_path / "files"))
    adopt(table, tmp_path / "files")
    for condition in INSTANTS:
        want = sorted(tuple(row) for row in made.where(condition).select("id", "ts", "s.t").collect())
        for column in ("v", "s", "v:n::bigint"):
            found = read(spark, tmp_path / "t", ["id", "ts", "s.t AS t", column], where=condition).collect()
            assert sorted(tuple(row)[:3] for row in found) == want, (condition, column)
        text = f"select id, ts, s.t, to_json(v) from t where {condition}"
        assert sorted(tuple(row)[:3] for row in sql(spark, text, t=tmp_path / "t").collect()) == want
        local = sl.Table(tmp_path / "t").scan(["id"], condition, timezone=zone).to_arrow()
        assert sorted(local["id"].to_pylist()) == [row[0] for row in want]


def test_the_julian_calendar_is_left_to_spark(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark can write dates as Hive did, and notes it in the footer; it alone reads them back."""
    schema = pa.schema([("id", pa.int64()), ("d", pa.date32())])
    table = sl.Table.create(tmp_path / "t", schema)
    made = spark.sql("select id, date_add(date'1000-01-01', cast(id as int)) d from range(20)")
    spark.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", "LEGACY")
    try:
        made.coalesce(1).write.parquet(str(tmp_path / "files"))
    finally:
        spark.conf.unset("spark.sql.parquet.datetimeRebaseModeInWrite")
    adopt(table, tmp_path / "files")
    made.createOrReplaceTempView("julian_truth")
    use_workers(monkeypatch)
    for text in ("select id, d from {t} order by d, id limit 3", "select min(d), max(d), count(*) from {t}"):
        found = sql(spark, text.format(t="t"), t=str(tmp_path / "t"))
        assert rows(found) == rows(spark.sql(text.format(t="julian_truth")))
