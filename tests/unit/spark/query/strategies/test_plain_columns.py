"""Paths as plain columns: Spark's answer, or the reason why the query needs whole Variants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, SHREDDED, rows_of
from shredlake.spark.query.strategies.plain_columns import PlainColumns
from shredlake.spark.query.strategies.question import Answer, Question
from shredlake.spark.query.strategies.spark_reading import SparkReading
from shredlake.spark.query.workers.pushdown import NotApplicable
from shredlake.spark.session import ensure_supported

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", autouse=True)
def supported(spark: Any) -> None:
    """The settings that the public verbs apply before they plan."""
    ensure_supported(spark)


@pytest.fixture(scope="module")
def question(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Question]:
    table = sl.Table.create(tmp_path_factory.mktemp("plain") / "t", ID_AND_VARIANT, properties=SHREDDED)
    for n in range(2):
        table.append(rows_of([n], [{"a": n, "s": f"s{n}", "z": n}]))
    return lambda sql, args=None: Question(spark, sql, {"t": table.snapshot}, args)


@pytest.mark.parametrize(
    "sql",
    [
        "select v:a::int, v:s::string || 'x' AS y from t where v:a::bigint >= 1",
        "select x.w:a::int AS a from (select v AS w from t) x order by a",
        "select v:a::int AS a from t union all select v:z::int from t order by a",
        "select id from t where v:a is not null order by id",
        "select id from t where (v:a::int, id) in (select 1, 1)",
        "with c as (select v:s::string AS s from t) select count(*), max(s) from c",
    ],
)
def test_answers_are_those_of_spark(question: Callable[..., Question], sql: str) -> None:
    found, expected = PlainColumns().plan(question(sql)), SparkReading().plan(question(sql))
    assert isinstance(found, Answer), found
    assert not found.reads_variants
    assert expected.reads_variants
    assert found.frame.columns == expected.frame.columns
    assert found.frame.collect() == expected.frame.collect()
    assert [str(item.dataType) for item in found.frame.schema] == [
        str(item.dataType) for item in expected.frame.schema
    ]


def test_parameters_and_pruned_files(question: Callable[..., Question]) -> None:
    asked = question("select v:s::string AS s from t where v:a::bigint = :n", {"n": 1})
    for strategy in (PlainColumns(), SparkReading()):
        found = strategy.plan(asked)
        assert isinstance(found, Answer)
        assert [row["s"] for row in found.frame.collect()] == ["s1"]
        assert len(found.scans["t"].files) == 1


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("select to_json(v) from t where v:a::int > 0", "a Variant as a whole"),
        ("select v, v:a::int from t", "gives a Variant"),
        ("select id from t", "reads no path with a type"),
        ("from t |> select v:a::int", "the names that Spark gives"),
        ("select to_json(x) from (select (v:a::int, id) AS x from t)", "fields of a struct after paths"),
        (
            "select to_json(x) from (select case when id > 0 then (v:a::int, id) end AS x from t)",
            "after paths",
        ),
        ("select x.col1 from (select (v:a::int, id) AS x from t)", ""),
    ],
)
def test_reasons(question: Callable[..., Question], sql: str, reason: str) -> None:
    found = PlainColumns().plan(question(sql))
    assert isinstance(found, NotApplicable)
    assert reason in found.reason
