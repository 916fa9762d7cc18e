"""Casts out of a Variant, against Spark itself: every pair of types, values at all edges, two time zones."""

from __future__ import annotations

import math
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cast_values import SOURCES, TARGETS, rows
from shredlake.errors import CastError
from shredlake.expr import parse_type
from shredlake.kernels import get, shred, variant
from shredlake.kernels.casts.table import casts
from shredlake.shredding import ShreddingSchema
from shredlake.spark.settings import dialect_of
from shredlake.variant import VariantType
from spark_versions import is_before, skip_before

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TIME = "time(6)"
ZONES = ["UTC", "America/Los_Angeles"]
NESTED = {
    "array<int>": pa.list_(pa.field("element", pa.int32())),
    "map<string,string>": pa.map_(pa.string(), pa.string()),
    "struct<a:string,B:int>": pa.struct([("a", pa.string()), ("B", pa.int32())]),
}


@pytest.fixture(scope="module")
def column() -> pa.StructArray:
    return pa.array([{"metadata": v.metadata, "value": v.value} for _, v in rows()], variant())


@pytest.fixture(scope="module")
def file(column: pa.StructArray, tmp_path_factory: pytest.TempPathFactory) -> FilePath:
    path = tmp_path_factory.mktemp("casts") / "values.parquet"
    pq.write_table(pa.table({"i": pa.array(range(len(column)), pa.int32()), "v": column}), path)
    return path


@pytest.fixture(scope="module")
def answers(spark: SparkSession, file: FilePath) -> dict[str, pa.Table]:
    """The result of try_variant_get for every value, target and zone, in one job per zone."""
    found = {}
    before = spark.conf.get("spark.sql.session.timeZone")
    for zone in ZONES:
        spark.conf.set("spark.sql.session.timeZone", zone)
        frame = spark.read.schema("i int, v variant").parquet(str(file))
        targets = [*TARGETS, *([] if is_before("4.2") else [TIME]), *NESTED]
        found[zone] = frame.selectExpr(
            *[f"try_variant_get(v, '$', '{t}') AS `{t}`" for t in targets]
        ).toArrow()
    spark.conf.set("spark.sql.session.timeZone", before)
    return found


def raw(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Values that compare: counts for dates and times, which Python can't hold all; text for NaN and -0.0;
    bytes for texts, which may be any."""
    kind = column.type
    if pa.types.is_time(kind):
        column = column.cast(pa.time64("us")).cast(pa.int64())
    elif pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(kind):
        column = column.cast(pa.int64())
    elif pa.types.is_string(kind):
        column = column.cast(pa.binary())
    if pa.types.is_floating(kind):
        return [repr(value) for value in column.to_pylist()]
    return column.to_pylist()


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("target", [*TARGETS, TIME, *NESTED])
def test_every_value_casts_as_in_spark(
    spark: SparkSession, answers: dict[str, pa.Table], column: pa.StructArray, zone: str, target: str
) -> None:
    if target == TIME:
        skip_before("4.2", "Spark hands out no TIME as Arrow")
    type_ = NESTED.get(target) or parse_type(target).arrow
    want = raw(answers[zone][target])
    found = raw(get(column, "$", type_, timezone=zone, dialect=dialect_of(spark)))
    different = [
        (kind, value.to_python(), ours, sparks)
        for (kind, value), ours, sparks in zip(rows(), found, want, strict=True)
        if ours != sparks
    ]
    assert different == []


@pytest.mark.parametrize("source", [kind for kind in SOURCES if kind not in ("null", "object", "array")])
def test_the_table_says_which_pairs_cast(answers: dict[str, pa.Table], source: str) -> None:
    mine = [number for number, (kind, _) in enumerate(rows()) if kind == source]
    for target in TARGETS:
        scalar = target.partition("(")[0]
        kind = {
            "tinyint": "INT8",
            "smallint": "INT16",
            "int": "INT32",
            "bigint": "INT64",
            "decimal": "DECIMAL16",
        }
        ours = casts(VariantType(source), VariantType[kind.get(scalar, scalar.upper())])
        answer = answers["UTC"][target]
        assert ours == any(answer[number].is_valid for number in mine), (source, target)


def test_variant_get_raises_where_try_variant_get_gives_null(
    spark: SparkSession, file: FilePath, column: pa.StructArray, answers: dict[str, pa.Table]
) -> None:
    """Each value that can't be cast by itself, and all others at once."""
    frame = spark.read.schema("i int, v variant").parquet(str(file))
    frame.createOrReplaceTempView("cast_values")
    for target in ("boolean", "tinyint", "bigint", "double", "decimal(7,2)", "binary", "date", "timestamp"):
        type_ = parse_type(target).arrow
        valid = [value.is_valid for value in answers["UTC"][target]]
        good = [number for number, cast in enumerate(valid) if cast]
        bad = [number for number, (kind, _) in enumerate(rows()) if not valid[number] and kind != "null"]
        get(column.take(pa.array(good, pa.int64())), "$", type_, strict=True)
        if not bad:
            continue
        first = bad[len(bad) // 2]
        with pytest.raises(CastError, match=r"^row 0, \$: "):
            get(column.slice(first, 1), "$", type_, strict=True)
        with pytest.raises(Exception, match="INVALID_VARIANT_CAST"):
            spark.sql(f"SELECT variant_get(v, '$', '{target}') FROM cast_values WHERE i = {first}").collect()


@pytest.mark.parametrize(
    "source",
    ["bigint", "double", "float", "decimal(38,10)", "string", "binary", "date", "timestamp", "boolean"],
)
def test_typed_leaves_cast_as_in_spark(
    spark: SparkSession, answers: dict[str, pa.Table], column: pa.StructArray, source: str
) -> None:
    shredded = shred(column, ShreddingSchema.parse(source))
    for target in TARGETS:
        type_, dialect = parse_type(target).arrow, dialect_of(spark)
        found = raw(get(shredded, "$", type_, timezone="America/Los_Angeles", dialect=dialect))
        want = raw(answers["America/Los_Angeles"][target])
        for (kind, value), ours, sparks in zip(rows(), found, want, strict=True):
            assert ours == sparks, (kind, value, target)


def test_the_values_reach_every_type() -> None:
    covered = {value.type for _, value in rows()}
    beyond_spark = {VariantType.TIME, VariantType.TIMESTAMP_NANOS, VariantType.TIMESTAMP_NTZ_NANOS}
    assert covered == set(VariantType) - beyond_spark
    assert any(isinstance(v.to_python(), float) and math.isnan(v.to_python()) for _, v in rows())
