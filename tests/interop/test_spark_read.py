"""`read` answers as Spark's own `try_variant_get` does on the same Variants, whatever the files' layout."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.spark.arrow import spark_batch
from shredlake.spark.query.api import read, scan
from shredlake.spark.query.path_columns import Service

pytestmark = pytest.mark.spark

LEAVES = [
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(9,2)", "decimal(18,4)",
    "decimal(38,10)", "date", "timestamp", "timestamp_ntz", "binary", "string",
]  # fmt: skip
TARGETS = [
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(10,2)", "decimal(38,0)",
    "string", "date", "timestamp", "timestamp_ntz", "binary",
]  # fmt: skip

VALUES: list[Any] = [
    True, False, None, 0, 1, -1, 127, 128, -32768, 40000, 2**31, -(2**63), 2**63 - 1,
    Decimal("1.50"), Decimal("-0.01"), Decimal("12345678.99"), Decimal("99999999999999.9999"),
    Decimal("1234567890123456789012345678.0123456789"),
    0.5, -0.0, 1e300, float("nan"), float("inf"), sl.Float32(1.5), sl.Float32(0.1),
    "", "abc", "1", " 12 ", "1.5", "true", "2024-02-29", "2024-02-29 12:34:56.789", "2024-02-29T12:34:56Z",
    "1e3", "NaN", "null", date(2024, 2, 29), date(1850, 1, 1),
    datetime(2024, 2, 29, 12, 34, 56, 789, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59),
    b"", b"\x00\x01", b"12", {"b": 1}, {}, [1, "x"], [],
]  # fmt: skip


def variants_of(values: list[Any]) -> pa.Array:
    made = [sl.Variant.of(value) for value in values]
    return pa.array([{"metadata": one.metadata, "value": one.value} for one in made], sl.variant())


def documents() -> pa.Array:
    """Each value under the key `a`; then rows without it: another key, no object, Variant null, NULL."""
    rows = variants_of([{"a": value, "z": 1} for value in VALUES] + [{"z": 2}, 5, None])
    return pa.concat_arrays([rows, pa.nulls(1, sl.variant())])


def as_spark(spark: Any, column: pa.Array) -> Any:
    """The Variants as a DataFrame of Spark's own, unshredded, with their row numbers."""
    batch = spark_batch([pa.array(range(len(column)), pa.int64()), column], ["id", "v"])

    def give(batches: Any) -> Any:
        for _ in batches:
            yield batch

    return spark.range(0, 1, 1, 1).mapInArrow(give, "id bigint, v variant")


def comparable(value: Any) -> Any:
    return repr(value) if isinstance(value, float) else value


@pytest.fixture(scope="module")
def truth(spark: Any) -> list[tuple[Any, ...]]:
    frame = as_spark(spark, documents())
    columns = [f"try_variant_get(v, '$.a', '{target}') AS c{n}" for n, target in enumerate(TARGETS)]
    rows = frame.selectExpr("id", *columns).orderBy("id").collect()
    return [tuple(comparable(value) for value in row) for row in rows]


@pytest.mark.parametrize("leaf", [*LEAVES, None])
def test_every_pair_of_types(
    spark: Any, tmp_path: Path, truth: list[tuple[Any, ...]], leaf: str | None
) -> None:
    rows = documents()
    table = pa.table({"id": pa.array(range(len(rows)), pa.int64()), "v": rows})
    properties = {"delta.enableVariantShredding": "true"}
    made = sl.Table.create(tmp_path / "t", table.schema, properties=properties)
    made.append(table, shredding={"v": None if leaf is None else f"struct<a {leaf}>"})
    columns = [f"v:a::{target} AS c{n}" for n, target in enumerate(TARGETS)]
    for first in range(0, len(columns), 5):  # a few at a time, so that not all share the fate of one
        some = slice(first, first + 5)
        found = read(spark, tmp_path / "t", ["id", *columns[some]]).orderBy("id").collect()
        for want, got in zip(truth, found, strict=True):
            value = VALUES[want[0]] if want[0] < len(VALUES) else "no a"
            for target, expected, actual in zip(TARGETS[some], want[1:][some], got[1:], strict=True):
                assert comparable(actual) == expected, f"{value!r} in a file of {leaf} as {target}"


def test_typed_rows_stay_in_the_jvm(spark: Any, tmp_path: Path) -> None:
    """A leaf without residuals needs no worker, with the filter pushed down to the leaf."""
    rows = variants_of([{"a": n, "b": str(n)} for n in range(100)])
    made = sl.Table.create(
        tmp_path / "t", pa.schema([("v", sl.variant())]), properties={"delta.enableVariantShredding": "true"}
    )
    made.append(pa.table({"v": rows}), shredding={"v": "struct<a bigint, b string>"})
    planned = scan(spark, tmp_path / "t", ["v:b::string AS b"], where="v:a::bigint = 7")
    [group] = planned.groups
    assert {served.service for served in group.served.values()} == {Service.TYPED}
    text = planned.frame()._jdf.queryExecution().executedPlan().toString()
    assert "EqualTo(v.typed_value.a.typed_value,7)" in text
    assert "MapInArrow" not in text
    assert [row["b"] for row in planned.frame().collect()] == ["7"]


def test_what_no_row_lacks_is_declared(spark: Any, tmp_path: Path) -> None:
    """Spark saves the test of levels that can't be null; one file where they can be undoes that for all."""
    place, shredded = tmp_path / "t", {"delta.enableVariantShredding": "true"}
    table = sl.Table.create(place, pa.schema([("v", sl.variant())]), properties=shredded)
    layout = {"v": "struct<o struct<x bigint>, p struct<y bigint>>"}
    table.append(
        pa.table({"v": variants_of([{"o": {"x": 1}, "p": {"y": 1}}, {"o": {"x": 2}}])}), shredding=layout
    )
    asked = ["v:o.x::bigint AS x", "v:p.y::bigint AS y"]

    def never_null() -> list[tuple[str | int, ...]]:
        [group] = scan(spark, place, asked).groups
        return sorted(name for name in group.never_null if name[-1] in ("v", "typed_value"))

    def rows() -> list[tuple[Any, ...]]:
        return sorted(map(tuple, read(spark, place, asked).collect()), key=str)

    assert never_null() == [("v",), ("v", "typed_value"), ("v", "typed_value", "o", "typed_value")]
    assert rows() == [(1, 1), (2, None)]
    plan = read(spark, place, asked, where="v:p.y::bigint IS NULL")._jdf.queryExecution().optimizedPlan()
    assert not plan.collectLeaves().head().output().head().nullable()
    table.append(
        pa.table({"v": pa.concat_arrays([variants_of([{"o": {}}]), pa.nulls(1, sl.variant())])}),
        shredding=layout,
    )
    assert never_null() == []
    assert rows() == [(1, 1), (2, None), (None, None), (None, None)]


def test_whole_variants_come_back(spark: Any, tmp_path: Path) -> None:
    rows = documents()
    made = sl.Table.create(
        tmp_path / "t",
        pa.schema([("id", pa.int64()), ("v", sl.variant())]),
        properties={"delta.enableVariantShredding": "true"},
    )
    made.append(
        pa.table({"id": pa.array(range(len(rows)), pa.int64()), "v": rows}),
        shredding={"v": "struct<a bigint>"},
    )
    frame = read(spark, tmp_path / "t", ["id", "v"], where="id < 20")
    assert frame.schema["v"].dataType.typeName() == "variant"
    expected = (
        as_spark(spark, rows).where("id < 20").selectExpr("id", "to_json(v) AS j").orderBy("id").collect()
    )
    assert frame.selectExpr("id", "to_json(v) AS j").orderBy("id").collect() == expected
