"""The names that `sql` gives to tables hold in its query, and nowhere else."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.spark.query.api import register, sql

pytestmark = pytest.mark.spark


def make(place: Path, count: int, kind: str) -> str:
    schema = pa.schema([("id", pa.int64()), ("v", sl.variant())])
    table = sl.Table.create(place, schema, properties={"delta.enableVariantShredding": "true"})
    texts = [json.dumps({"n": number, "kind": kind}) for number in range(count)]
    table.append(
        pa.table({"id": pa.array(range(count), pa.int64()), "v": sl.from_json(pa.array(texts))}),
        shredding={"v": "struct<n bigint, kind string>"},
    )
    return str(place)


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make(tmp_path_factory.mktemp("names") / "one", 10, "one")


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make(tmp_path_factory.mktemp("names") / "two", 20, "two")


def names(spark: Any) -> set[str]:
    return {item.name for item in spark.catalog.listTables()}


QUERIES = {
    "a path": "select v:n::bigint n from e where v:n::bigint < 3",
    "a whole Variant": "select to_json(v) from e where v:n::bigint < 3",
    "a group": "select v:kind::string, count(*) from e group by 1",
    "a self join": "select a.id, b.v:kind::string from e a join e b on a.v:n::bigint = b.id + 1",
    "a qualified column": "select e.v:n::bigint, e.id from e where e.id > 7",
    "a subquery": "select id from e where id in (select v:n::bigint from e where v:n::bigint < 4)",
    "a correlated subquery": "select id from e where exists "
    "(select 1 from e i where i.id = e.v:n::bigint + 1)",
    "an expression of the same name": "with e as (select v:n::bigint n from e where id < 2) "
    "select n, n + 1 from e",
    "an expression of another name": "with f as (select v, id from e) select v:n::bigint from f where id = 3",
    "one inside a subquery": "select * from (with e as (select 7 x) select x from e) cross join "
    "(select max(v:n::bigint) m from e)",
    "the table alone": "table e",
    "from first": "from e select id where id < 2",
    "in brackets": "(select id from e where v:n::bigint = 1)",
    "a semicolon and a comment": "select id from e where v:n::bigint = 1 ; -- the end",
    "a comment at the end": "select id from e where v:n::bigint = 1 -- the end",
    "braces": "select '{x} {0} {{' || v:kind::string t from e where id = 1",
    "a hint": "select /*+ broadcast(e) */ e.id from e join range(3) r on e.id = r.id + 1 order by 1 limit 2",
    "capitals": "select E.ID from E where V:n::bigint = 1",
    "a union": "select id from e where v:n::bigint < 2 union all select v:n::bigint from e where id > 8",
    "pipes": "from e |> where id < 2 |> select id",
}  # fmt: skip


@pytest.mark.parametrize("what", QUERIES)
def test_a_users_view_of_the_same_name_is_another_thing(spark: Any, one: str, what: str) -> None:
    text = QUERIES[what]
    register(spark, "e", one)
    expected = spark.sql(text)
    schema, rows = expected.schema.simpleString(), sorted(map(str, expected.collect()))
    spark.sql("select 'mine' as own").createOrReplaceTempView("e")
    before = names(spark)
    try:
        found = sql(spark, text, e=one)
        assert names(spark) == before
        assert found.schema.simpleString() == schema
        assert sorted(map(str, found.collect())) == rows
        assert [tuple(row) for row in spark.sql("select * from e").collect()] == [("mine",)]
    finally:
        spark.catalog.dropTempView("e")


@pytest.mark.parametrize("name", ["my events", "a.b", "it`s", "select", "{x}", "é", "1st"])
def test_names_that_need_quotes(spark: Any, one: str, name: str) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    for text in (
        f"select max(v:n::bigint) from {quoted}",
        f"select count(v) from {quoted} where {quoted}.v:n::bigint < 5",
    ):
        tables: dict[str, Any] = {name: one}
        [[found]] = sql(spark, text, **tables).collect()
        assert found in (9, 5)


def test_answers_stay_what_they_were(spark: Any, one: str, two: str) -> None:
    text = "select count(*), max(v:kind::string) from e"
    first, second = sql(spark, text, e=one), sql(spark, text, e=two)
    assert [tuple(row) for row in first.collect()] == [(10, "one")]
    assert [tuple(row) for row in second.collect()] == [(20, "two")]
    assert [tuple(row) for row in first.collect()] == [(10, "one")]


def test_a_query_that_fails_leaves_no_name(spark: Any, one: str) -> None:
    before = names(spark)
    for text in ("select nothing from e", "select 1) union all (select 2", "select id frm e where where"):
        with pytest.raises(Exception, match=r"(?i)nothing|syntax"):
            sql(spark, text, e=one)
    assert names(spark) == before


def test_a_view_over_a_name_of_the_users_keeps_its_meaning(spark: Any, one: str) -> None:
    spark.range(3).selectExpr("id", "parse_json('{\"n\": 100}') v").createOrReplaceTempView("e")
    spark.sql("create or replace temp view over_e as select id, v:n::bigint n from e")
    try:
        found = sql(spark, "select count(*), max(n), (select count(*) from e) from over_e", e=one)
        assert [tuple(row) for row in found.collect()] == [(3, 100, 10)]
    finally:
        spark.catalog.dropTempView("over_e")
        spark.catalog.dropTempView("e")


def test_variables_functions_and_the_current_schema_are_the_sessions(spark: Any, one: str) -> None:
    spark.sql("declare or replace variable least bigint default 7")
    spark.udf.register("doubled", lambda number: number * 2, "bigint")
    text = "select doubled(v:n::bigint) n, current_schema() s from e where v:n::bigint >= least order by 1"
    assert [tuple(row) for row in sql(spark, text, e=one).collect()] == [
        (14, "default"),
        (16, "default"),
        (18, "default"),
    ]
    spark.sql("drop temporary variable least")


def test_threads_that_share_a_session_and_a_name(spark: Any, one: str, two: str) -> None:
    """One asks for its own view, two for tables of the same name, in different numbers of rows."""
    spark.range(3).createOrReplaceTempView("e")
    wrong: list[Any] = []

    def repeat(ask: Any, expected: int) -> None:
        for turn in range(12):
            try:
                found = ask(turn).collect()[0][0]
            except Exception as error:  # whatever it is, it is not the answer
                found = repr(error)[:200]
            if found != expected:
                wrong.append((expected, found))

    threads = [
        threading.Thread(target=repeat, args=(ask, expected))
        for ask, expected in (
            (lambda turn: spark.sql("select count(*) from e"), 3),
            (lambda turn: sql(spark, f"select count(v:n::bigint) + {turn} * 0 from e", e=one), 10),
            (lambda turn: sql(spark, "select count(v:n::bigint) from e", e=two), 20),
            (lambda turn: sql(spark, "select count(v:n::bigint) from e", e=two), 20),
        )
    ]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert not any(thread.is_alive() for thread in threads)
        assert wrong == []
        assert spark.table("e").count() == 3
    finally:
        spark.catalog.dropTempView("e")
