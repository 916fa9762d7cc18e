"""Values of every type and Variants in every place, for tests that write files and let others read them."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa

from shredlake.kernels import variant
from shredlake.variant.scalars import Float32, Int8, Int16, Int32, Int64, TimestampNanos, TimestampNtzNanos
from variant_columns import column_of, rows

BY_TYPE: dict[str, list[Any]] = {
    "boolean": [False, True],
    "tinyint": [Int8(-128), Int8(127)],
    "smallint": [Int16(-(2**15)), Int16(2**15 - 1)],
    "int": [Int32(-(2**31)), Int32(2**31 - 1)],
    "bigint": [Int64(-(2**63)), Int64(2**63 - 1)],
    "float": [Float32(-1.5), Float32(math.inf)],
    "double": [-1.5, 1e300],
    "decimal(9,2)": [Decimal("-9999999.99"), Decimal("9999999.99")],
    "decimal(18,3)": [Decimal("-1.001"), Decimal("999999999999999.999")],
    "decimal(38,3)": [Decimal("-1.001"), Decimal(10**34)],
    "decimal(19,0)": [Decimal(-(10**18)), Decimal(10**18)],
    "date": [date(1, 1, 1), date(9999, 12, 31)],
    "time": [time(0), time(23, 59, 59, 999999)],
    "timestamp": [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, tzinfo=UTC)],
    "timestamp_ntz": [datetime(1, 1, 1), datetime(9999, 12, 31)],
    "timestamp_nanos": [TimestampNanos(-1), TimestampNanos(1_700_000_000_123_456_789)],
    "timestamp_ntz_nanos": [TimestampNtzNanos(-1), TimestampNtzNanos(1_700_000_000_123_456_789)],
    "binary": [b"", b"\xff"],
    "string": ["", "é"],
    "uuid": [UUID(int=1), UUID(int=2**128 - 1)],
}
"""Two values of every shredded type, in ascending order, by the type's DDL."""

SPARK_CANNOT_SHRED = {"time", "timestamp_nanos", "timestamp_ntz_nanos", "uuid"}
"""Spark 4.3 reads Variants of these types, but no Parquet columns of theirs."""


def nested_table() -> pa.Table:
    """Variants in a struct, in a struct in a struct, in lists, in maps, and at the top."""
    variants = column_of([{"a": 1, "b": "x"}, {"a": "no"}, None, 5])
    again = variants.take(pa.array([3, 2, 1, 0]))
    lists = pa.ListArray.from_arrays(pa.array([0, 2, None, 2, 4], pa.int32()), variants)
    maps = pa.MapArray.from_arrays(
        pa.array([0, 1, 3, 3, 4], pa.int32()), pa.array(["k", "l", "m", "n"]), variants
    )
    inner = pa.StructArray.from_arrays([again], fields=[pa.field("w", variant())])
    structs = pa.StructArray.from_arrays(
        [variants, inner],
        fields=[pa.field("v", variant()), pa.field("in", inner.type)],
        mask=pa.array([False, True, False, False]),
    )
    return pa.table({"id": [1, 2, 3, 4], "s": structs, "l": lists, "m": maps, "v": variants})


NESTED = {
    "s.v": "struct<a bigint>",
    "s.in.w": None,
    "l.list.element": "struct<b string, a bigint>",
    "m.key_value.value": "bigint",
}
"""A layout for each of them."""


def unwrapped(table: pa.Table) -> list[list[Any]]:
    """Every Variant of the nested table, column by column."""
    structs = table["s"].combine_chunks()
    return [
        rows(structs.flatten()[0]),
        rows(structs.flatten()[1].flatten()[0]),
        rows(table["l"].combine_chunks().flatten()),
        rows(table["m"].combine_chunks().items),
        rows(table["v"]),
    ]
