"""The queries of `sql_cases` on which the dialects agree: `sl.sql` answers them as Spark does.

Spark runs each one twice: by itself over Variants that it parsed, and through our planner over our files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import shredlake as sl
import shredlake.spark as sls
from long_runs import some
from sql_cases import Case, Tables, cases, columns, documents, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("duckdb", reason="SQL needs DuckDB")
PySparkException = pytest.importorskip("pyspark.errors", reason="needs PySpark").PySparkException
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
def test_the_same_answer_through_our_planner(spark: SparkSession, tables: Tables, case: Case) -> None:
    assert answer(sls.sql(spark, case.spark_text, events=tables.events)) == tables.answer(case)


# The table "Differences from Spark" of docs/sql.md: the same words in both, and the two answers.
DOCUMENT = """{"text": "x", "big": 9223372036854775807, "at": "2024-01-01 00:00:00", "tags": ["p", "q"],
"none": null}"""
FAILS = "an error"
DIFFERENCES = [
    ("select v:text::int as x from t", [None], FAILS),
    ("select 5 / 2 as x from t", [2.5], [2.5]),
    ("select sum(n) as x from (select v:big::bigint n from t union all select v:big::bigint from t)",
     [2 * (2**63 - 1)], FAILS),
    ("select \"key\" as x from t", [1], ["key"]),
    ("select x from (select 1 as x from t union all select null from t) order by x", [1, None], [None, 1]),
    ("select (v:tags::array<string>)[1] as x from t", ["p"], ["q"]),
    ("select v:none is null as x from t", [False], [False]),
    ("select v:none::int as x from t", [None], [None]),
    ("select 7 // 2 as x from t", [3], FAILS),
    ("select isnan(v:none::double) as x from t", [None], [False]),
    ("select 3 < n + 1 as x from (select v:big::bigint as n from t)", [True], FAILS),
]  # fmt: skip


@pytest.fixture(scope="module")
def one_document(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("differences") / "t"
    table = sl.Table.create(place, pa.schema([("key", pa.int64()), ("v", sl.variant())]))
    table.append(pa.table({"key": [1], "v": sl.from_json(pa.array([DOCUMENT]))}))
    return str(place)


@pytest.mark.parametrize(("query", "here", "there"), DIFFERENCES, ids=lambda value: str(value)[:60])
def test_differences_from_spark(
    spark: SparkSession, one_document: str, query: str, here: list[Any], there: Any
) -> None:
    assert sl.sql(query, t=one_document).to_arrow().column("x").to_pylist() == here
    if there is FAILS:
        with pytest.raises(PySparkException):
            sls.sql(spark, query, t=one_document).collect()
    else:
        assert [row.x for row in sls.sql(spark, query, t=one_document).collect()] == there


def test_a_timestamp_is_in_utc_here_and_in_the_zone_of_the_session_on_spark(
    spark: SparkSession, one_document: str
) -> None:
    query = "select v:at::timestamp as x from t"
    midnight = datetime(2024, 1, 1, tzinfo=UTC)
    assert sl.sql(query, t=one_document).to_arrow().column("x").to_pylist() == [midnight]
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        found = sls.sql(spark, query, t=one_document).toArrow().column("x").cast(pa.timestamp("us", "UTC"))
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert found.to_pylist() == [midnight + timedelta(hours=5)]
