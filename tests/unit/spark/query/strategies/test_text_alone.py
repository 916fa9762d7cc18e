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


def test_workers_may_reduce_the_rows_of_large_tables(
    spark: Any, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Question(spark, "select max(v:a::int) AS m from t", {"t": snapshot})
    assert isinstance(TextAlone().plan(asked), Answer)
    use_workers(monkeypatch)
    assert TextAlone().plan(asked) == NotApplicable("workers may reduce the rows")
