"""Tables under names that only one query sees."""

from __future__ import annotations

from typing import Any

import pytest

from shredlake.spark.query.views import AnalysisFailure, analysed, analysed_or_failure, catalog_of

pytestmark = pytest.mark.spark


def names(spark: Any) -> set[str]:
    return {one.name for one in spark.catalog.listTables()}


def test_a_name_means_the_frame_and_no_view_is_left(spark: Any) -> None:
    spark.sql("select 'mine' AS own").createOrReplaceTempView("e")
    before = names(spark)
    frame = analysed(spark, "select max(id) AS m from E", {"e": spark.range(5)})
    assert names(spark) == before
    assert frame.first()["m"] == 4
    assert spark.table("e").first()["own"] == "mine"
    again = analysed(spark, "with e as (select 7 AS x) select x from e", {"e": spark.range(5)})
    assert again.first()["x"] == 7, "an expression of the query comes first"


def test_one_frame_under_two_names_and_twice(spark: Any) -> None:
    frame = spark.range(2)
    text = "select count(*) AS n from a join `b c` on a.id = `b c`.id"
    for _ in range(2):
        assert analysed(spark, text, {"a": frame, "b c": frame}).first()["n"] == 2


def test_arguments(spark: Any) -> None:
    frames = {"t": spark.range(5)}
    assert (
        analysed(spark, "select count(*) AS n from t where id < :most", frames, {"most": 3}).first()["n"] == 3
    )
    assert analysed(spark, "select count(*) AS n from t where id < ?", frames, [2]).first()["n"] == 2


def test_errors_are_those_of_the_users_text(spark: Any) -> None:
    from pyspark.errors import AnalysisException, ParseException

    before = names(spark)
    with pytest.raises(ParseException) as found:
        analysed(spark, "select id id id from t", {"t": spark.range(1)})
    assert "__shredlake" not in str(found.value)
    with pytest.raises(AnalysisException, match="UNRESOLVED_COLUMN"):
        analysed(spark, "select nothing from t", {"t": spark.range(1)})
    assert names(spark) == before


def test_a_failure_can_be_a_result(spark: Any) -> None:
    failure = analysed_or_failure(spark, "select nothing from t", {"t": spark.range(1)})
    assert isinstance(failure, AnalysisFailure)
    assert "nothing" in failure.message
    found = analysed_or_failure(spark, "select id from t", {"t": spark.range(1)})
    assert not isinstance(found, AnalysisFailure)
    assert found.columns == ["id"]


def test_the_catalog_of_the_session(spark: Any) -> None:
    spark.range(1).createOrReplaceTempView("views_seen")
    assert catalog_of(spark).getRawTempView("views_seen").isDefined()
    assert not catalog_of(spark).getRawTempView("views_unseen").isDefined()
