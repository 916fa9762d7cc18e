"""Readers in this process, without Spark: what is pruned, what is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from datasource_tables import FILES, PATHS, four_days
from shredlake.delta.log.snapshot import load_snapshot
from shredlake.delta.read.scan import TableScan
from shredlake.delta.storage.storage import Storage
from shredlake.errors import ShredlakeError

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'shredlake[spark]'")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    return four_days(tmp_path_factory.mktemp("reader") / "t")


def reader(table: str, **options: str) -> Any:
    from shredlake.spark.datasource.changes import query_of
    from shredlake.spark.datasource.opened import opened
    from shredlake.spark.datasource.options import READ, SourceOptions
    from shredlake.spark.datasource.read import FilteringReader

    given = SourceOptions.of({"path": table, "columns": PATHS, **options}, READ)
    return FilteringReader(given, query_of(opened(given), given)[1])


def test_pushed_filters_prune_as_where_does(table: str) -> None:
    from pyspark.sql.datasource import (
        EqualTo,
        Filter,
        GreaterThan,
        In,
        IsNotNull,
        LessThan,
        Not,
        StringContains,
    )

    pushed: list[tuple[list[Filter], str]] = [
        ([IsNotNull(("u",)), EqualTo(("u",), 77)], "v:u::bigint = 77"),
        ([GreaterThan(("w",), 170.0), LessThan(("u",), 190)], "v:w::double > 170 and v:u::bigint < 190"),
        ([EqualTo(("day",), date(2026, 1, 2))], "day = date'2026-01-02'"),
        ([In(("u",), (1, 199))], "v:u::bigint in (1, 199)"),
        ([GreaterThan(("at",), datetime(2026, 1, 4, tzinfo=UTC))], "at > timestamp'2026-01-04 00:00:00Z'"),
        ([EqualTo(("d",), Decimal("12.25"))], "d = 12.25"),
        ([Not(GreaterThan(("id",), 20))], "not id > 20"),
        ([EqualTo(("s", "x"), 2), LessThan(("id",), 60)], "s.x = 2 and id < 60"),
    ]
    snapshot = load_snapshot(Storage(Path(table).as_uri()))
    for filters, where in pushed:
        found = reader(table)
        assert list(found.pushFilters(list(filters))) == [], where
        theirs = found._scan.explain()
        ours = TableScan(snapshot, PATHS, where).explain()
        assert (theirs.rows, theirs.files_read) == (ours.rows, ours.files_read), where
        assert theirs.bytes_read <= 1.1 * ours.bytes_read, where
    some = reader(table)
    kept = [EqualTo(("f",), float("nan")), StringContains(("u",), "x"), EqualTo(("nope",), 1)]
    assert list(some.pushFilters([*kept, EqualTo(("u",), 5)])) == kept
    assert sum(len(part.adds) for part in some.partitions()) == 1


def test_partitions_by_bytes(table: str) -> None:
    assert len(reader(table, partitionbytes="64m").partitions()) == 1
    assert len(reader(table, partitionbytes="1").partitions()) == FILES
    assert [len(part.adds) for part in reader(table, where="id < 0").partitions()] == [0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": "nope"}, "has no column 'nope'"),
        ({"columns": "v:a::uuid"}, "Spark has no column type uuid"),
        ({"columns": "id, v:a::int AS id"}, "two columns are named 'id'"),
        ({"version": "99"}, "has no version 99; the latest is 4"),
        ({"version": "1", "timestamp": "2026-01-01"}, "not both"),
        ({"where": "v:u::bigint >"}, "an operand is missing"),
        ({"where": "id"}, "not a condition"),
        ({"timezone": "Mars/Olympus"}, "no time zone 'Mars/Olympus'"),
        ({"path": "/nowhere/at/all"}, "is not a Delta table"),
    ],
)
def test_mistakes_are_explained(table: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(ShredlakeError) as error:
        reader(table, **options)
    assert message in str(error.value)


def test_a_schema_that_is_not_the_tables(table: str) -> None:
    from pyspark.sql.types import LongType, StructField, StructType

    from shredlake.spark.datasource.options import READ, SourceOptions
    from shredlake.spark.datasource.read import TableReader

    with pytest.raises(ShredlakeError, match=r"without \.schema\(\)"):
        TableReader(SourceOptions.of({"path": table}, READ), StructType([StructField("a", LongType())]))
