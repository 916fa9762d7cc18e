"""Whatever stands above a table, only files and row groups that can match are read, by Spark's own metrics.

The table: four files of four row groups of 25 rows, ascending in `ts`, so that every value of `ts` is in one
row group of one file.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import variants
from shredlake.parquet.write.writer import WriteOptions
from shredlake.spark.query.api import read, register, sql
from spark_metrics import Read, what_was_read
from spark_versions import skip_before

pytestmark = pytest.mark.spark

FILES, GROUPS, ROWS = 4, 4, 25
LAYOUT = "struct<ts bigint, kind string, at timestamp, price decimal(10,2), user struct<id bigint>>"


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("pruning") / "events"
    schema = pa.schema([("id", pa.int64()), ("v", sl.variant()), ("w", sl.variant())])
    table = sl.Table.create(place, schema, properties={"delta.enableVariantShredding": "true"})
    size = GROUPS * ROWS
    for file in range(FILES):
        ids = range(file * size, (file + 1) * size)
        rows = pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "v": variants([event(n) for n in ids]),
                "w": variants([{"ts": 1000 - n} for n in ids]),
            }
        )
        options = WriteOptions(row_group_rows=ROWS)
        table.append(rows, shredding={"v": LAYOUT, "w": "struct<ts bigint>"}, options=options)
    return str(place)


def event(n: int) -> dict[str, Any]:
    from datetime import UTC, datetime, timedelta
    from decimal import Decimal

    return {
        "ts": n,
        "kind": n if n % 50 == 30 else f"k{n:03}",
        "at": datetime(2024, 3, 1, tzinfo=UTC) + timedelta(hours=n),
        "price": Decimal(n) + Decimal("0.25"),
        "user": {"id": n % 7},
    }


@pytest.fixture(autouse=True)
def whole_row_groups(spark: Any) -> Iterator[None]:
    """Without the page index, the rows that a scan gives are those of the row groups that it reads."""
    spark.conf.set("parquet.filter.columnindex.enabled", "false")
    yield
    spark.conf.unset("parquet.filter.columnindex.enabled")


ONE_ROW_GROUP = Read(scans=1, files=1, rows=ROWS, workers=0)

ONE = {
    "a filter": "select id from events where v:ts::bigint = 160",
    "bounds": "select id from events where v:ts::bigint < 176 and v:ts::bigint >= 175",
    "a range": "select id from events where v:ts::bigint between 160 and 170",
    "a narrower type": "select id from events where v:ts::int = 160",
    "a wider type": "select id from events where v:ts::decimal(20,0) = 160",
    "a list": "select id from events where v:ts::bigint in (160, 161, 162)",
    "a long list": "select id from events where v:ts::bigint in "
    "(160, 161, 162, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172)",
    "a timestamp": "select id from events where v:at::timestamp = timestamp'2024-03-07 16:00:00Z'",
    "a decimal": "select id from events where v:price::decimal(10,2) = 160.25",
    "try_variant_get": "select id from events where try_variant_get(v, '$.ts', 'bigint') = 160",
    "an aggregate": "select v:user.id::bigint u, count(*) from events where v:ts::bigint = 160 group by 1",
    "having": "select v:ts::bigint t, count(*) from events group by 1 having t = 160",
    "a sort": "select id from events where v:ts::bigint = 160 order by v:user.id::bigint limit 1",
    "a limit": "select id from events where v:ts::bigint = 160 limit 1",
    "a subquery": "select * from (select id, v:ts::bigint t from events) where t = 160",
    "two subqueries": "select * from (select id, x:ts::bigint t from (select id, v x from events)) "
    "where t = 160",
    "a common table expression": "with e as (select v, id from events) "
    "select id from e where v:ts::bigint = 160",
    "a window": "select id, v:ts::bigint, rank() over (partition by v:ts::bigint order by id) from events "
    "where v:ts::bigint = 160",
    "a window's partition": "select * from (select t, rank() over (partition by t order by id) r from "
    "(select id, v:ts::bigint t from events)) where t = 160",
    "distinct": "select distinct v:user.id::bigint from events where v:ts::bigint = 160",
    "a join with others": "select a.id from events a join range(7) r on a.v:user.id::bigint = r.id "
    "where a.v:ts::bigint = 160",
    "an outer join": "select a.id from events a left join range(7) r on a.v:user.id::bigint = r.id "
    "where a.v:ts::bigint = 160",
    "a semi join": "select id from events where v:ts::bigint = 160 and v:user.id::bigint in "
    "(select id from range(7))",
    "a join on the key": "select a.id from events a join values (160) k(ts) on a.v:ts::bigint = k.ts "
    "where k.ts = 160",
    "an alias": "select e.id from events as e where e.v:ts::bigint = 160",
    "columns renamed": "select i from events as e(i, x, y) where x:ts::bigint = 160",
}  # fmt: skip


@pytest.mark.parametrize("what", ONE)
def test_one_row_group_is_read_under(spark: Any, events: str, what: str) -> None:
    if what == "a join on the key":
        skip_before("4.2", "Spark does not infer the filter through the cast of the key")
    frame = sql(spark, ONE[what], events=events)
    assert what_was_read(frame) == ONE_ROW_GROUP, frame._jdf.queryExecution().toString()
    assert len(frame.collect()) >= 1


TWO = {
    "a union": "select id from events where v:ts::bigint = 160 union all "
    "select id from events where v:ts::bigint = 161",
    "a union of two Variants": "select x:ts::bigint from (select v as x from events where v:ts::bigint = 160 "
    "union all select w from events where w:ts::bigint = 840)",
    "a union below a filter": "select x:ts::bigint from (select v as x from events where id < 200 union all "
    "select v from events where id >= 100) where x:ts::bigint = 160",
    "a self join": "select a.id, b.id from events a join events b on a.v:ts::bigint = b.v:ts::bigint "
    "where a.v:ts::bigint = 160 and b.v:ts::bigint between 150 and 170",
    "a common table expression used twice": "with e as (select v:ts::bigint t, id from events) "
    "select a.id from e a join e b on a.t = b.t where a.t = 160",
    "a scalar subquery": "select id from events where v:ts::bigint = 160 and id = "
    "(select max(id) from events where v:ts::bigint = 160)",
    "an existing row": "select id from events a where v:ts::bigint = 160 and exists "
    "(select 1 from events b where b.v:ts::bigint = a.v:ts::bigint and b.v:ts::bigint = 160)",
}  # fmt: skip


@pytest.mark.parametrize("what", TWO)
def test_one_row_group_is_read_by_each_side_of(spark: Any, events: str, what: str) -> None:
    frame = sql(spark, TWO[what], events=events)
    found = what_was_read(frame)
    text = frame._jdf.queryExecution().toString()
    assert found.files == found.scans <= 2, text
    assert found.rows == found.scans * ROWS, text
    assert len(frame.collect()) >= 1


VIEWS = {
    "of paths": "select id, v:ts::bigint t from events",
    "of Variants": "select id, v:ts::bigint t, v from events",
    "of a view": "select id, t from inner_events",
}


@pytest.mark.parametrize("what", VIEWS)
def test_a_users_view_is_seen_through(spark: Any, events: str, what: str) -> None:
    register(spark, "events", events)
    try:
        spark.sql("create or replace temp view inner_events(id, t) as select id, v:ts::bigint from events")
        spark.sql(f"create or replace temp view seen as {VIEWS[what]}")
        frame = sql(spark, "select id from seen where t = 160", events=events)
        assert what_was_read(frame) == ONE_ROW_GROUP, frame._jdf.queryExecution().toString()
        assert [row["id"] for row in frame.collect()] == [160]
        assert spark.sql("select count(*) c from seen").collect()[0]["c"] == FILES * GROUPS * ROWS
    finally:
        for name in ("seen", "inner_events", "events"):
            spark.catalog.dropTempView(name)


def test_what_needs_whole_variants_reads_only_matching_files(spark: Any, events: str) -> None:
    for text in (
        "select to_json(v) from events where v:ts::bigint = 160",
        "select id from events where v is not null and try_variant_get(v, '$.at', 'timestamp') = "
        "timestamp'2024-03-07 16:00:00Z'",
        "select e.value::string from events, lateral variant_explode(v:user) e where id = 160",
    ):
        found = what_was_read(sql(spark, text, events=events))
        assert (found.scans, found.files, found.workers) == (1, 1, 0), text


def test_read_prunes(spark: Any, events: str) -> None:
    frame = read(spark, events, ["id", "v:user.id::bigint AS u"], where="v:ts::bigint = 160")
    assert what_was_read(frame) == ONE_ROW_GROUP
    narrow = read(spark, events, ["id"], where="v:ts::int = 160")
    assert what_was_read(narrow) == ONE_ROW_GROUP


def test_a_frame_that_was_read_prunes_row_groups_under_a_view_of_it(spark: Any, events: str) -> None:
    read(spark, events, ["id", "v:ts::bigint AS t"]).createOrReplaceTempView("frame_events")
    try:
        frame = spark.sql("select sum(id) from frame_events where t = 160 group by t")
        assert what_was_read(frame) == Read(scans=1, files=FILES, rows=ROWS, workers=0)
    finally:
        spark.catalog.dropTempView("frame_events")


def test_rows_in_value_are_read_apart(spark: Any, events: str) -> None:
    """`kind` is mixed: the typed half skips by its value, the other half by `value` being there."""
    frame = sql(spark, "select id from events where v:kind::string = 'k160'", events=events)
    found = what_was_read(frame)
    assert [row["id"] for row in frame.collect()] == [160]
    assert found.scans == 2
    assert found.workers == 1
    assert found.rows == ROWS + FILES * 2 * ROWS  # two row groups of each file hold a number


def test_pages_are_skipped_too(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.mktemp("pages") / "t"
    table = sl.Table.create(
        place, pa.schema([("v", sl.variant())]), properties={"delta.enableVariantShredding": "true"}
    )
    rows = pa.table({"v": variants([{"ts": n} for n in range(4000)])})
    table.append(rows, shredding={"v": "struct<ts bigint>"}, options=WriteOptions(page_rows=100))
    spark.conf.unset("parquet.filter.columnindex.enabled")
    frame = sql(spark, "select v:ts::bigint from t where v:ts::bigint = 1234", t=place)
    assert what_was_read(frame).rows == 100


def test_a_bloom_filter_skips_row_groups_by_keys_in_no_order(
    spark: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("bloom") / "t"
    table = sl.Table.create(
        place, pa.schema([("v", sl.variant())]), properties={"delta.enableVariantShredding": "true"}
    )
    keys = [sha256(str(n).encode()).hexdigest() for n in range(400)]
    options = WriteOptions(row_group_rows=100, bloom_filters=("v:key",), bloom_filter_fpp=0.001)
    table.append(
        pa.table({"v": variants([{"key": key} for key in keys])}),
        shredding={"v": "struct<key string>"},
        options=options,
    )
    frame = sql(spark, f"select v:key::string k from t where v:key::string = '{keys[234]}'", t=place)
    assert what_was_read(frame).rows == 100
    assert [row["k"] for row in frame.collect()] == [keys[234]]


def test_the_time_of_planning_prunes_nothing(spark: Any, events: str) -> None:
    """A frame may run later than it is planned, and then `now()` is another one."""
    query = "select count(*) from events where v:at::timestamp {} timestampadd(year, {}, now())"
    later = sql(spark, query.format(">", 100), events=events)
    assert what_was_read(later).files == FILES
    assert later.collect()[0][0] == 0
    assert sql(spark, query.format("<", 100), events=events).collect()[0][0] == FILES * GROUPS * ROWS
