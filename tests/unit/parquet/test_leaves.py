"""Statistics of leaves, from the footer: exact bounds, or none."""

from __future__ import annotations

import datetime as dt
import io
import math
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shredlake.parquet.leaves import LeafStatistics, leaf_arrays, leaf_statistics, leaves, nan_leaves

NESTED = pa.schema(
    [
        ("a", pa.struct([("x", pa.int8()), ("y", pa.list_(pa.string()))])),
        ("m", pa.map_(pa.string(), pa.list_(pa.date32()))),
        ("n", pa.float64()),
    ]
)


def statistics_of(table: pa.Table, **options: Any) -> list[LeafStatistics]:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return leaf_statistics(pq.read_metadata(sink), table.schema, nan_leaves(table))


def of_column(values: list[Any], type_: pa.DataType, **options: Any) -> LeafStatistics:
    [found] = statistics_of(pa.table({"n": pa.array(values, type_)}), **options)
    return found


def test_leaves_are_numbered_as_columns_of_parquet() -> None:
    sink = io.BytesIO()
    pq.write_table(NESTED.empty_table(), sink)
    stored = pq.ParquetFile(sink).schema
    assert [name for name, _ in leaves(NESTED)] == [stored.column(at).path for at in range(len(stored))]


def test_arrays_of_leaves_are_in_the_same_order() -> None:
    row = {"a": {"x": 1, "y": ["p", "q"]}, "m": [("k", [dt.date(2024, 2, 29)])], "n": 0.5}
    table = pa.Table.from_pylist([row, {"a": {"x": None, "y": []}, "m": None, "n": None}], NESTED)
    found = [leaf for column in table.columns for leaf in leaf_arrays(column.chunk(0))]
    assert [leaf.to_pylist() for leaf in found] == [
        [1, None],
        ["p", "q"],
        ["k"],
        [dt.date(2024, 2, 29)],
        [0.5, None],
    ]
    assert [leaf.type for leaf in found] == [type_ for _, type_ in leaves(NESTED)]


def test_leaves_with_nan() -> None:
    table = pa.table(
        {
            "s": pa.array([{"a": 1, "b": math.nan}], pa.struct([("a", pa.int8()), ("b", pa.float32())])),
            "f": pa.array([1.0]),
            "l": pa.array([[1.0, math.nan]]),
        }
    )
    assert nan_leaves(table) == {1, 3}
    assert nan_leaves(table.slice(0, 0)) == set()
    chunked = pa.table({"f": pa.chunked_array([[1.0], [math.nan]])})
    assert nan_leaves(chunked) == {0}


BOUNDS: list[tuple[pa.DataType, list[Any], Any, Any]] = [
    (pa.int8(), [-5, 3], -5, 3),
    (pa.uint8(), [200, 3], 3, 200),
    (pa.uint32(), [2**32 - 1, 1], 1, 2**32 - 1),
    (pa.uint64(), [2**64 - 1, 1], 1, 2**64 - 1),
    (pa.decimal128(9, 2), [Decimal("-1.50"), Decimal("2.25")], Decimal("-1.50"), Decimal("2.25")),
    (pa.decimal128(38, 2), [Decimal("-1.50"), Decimal("2.25")], Decimal("-1.50"), Decimal("2.25")),
    (pa.string(), ["é", "a"], "a", "é"),
    (pa.large_string(), ["é", "a"], "a", "é"),
    (pa.dictionary(pa.int8(), pa.string()), ["é", "a"], "a", "é"),
    (pa.binary(), [b"\xff", b"\x00"], b"\x00", b"\xff"),
    (pa.date32(), [dt.date(1969, 1, 1), dt.date(2024, 1, 1)], dt.date(1969, 1, 1), dt.date(2024, 1, 1)),
    (pa.time64("us"), [dt.time(1), dt.time(2)], dt.time(1), dt.time(2)),
    (pa.timestamp("us"), [dt.datetime(2024, 1, 1)], dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1)),
    (pa.bool_(), [True, False], False, True),
    (pa.uuid(), [b"b" * 16, b"a" * 16], UUID(bytes=b"a" * 16), UUID(bytes=b"b" * 16)),
    (pa.float64(), [2.5, -1.0], -1.0, 2.5),
]


@pytest.mark.parametrize(("type_", "values", "low", "high"), BOUNDS, ids=[str(one[0]) for one in BOUNDS])
def test_bounds_over_row_groups(type_: pa.DataType, values: list[Any], low: Any, high: Any) -> None:
    found = of_column([*values, None], type_, row_group_size=1)
    assert found.minimum is not None
    assert found.maximum is not None
    assert (found.minimum.as_py(), found.maximum.as_py()) == (low, high)
    assert (found.value_count, found.null_count) == (len(values), 1)


def test_values_below_lists_are_counted_as_values() -> None:
    found = of_column([[1, 2], [], None, [None]], pa.list_(pa.int64()))
    assert (found.value_count, found.null_count) == (2, 3)


def test_no_values_have_no_bounds() -> None:
    for values in ([], [None, None]):
        found = of_column(values, pa.int64())
        assert (found.minimum, found.maximum, found.value_count) == (None, None, 0)
        assert found.null_count == len(values)


def test_one_row_group_without_bounds_makes_them_unknown() -> None:
    long = "z" * 10_000
    found = of_column(["a", long], pa.string(), row_group_size=1)
    assert (found.minimum, found.maximum, found.value_count) == (None, None, 2)


def test_without_statistics_nothing_is_known() -> None:
    found = of_column([1, 2], pa.int64(), write_statistics=False)
    assert (found.minimum, found.maximum, found.value_count) == (None, None, 2)
    assert found.compressed_size > 0


def test_nan_is_told_apart_from_the_bounds() -> None:
    found = of_column([1.0, math.nan, 3.0], pa.float64())
    assert found.minimum is not None
    assert (found.minimum.as_py(), found.has_nan) == (1.0, True)
    assert of_column([math.nan], pa.float64()).minimum is None
