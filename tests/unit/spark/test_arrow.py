"""Batches in the form that Spark expects: its order of a Variant's fields, at any depth and in any slice."""

from __future__ import annotations

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.kernels.arrow.nested import MAP_KEY, children
from shredlake.kernels.arrow.types import is_variant
from shredlake.spark.arrow import from_spark, spark_batch

VARIANTS = sl.from_json(['{"a": 1}', None, "[2]", "3"])


KEYS = pa.array(["a", "b", "c", "d"])
COLUMNS = {
    "struct": pa.StructArray.from_arrays([VARIANTS], ["v"], mask=pa.array([False, False, True, False])),
    "list": pa.ListArray.from_arrays(pa.array([0, None, 1, 4], pa.int32()), VARIANTS),
    "large list": pa.LargeListArray.from_arrays(pa.array([0, None, 1, 4], pa.int64()), VARIANTS),
    "fixed list": pa.FixedSizeListArray.from_arrays(VARIANTS, 2),
    "map": pa.MapArray.from_arrays(pa.array([0, None, 1, 4], pa.int32()), KEYS, VARIANTS),
    "numbers": pa.array([[1], None, [2, 3]]),
    "map of numbers": pa.array([[("a", 1)], None, [("b", 2)]], pa.map_(pa.string(), pa.int8())),
}


def variant_types(kind: pa.DataType) -> list[pa.DataType]:
    if is_variant(kind):
        return [kind]
    return [found for index in range(kind.num_fields) for found in variant_types(kind.field(index).type)]


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("start", [0, 1])
def test_a_column_reaches_spark_and_comes_back(name: str, start: int) -> None:
    column = COLUMNS[name].slice(start)
    batch = spark_batch([column], ["c"])
    batch.validate(full=True)
    sent = batch.column("c")
    orders = {tuple(field.name for field in kind) for kind in variant_types(sent.type)}
    assert orders == (set() if "numbers" in name else {("value", "metadata")})
    assert all(field.nullable == (names != MAP_KEY) for names, field in children(sent.type))
    back = from_spark(sent)
    back.validate(full=True)
    assert [kind.field(0).name for kind in variant_types(back.type)] == ["metadata"] * len(orders)
    assert sent.is_null().equals(column.is_null())
    if "numbers" in name:
        assert back.to_pylist() == column.to_pylist()
