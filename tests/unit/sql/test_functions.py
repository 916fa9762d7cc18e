"""Types and functions that DuckDB gets from us."""

from __future__ import annotations

import pytest

from shredlake.expr.types import parse_type
from shredlake.sql.functions import duckdb_type

duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install 'shredlake[sql]'")


@pytest.mark.parametrize(
    "name",
    ["boolean", "tinyint", "int", "bigint", "float", "double", "string", "binary", "date", "timestamp",
     "timestamp_ntz", "decimal(9,2)", "uuid", "array<array<int>>",
     "struct<a: int, `b \"c\"`: array<string>>"],
)  # fmt: skip
def test_duckdb_knows_the_name_of_every_type(name: str) -> None:
    kind = duckdb_type(parse_type(name))
    [[found]] = duckdb.sql(f"select typeof(null::{kind})").fetchall()
    assert duckdb.sql(f"select null::{found}").types == duckdb.sql(f"select null::{kind}").types
    assert found != "NULL"
