"""Spark reads our files as its own Variants, value for value and type for type; we read and check Spark's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from file_cases import BY_TYPE, NESTED, SPARK_CANNOT_SHRED, nested_table, unwrapped
from shredlake.parquet.inspect.check import check
from shredlake.parquet.inspect.inspect import inspect
from shredlake.parquet.variant_columns import variant_columns
from shredlake.parquet.write.writer import WriteOptions, write_parquet
from shredlake.variant.value import Variant
from variant_columns import MISSING, column_of, footer_schema, read_rows, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def ours(value: Any) -> Any:
    """Spark's Variant as ours; containers of them are gone through."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, list):
        return [ours(item) for item in value]
    if isinstance(value, dict):
        return {key: ours(item) for key, item in value.items()}
    if hasattr(value, "asDict"):
        return {key: ours(item) for key, item in value.asDict().items()}
    return Variant(bytes(value.metadata), bytes(value.value))


def exactly(values: list[Variant | None]) -> list[Any]:
    return [None if value is None else value.to_python(exact=True) for value in values]


@contextmanager
def settings(spark: SparkSession, **values: str) -> Iterator[None]:
    names = {name: f"spark.sql.variant.{name}" for name in values}
    for name, value in values.items():
        spark.conf.set(names[name], value)
    try:
        yield
    finally:
        for name in values:
            spark.conf.unset(names[name])


def test_every_type_as_scalar_field_and_element(spark: SparkSession, tmp_path: Path) -> None:
    """All types in one file: unshredded, shredded by itself, as a field, as an element."""
    columns, shredding, expected = {}, {}, {}
    for number, (ddl, values) in enumerate(BY_TYPE.items()):
        layouts = {
            "plain": (None, values),
            "scalar": (ddl, values),
            "field": (f"struct<a {ddl}, b string>", [{"a": value, "z": 1} for value in values]),
            "element": (f"array<{ddl}>", [[value, None, "x"] for value in values]),
        }
        for layout, (schema, items) in layouts.items():
            if schema is not None and ddl in SPARK_CANNOT_SHRED:
                continue
            name = f"{layout}{number}"
            columns[name], shredding[name] = column_of(items), schema
            expected[name] = exactly([Variant.of(item) for item in items])
    path = tmp_path / "f.parquet"
    write_parquet(pa.table(columns), path, shredding=shredding)
    frame = spark.read.parquet(str(path))
    assert {field.dataType.simpleString() for field in frame.schema} == {"variant"}
    found = [row.asDict() for row in frame.collect()]
    assert {name: exactly([ours(row[name]) for row in found]) for name in columns} == expected


@pytest.mark.parametrize("ddl", sorted(SPARK_CANNOT_SHRED))
def test_what_spark_cannot_read(ddl: str, spark: SparkSession, tmp_path: Path) -> None:
    """Types that Spark 4.3 has no column type for. When this fails, Spark supports one of them: shred it."""
    path = tmp_path / "f.parquet"
    write_parquet(pa.table({"v": column_of(BY_TYPE[ddl])}), path, shredding={"v": ddl})
    with pytest.raises(Exception, match=r"PARQUET_TYPE_ILLEGAL|FAILED_READ_FILE"):
        spark.read.parquet(str(path)).collect()


def test_nested_columns(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    table = nested_table()
    write_parquet(table, path, shredding=NESTED)
    found = [ours(row) for row in spark.read.parquet(str(path)).orderBy("id").collect()]
    structs, inner, lists, maps, plain = unwrapped(table)
    assert [row["s"] and row["s"]["v"] for row in found] == structs
    assert [row["s"] and row["s"]["in"]["w"] for row in found] == inner
    assert [item for row in found for item in row["l"] or ()] == lists
    assert [row["l"] is None for row in found] == table["l"].is_null().to_pylist()
    assert [item for row in found for item in row["m"].values()] == maps
    assert [row["v"] for row in found] == plain


def test_pages_and_encodings(spark: SparkSession, tmp_path: Path) -> None:
    """Many pages, row groups and encodings, and a filter that skips most of them."""
    count = 5000
    values: list[dict[str, Any]] = [
        {
            "n": i * 3,
            "s": f"long enough that encodings are tried: {i:05}",
            "f": i / 7,
            "low": i % 3,
            "o": "odd" if i % 997 == 0 else i,
        }
        for i in range(count)
    ]
    path = tmp_path / "f.parquet"
    schema = "struct<n bigint, s string, f double, low int, o bigint>"
    options = WriteOptions(row_group_rows=2000, page_rows=100)
    write_parquet(pa.table({"v": column_of(values)}), path, shredding={"v": schema}, options=options)
    group = pq.ParquetFile(path).metadata.row_group(0)
    encodings = {encoding for i in range(group.num_columns) for encoding in group.column(i).encodings}
    assert {"DELTA_BINARY_PACKED", "DELTA_BYTE_ARRAY", "RLE_DICTIONARY"} <= encodings
    frame = spark.read.parquet(str(path))
    assert [ours(row.v) for row in frame.collect()] == rows(column_of(values))
    frame.createOrReplaceTempView("pages")
    where = "v:n::bigint between 8973 and 8975"
    found = spark.sql(f"select v:s::string, v:o::string from pages where {where}")
    assert [tuple(row) for row in found.collect()] == [(values[2991]["s"], "odd")]
    [total] = spark.sql("select sum(v:n::bigint), count(v:o::string), avg(v:f::double) from pages").collect()
    assert (total[0], total[1]) == (sum(value["n"] for value in values), count)
    assert total[2] == pytest.approx(sum(value["f"] for value in values) / count)


JSON_ROWS = [
    '{"a": 1, "b": {"c": "x", "d": [1, 2.5, null]}, "e": 1.25}',
    '{"a": "text", "b": 5, "new": true}',
    '{"a": null, "b": {"c": 7, "z": {}}, "e": 1e300}',
    "[1, 2]",
    "null",
    '"scalar"',
    "{}",
]


@pytest.mark.parametrize(
    "schema",
    [
        None,
        "a int, b struct<c string, d array<decimal(3,1)>>, e double",
        "a string, b struct<z struct<q int>>",
        "new boolean",
    ],
)
def test_we_read_what_spark_writes(schema: str | None, spark: SparkSession, tmp_path: Path) -> None:
    values = [*JSON_ROWS, None]
    frame = spark.createDataFrame([(i, text) for i, text in enumerate(values)], "id int, text string")
    frame = frame.selectExpr("id", "parse_json(text) as v", "array(parse_json(text), null) as l").coalesce(1)
    options = {"writeShredding.enabled": "true"} if schema else {"writeShredding.enabled": "false"}
    if schema:
        options["forceShreddingSchemaForTest"] = schema
    with settings(spark, **options):
        frame.write.parquet(str(tmp_path / "t"))
    [path] = (tmp_path / "t").glob("*.parquet")
    columns = {found.name: found for found in variant_columns(footer_schema(path))}
    assert set(columns) == {"v", "l.list.element"}
    assert (columns["v"].schema is not None) == (schema is not None)
    expected = [None if text is None else Variant.from_json(text) for text in values]
    assert read_rows(path) == expected
    assert rows(pq.ParquetFile(path).read()["l"].combine_chunks().flatten())[::2] == expected
    assert [breach for breach in check(path) if breach.rule != "annotation"] == []
    report = inspect(path).variants[0]
    assert (report.variants, report.nulls) == (len(JSON_ROWS), 1)


def test_a_file_goes_through_spark_and_comes_back(spark: SparkSession, tmp_path: Path) -> None:
    """Ours, read and written shredded by Spark, read by us: the same values."""
    values = [{"a": Decimal("1.50"), "b": [1, "x"]}, {"a": 7}, "text", None, MISSING]
    write_parquet(
        pa.table({"v": column_of(values)}), tmp_path / "f.parquet", shredding={"v": "struct<a decimal(9,2)>"}
    )
    with settings(spark, **{"writeShredding.enabled": "true", "forceShreddingSchemaForTest": "b array<int>"}):
        spark.read.parquet(str(tmp_path / "f.parquet")).coalesce(1).write.parquet(str(tmp_path / "t"))
    [path] = (tmp_path / "t").glob("*.parquet")
    assert read_rows(path) == rows(column_of(values))
