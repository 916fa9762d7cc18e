"""`spark.read.format("shredlake")`: the same rows as `sls.read`, from as few files, with Spark's filters."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from datasource_tables import FILES, PATHS, ROWS, SCHEMA, four_days
from shredlake import spark as sls
from shredlake.spark.arrow import collected

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    return four_days(tmp_path_factory.mktemp("source") / "t")


def source(spark: Any, table: str, **options: Any) -> Any:
    return spark.read.format("shredlake").options(**options).load(table)


def same(frame: Any, other: Any) -> bool:
    """Whether two frames have the same rows, whatever their order."""
    one, two = (sorted(map(repr, collected(found).to_pylist())) for found in (frame, other))
    return one == two and bool(one)


def test_whole_rows(spark: Any, table: str) -> None:
    frame = source(spark, table)
    assert frame.schema["v"].dataType.simpleString() == "variant"
    assert frame.columns == SCHEMA.names
    assert same(frame, sls.read(spark, table))


FILTERS = [
    "u = 77",
    "u between 60 and 62",
    "u >= 198 and u < 500",
    "u in (1, 2, null)",
    "not (u in (1, 2)) and u < 5",
    "u <=> 7",
    "u <=> null",
    "u is null",
    "k like 'k1%' and u < 20",
    "k like '%2%' and u < 20",
    "endswith(k, '0%') and u < 20",
    "w > 190.5",
    "f = float('nan')",
    "f > 95",
    "f <> 3 and u < 10",
    "d = 12.25",
    "d <= 1",
    "day = date'2026-01-03' and u % 20 = 0",
    "at > timestamp'2026-01-04 01:00:00Z' and u < 160",
    "s.x = 3 and u < 20",
    "s.`t.u` = 'x' and u < 3",
    "u < 5 or u > 195",
    "u + 1 = 8",
]


def test_filters_keep_the_rows_that_spark_keeps(spark: Any, table: str) -> None:
    # Not cached: Spark's cache prunes NaN wrongly.
    unfiltered = sls.read(spark, table, PATHS).localCheckpoint()
    frame = source(spark, table, columns=PATHS)
    for text in FILTERS:
        assert same(frame.where(text), unfiltered.where(text)), text


def test_a_filter_reaches_the_files_if_asked_for(spark: Any, table: str) -> None:
    def loaded(**more: Any) -> Any:
        return source(spark, table, columns="v:u::bigint AS u, id", partitionBytes="1", **more)

    assert loaded().where("u = 77").rdd.getNumPartitions() == FILES
    assert loaded(pushFilters=True).where("u = 77").rdd.getNumPartitions() == 1
    assert loaded(pushFilters=True).where("u = 77").count() == 1


def test_one_frame_answers_many_queries(spark: Any, table: str) -> None:
    """Spark keeps the plan of the first query, so that one may not be restricted."""
    frame = source(spark, table, columns="v:u::bigint AS u, id")
    assert [frame.where("id < 5").count(), frame.count(), frame.where("id < 2 or id > 197").count()] == [
        5,
        FILES * ROWS,
        4,
    ]


def test_why_filters_are_not_pushed_by_default(spark: Any, table: str) -> None:
    """Spark answers later uses of a frame from the plan of the last filters. Once it does not, push them."""
    frame = source(spark, table, columns="v:u::bigint AS u, id", pushFilters=True)
    assert frame.where("u < 5").count() == 5
    assert frame.count() < FILES * ROWS
    twice = source(spark, table, columns="v:u::bigint AS u, id", pushFilters=True)
    assert twice.where("u < 5").union(twice.where("u > 194")).count() < 10


def test_versions_conditions_and_views(spark: Any, table: str) -> None:
    assert source(spark, table, version=2).count() == 2 * ROWS
    assert source(spark, table, timestamp="2100-01-01").count() == FILES * ROWS
    assert source(spark, table, columns="id", where="v:u::bigint < 7 and id > 3").count() == 3
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW through_source USING shredlake "
        f"OPTIONS (path '{table}', columns 'v:u::bigint AS u, day')"
    )
    [[count, most]] = spark.sql("select count(*), max(u) from through_source where u < 50").collect()
    assert (count, most) == (ROWS - 1, ROWS - 2)
    spark.sql("DROP VIEW through_source")


def test_strict_casts_and_time_zones(spark: Any, tmp_path: Path) -> None:
    made = sl.Table.create(tmp_path / "t", pa.schema([("v", sl.variant())]))
    made.append(pa.table({"v": sl.from_json(pa.array(['{"t": "2026-01-01 00:00:00"}']))}))
    frame = source(spark, str(tmp_path / "t"), columns="v:t::timestamp AS t", timeZone="Asia/Tokyo")
    assert frame.selectExpr("unix_seconds(t)").first()[0] == 1767193200
    with pytest.raises(Exception, match="CastError"):
        source(spark, str(tmp_path / "t"), columns="v:t::int AS t", strict="true").collect()


def test_our_errors_come_through(spark: Any, table: str) -> None:
    with pytest.raises(Exception, match=r"shredlake\.errors") as error:
        source(spark, table, colums="id")
    assert "did you mean 'columns'?" in str(error.value)


def test_spark_finds_the_source_by_itself(spark: Any, table: str) -> None:
    """No test here registers it: Spark looks for modules named pyspark_*."""
    assert spark.newSession().read.format("shredlake").load(table).count() == FILES * ROWS
    assert sls.register_source(spark) is spark
    assert source(spark, table, columns="id").count() == FILES * ROWS


def test_the_page_runs(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example of docs/spark-source.md, in one folder."""
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "spark-source.md").read_text()
    names: dict[str, Any] = {}
    for source_code in re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        text = source_code.replace('"lake/', f'"{tmp_path}/lake/').replace("'lake/", f"'{tmp_path}/lake/")
        exec(compile(text, "spark-source.md", "exec"), names)
    assert sl.Table(tmp_path / "lake" / "copy").scan().count() == 3
