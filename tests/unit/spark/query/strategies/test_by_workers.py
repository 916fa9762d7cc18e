"""Workers reduce the rows of one table, where that is sure to give Spark's answer."""

from __future__ import annotations

from typing import Any

import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, SHREDDED, rows_of
from shredlake.delta.log.snapshot import Snapshot
from shredlake.spark.query.strategies.by_workers import ByWorkers
from shredlake.spark.query.strategies.question import Answer, Question
from shredlake.spark.query.strategies.spark_reading import SparkReading
from shredlake.spark.query.workers.aggregate import aggregated
from shredlake.spark.query.workers.pushdown import NotApplicable
from shredlake.spark.query.workers.top_n import top_n
from shredlake.spark.session import ensure_supported
from spark_tables import use_workers

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", autouse=True)
def supported(spark: Any) -> None:
    """The settings that the public verbs apply before they plan."""
    ensure_supported(spark)


GROUPS, TOP = ByWorkers("groups", "grouped", aggregated), ByWorkers("top", "cut", top_n)


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    table = sl.Table.create(tmp_path_factory.mktemp("workers") / "t", ID_AND_VARIANT, properties=SHREDDED)
    for start in (0, 5):
        ids = range(start, start + 5)
        table.append(rows_of(ids, [{"a": n % 4, "s": f"s{n % 2}"} for n in ids]))
    return table.snapshot


@pytest.mark.parametrize(
    ("strategy", "sql"),
    [
        (GROUPS, "select v:s::string AS s, count(*) n, max(v:a::bigint) m from t group by 1 order by 1"),
        (GROUPS, "select count(distinct v:a::bigint) from t where id > 3"),
        (TOP, "select id, v:a::bigint AS a from t where id <> 7 order by a desc, id limit 3"),
    ],
)
def test_answers_are_those_of_spark(
    spark: Any, snapshot: Snapshot, strategy: ByWorkers, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_workers(monkeypatch)
    question = Question(spark, sql, {"t": snapshot})
    found, expected = strategy.plan(question), SparkReading().plan(question)
    assert isinstance(found, Answer), found
    assert found.by_workers == strategy.verb
    assert "MapInArrow" in found.frame._jdf.queryExecution().optimizedPlan().toString()
    assert found.frame.columns == expected.frame.columns
    assert [one.dataType for one in found.frame.schema] == [one.dataType for one in expected.frame.schema]
    assert found.frame.collect() == expected.frame.collect()


@pytest.mark.parametrize(
    ("sql", "strategy", "reason"),
    [
        ("select max(to_json(v)) from t", GROUPS, "a Variant as a whole"),
        ("select count(v) from t", GROUPS, "asks whether a Variant is NULL"),
        ("select count(*) from t e join t f on e.id = f.id", GROUPS, "exactly one table"),
        ("select max(v:a::int) over () from t", GROUPS, "not a single aggregate"),
        ("select try_sum(v:a::bigint) from t", GROUPS, "try_sum"),
        ("select max(id) from t where id in (select 1)", GROUPS, "more than plain filters"),
        ("select sum(v:a::double) from t", GROUPS, "exactly what the query asks"),
        ("select v:a::int AS a from t order by a", TOP, "not ORDER BY … LIMIT"),
        ("select v:a::int AS a from t order by a limit 5000", TOP, "first 1 to 1000"),
        ("select v:a::int AS a from t where v:s::string = 's1' order by a limit 5", TOP, "single values"),
    ],
)
def test_reasons(
    spark: Any,
    snapshot: Snapshot,
    sql: str,
    strategy: ByWorkers,
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_workers(monkeypatch)
    found = strategy.plan(Question(spark, sql, {"t": snapshot}))
    assert isinstance(found, NotApplicable)
    assert reason in found.reason


def test_small_tables_are_not_worth_it(spark: Any, snapshot: Snapshot) -> None:
    found = GROUPS.plan(Question(spark, "select max(v:a::bigint) from t", {"t": snapshot}))
    assert isinstance(found, NotApplicable)
    assert "too few" in found.reason
