"""The queries of `sql_cases` on which the dialects agree: `sl.sql` answers them as Spark does.

Spark runs each one twice: by itself over Variants that it parsed, and through our planner over our files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

import shredlake.spark as sls
from long_runs import some
from sql_cases import Case, Tables, cases, columns, documents, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("duckdb", reason="SQL needs DuckDB")
pytestmark = pytest.mark.spark

SHARED = [case for case in cases() if case.spark]
ROWS = 240
NAMES = ("events", "users", "memory")


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return Tables(tmp_path_factory.mktemp("dialects"), ROWS)


@pytest.fixture(scope="module")
def parsed(spark: SparkSession) -> Iterator[SparkSession]:
    """A session in which Spark has parsed the documents of the three tables itself."""
    events, users = documents(ROWS, 1), documents(40, 2)
    texts = {"events": events, "users": users, "memory": users[:20]}
    for name, rows in texts.items():
        plain = columns(rows)
        data = [
            (key, part, text)
            for key, part, text in zip(plain["key"].to_pylist(), plain["part"], rows, strict=True)
            if not (name == "events" and key == 7)
        ]
        frame = spark.createDataFrame(data, "key bigint, part string, text string")
        frame.selectExpr("key", "part", "parse_json(text) AS v").cache().createOrReplaceTempView(name)
    yield spark
    for name in NAMES:
        spark.table(name).unpersist()
        spark.catalog.dropTempView(name)


@pytest.fixture
def without_ansi(spark: SparkSession) -> Iterator[SparkSession]:
    """Spark's casts give null for a value that does not cast, as those of `sl.sql` always do."""
    spark.conf.set("spark.sql.ansi.enabled", "false")
    yield spark
    spark.conf.unset("spark.sql.ansi.enabled")


def answer(frame: Any) -> list[tuple[Any, ...]]:
    return rows_of(frame.toArrow())


def test_most_queries_are_shared() -> None:
    assert len(SHARED) >= 250


@pytest.mark.parametrize("case", some(SHARED, every=12), ids=lambda case: case.template[:90])
def test_the_same_answer_on_spark(parsed: SparkSession, tables: Tables, case: Case) -> None:
    expected = tables.answer(case)
    assert answer(parsed.sql(case.spark_text)) == expected


@pytest.mark.parametrize(
    "case",
    some([case for case in SHARED if not re.search(r"\b(users|memory)\b", case.template)], every=12),
    ids=lambda case: case.template[:90],
)
def test_the_same_words_through_our_planner(without_ansi: SparkSession, tables: Tables, case: Case) -> None:
    assert answer(sls.sql(without_ansi, case.ours, events=tables.events)) == tables.answer(case)
