"""Every source reads values by the cast options of the query."""

from __future__ import annotations

import struct
from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.expr.parse import parse_columns
from shredlake.kernels.cast_options import CastOptions, spark_on
from shredlake.sql.sources import ArrowSource, ParquetSource, Source, source_of

pytest.importorskip("duckdb", reason="SQL needs DuckDB")

ROWS = pa.table({"v": sl.from_json(pa.array(['{"d": 2.0e23}']))})


def source(kind: str, folder: Path) -> Source:
    """The rows as Arrow data, a Parquet file or a Delta table."""
    if kind == "arrow":
        return ArrowSource(ROWS)
    if kind == "parquet":
        sl.write_parquet(ROWS, folder / "f.parquet", shredding={"v": "struct<d double>"})
        return ParquetSource(str(folder / "f.parquet"))
    table = sl.Table.create(folder / "t", pa.schema([("v", sl.variant())]))
    table.append(ROWS)
    return source_of(table)


@pytest.mark.parametrize("kind", ["arrow", "parquet", "delta"])
@pytest.mark.parametrize(("java", "digits"), [(17, "1.9999999999999998E23"), (21, "2.0E23")])
def test_the_digits_are_those_of_the_dialect(kind: str, java: int, digits: str, tmp_path: Path) -> None:
    options = CastOptions(dialect=spark_on(java))
    columns = parse_columns(["v:d::string AS d"])
    scan = source(kind, tmp_path).scan(columns, None, options)
    [batch] = scan.batches({}, lambda batch: batch)
    assert batch.to_pydict() == {"d": [digits]}


OFFSETS = pa.py_buffer(struct.pack("<3i", 0, 5000, 2))

LYING = {
    "indices above": pa.DictionaryArray.from_arrays(pa.array([0, 30_000]), pa.array(["a"]), safe=False),
    "indices below": pa.DictionaryArray.from_arrays(pa.array([0, -30_000]), pa.array(["a"]), safe=False),
    "texts": pa.Array.from_buffers(pa.string(), 2, [None, OFFSETS, pa.py_buffer(b"ab")]),
    "lists": pa.Array.from_buffers(
        pa.list_(pa.int8()), 2, [None, OFFSETS], children=[pa.array([1, 2], pa.int8())]
    ),
}
"""Columns that point outside their buffers, which pyarrow takes from other libraries without a look."""

QUERIES = ["select * from t", "select a, count(*) from t group by a", "select i from t where a is not null"]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("lie", LYING)
def test_a_column_that_points_outside_its_buffers_is_an_error(lie: str, query: str) -> None:
    for inner in (LYING[lie], pa.StructArray.from_arrays([LYING[lie]], ["b"])):
        table = pa.table({"a": inner, "i": [1, 2]})
        for given in (table, table.to_reader(), table.slice(1)):
            with pytest.raises(sl.InvalidValue, match="points outside its own buffers"):
                sl.sql(query, t=given).to_arrow()


def test_a_column_that_no_one_reads_is_not_looked_at() -> None:
    table = pa.table({"a": LYING["texts"], "i": [1, 2]})
    assert sl.sql("select sum(i) as n from t where i > 0", t=table).to_arrow().to_pylist() == [{"n": 3}]
    assert sl.sql("select count(*) as n from t", t=table).to_arrow().to_pylist() == [{"n": 2}]


def test_columns_of_any_name() -> None:
    table = pa.table({"a.b": [1, 2], "x y": ["q", "r"], "`": [3, 4]})
    found = sl.sql('select "a.b", "x y", "`" from t where "a.b" > 1', t=table).to_arrow()
    assert found.to_pylist() == [{"a.b": 2, "x y": "r", "`": 4}]


def test_intervals_are_grouped_and_types_that_duckdb_lacks_are_an_error_of_ours() -> None:
    months = pa.array([(1, 2, 3), (1, 2, 3), (4, 5, 6)], pa.month_day_nano_interval())
    found = sl.sql("select count(*) as n from t group by a order by n", t=pa.table({"a": months})).to_arrow()
    assert found.to_pylist() == [{"n": 1}, {"n": 2}]
    halves = pa.table({"a": pa.array([1.5], pa.float32()).cast(pa.float16())})
    with pytest.raises(sl.InvalidExpression, match=r"DuckDB can't read t: .*Cast the column"):
        sl.sql("select * from t", t=halves).to_arrow()
