"""The strategy that always applies: whole Variants, read by Spark from the files that the log leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, SHREDDED, rows_of
from shredlake.spark.query.strategies.question import Question
from shredlake.spark.query.strategies.spark_reading import SparkReading
from shredlake.spark.session import ensure_supported

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", autouse=True)
def supported(spark: Any) -> None:
    """The settings that the public verbs apply before they plan."""
    ensure_supported(spark)


def test_every_query_is_answered(spark: Any, tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=SHREDDED)
    for n in range(3):
        table.append(rows_of([n], [{"a": n, "o": {"x": [n]}}]))

    def ask(sql: str, args: Any = None) -> tuple[list[Any], int]:
        found = SparkReading().plan(Question(spark, sql, {"t": table.snapshot}, args))
        assert found.reads_variants
        return [tuple(row) for row in found.frame.collect()], len(found.scans["t"].files)

    assert ask("select to_json(v:o) from t where id = 1") == ([('{"x":[1]}',)], 1)
    assert ask("select to_json(v) from t where v:a::bigint >= :n order by id", {"n": 2}) == (
        [('{"a":2,"o":{"x":[2]}}',)], 1,
    )  # fmt: skip
    assert ask("select count(*) from t where upper(v:o::string) like '%2%'") == ([(1,)], 3)
    assert ask("select e.id from t e join t f on e.id = f.id + 1 where e.id = 2") == ([(2,)], 3)


def test_a_query_that_is_wrong_is_sparks_error(spark: Any, tmp_path: Path) -> None:
    from pyspark.errors import AnalysisException

    snapshot = sl.Table.create(tmp_path, ID_AND_VARIANT).snapshot
    with pytest.raises(AnalysisException, match="nothing"):
        SparkReading().plan(Question(spark, "select nothing from t", {"t": snapshot}))
