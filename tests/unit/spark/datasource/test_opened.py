"""The table of a read, and rows in Spark's form."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.errors import InvalidExpression, InvalidSchema, PipelineError, ShredlakeError, VersionNotFound
from spark_frames import schema_of

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'shredlake[spark]'")

from pyspark.sql.types import StructType

from shredlake.spark.datasource.changes import query_of
from shredlake.spark.datasource.opened import (
    arrow_schema_of,
    cast_options,
    check_has_columns,
    check_schema,
    for_spark,
    opened,
    spark_schema,
)
from shredlake.spark.datasource.options import READ, SourceOptions

NIGHT = 1_767_225_600
"""2026-01-01 00:00:00 UTC."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Versions 0 to 2, one minute apart."""
    place = tmp_path_factory.mktemp("opened") / "t"
    schema = pa.schema([("id", pa.int64()), ("s", pa.struct([("k", pa.string())])), ("v", sl.variant())])
    table = sl.Table.create(place, schema)
    for number in (1, 2):
        table.append([{"id": number, "s": {"k": "a"}, "v": {"n": number}}])
    for version in range(3):
        os.utime(place / "_delta_log" / f"{version:020}.json", (NIGHT + 60 * version,) * 2)
    return place


def options(place: Path, **given: str) -> SourceOptions:
    return SourceOptions.of({"path": str(place), **{k.lower(): v for k, v in given.items()}}, READ)


@pytest.mark.parametrize(
    ("given", "version"),
    [
        ({}, 2),
        ({"version": "0"}, 0),
        ({"timestamp": "2026-01-01 00:01:00"}, 1),
        ({"timestamp": "2026-01-01 00:01:59"}, 1),
    ],
)
def test_versions(place: Path, given: dict[str, str], version: int) -> None:
    assert opened(options(place, **given)).version == version


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"version": "1", "timestamp": "2026-01-01"}, PipelineError, "not both"),
        ({"version": "7"}, VersionNotFound, "7"),
        ({"timestamp": "2025-12-31"}, VersionNotFound, "2025-12-31"),
    ],
)
def test_versions_that_are_not_there(
    place: Path, given: dict[str, str], error: type[ShredlakeError], message: str
) -> None:
    with pytest.raises(error, match=message):
        opened(options(place, **given))


def test_casts(place: Path) -> None:
    found = cast_options(options(place, strict="true", timeZone="Asia/Tokyo"))
    assert (found.on_error, str(found.timezone)) == ("raise", "Asia/Tokyo")
    assert cast_options(options(place)).on_error == "null"
    with pytest.raises(ShredlakeError, match="no time zone 'Mars'"):
        cast_options(options(place, timeZone="Mars"))


def read_schema(place: Path, **given: str) -> StructType:
    return query_of(opened(options(place, **given)), options(place, **given))[1]


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        (None, "struct<id:bigint,s:struct<k:string>,v:variant>"),
        ("v:n::int AS m, s.k, v:n", "struct<m:int,k:string,n:variant>"),
        ("v:a::decimal(9,2) AS d, id + 1 AS more", "struct<d:decimal(9,2),more:bigint>"),
    ],
)
def test_types(place: Path, columns: str | None, text: str) -> None:
    found = read_schema(place) if columns is None else read_schema(place, columns=columns)
    assert found.simpleString() == text
    assert all(field.nullable for field in found.fields)


def test_names_that_differ_in_case_are_one_name(place: Path) -> None:
    with pytest.raises(InvalidExpression, match="two columns are named 'id'"):
        read_schema(place, columns="id, v:a::int AS ID")


def test_another_schema_is_refused(place: Path) -> None:
    own = read_schema(place)
    check_schema(own, own)
    for other in (
        "id bigint",
        "id bigint, s struct<k:string>, v string",
        "ID bigint, s struct<k:string>, v variant",
    ):
        with pytest.raises(InvalidSchema, match=r"load the table again, without \.schema\(\)"):
            check_schema(own, schema_of(other))


def rows(place: Path, *columns: str) -> tuple[list[pa.RecordBatch], Any]:
    query, schema = query_of(opened(options(place)), options(place, columns=", ".join(columns)))
    del query
    batches = sl.Table(place).scan(list(columns)).to_arrow().sort_by(columns[0]).to_batches()
    return batches, arrow_schema_of(schema)


def test_batches_have_exactly_the_schema_that_spark_expects(place: Path) -> None:
    batches, wanted = rows(place, "id", "s", "v", "v:n::int AS m")
    found = list(for_spark(batches, wanted))
    assert all(batch.schema.equals(wanted, check_metadata=True) for batch in found)
    table = pa.Table.from_batches(found)
    assert table["id"].to_pylist() == [1, 2]
    assert table["m"].to_pylist() == [1, 2]
    assert table["s"].to_pylist() == [{"k": "a"}, {"k": "a"}]
    value = table["v"][1].as_py()
    assert list(value) == ["value", "metadata"], "Spark has the value first"
    assert sl.Variant(value["metadata"], value["value"]).to_python() == {"n": 2}


def test_types_that_only_arrow_tells_apart_are_cast() -> None:
    batch = pa.record_batch({"s": pa.array(["a", None]).dictionary_encode()})
    [found] = for_spark([batch], pa.schema([("s", pa.string())]))
    assert found.to_pydict() == {"s": ["a", None]}
    assert list(for_spark([], pa.schema([("s", pa.string())]))) == []


def test_moments_are_in_utc(place: Path) -> None:
    assert arrow_schema_of(schema_of("t timestamp")).field("t").type == pa.timestamp("us", "UTC")


def test_a_read_needs_a_column(place: Path) -> None:
    check_has_columns(pa.schema([("a", pa.int64())]))
    with pytest.raises(PipelineError, match="name at least one column"):
        check_has_columns(pa.schema([]))


def test_the_schema_of_a_query_without_types_of_its_own(place: Path) -> None:
    query, schema = query_of(opened(options(place)), options(place))
    assert spark_schema(query, opened(options(place))) == schema
