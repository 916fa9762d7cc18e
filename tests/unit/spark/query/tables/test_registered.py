"""Registered tables: views that follow their tables, as long as the user has not replaced them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, rows_of
from shredlake.errors import InvalidExpression
from shredlake.spark.query.tables.registered import register_view, registered_view, renewed, views_to_inline

pytestmark = pytest.mark.spark


@pytest.fixture
def table(tmp_path: Path) -> sl.Table:
    made = sl.Table.create(tmp_path, ID_AND_VARIANT)
    made.append(rows_of([1], [{"a": 1}]))
    return made


def test_a_view_follows_its_table(spark: Any, table: sl.Table) -> None:
    register_view(spark, "`Reg follows`", table.snapshot, follows=True)
    assert spark.table("`reg follows`").count() == 1
    table.append(rows_of([2], [{"a": 2}]))
    assert spark.table("`reg follows`").count() == 1, "Spark alone does not renew it"
    found = renewed(spark, "REG follows")
    assert found is not None
    assert found.version == 2
    assert spark.table("`reg follows`").count() == 2


def test_a_pinned_view_stays(spark: Any, table: sl.Table) -> None:
    register_view(spark, "reg_pinned", table.snapshot, follows=False)
    table.append(rows_of([2], [{"a": 2}]))
    found = renewed(spark, "reg_pinned")
    assert found is not None
    assert found.version == 1
    assert spark.table("reg_pinned").count() == 1


def test_a_view_that_the_user_replaced_is_not_ours(spark: Any, table: sl.Table) -> None:
    assert registered_view(spark, "reg_replaced") is None
    register_view(spark, "reg_replaced", table.snapshot, follows=True)
    assert registered_view(spark, "reg_replaced") is not None
    spark.range(5).createOrReplaceTempView("reg_replaced")
    assert registered_view(spark, "reg_replaced") is None
    assert renewed(spark, "reg_replaced") is None
    assert spark.table("reg_replaced").count() == 5
    spark.catalog.dropTempView("reg_replaced")
    assert renewed(spark, "reg_replaced") is None


@pytest.mark.parametrize("name", ["a.b", "two words", ""])
def test_names_that_no_view_can_have(spark: Any, table: sl.Table, name: str) -> None:
    with pytest.raises(InvalidExpression, match="can't be the name of a view"):
        register_view(spark, name, table.snapshot, follows=True)


def test_views_over_registered_tables_are_inlined(spark: Any, table: sl.Table) -> None:
    register_view(spark, "reg_base", table.snapshot, follows=True)
    text = "select id AS number, v from reg_base where id > 0"
    spark.sql(f"create or replace temporary view reg_over (n, w) as {text}")
    query = spark.sql("select n from reg_over")
    tables, views = views_to_inline(query, {})
    assert {name: one.version for name, one in tables.items()} == {"reg_base": 1}
    assert views == {"reg_over": (["n", "w"], text)}
    # A table of the same name that is given with the query is another one: the text would read that.
    other = sl.Table.create(Path(table.uri.removeprefix("file://")) / "other", ID_AND_VARIANT)
    assert views_to_inline(query, {"reg_base": other.snapshot}) == ({}, {})
    assert views_to_inline(spark.sql("select 1"), {}) == ({}, {})


def test_views_made_under_other_settings_are_not_inlined(spark: Any, table: sl.Table) -> None:
    register_view(spark, "reg_set", table.snapshot, follows=True)
    spark.sql("create or replace temporary view reg_set_over as select id from reg_set")
    query = spark.sql("select id from reg_set_over")
    assert views_to_inline(query, {})[1]
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "false" if before == "true" else "true")
    try:
        assert views_to_inline(query, {}) == ({}, {})
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)
