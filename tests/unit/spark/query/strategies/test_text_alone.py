"""Queries that are planned from their text alone; of others, the reason why not."""

from __future__ import annotations

from typing import Any

import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, SHREDDED, rows_of
from shredlake.delta.log.snapshot import Snapshot
from shredlake.spark.query.strategies.question import Answer, Question
from shredlake.spark.query.strategies.text_alone import TextAlone
from shredlake.spark.query.workers.pushdown import NotApplicable
from shredlake.spark.session import ensure_supported
from spark_tables import use_workers

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", autouse=True)
def supported(spark: Any) -> None:
    """The settings that the public verbs apply before they plan."""
    ensure_supported(spark)


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    table = sl.Table.create(tmp_path_factory.mktemp("text") / "t", ID_AND_VARIANT, properties=SHREDDED)
    for n in range(2):
        table.append(rows_of([n], [{"a": n, "s": f"s{n}", "o": {"x": n}}]))
    return table.snapshot


def test_an_answer_without_an_analysis(spark: Any, snapshot: Snapshot) -> None:
    asked = Question(spark, "select t.id, v:s::string from t where v:a::bigint > 0", {"T": snapshot})
    found = TextAlone().plan(asked)
    assert isinstance(found, Answer)
    assert "analysis" not in asked.__dict__
    assert found.frame.columns == ["id", "s"]
    assert [tuple(row) for row in found.frame.collect()] == [(1, "s1")]
    assert len(found.scans["T"].files) == 1
    assert (found.facts.whole, found.facts.joins) == ("", False)


def test_joins_are_a_fact(spark: Any, snapshot: Snapshot) -> None:
    sql = "select e.v:a::int AS a from e join f on e.v:s::string = f.v:s::string where f.id = 1"
    found = TextAlone().plan(Question(spark, sql, {"e": snapshot, "f": snapshot}))
    assert isinstance(found, Answer)
    assert found.facts.joins
    assert {name: len(scan.files) for name, scan in found.scans.items()} == {"e": 2, "f": 1}
    assert [row["a"] for row in found.frame.collect()] == [1]


@pytest.mark.parametrize(
    ("sql", "tables", "args", "reason"),
    [
        ("select v:a::int from t where id = :n", ["t"], {"n": 1}, "parameters"),
        ("select to_json(v) from t", ["t"], None, "does not tell what the query needs"),
        ("select v:a::int from t", ["t", "T"], None, "differ only in case"),
        ("select v:a::int from t where id = v:a::int", ["t"], None, "what each table must give"),
        ("select v:a::int AS a, nothing from t", ["t"], None, "nothing"),
    ],
)
def test_reasons(spark: Any, snapshot: Snapshot, sql: str, tables: list[str], args: Any, reason: str) -> None:
    found = TextAlone().plan(Question(spark, sql, dict.fromkeys(tables, snapshot), args))
    assert isinstance(found, NotApplicable)
    assert reason in found.reason


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """Files whose typed columns do not hold all of `$.o`."""
    table = sl.Table.create(tmp_path_factory.mktemp("mixed") / "t", ID_AND_VARIANT, properties=SHREDDED)
    for n in range(2):
        rows = rows_of([2 * n, 2 * n + 1], [{"a": n, "o": {"x": n}}, {"a": n, "o": "text"}])
        table.append(rows, shredding={"v": "struct<a bigint, o struct<x bigint>>"})
    return table.snapshot


@pytest.mark.parametrize(
    ("sql", "rows", "files"),
    [
        ("select v:o::struct<x:int> from t where id in (0, 2) order by id", [({"x": 0},), ({"x": 1},)], [2]),
        (
            "select id, try_variant_get(v, '$.o', 'struct<x:int>') AS o from t where v:a::bigint > 0 "
            "order by id",
            [(2, {"x": 1}), (3, None)],
            [1],
        ),
        (
            "select max(try_variant_get(e.v, '$.o', 'struct<x:int>').x) AS x, count(*) as n "
            "from t e join s on e.id = s.id where s.v:a::int = 1",
            [(1, 2)],
            [2, 1],
        ),
    ],
)
def test_variants_where_columns_do_not_hold_what_is_cast(
    spark: Any, mixed: Snapshot, sql: str, rows: list[Any], files: list[int]
) -> None:
    asked = Question(spark, sql, dict.fromkeys(["t", "s"][: len(files)], mixed))
    found = TextAlone().plan(asked)
    assert isinstance(found, Answer)
    assert "analysis" not in asked.__dict__
    assert found.reads_variants
    assert [len(scan.files) for scan in found.scans.values()] == files
    assert [tuple(row.asDict(True).values()) for row in found.frame.collect()] == rows
    assert found.frame.dtypes == asked.analysis.original.dtypes


def test_maps_are_left_to_sub_variants(spark: Any, mixed: Snapshot) -> None:
    sql = "select try_variant_get(v, '$.o', 'map<string,int>') AS o from t"
    found = TextAlone().plan(Question(spark, sql, {"t": mixed}))
    assert isinstance(found, NotApplicable)
    assert "$.o" in found.reason


def test_workers_may_reduce_the_rows_of_large_tables(
    spark: Any, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Question(spark, "select max(v:a::int) AS m from t", {"t": snapshot})
    assert isinstance(TextAlone().plan(asked), Answer)
    use_workers(monkeypatch)
    assert TextAlone().plan(asked) == NotApplicable("workers may reduce the rows")
