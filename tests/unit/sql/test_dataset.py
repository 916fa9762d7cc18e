"""Parts of moments are those of DuckDB."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from shredlake.errors import InvalidExpression
from shredlake.kernels.fallback.tally import INFINITE
from shredlake.sql.dataset import time_part

duckdb = pytest.importorskip("duckdb", reason="SQL needs DuckDB")


HOUR = 3_600_000_000


@pytest.mark.parametrize("part", ["hour", "minute", "second"])
def test_parts_of_moments_are_those_of_duckdb(part: Any) -> None:
    moments = [
        0,
        -1,
        1,
        HOUR,
        -HOUR,
        23 * HOUR + 1,
        -(2**63),
        2**63 - 2,
        1_732_000_000_123_456,
        -(2**62),
        None,
    ]
    for some in (moments, [one for one in moments if one is None or one >= 0]):
        column = pa.array(some, pa.int64())
        connection = duckdb.connect()
        connection.register("t", pa.table({"m": column}))
        expected = [
            row[0] for row in connection.execute(f"select {part}(make_timestamp(m)) from t").fetchall()
        ]
        assert time_part(part, column).to_pylist() == expected


@pytest.mark.parametrize("moment", [INFINITE, -INFINITE])
def test_a_moment_that_duckdb_refuses_is_refused(moment: int) -> None:
    with pytest.raises(duckdb.ConversionException, match="out of range"):
        duckdb.sql(f"select make_timestamp({moment})").fetchall()
    with pytest.raises(InvalidExpression, match="out of range"):
        time_part("hour", pa.array([0, moment]))
