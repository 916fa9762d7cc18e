"""Errors of `sql`, `read`, `register` and `optimize`, and queries that need no column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.spark import optimize
from shredlake.spark.query.api import read, register, sql
from spark_versions import skip_before

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", params=["none", "id"])
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    place: Path = tmp_path_factory.mktemp("errors") / request.param
    properties = {"delta.enableVariantShredding": "true", "delta.columnMapping.mode": request.param}
    made = sl.Table.create(place, pa.schema([("v", sl.variant())]), properties=properties)
    rows = pa.table({"v": sl.from_json(pa.array(['{"s": "x"}', '{"s": "10:11:12"}']))})
    made.append(rows, shredding={"v": "struct<s string>"})
    return str(place)


def test_rows_without_columns(spark: Any, table: str) -> None:
    assert len(sql(spark, "select rand() from t", t=table).collect()) == 2
    assert len(sql(spark, "select 1 from t tablesample (2 rows)", t=table).collect()) == 2
    assert sql(spark, "select count(*) from t tablesample (100 percent)", t=table).collect()[0][0] == 2


def test_a_type_that_only_some_sparks_have(spark: Any, table: str) -> None:
    skip_before("4.3", "it has no values of type TIME")
    frame = sql(spark, "select try_variant_get(v, '$.s', 'time') t from t", t=table)
    assert sorted(str(row["t"]) for row in frame.collect()) == ["10:11:12", "None"]


def test_a_value_that_does_not_cast_says_what_to_use(spark: Any, table: str) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(
        PySparkException, match=r"v:s::double: .* try_variant_get\(v, '\$.s', 'double'\).* read"
    ):
        sql(spark, "select v:s::double from t", t=table).collect()
    assert read(spark, table, ["v:s::double AS s"]).collect()[0]["s"] is None


def test_mistakes(spark: Any, table: str) -> None:
    from pyspark.errors import ParseException

    with pytest.raises(ParseException, match=r"line 1, pos 13") as found:
        sql(spark, "select 1 frm t where", t=table)
    assert "__shredlake" not in str(found.value)
    with pytest.raises(sl.InvalidExpression, match=r"'a\.b c' can't be the name of a view"):
        register(spark, "a.b c", table)
    with pytest.raises(sl.ShredlakeError, match="`nope` cannot be resolved") as failed:
        optimize(spark, table, sort_by=["nope"])
    assert "\n" not in str(failed.value)
