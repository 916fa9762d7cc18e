"""Groups computed by the workers: the same answers as Spark's, and only where that is certain."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from long_runs import some
from shredlake.spark.query import api as query
from shredlake.spark.query.api import explain, sql
from shredlake.spark.query.workers import aggregate
from shredlake.spark.query.workers import pushdown as by_workers

pytestmark = pytest.mark.spark

ROWS = 200
LAYOUT = "struct<kind string, ok boolean, n bigint, big bigint, x double, ts bigint, name string, day string>"
SMALL = ("ENOUGH_BYTES", "FILES_PER_CORE")


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Four files; in the last, some of `n` are texts. `big` overflows when summed, `name` never repeats."""
    place = tmp_path_factory.mktemp("groups") / "events"
    schema = pa.schema([("id", pa.int64()), ("part", pa.string()), ("v", sl.variant())])
    table = sl.Table.create(place, schema, properties={"delta.enableVariantShredding": "true"})
    for file in range(4):
        ids = range(file * ROWS, (file + 1) * ROWS)
        texts = []
        for number in ids:
            row: dict[str, Any] = {
                "kind": f"k{number % 3}",
                "ok": number % 5 == 0,
                "n": str(number) if file == 3 and number % 50 == 0 else number - 300,
                "big": (1 << 62) + number,
                "x": number / 7,
                "ts": 1_700_000_000_000_000 + number * 777_000_000,
                "name": f"näme-{number}-{'x' * (number % 11)}",
                "day": f"2024-01-{number % 28 + 1:02}",
            }
            if number % 13 == 0:
                del row["kind"]
            if number % 17 == 0:
                del row["ts"], row["name"]
            texts.append(json.dumps(row))
        rows = {
            "id": pa.array(ids, pa.int64()),
            "part": pa.array([f"p{number % 2}" for number in ids]),
            "v": sl.from_json(pa.array(texts)),
        }
        table.append(pa.table(rows), shredding={"v": LAYOUT})
    sl.Table(place).delete("id % 10 = 3")
    return str(place)


@pytest.fixture(scope="module")
def native(spark: Any, events: str) -> str:
    query.register(spark, "native_groups", events)
    return "native_groups"


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treats every table as large."""
    for name in SMALL:
        monkeypatch.setattr(by_workers, name, 0)


BY_WORKERS = [
    "select count(*) from {t}",
    "select count(*), count(1), count('x') from {t} where try_variant_get(v, '$.n', 'bigint') > 10",
    "select v:kind::string, count(*) from {t} group by 1",
    "select v:kind::string k, count(*) c from {t} group by k order by c desc, k limit 2",
    "select count(*), v:kind::string from {t} group by v:kind::string, v:ok::boolean having count(*) > 20",
    "select v:ok::boolean o, sum(try_variant_get(v, '$.n', 'bigint')), min(try_variant_get(v, '$.n', 'int')) "
    "from {t} group by all",
    "select sum(length(v:name::string)), max(v:name::string), min(v:day::string) from {t}",
    "select sum(try_variant_get(v, '$.n', 'smallint')) s from {t} where v:kind::string = 'k1' or id < 9",
    "select v:kind::string e, hour(timestamp_micros(v:ts::bigint)) h, count(*) c from {t} "
    "where v:ok::boolean and v:kind::string in ('k0', 'k2') group by e, h order by h, e",
    "select part, max(id), count(try_variant_get(v, '$.x', 'double')) from {t} "
    "where v:day::string like '2024-01-1%' group by part",
    "select k, c + 1 from (select v:kind::string k, count(*) c from {t} group by 1) where c > 5",
    "select max(try_variant_get(v, '$.kind', 'string')) from {t} "
    "where try_variant_get(v, '$.n', 'date') is null",
    "select v:kind::string k, sum(v:big::bigint) from {t} where id between 20 and 20 group by 1",
    "select count(*) from {t} group by v:kind::string, v:ok::boolean",
    "select max(id), max(id), v:kind::string, v:kind::string from {t} where v:kind::string > 'k' group by 3",
    "select count(distinct v:kind::string) from {t}",
    "select count(distinct v:day::string) from {t} where v:kind::string > 'k1' and v:kind::string < 'k2'",
    "select v:ok::boolean o, count(distinct v:day::string) d, count(*) c, sum(length(v:kind::string)), "
    "count(distinct v:day::string) from {t} where id > 50 group by 1 order by d, o",
    "select v:kind::string, count(distinct v:kind::string) from {t} group by 1 having count(*) > 200",
    "select v:day::string, count(distinct hour(timestamp_micros(v:ts::bigint))), max(v:day::string) "
    "from {t} group by 1",
]
BY_SPARK = [
    "select count(*), max(part) from {t} where v:name::string = 'näme-7-xxxxxxx'",
    "select count(*), max(part) from {t} where v:name::string in ('näme-7-xxxxxxx', 'x') and id > 1",
    "select v:kind::string, count(*) from {t} where id in (select id from range(50)) group by 1",
    "select v:kind::string, count(*) from {t} where id not in (select id from range(5)) group by 1",
    "select count(*) from {t} e where exists (select 1 from range(9) r where r.id = e.id)",
    "select count(*) from {t} e where id = (select max(r.id) from range(9) r where r.id <= e.id)",
    "select count(*) from {t} where 1 = 0 having count(*) <= (select max(id) from {t})",
    "select count(*) from {t} where id < 10 having count(*) <= (select max(id) from range(900))",
    "select part from {t} group by part, id",
    "select part from {t} group by part, upper(part)",
    "select v:kind::string from {t} group by 1, v:ok::boolean",
    "select count(*) from {t} where v:ts::bigint > 0 and timestamp_micros(id) < timestamp'9999-12-31'",
    "select v:nowhere::string, count(*) from {t} group by 1",
    "select sum(v:x::double) from {t}",
    "select try_sum(v:big::bigint) from {t}",
    "select avg(v:n::bigint) from {t} where id < 100",
    "select count(distinct v:day::string), count(distinct v:kind::string) from {t}",
    "select count(distinct v:day::string, v:kind::string) from {t}",
    "select count(distinct v:x::double) from {t}",
    "select count(distinct v:name::string) from {t}",
    "select sum(distinct v:ts::bigint) from {t} where id < 90",
    "select count(*) filter (where v:ok::boolean) from {t}",
    "select max(v:x::double), min(v:ts::bigint) - 1 from {t}",
    "select v:name::string, count(*) from {t} group by 1",
    "select v:x::double, count(*) from {t} group by 1",
    "select upper(v:kind::string), count(*) from {t} group by 1",
    "select v:kind::string, count(*) from {t} where upper(v:kind::string) = 'K1' group by 1",
    "select v:kind::string from {t} group by 1",
    "select distinct v:kind::string from {t}",
    "select v:kind::string, count(*) from {t} where current_date() > date'2020-01-01' group by 1",
    "select v:kind::string, v:ok::boolean, count(*) from {t} group by rollup(1, 2)",
    "select a.v:kind::string, count(*) from {t} a join {t} b on a.id = b.id group by 1",
    "select v:kind::string, count(*) from {t} where id < (select max(id) from {t}) group by 1",
    "select count(*) from (select v:kind::string from {t} limit 10)",
    "select v:kind::string, count(*) over () from {t}",
    "select max(v:x::double > 3), v:ok::boolean from {t} group by 2 having max(v:ok::boolean)",
    "select v:ok::boolean, sum(try_cast(v:n as bigint)) from {t} group by all",
    "select count(*) from {t} where v:n::bigint > 10",
]


@contextmanager
def setting(spark: Any, name: str, value: str) -> Iterator[None]:
    before = spark.conf.get(name)
    spark.conf.set(name, value)
    yield
    spark.conf.set(name, before)


def answers(frame: Any) -> tuple[str, list[str]]:
    return frame.schema.simpleString(), [repr(tuple(row)) for row in frame.collect()]


@pytest.mark.parametrize("text", some(BY_WORKERS))
def test_groups_by_the_workers(spark: Any, events: str, native: str, eager: None, text: str) -> None:
    found = explain(spark, text.format(t="t"), t=events)
    assert found.by_workers, str(found)
    assert "grouped by the workers" in str(found)
    kinds, rows = answers(sql(spark, text.format(t="t"), t=events))
    expected_kinds, expected = answers(spark.sql(text.format(t=native)))
    assert kinds == expected_kinds
    if "order by" in text:
        assert rows == expected
    assert sorted(rows) == sorted(expected)


@pytest.mark.parametrize("text", BY_SPARK)
def test_groups_by_spark(spark: Any, events: str, native: str, eager: None, text: str) -> None:
    assert not explain(spark, text.format(t="t"), t=events).by_workers
    found = answers(sql(spark, text.format(t="t"), t=events))
    expected = answers(spark.sql(text.format(t=native)))
    assert (found[0], sorted(found[1])) == (expected[0], sorted(expected[1]))


def test_groups_that_come_back_are_made_by_the_workers(
    spark: Any, events: str, native: str, eager: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where dictionaries tell nothing, rows of two files decide: days repeat, names do not."""
    monkeypatch.setattr(aggregate, "SMALL_DICTIONARY", 0)
    text = "select v:{key}::string, max(id) from {t} where id >= 0 group by 1"
    assert not explain(spark, text.format(key="name", t="t"), t=events).by_workers
    assert explain(spark, text.format(key="day", t="t"), t=events).by_workers
    found = sql(spark, text.format(key="day", t="t"), t=events)
    assert sorted(answers(found)[1]) == sorted(answers(spark.sql(text.format(key="day", t=native)))[1])
    nothing = "select v:day::string, max(id) from t where v:x::double < -1 group by 1"
    assert sql(spark, nothing, t=events).collect() == []


def test_a_small_table_is_left_to_spark(spark: Any, events: str) -> None:
    text = "select v:kind::string, count(*), count(id) from t group by 1"
    assert not explain(spark, text, t=events).by_workers


def test_a_value_that_must_cast_is_left_to_spark(spark: Any, events: str, eager: None) -> None:
    """Some of `n` are texts that are numbers, which cast; as dates they do not."""
    from pyspark.errors import PySparkException

    text = "select sum(v:n::bigint) from t"
    assert not explain(spark, text, t=events).by_workers
    assert explain(spark, "select sum(v:ts::bigint) from t", t=events).by_workers
    with pytest.raises(PySparkException):
        sql(spark, "select max(v:kind::date) from t", t=events).collect()


def test_a_sum_that_overflows_is_an_error_here_as_there(
    spark: Any, events: str, native: str, eager: None
) -> None:
    from pyspark.errors import PySparkException

    text = "select v:kind::string k, sum(v:big::bigint) s from {t} group by 1"
    assert explain(spark, text.format(t="t"), t=events).by_workers
    for run in (lambda: sql(spark, text.format(t="t"), t=events), lambda: spark.sql(text.format(t=native))):
        with pytest.raises(PySparkException, match="ARITHMETIC_OVERFLOW"):
            run().collect()
    with setting(spark, "spark.sql.ansi.enabled", "false"):
        found = answers(sql(spark, text.format(t="t"), t=events))
        expected = answers(spark.sql(text.format(t=native)))
    assert sorted(found[1]) == sorted(expected[1])


def test_hours_of_another_zone_are_left_to_spark(spark: Any, events: str, native: str, eager: None) -> None:
    text = "select hour(timestamp_micros(v:ts::bigint)) h, count(*) from {t} group by 1"
    with setting(spark, "spark.sql.session.timeZone", "Asia/Kolkata"):
        assert not explain(spark, text.format(t="t"), t=events).by_workers
        found = answers(sql(spark, text.format(t="t"), t=events))
        expected = answers(spark.sql(text.format(t=native)))
    assert sorted(found[1]) == sorted(expected[1])


def test_a_setting_that_drops_keys_leaves_groups_to_spark(spark: Any, events: str, eager: None) -> None:
    text = "select v:kind::string k, count(*) c from t group by 1"
    with setting(spark, "spark.sql.retainGroupColumns", "false"):
        found = explain(spark, text, t=events)
        assert not found.by_workers
        assert found.declined["groups by workers"] == "spark.sql.retainGroupColumns is false"
        assert sql(spark, text, t=events).columns == ["k", "c"]


def test_the_frame_is_an_ordinary_one(spark: Any, events: str, eager: None) -> None:
    text = "select v:kind::string k, count(*) c from t group by 1"
    one, other = sql(spark, text, t=events), sql(spark, text, t=events)
    joined = one.join(other, "k").select(one.c, other.c)
    assert [row[0] == row[1] for row in joined.collect()] == [True] * 3
    assert one.unionAll(other).groupBy("k").count().count() == 4
    cached = one.cache()
    assert sorted(map(str, cached.collect())) == sorted(map(str, other.collect()))
    cached.unpersist()
    assert one.where("c > 1000000").count() == 0


def test_files_are_pruned_before_groups_are_made(spark: Any, events: str, eager: None) -> None:
    found = explain(
        spark, "select v:kind::string, count(*) from t where v:ts::bigint is null group by 1", t=events
    )
    assert found.by_workers
    found = explain(spark, "select count(*) from t where id < 100", t=events)
    assert found.by_workers
    assert found.tables["t"].files == 1


def test_conditions_in_python_are_left_to_spark(spark: Any, events: str, native: str, eager: None) -> None:
    """The optimiser takes them out of the filter."""
    spark.udf.register("good", lambda text: text == "k1", "boolean")
    text = "select count(*) from {t} where good(v:kind::string) and id < 500"
    assert not explain(spark, text.format(t="t"), t=events).by_workers
    assert sql(spark, text.format(t="t"), t=events).collect() == spark.sql(text.format(t=native)).collect()


def test_other_collations_are_left_to_spark(spark: Any, events: str, eager: None) -> None:
    """Spark fails on such a cast of shredded files; the query must not be answered by workers."""
    kind = "try_variant_get(v, '$.kind', 'string collate utf8_lcase')"
    assert not explain(spark, f"select count(*) from t group by {kind}", t=events).by_workers


def test_views_over_the_table(spark: Any, events: str, native: str, eager: None) -> None:
    spark.sql(f"create or replace temp view kinds as select v:kind::string k from {native} where id < 99")
    expected = spark.sql("select k, count(*) from kinds group by 1").collect()
    query.register(spark, "t", events)
    spark.sql("create or replace temp view kinds as select v:kind::string k from t where id < 99")
    found = sql(spark, "select k, count(*) from kinds group by 1", t=events).collect()
    spark.catalog.dropTempView("t")
    assert sorted(map(str, found)) == sorted(map(str, expected))


def test_a_damaged_file_is_named_by_whoever_reads_it(
    spark: Any, eager: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = sl.Table.create(tmp_path / "t", pa.schema([("k", pa.string())]))
    for _ in range(2):
        table.append(pa.table({"k": ["a", "b"] * 50}))
    for file in tmp_path.glob("t/*.parquet"):
        file.write_bytes(b"not Parquet at all")
    frame = sql(spark, "select k, count(*) from t group by 1", t=str(tmp_path / "t"))
    with pytest.raises(Exception, match="parquet"):
        frame.collect()
