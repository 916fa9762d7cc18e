"""Tables that `sql` finds by name: registered, of the catalog, by path, at a version; and parameters."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake import spark as sls
from shredlake.errors import InvalidExpression, VersionNotFound
from shredlake.spark.query.api import explain, read, register, scan, sql

pytestmark = pytest.mark.spark

SHREDDED = {"delta.enableVariantShredding": "true"}
LAYOUT = {"v": "struct<n bigint, kind string>"}


def rows_of(first: int, last: int, kind: str) -> pa.Table:
    texts = [json.dumps({"n": number, "kind": kind}) for number in range(first, last)]
    return pa.table({"id": pa.array(range(first, last), pa.int64()), "v": sl.from_json(pa.array(texts))})


def made(place: Path) -> sl.Table:
    """A table of three versions: 0 rows, 10 rows, 20 rows."""
    schema = pa.schema([("id", pa.int64()), ("v", sl.variant())])
    table = sl.Table.create(place, schema, properties=SHREDDED)
    table.append(rows_of(0, 10, "old"), shredding=LAYOUT)
    table.append(rows_of(10, 20, "new"), shredding=LAYOUT)
    return table


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> sl.Table:
    return made(tmp_path_factory.mktemp("named") / "my lake" / "events")


@pytest.fixture
def names(spark: Any) -> Iterator[set[str]]:
    """Temporary views that are dropped after the test."""
    used: set[str] = set()
    yield used
    for name in used:
        spark.catalog.dropTempView(name)


@pytest.fixture(scope="module")
def database(spark: Any, events: sl.Table) -> Iterator[str]:
    """A database of the session's catalog with the table, as a metastore holds those of other Sparks.

    Their provider is `delta`, which this Spark can't read by itself, so it can't create them either.
    """
    spark.sql("create database shop")
    spark.sql("create table shop.model (id bigint) using parquet")
    state, jvm = spark._jsparkSession.sessionState(), spark._jvm
    model = state.catalog().getTableMetadata(state.sqlParser().parseTableIdentifier("shop.model"))

    def copy(of: Any, **others: Any) -> list[Any]:
        names = [of.productElementName(index) for index in range(of.productArity())]
        return [others.get(name, of.productElement(index)) for index, name in enumerate(names)]

    classes = jvm.org.apache.spark.sql.catalyst.catalog
    place = jvm.scala.Option.apply(jvm.java.net.URI(events.uri))
    storage = classes.CatalogStorageFormat(*copy(model.storage(), locationUri=place))
    name = state.sqlParser().parseTableIdentifier("shop.events")
    parts = copy(model, identifier=name, storage=storage, provider=jvm.scala.Option.apply("delta"))
    state.catalog().createTable(classes.CatalogTable(*parts), True, False)
    yield "shop"
    spark.sql("drop database shop cascade")


def local(table: sl.Table) -> str:
    return table.uri.removeprefix("file://").replace("%20", " ")


def answers(frame: Any) -> list[Any]:
    return sorted(tuple(row) for row in frame.collect())


def test_a_registered_table_needs_no_address(spark: Any, events: sl.Table, names: set[str]) -> None:
    names.add("events")
    register(spark, "events", events.uri)
    text = "select v:kind::string, count(*) from events where v:n::bigint >= 10 group by 1"
    found = explain(spark, text)
    assert list(found.tables) == ["events"]
    assert (found.tables["events"].files, found.tables["events"].files_total) == (1, 2)
    assert answers(sql(spark, text)) == answers(spark.sql(text)) == [("new", 10)]


def test_a_registered_name_follows_the_table(spark: Any, tmp_path: Path, names: set[str]) -> None:
    events = made(tmp_path / "events")
    names |= {"events", "pinned", "by_object", "large"}
    register(spark, "events", events.uri)
    register(spark, "pinned", events.uri, version=1)
    register(spark, "by_object", sl.Table(events.uri, version=1))
    spark.sql("create or replace temp view large as select id, v from events where v:n::bigint > 5")
    events.append(rows_of(20, 30, "newest"), shredding=LAYOUT)
    count = "select count(*) from "
    assert spark.sql(count + "events").first()[0] == 20
    assert sql(spark, count + "events").first()[0] == 30
    assert spark.sql(count + "events").first()[0] == 30
    assert sql(spark, count + "large").first()[0] == spark.sql(count + "large").first()[0] == 24
    for pinned in ("pinned", "by_object"):
        assert sql(spark, count + pinned).first()[0] == 10


def test_a_view_over_a_registered_table_is_pruned(spark: Any, events: sl.Table, names: set[str]) -> None:
    names |= {"events", "old_ones"}
    register(spark, "events", events.uri)
    spark.sql("create or replace temp view old_ones as select v:n::bigint n from events where id < 10")
    text = "select max(n) from old_ones where n > 3"
    found = explain(spark, text)
    assert found.tables["events"].files == 1
    assert answers(sql(spark, text)) == answers(spark.sql(text)) == [(9,)]


def test_a_view_made_under_other_settings_keeps_them(spark: Any, events: sl.Table, names: set[str]) -> None:
    names |= {"events", "casts"}
    register(spark, "events", events.uri)
    ansi = "spark.sql.ansi.enabled"
    before = spark.conf.get(ansi)
    spark.conf.set(ansi, "false")
    try:
        spark.sql("create or replace temp view casts as select cast(v:kind::string as int) c from events")
        spark.conf.set(ansi, "true")
        text = "select count(*), count(c) from casts"
        assert answers(sql(spark, text)) == answers(spark.sql(text)) == [(20, 0)]
    finally:
        spark.conf.set(ansi, before)


def test_a_view_of_the_users_replaces_a_registered_one(spark: Any, events: sl.Table, names: set[str]) -> None:
    names.add("events")
    register(spark, "events", events.uri)
    assert sql(spark, "select count(*) from events").first()[0] == 20
    spark.range(3).createOrReplaceTempView("events")
    assert sql(spark, "select count(*) from events").first()[0] == 3


MIXED = {
    "its name before a column": "select shop.events.id, events.v:n::int from shop.events where events.id = 3",
    "capitals, and a view": "select max(E.v:n::int) from spark_catalog.SHOP.Events E join few using (id)",
    "with a registered table": "select count(*) from shop.events a join r on a.v:n::bigint = r.v:n::bigint",
    "in a subquery": "select count(*) from few where id in (select v:n::bigint from shop.events)",
    "in a common table expression": "with r as (select v:n::bigint n from shop.events) select sum(n) from r",
    "an expression like a table": "with r as (select v from r where id < 3) select count(v:n::int) from r",
    "with commas, in brackets": "select count(*) from few, (shop.events) e where e.v:n::bigint = few.id",
    "other uses of FROM": "select count(*) from shop.events where extract(day from date'2026-01-02') = 2 "
    "and trim(both 'o' from v:kind::string) is distinct from 'ld'",
}  # fmt: skip


def test_mixed_names(spark: Any, events: sl.Table, names: set[str], database: str) -> None:
    names |= {"r", "few", "events"}
    register(spark, "r", events.uri)
    spark.range(5, 15).createOrReplaceTempView("few")
    for what, text in MIXED.items():
        found = answers(sql(spark, text))
        register(spark, "events", events.uri)
        plain = re.sub(r"(?i)(spark_catalog\.)?shop\.", "", text)
        assert found == answers(spark.sql(plain)), what
        spark.catalog.dropTempView("events")


def test_tables_of_the_catalog_are_pruned(spark: Any, events: sl.Table, database: str) -> None:
    found = explain(spark, "select count(*) from shop.events where v:n::bigint >= 10")
    assert {name: one.files for name, one in found.tables.items()} == {"shop.events": 1}
    spark.sql("use shop")
    try:
        found = explain(spark, "select count(*) from events where v:n::bigint >= 10")
        assert {name: one.files for name, one in found.tables.items()} == {"events": 1}
    finally:
        spark.sql("use default")


def test_paths(spark: Any, events: sl.Table) -> None:
    place = local(events)
    for text in (
        f"select count(*), max(v:n::bigint) from delta.`{place}`",
        f"select count(*), max(e.v:n::bigint) from shredlake.`{place}` e",
        f"select count(*), max(delta.`{place}`.v:n::bigint) from DELTA.`{place}`",
    ):
        assert answers(sql(spark, text)) == [(20, 19)]
    with pytest.raises(sl.ShredlakeError, match="is not a Delta table"):
        sql(spark, "select 1 from delta.`/no/such/table`")


def test_versions(spark: Any, events: sl.Table, names: set[str], database: str) -> None:
    names.add("r")
    register(spark, "r", events.uri)
    place = local(events)
    for text in (
        "select count(*) from r version as of 1",
        "select count(*) from r for version as of '1' x",
        "select count(*) from shop.events version as of 1 where events.v:n::bigint >= 0",
        f"select count(*) from delta.`{place}` version as of 1",
        "select count(*) from e version as of 1",
        "select count(b.id) from e version as of 1 b",
        "select count(a.v:n::bigint) from e a join e version as of 1 b on a.id = b.v:n::bigint",
    ):
        assert answers(sql(spark, text, e=events.uri)) == [(10,)], text
    with pytest.raises(VersionNotFound):
        sql(spark, "select 1 from e version as of 9", e=events.uri)
    with pytest.raises(InvalidExpression, match="whole number"):
        sql(spark, "select 1 from e version as of 'yesterday'", e=events.uri)


def test_timestamps(spark: Any, tmp_path: Path) -> None:
    events = made(tmp_path / "events")
    log = Path(local(events)) / "_delta_log"
    for version, seconds in enumerate((1_000_000_000, 1_100_000_000, 1_200_000_000)):
        os.utime(log / f"{version:020}.json", (seconds, seconds))
    for moment in (
        "'2006-01-01'",
        "timestamp'2006-01-01 00:00:00'",
        "date'2006-01-01' + interval 1 day",
        "to_timestamp('2006-01-01')",
        "(date'2006-01-01')",
    ):
        text = f"select count(*) from e timestamp as of {moment} x where x.v:n::bigint >= 0"
        assert answers(sql(spark, text, e=events.uri)) == [(10,)], moment
    with pytest.raises(InvalidExpression, match="is NULL"):
        sql(spark, "select 1 from e timestamp as of null", e=events.uri)


def test_parameters(spark: Any, events: sl.Table, names: set[str]) -> None:
    names.add("r")
    register(spark, "r", events.uri)
    named = "select v:kind::string, count(*) from r where v:n::int >= :least and id < :most group by 1"
    placed = "select count(*) from r where v:n::bigint between ? and ? and v:kind::string = ?"
    for least in (3, 12, 3):
        args = {"least": least, "most": least + 12}
        assert answers(sql(spark, named, args)) == answers(spark.sql(named, args))
    for values in ([2, 4, "old"], [5, 11, "new"]):
        assert answers(sql(spark, placed, args=values)) == answers(spark.sql(placed, args=values))
    found = explain(spark, named, args={"least": 12, "most": 99})
    assert found.tables["r"].files == 1
    whole = "select to_json(v) from r where v:n::bigint = :n"
    assert answers(sql(spark, whole, {"n": 4})) == [('{"kind":"old","n":4}',)]


def test_a_table_object_is_an_address(spark: Any, tmp_path: Path) -> None:
    events = made(tmp_path / "events")
    old = sl.Table(events.uri, version=1)
    assert read(spark, old, "v:n::bigint AS n").count() == 10
    assert read(spark, events, "id", version=1).count() == 10
    assert scan(spark, events, "id", where="v:n::bigint >= 10").explain().files == 1
    assert answers(sql(spark, "select count(*) from t join o using (id)", t=events, o=old)) == [(10,)]
    assert sls.optimize(spark, events).rows == 20
    with pytest.raises(sl.TableError, match="can only be read"):
        sls.optimize(spark, old)


def test_refreshing_the_view_is_explained(spark: Any, events: sl.Table, names: set[str]) -> None:
    names.add("events")
    register(spark, "events", events.uri)
    text = "select count(*), max(v:n::bigint) from events"
    with pytest.raises(Exception, match="to-refresh-a-view-call-register-again"):
        spark.sql("refresh table events")
    assert answers(sql(spark, text)) == [(20, 19)]
    register(spark, "events", events.uri)
    assert answers(spark.sql(text)) == [(20, 19)]
