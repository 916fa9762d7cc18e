"""The tables that the names in a query mean, and the query with one plain name for each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.errors import InvalidExpression, VersionNotFound
from shredlake.spark.query.tables.known import catalog_location, named_tables

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of three versions."""
    place = tmp_path_factory.mktemp("known") / "my table"
    table = sl.Table.create(place, pa.schema([("id", pa.int64())]))
    for number in range(2):
        table.append(pa.table({"id": [number]}))
    return place


def versions(spark: Any, sql: str, **given: Any) -> tuple[str, dict[str, int]]:
    found = named_tables(spark, sql, given, None)
    return found.sql, {name: snapshot.version for name, snapshot in found.snapshots.items()}


def test_given_tables_keep_their_names(spark: Any, place: Path) -> None:
    sql = "select * from E, f where e.id = f.id"
    assert versions(spark, sql, e=place, f=sl.Table(place, version=1)) == (sql, {"e": 2, "f": 1})
    assert not named_tables(spark, sql, {"e": place, "f": place}, None).names_views


def test_names_of_several_parts_become_one(spark: Any, place: Path) -> None:
    text, found = versions(spark, f"select t.id from delta.`{place}` AS t join SHREDLAKE.`{place}` s on true")
    assert set(found.values()) == {2}
    assert [f"`{name}`" in text for name in found] == [True] * len(found)
    assert "delta." not in text.replace(str(place), "").replace("`delta.", "`")


def test_versions_and_times(spark: Any, place: Path) -> None:
    text, found = versions(
        spark,
        "select * from e version as of 1 join e on true join e timestamp as of current_timestamp() n",
        e=place,
    )
    assert sorted(found.values()) == [1, 2, 2]
    assert found["e"] == 2
    assert "version as of" not in text
    assert "timestamp as of" not in text
    with pytest.raises(InvalidExpression, match="a version is a whole number"):
        versions(spark, "select * from e version as of '2026-01-01'", e=place)
    with pytest.raises(InvalidExpression, match="is NULL, not a point in time"):
        versions(spark, "select * from e timestamp as of null", e=place)
    with pytest.raises(VersionNotFound):
        versions(spark, "select * from e version as of 9", e=place)


def test_a_new_name_is_not_one_that_is_given(spark: Any, place: Path) -> None:
    _, found = versions(spark, "select * from e version as of 1, `e@v1`", **{"e": place, "e@v1": place})
    assert sorted(found.values()) == [1, 2, 2]


def test_other_names_are_sparks(spark: Any, place: Path) -> None:
    for name in ("nowhere", "some.where", "parquet.`/a/b`", "delta.name", "a.b.c"):
        found = named_tables(spark, f"select * from e join {name} on true", {"e": place}, None)
        assert (list(found.snapshots), found.names_views) == (["e"], True)
    own = named_tables(spark, "with e as (select 1) select * from e", {}, None)
    assert (own.snapshots, own.names_views) == ({}, False)


def test_tables_of_the_catalog_in_other_formats(spark: Any, tmp_path: Path) -> None:
    spark.sql(f"create table known_parquet (id bigint) using parquet location '{tmp_path / 'p'}'")
    try:
        assert catalog_location(spark, ("known_parquet",)) is None
        assert catalog_location(spark, ("spark_catalog", "default", "known_parquet")) is None
        assert catalog_location(spark, ("other", "default", "known_parquet")) is None
        assert catalog_location(spark, ("nothing",)) is None
    finally:
        spark.sql("drop table known_parquet")
