"""First rows in an order, looked for by the workers: Spark's answer, and only where it is sure to be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.spark.query import api as query
from shredlake.spark.query.api import explain, sql
from shredlake.spark.query.workers import pushdown as by_workers
from spark_tables import adopt

pytestmark = pytest.mark.spark

ROWS = 300
LAYOUT = "struct<name string, n bigint, x double, kind string, day date>"


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Four files: `n` falls from file to file and has texts in one, `name` lacks here and there."""
    place = tmp_path_factory.mktemp("top") / "events"
    schema = pa.schema([("id", pa.int64()), ("v", sl.variant())])
    table = sl.Table.create(place, schema, properties={"delta.enableVariantShredding": "true"})
    for file in range(4):
        ids = range(file * ROWS, (file + 1) * ROWS)
        texts = []
        for number in ids:
            row: dict[str, Any] = {
                "name": f"{'zäa𝄞'[number * 7 % 4]}-{number * 7919 % 1009}",
                "n": 5000 - 4 * number,
                "x": number / 3,
                "kind": f"k{number % 3}",
            }
            if number % 11 == 0:
                del row["name"]
            if file == 2 and number % 5 == 0:
                row["n"] = str(number)
            texts.append(json.dumps(row))
        rows = {"id": pa.array(ids, pa.int64()), "v": sl.from_json(pa.array(texts))}
        table.append(pa.table(rows), shredding={"v": LAYOUT}, options=sl.WriteOptions(page_rows=50))
    sl.Table(place).delete("id % 10 = 3")
    return str(place)


@pytest.fixture(scope="module")
def native(spark: Any, events: str) -> str:
    query.register(spark, "native_top", events)
    return "native_top"


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treats every table as large."""
    for name in ("ENOUGH_BYTES", "FILES_PER_CORE"):
        monkeypatch.setattr(by_workers, name, 0)


BY_WORKERS = [
    "select id, v:name::string n from {t} order by n, id limit 5",
    "select id, v:name::string n from {t} order by n nulls last, id limit 5",
    "select id, v:name::string n from {t} order by n desc, id limit 5",
    "select id, v:name::string n from {t} order by n desc nulls first, id limit 200",
    "select id, v:name::string n from {t} order by n, id limit 200",
    "select id, v:kind::string k from {t} order by k desc, id desc limit 7",
    "select id from {t} order by id limit 3",
    "select id + 0 from (select id, v:kind::string k from {t} where id > 9 order by id desc limit 40) "
    "where k = 'k1' order by 1",
    "select try_variant_get(v, '$.n', 'bigint') n, id from {t} "
    "where try_variant_get(v, '$.n', 'bigint') > 4100 order by n, id limit 10",
    "select id, try_variant_get(v, '$.n', 'bigint') n from {t} order by n nulls last, id limit 10",
    "select v:name::string a, v:name::string b, id from {t} where v:name::string > 'z' "
    "order by b, id limit 4",
    "select id, v:name::string from {t} where id < 5 order by 2, 1 limit 1000",
    "select id, v:name::string n from {t} where v:kind::string > 'k1' and v:kind::string < 'k2' "
    "order by n, id limit 2",
]
BY_SPARK = [
    "select id, v:x::double x from {t} order by x limit 5",
    "select id, v:name::string n from {t} order by n, id",
    "select id, v:name::string n from {t} order by n, id limit 5 offset 2",
    "select id, v:name::string n from {t} order by length(n), n, id limit 5",
    "select id, v:name::string n from {t} order by n, id limit 1001",
    "select id, upper(v:name::string) n from {t} order by 1 limit 5",
    "select id, v:name::string n from {t} where upper(v:kind::string) = 'K1' order by 2, 1 limit 5",
    "select id, v:name::string n from {t} where v:kind::string = 'k1' order by 2, 1 limit 5",
    "select id, v:name::string n from {t} where id < (select max(id) from {t}) order by 2, 1 limit 5",
    "select distinct v:kind::string k from {t} order by k limit 2",
    "select v:kind::string k, count(*), avg(id) from {t} group by 1 order by 1 limit 2",
    "select a.id from {t} a join {t} b on a.id = b.id order by 1 limit 3",
    "select id, v:n::bigint n from {t} where id < 700 order by n limit 5",
    "select id, v:name::string n from {t} order by n limit 0",
    "select id, v:name::string n from {t} order by n, upper(n), id limit 5",
]


def answers(frame: Any) -> tuple[str, list[str]]:
    return frame.schema.simpleString(), [repr(tuple(row)) for row in frame.collect()]


@pytest.mark.parametrize("text", BY_WORKERS)
def test_first_rows_by_the_workers(spark: Any, events: str, native: str, text: str) -> None:
    found = explain(spark, text.format(t="t"), t=events)
    assert found.by_workers, str(found)
    assert "searched for the first rows by the workers" in str(found)
    assert answers(sql(spark, text.format(t="t"), t=events)) == answers(spark.sql(text.format(t=native)))


@pytest.mark.parametrize("text", BY_SPARK)
def test_first_rows_by_spark(spark: Any, events: str, native: str, text: str) -> None:
    assert "first rows" not in explain(spark, text.format(t="t"), t=events).by_workers
    assert answers(sql(spark, text.format(t="t"), t=events)) == answers(spark.sql(text.format(t=native)))


def test_the_same_order_of_other_columns(spark: Any, events: str, native: str) -> None:
    """The cached answer of the first query lacks the columns of the second."""
    for columns in ("id", "id, v:kind::string k", "v:kind::string k, id"):
        text = f"select {columns} from {{t}} where v:kind::string > 'k1' order by id limit 5"
        assert explain(spark, text.format(t="t"), t=events).by_workers
        assert answers(sql(spark, text.format(t="t"), t=events)) == answers(spark.sql(text.format(t=native)))


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Asia/Tokyo"])
def test_times_without_a_zone(spark: Any, tmp_path: Path, zone: str) -> None:
    """Spark writes INT96, of which Arrow does not know that it is UTC; its nanoseconds end in 2262."""
    before = spark.conf.get("spark.sql.session.timeZone")
    rows = (
        "select id, if(id = 50, timestamp'9999-12-31 10:00:00Z', timestamp_seconds(id * 3600)) ts, id % 7 k "
        "from range(100)"
    )
    schema = pa.schema([("id", pa.int64()), ("ts", pa.timestamp("us", "UTC")), ("k", pa.int64())])
    table = sl.Table.create(tmp_path / "t", schema)
    spark.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    spark.sql(rows).coalesce(1).write.parquet(str(tmp_path / "files"))
    spark.conf.unset("spark.sql.parquet.outputTimestampType")
    adopt(table, tmp_path / "files")
    try:
        spark.conf.set("spark.sql.session.timeZone", zone)
        spark.sql(rows).createOrReplaceTempView("truth")
        for text in (
            "select id, ts from {t} order by ts limit 3",
            "select id, ts from {t} order by ts desc limit 3",
            "select k, count(*) from {t} where ts <= timestamp_seconds(36000) group by k order by k",
            "select count(*), max(ts) from {t} where ts > timestamp'2100-01-01 00:00:00'",
        ):
            found = sql(spark, text.format(t="t"), t=str(tmp_path / "t"))
            assert answers(found) == answers(spark.sql(text.format(t="truth")))
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_each_part_sorted_by_itself_is_left_to_spark(spark: Any, events: str) -> None:
    text = "select id from t sort by id limit 3"
    assert not explain(spark, text, t=events).by_workers
    assert sql(spark, text, t=events).count() == 3
