"""Arrow tables as DataFrames, without pandas: every value as it was."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from shredlake.spark.query.arrow_frames import frame_of_arrow

pytestmark = pytest.mark.spark

DDL = "s string, b binary, n bigint, i int, f boolean, d date, t timestamp, x decimal(20,3)"
ROWS = pa.table(
    {
        "s": ["", None, "ü𝄞\x00"],
        "b": [b"", None, b"\x00\xff"],
        "n": pa.array([-(2**63), None, 2**63 - 1], pa.int64()),
        "i": pa.array([-(2**31), None, 7], pa.int32()),
        "f": [True, None, False],
        "d": [date(1, 1, 1), None, date(2026, 1, 31)],
        "t": pa.array(
            [datetime(1900, 1, 1, tzinfo=UTC), None, datetime(2026, 1, 31, tzinfo=UTC)],
            pa.timestamp("us", "UTC"),
        ),
        "x": pa.array([Decimal("-1.500"), None, Decimal("12345678901234567.001")], pa.decimal128(20, 3)),
    }
)


def schema(ddl: str) -> Any:
    from pyspark.sql.types import StructType

    return StructType.fromDDL(ddl)


def test_values_nulls_and_types(spark: Any) -> None:
    kind = schema(DDL)
    frame = frame_of_arrow(spark, ROWS, kind)
    assert frame.schema == kind
    assert frame.toArrow().cast(ROWS.schema).to_pylist() == ROWS.to_pylist()


def test_several_batches_and_none(spark: Any) -> None:
    chunks = pa.concat_tables([ROWS.select(["n"])] * 3)
    kind = schema("n bigint")
    assert frame_of_arrow(spark, chunks, kind).count() == 9
    empty = frame_of_arrow(spark, chunks.slice(0, 0), kind)
    assert (empty.count(), empty.schema) == (0, kind)
