"""DuckDB reads our files as its own Variants, value for value, type for type; we read and check DuckDB's."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from file_cases import BY_TYPE, NESTED, nested_table, unwrapped
from shredlake.parquet.inspect.check import check
from shredlake.parquet.inspect.inspect import inspect
from shredlake.parquet.variant_columns import variant_columns
from shredlake.parquet.write.writer import WriteOptions, write_parquet
from shredlake.variant.value import Variant
from variant_columns import MISSING, column_of, footer_schema, read_rows, rows

duckdb = pytest.importorskip(
    "duckdb", minversion="2.0", reason="DuckDB 2.0 is not installed: pip install duckdb"
)

TYPE_NAMES = {
    "boolean": {"BOOL_TRUE", "BOOL_FALSE"},
    "tinyint": {"INT8"},
    "smallint": {"INT16"},
    "int": {"INT32"},
    "bigint": {"INT64"},
    "float": {"FLOAT"},
    "double": {"DOUBLE"},
    "decimal(9,2)": {"DECIMAL(9, 2)"},
    "decimal(18,3)": {"DECIMAL(18, 3)"},
    "decimal(38,3)": {"DECIMAL(38, 3)"},
    "decimal(19,0)": {"DECIMAL(19, 0)"},
    "date": {"DATE"},
    "time": {"TIME_MICROS"},
    "timestamp": {"TIMESTAMP_MICROS_TZ"},
    "timestamp_ntz": {"TIMESTAMP_MICROS"},
    "timestamp_nanos": {"TIMESTAMP_NANOS_TZ"},
    "timestamp_ntz_nanos": {"TIMESTAMP_NANOS"},
    "binary": {"BLOB"},
    "string": {"VARCHAR"},
    "uuid": {"UUID"},
}
"""DuckDB's name of each type."""


def python(value: Any) -> Any:
    """Our value as DuckDB gives it to Python: no nanoseconds, timestamps with a zone."""
    found = Variant.of(value).to_python()
    if isinstance(found, datetime) and found.tzinfo is not None:
        return found.astimezone(UTC)
    return found


@pytest.fixture
def database() -> Any:
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        yield connection


@pytest.mark.parametrize("ddl", BY_TYPE)
def test_every_type(ddl: str, database: Any, tmp_path: Path) -> None:
    values = BY_TYPE[ddl]
    for name, schema in {"plain": None, "shredded": ddl}.items():
        path = tmp_path / f"{name}.parquet"
        table = pa.table(
            {
                "v": column_of(values),
                "o": column_of([{"a": value, "z": 1} for value in values]),
                "l": column_of([[value, None] for value in values]),
            }
        )
        shredding = {"v": schema, "o": schema and f"struct<a {ddl}>", "l": schema and f"array<{ddl}>"}
        write_parquet(table, path, shredding=shredding)
        found = database.execute(f"select v, o, l, variant_typeof(v) from '{path}'").fetchall()
        if "nanos" in ddl:  # Python's datetime has no nanoseconds: compare as text
            texts = database.execute(f"select epoch_ns(v::timestamp_ns) from '{path}'").fetchall()
            assert [text for (text,) in texts] == [value.since_epoch for value in values]
        else:
            expected = [python(value) for value in values]
            assert [row[0] for row in found] == expected
            assert [row[1] for row in found] == [{"a": value, "z": 1} for value in expected]
            assert [row[2] for row in found] == [[value, None] for value in expected]
        if schema is not None:
            assert {row[3] for row in found} == TYPE_NAMES[ddl]


def test_nested_columns_and_nulls(database: Any, tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    table = nested_table()
    write_parquet(table, path, shredding=NESTED)
    found = database.execute(f"select s, l, m, v, variant_typeof(v) from '{path}'").fetchall()
    structs, inner, lists, maps, plain = [
        [None if row is None else row.to_python() for row in column] for column in unwrapped(table)
    ]
    assert [row[0] and row[0]["v"] for row in found] == structs
    assert [row[0] and row[0]["in"]["w"] for row in found] == inner
    assert [item for row in found for item in row[1] or ()] == lists
    assert [item for row in found for item in row[2].values()] == maps
    assert [row[3] for row in found] == plain
    assert [row[4] for row in found][2] == "VARIANT_NULL"


def test_pages_and_encodings(database: Any, tmp_path: Path) -> None:
    count = 5000
    values = [
        {"n": i * 3, "s": f"name-{i:05}", "f": i / 7, "low": i % 3, "o": "odd" if i % 997 == 0 else i}
        for i in range(count)
    ]
    path = tmp_path / "f.parquet"
    schema = {"v": "struct<n bigint, s string, f double, low int, o bigint>"}
    options = WriteOptions(row_group_rows=2000, page_rows=100)
    write_parquet(pa.table({"v": column_of(values)}), path, shredding=schema, options=options)
    assert [row for (row,) in database.execute(f"select v from '{path}'").fetchall()] == values


DOCUMENTS = [
    "{'a': 1, 'b': [1, 2], 'c': {'d': 'x'}}",
    "{'a': 'text', 'z': 5.25}",
    "42",
    "['x', 'y']",
    "DATE '2024-05-06'",
    "TIMESTAMP '2024-05-06 07:08:09.123456'",
    "UUID '00000000-0000-0000-0000-0000000000ff'",
    "TIME '12:34:56.5'",
    "'\\xAA'::BLOB",
    "true",
    "1.50::DECIMAL(5,2)",
    "NULL",
]


@pytest.mark.parametrize(
    "shredding",
    ["", ", SHREDDING {v: 'STRUCT(a INTEGER, b BIGINT[], c STRUCT(d VARCHAR))'}", ", SHREDDING {v: 'DATE'}"],
)
def test_we_read_what_duckdb_writes(shredding: str, database: Any, tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    source = " union all ".join(f"select ({text})::VARIANT as v" for text in DOCUMENTS)
    database.execute(f"create table t as {source}")
    database.execute(f"copy t to '{path}' (format parquet{shredding})")
    expected = [value for (value,) in database.execute("select v from t").fetchall()]
    assert variant_columns(footer_schema(path))[0].annotated
    found = read_rows(path)
    assert [None if row is None else row.to_python() for row in found] == expected
    assert check(path) == []
    report = inspect(path).variants[0]
    assert report.variants + report.nulls == len(DOCUMENTS)


def test_a_file_goes_through_duckdb_and_comes_back(database: Any, tmp_path: Path) -> None:
    """A Variant null at the top comes back as NULL: DuckDB's writer does not keep the two apart."""
    values = [{"a": 1, "b": [1, "x", None]}, {"a": "y"}, "text", MISSING, None]
    ours, theirs = tmp_path / "ours.parquet", tmp_path / "theirs.parquet"
    write_parquet(pa.table({"v": column_of(values)}), ours, shredding={"v": "struct<a bigint>"})
    database.execute(f"copy (select v from '{ours}') to '{theirs}' (format parquet)")
    assert read_rows(theirs) == [*rows(column_of(values[:4])), None]
