"""Scans of files and tables as Arrow streams: every library that reads such streams gets the same rows."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.kernels.arrow.extension import MARK
from shredlake.parquet.arrow_stream import ArrowStream

ROWS = [{"id": n, "v": {"a": n, "b": f"x{n}"}} for n in range(30)]
COLUMNS = ["id", "v:a::bigint AS a", "v:b::string AS b"]
EXPECTED = [{"id": n, "a": n, "b": f"x{n}"} for n in range(12, 30)]
WHERE = "v:a::bigint >= 12"


@pytest.fixture
def table(tmp_path: Path) -> sl.Table:
    schema = pa.schema([("id", pa.int64()), ("v", sl.variant())])
    made = sl.Table.create(tmp_path / "t", schema, properties={"delta.enableVariantShredding": "true"})
    for start in (20, 10, 0):  # the newest file is read first
        made.append(ROWS[start : start + 10])
    return made


@pytest.fixture
def scans(table: sl.Table, tmp_path: Path) -> Callable[..., list[Any]]:
    options = sl.WriteOptions(row_group_rows=10)
    file = tmp_path / "f.parquet"
    sl.write_parquet(ROWS, file, shredding={"v": "struct<a bigint, b string>"}, options=options)

    def both(columns: Any = None, where: str | None = None) -> list[ArrowStream]:
        return [table.scan(columns, where), sl.scan_parquet(file, columns, where)]

    return both


def by_id(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["id"])


READERS: dict[str, Callable[[Any], list[dict[str, Any]]]] = {
    "pyarrow": lambda scan: pa.table(scan).to_pylist(),
    "pyarrow reader": lambda scan: pa.RecordBatchReader.from_stream(scan).read_all().to_pylist(),
    "reader": lambda scan: scan.to_reader().read_all().to_pylist(),
    "to_arrow": lambda scan: scan.to_arrow().to_pylist(),
    "polars": lambda scan: pl.DataFrame(scan).to_dicts(),
    "to_polars": lambda scan: scan.to_polars().to_dicts(),
    "to_pandas": lambda scan: scan.to_pandas().to_dict("records"),
    "duckdb": lambda scan: duckdb.sql("from scan").to_arrow_table().to_pylist(),
    "to_duckdb": lambda scan: scan.to_duckdb().to_arrow_table().to_pylist(),
    "to_duckdb of a connection": lambda scan: scan.to_duckdb(duckdb.connect()).to_arrow_table().to_pylist(),
    "pandas": lambda scan: pd.DataFrame.from_arrow(scan).to_dict("records"),
}


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_of_arrow_streams_gets_the_rows(scans: Callable[..., list[Any]], reader: str) -> None:
    if reader == "pandas" and not hasattr(pd.DataFrame, "from_arrow"):
        pytest.skip("pandas below 3 has no DataFrame.from_arrow")
    for scan in scans(COLUMNS, WHERE):
        assert by_id(READERS[reader](scan)) == EXPECTED
        assert by_id(READERS[reader](scan)) == EXPECTED, "a scan can be read again"


def test_variants_are_variants_in_duckdb_and_polars(scans: Callable[..., list[Any]]) -> None:
    for scan in scans(["id", "v", "v:b AS b", "v:a::bigint AS a"]):
        marks = {field.name: field.metadata == dict(MARK) for field in scan.schema}
        assert marks == {"id": False, "v": True, "b": True, "a": False}
        assert scan.to_arrow().schema.equals(scan.schema, check_metadata=True)
        assert pa.schema(scan).equals(scan.schema, check_metadata=True)
        found = duckdb.sql(
            "select typeof(v), typeof(b), max(v.a::int), min(b::varchar) from scan group by all"
        )
        assert found.fetchall() == [("VARIANT", "VARIANT", 29, "x0")]
        assert "arrow.parquet.variant" in str(pl.DataFrame(scan).schema["v"])


def test_variants_in_structs_lists_and_maps_are_marked(tmp_path: Path) -> None:
    kinds = {
        "s": pa.struct([("x", sl.variant())]),
        "l": pa.list_(sl.variant()),
        "m": pa.map_(pa.string(), sl.variant()),
        "plain": pa.struct([("metadata", pa.binary()), ("other", pa.binary())]),
    }
    values = sl.from_json(["1", "[2]"])
    columns = [
        pa.StructArray.from_arrays([values], ["x"]),
        pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), values),
        pa.MapArray.from_arrays(pa.array([0, 1, 2], pa.int32()), pa.array(["a", "b"]), values),
        pa.array([None, None], kinds["plain"]),
    ]
    rows = pa.table(columns, names=list(kinds))
    table = sl.Table.create(tmp_path / "t", pa.schema(list(kinds.items())))
    table.append(rows)
    sl.write_parquet(rows, tmp_path / "f.parquet")
    for scan in (table.scan(), sl.scan_parquet(tmp_path / "f.parquet")):  # noqa: B007 - DuckDB reads it
        found = duckdb.sql(
            "select typeof(s), typeof(l), typeof(m), typeof(plain), s.x, l[1] from scan limit 1"
        )
        [row] = found.fetchall()
        assert row[:3] == ("STRUCT(x VARIANT)", "VARIANT[]", "MAP(VARCHAR, VARIANT)")
        assert row[3] == "STRUCT(metadata BLOB, other BLOB)"
        assert (str(row[4]), str(row[5])) == ("1", "1")


def test_a_struct_of_the_same_shape_is_not_a_variant(tmp_path: Path) -> None:
    fields = [
        {"name": "metadata", "type": "binary", "nullable": False, "metadata": {}},
        {"name": "value", "type": "binary", "nullable": True, "metadata": {}},
    ]
    struct = {"type": "struct", "fields": fields}
    columns = [{"name": "s", "type": struct, "nullable": True, "metadata": {}}]
    metadata = {
        "id": "x",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": columns}),
        "partitionColumns": [],
        "configuration": {},
    }
    actions = [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": metadata}]
    log = tmp_path / "_delta_log"
    log.mkdir()
    (log / "00000000000000000000.json").write_text("\n".join(map(json.dumps, actions)))
    assert sl.Table(tmp_path).scan().schema.field("s").metadata is None


def test_limit_and_head(scans: Callable[..., list[Any]]) -> None:
    for scan in scans(COLUMNS, WHERE):
        for limit in (0, 1, 11, 18, 99):
            limited = scan.limit(limit)
            assert limited.to_arrow().num_rows == limited.count() == min(limit, 18)
            assert pa.table(limited).to_pylist() == scan.to_arrow().to_pylist()[:limit]
        assert scan.limit(5).limit(9).count() == scan.limit(9).limit(5).count() == 5
        assert scan.head().num_rows == 5
        assert scan.count() == 18, "the scan itself has no limit"
        for wrong in (-1, 1.5, "x", None):
            with pytest.raises(sl.WrongType, match="limit takes a number of rows"):
                scan.limit(wrong)


def test_a_limit_reads_less(scans: Callable[..., list[Any]]) -> None:
    for scan in scans(["id"]):
        limited = scan.limit(3)
        limited.to_arrow()
        explained = limited.explain()
        assert explained.rows == 3
        assert explained.bytes_read < scan.explain().bytes_read
    table_scan = scans(["id"])[0]
    assert table_scan.limit(3).explain().files_read == 1
    assert table_scan.limit(13).explain().files_read == 2


def test_repr_shows_the_plan(scans: Callable[..., list[Any]]) -> None:
    of_table, of_file = scans(COLUMNS, WHERE)
    assert repr(of_table.limit(7)).split("\n")[1:] == [
        "columns    id int64, a int64, b string",
        "where      v:a::bigint >= 12",
        "files      2 of 3, " + repr(of_table).split("2 of 3, ")[1],
        "limit      7",
    ]
    assert "pruned by partition values 0, by statistics 1" in repr(of_table)
    assert repr(of_file).endswith("row groups 2 of 3 can match")


def test_html_is_escaped(tmp_path: Path) -> None:
    name = "<script>alert(1)</script>"
    rows = {"id": [1], "v": sl.from_json([f'{{"{name}": "{name}"}}'])}
    rows[name] = [1]
    table = sl.Table.create(
        tmp_path / "t",
        pa.schema([("id", pa.int64()), ("v", sl.variant()), (name, pa.int64())]),
        properties={"delta.enableVariantShredding": "true", "delta.columnMapping.mode": "name"},
    )
    table.append(rows)
    sl.write_parquet(rows, tmp_path / "f.parquet", shredding="infer")
    (tmp_path / "a.ndjson").write_text(f'{{"{name}": 1}}\n')
    scan = table.scan(where=f"`{name}` = 1")
    shown: list[Any] = [
        table,
        scan,
        scan.explain(),
        sl.sql("select '<script>' AS name"),
        sl.scan_parquet(tmp_path / "f.parquet"),
        sl.scan_parquet(tmp_path / "f.parquet").explain(),
        sl.inspect(tmp_path / "f.parquet"),
        sl.infer_schema(rows["v"]),
        sl.ingest(tmp_path / "a.ndjson", tmp_path / "i"),
        sl.optimize(tmp_path / "i", sort_by="v:x::int"),
    ]
    for thing in shown:
        html = thing._repr_html_()
        assert html.startswith(("<table>", "<pre>"))
        assert "<script" not in html
        assert "&lt;script" in html, type(thing)


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, table: sl.Table) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(sl.MissingDependency, match="polars is not installed; run pip install polars"):
        table.scan().to_polars()
