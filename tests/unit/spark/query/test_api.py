"""The public verbs that read: their arguments, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, SHREDDED, rows_of
from shredlake.errors import InvalidExpression
from shredlake.spark.query import api
from shredlake.spark.query.api import explain, planned, read, register, scan, sql
from shredlake.spark.query.strategies.answer import BY_ANALYSIS

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> sl.Table:
    """Three versions: no row, one row, two rows."""
    made = sl.Table.create(tmp_path_factory.mktemp("api") / "t", ID_AND_VARIANT, properties=SHREDDED)
    for n in (1, 2):
        made.append(rows_of([n], [{"a": n, "s": f"s{n}"}]))
    return made


def test_every_verb_reads_the_version_that_is_asked_for(spark: Any, table: sl.Table) -> None:
    assert read(spark, table.uri).count() == 2
    assert read(spark, table.uri, "id", version=1).count() == 1
    assert read(spark, sl.Table(table.uri, version=1), "id").count() == 1
    assert len(scan(spark, table.uri, "id", version=0).files) == 0
    for given, rows in ((table, 2), (sl.Table(table.uri, version=1), 1)):
        assert sql(spark, "select count(*) n from t", t=given).first() == (rows,)
    register(spark, "api_old", table.uri, version=1)
    register(spark, "api_new", table)
    assert sql(
        spark, "select (select count(*) from api_old) o, (select count(*) from api_new) n"
    ).first() == (1, 2)


def test_a_value_that_does_not_cast(spark: Any, table: sl.Table) -> None:
    asked = ["v:s::int AS s"]
    assert [row["s"] for row in read(spark, table, asked).collect()] == [None, None]
    with pytest.raises(Exception, match=r"v:s::int: a value can't be cast to int\. To get NULL for it"):
        read(spark, table, asked, strict=True).collect()
    assert read(spark, table, asked, "id > 2", strict=True).count() == 0


def test_only_queries_are_run(spark: Any, table: sl.Table, tmp_path: Path) -> None:
    for command in (
        f"create table x using parquet location '{tmp_path / 'x'}' as select 1 from t",
        "drop view t",
        "",
    ):
        for verb in (sql, explain):
            with pytest.raises(InvalidExpression, match="accepts only queries"):
                verb(spark, command, t=table)
    assert not (tmp_path / "x").exists()


def test_markers_take_arguments(spark: Any, table: sl.Table) -> None:
    text = "select v:s::string AS s from t where v:a::bigint = :a"
    assert [row["s"] for row in sql(spark, text, {"a": 2}, t=table).collect()] == ["s2"]
    assert explain(spark, text, {"a": 2}, t=table).tables["t"].files == 1
    assert sql(spark, "select ? AS x", ["it's"]).first()["x"] == "it's"


def test_explain_describes_every_table_and_strategy(spark: Any, table: sl.Table) -> None:
    text = (
        "select to_json(e.v) AS j from e join f on e.id = f.id where e.id = 1 and upper(f.v:s::string) = 'S1'"
    )
    found = explain(spark, text, e=table, f=table)
    assert {name: (one.files, one.files_total) for name, one in found.tables.items()} == {
        "e": (1, 2),
        "f": (1, 2),
    }
    assert found.reason == "the query needs a Variant as a whole"
    assert found.left_to_spark["f"] == ("(upper(v:s::string) = 'S1')",)
    assert list(found.declined) == [strategy.name for strategy in BY_ANALYSIS[:-1]]


def test_the_settings_of_a_session_come_back(
    spark: Any, table: sl.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "FEW_BYTES", 0)
    name = "spark.sql.constraintPropagation.enabled"
    before = spark.conf.get(name)
    frame = planned(spark, "select id AS a from t where v:s::string = 's1'", {"t": table}).frame
    assert spark.conf.get(name) == before
    assert "isnotnull" not in frame._jdf.queryExecution().optimizedPlan().toString().lower()
    assert [row["a"] for row in frame.collect()] == [1]
