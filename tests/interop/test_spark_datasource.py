"""`spark.read.format("shredlake")`: the same rows as `sls.read`, from as few files, with Spark's filters."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake import spark as sls
from shredlake.delta.log.snapshot import load_snapshot
from shredlake.delta.read.scan import TableScan
from shredlake.delta.storage.storage import Storage
from shredlake.spark.arrow import collected
from shredlake.spark.datasource.opened import spark_schema
from shredlake.spark.datasource.options import READ, SourceOptions
from shredlake.spark.datasource.read import FilteringReader, scan_of

pytestmark = pytest.mark.spark

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("f", pa.float32()),
        ("d", pa.decimal128(10, 2)),
        ("tags", pa.list_(pa.string())),
        ("s", pa.struct([("x", pa.int32()), ("t.u", pa.string())])),
        ("v", sl.variant()),
    ]
)
FILES, ROWS = 4, 50
PATHS = "v:u::bigint AS u, v:k::string AS k, v:w::double AS w, day, at, f, d, s, id"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Four days of rows. Numbers grow, `w` is NaN once a day, and the last row of a day has no document."""
    place = tmp_path_factory.mktemp("source") / "t"
    made = sl.Table.create(
        place, SCHEMA, partition_by=["day"], properties={"delta.enableVariantShredding": "true"}
    )
    for number in range(FILES):
        ids = range(number * ROWS, (number + 1) * ROWS)
        texts = [f'{{"u": {n}, "k": "k{n % 3}%", "w": {n}.5}}' for n in ids]
        rows = {
            "id": list(ids),
            "day": [date(2026, 1, 1 + number)] * ROWS,
            "at": [datetime(2026, 1, 1 + number, n % 24, tzinfo=UTC) for n in ids],
            "f": [float("nan") if n % ROWS == 0 else n / 2 for n in ids],
            "d": [Decimal(n) / 4 for n in ids],
            "tags": [["a", None]] * ROWS,
            "s": [{"x": n % 5, "t.u": "x"} for n in ids],
            "v": sl.from_json(pa.array([*texts[:-1], None])),
        }
        made.append(pa.table(rows, schema=SCHEMA))
    return str(place)


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
    unfiltered = sls.read(spark, table, PATHS).cache()
    frame = source(spark, table, columns=PATHS)
    for text in FILTERS:
        assert same(frame.where(text), unfiltered.where(text)), text
    unfiltered.unpersist()


def reader(table: str, **options: str) -> FilteringReader:
    given = SourceOptions.of({"path": table, "columns": PATHS, **options}, READ)
    snapshot = load_snapshot(Storage(Path(table).as_uri()))
    return FilteringReader(given, spark_schema(scan_of(snapshot, given).query, snapshot))


def test_pushed_filters_prune_as_where_does(table: str) -> None:
    from pyspark.sql.datasource import EqualTo, GreaterThan, In, IsNotNull, LessThan, Not, StringContains

    pushed = [
        ([IsNotNull(("u",)), EqualTo(("u",), 77)], "v:u::bigint = 77"),
        ([GreaterThan(("w",), 170.0), LessThan(("u",), 190)], "v:w::double > 170 and v:u::bigint < 190"),
        ([EqualTo(("day",), date(2026, 1, 2))], "day = date'2026-01-02'"),
        ([In(("u",), (1, 199))], "v:u::bigint in (1, 199)"),
        (
            [GreaterThan(("at",), datetime(2026, 1, 4, 20, tzinfo=UTC))],
            "at > timestamp'2026-01-04 20:00:00Z'",
        ),
        ([EqualTo(("d",), Decimal("12.25"))], "d = 12.25"),
        ([Not(GreaterThan(("id",), 20))], "not id > 20"),
        ([EqualTo(("s", "x"), 2), LessThan(("id",), 60)], "s.x = 2 and id < 60"),
    ]
    snapshot = load_snapshot(Storage(Path(table).as_uri()))
    for filters, where in pushed:
        found = reader(table)
        assert list(found.pushFilters(list(filters))) == [], where
        assert found._scan is not None
        theirs = found._scan.explain()
        ours = TableScan(snapshot, PATHS, where).explain()
        assert (theirs.rows, theirs.files_read) == (ours.rows, ours.files_read), where
        assert theirs.bytes_read <= 1.1 * ours.bytes_read, where
    some = reader(table)
    kept = [EqualTo(("f",), float("nan")), StringContains(("u",), "x"), EqualTo(("nope",), 1)]
    assert list(some.pushFilters([*kept, EqualTo(("u",), 5)])) == kept
    assert sum(len(part.adds) for part in some.partitions()) == 1


def test_a_filter_reaches_the_files(spark: Any, table: str) -> None:
    frame = source(spark, table, columns="v:u::bigint AS u, id", partitionBytes="1")
    assert (frame.rdd.getNumPartitions(), frame.where("u = 77").rdd.getNumPartitions()) == (FILES, 1)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "false")
    try:
        assert frame.where("u = 77").count() == 1  # Spark filters, and nothing is pruned
    finally:
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")


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
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert frame.selectExpr("cast(t AS string)").first()[0] == "2025-12-31 15:00:00"
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
