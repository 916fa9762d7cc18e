"""Odd files of other writers: repeated names, empty groups, deep schemas; and reads without columns."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from shredlake.errors import InvalidFile, InvalidSchema
from shredlake.parquet.format import thrift
from shredlake.parquet.format.footer import read_footer
from shredlake.parquet.format.thrift import Struct
from shredlake.parquet.read.pages import DEPTH_LIMIT


def parquet(table: pa.Table) -> io.BytesIO:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink


def test_columns_of_one_name_are_refused_and_others_read() -> None:
    file = parquet(pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], names=["a", "a", "b"]))
    assert sl.read_parquet(file, columns=["b"]).to_pylist() == [{"b": 3}]
    for query in ({}, {"columns": ["a"]}, {"columns": ["b"], "where": "a = 1"}):
        with pytest.raises(InvalidFile, match="several columns named 'a'"):
            sl.read_parquet(file, **query)


def test_a_group_without_columns_is_null() -> None:
    raw = parquet(pa.table({"id": [1, 2]})).getvalue()
    start = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    tree = thrift.read_struct(raw[start:-8])
    tree.structs(2)[0].set(5, thrift.I32, 2)
    tree.sequence(2).append(Struct({3: (thrift.I32, 1), 4: (thrift.BINARY, b"g"), 5: (thrift.I32, 0)}))
    footer = thrift.write_struct(tree)
    file = io.BytesIO(raw[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    assert sl.read_parquet(file).to_pylist() == [{"id": 1, "g": None}, {"id": 2, "g": None}]


@pytest.mark.skipif(not DEPTH_LIMIT, reason="this pyarrow can't be told to open deep schemas")
def test_objects_nested_fifty_five_deep() -> None:
    ddl, document = "bigint", "7"
    for _ in range(55):
        ddl, document = f"struct<a {ddl}>", f'{{"a":{document}}}'
    shredded = sl.shred(sl.from_json(pa.array([document])), sl.ShreddingSchema.parse(ddl))
    file = parquet(pa.table({"v": shredded}))
    assert sl.to_json(sl.read_parquet(file).column("v")).to_pylist() == [document]
    path = ".".join(["a"] * 55)
    assert sl.read_parquet(file, columns=[f"v:{path}::bigint AS x"]).to_pylist() == [{"x": 7}]
    assert sl.inspect(file).rows == 1


def test_rows_without_columns() -> None:
    file = parquet(pa.table({"id": [1, 2, 3]}))
    assert sl.read_parquet(file, columns=[]).num_rows == 3
    assert sl.scan_parquet(file, columns=[], where="id > 1").to_arrow().num_rows == 2


@pytest.mark.parametrize("mode", ["id", "name", "none"])
def test_rows_of_a_table_without_columns(tmp_path: Path, mode: str) -> None:
    schema = pa.schema([("id", pa.int64()), ("v", sl.variant())])
    table = sl.Table.create(str(tmp_path / "t"), schema, properties={"delta.columnMapping.mode": mode})
    table.append(pa.table({"id": [1, 2], "v": sl.from_json(pa.array(['{"a":1}', "2"]))}))
    assert table.scan([]).to_arrow().num_rows == 2
    assert table.scan([], where="id = 1").to_arrow().num_rows == 1
    assert table.scan(["1 AS x"]).to_arrow().to_pylist() == [{"x": 1}, {"x": 1}]


def test_bloom_filters_on_booleans(tmp_path: Path) -> None:
    with pytest.raises(InvalidSchema, match="Parquet does not define them for booleans"):
        sl.write_parquet(
            pa.table({"b": [True]}), tmp_path / "b.parquet", options=sl.WriteOptions(bloom_filters=("b",))
        )
    table = pa.table({"v": sl.from_json(pa.array(['{"a":true}']))})
    options = sl.WriteOptions(bloom_filters=("v:a",))
    facts = sl.write_parquet(
        table, tmp_path / "v.parquet", shredding={"v": "struct<a boolean>"}, options=options
    )
    assert facts.num_rows == 1


@pytest.mark.parametrize("mode", ["id", "name", "none"])
def test_bloom_filters_under_column_mapping(tmp_path: Path, mode: str) -> None:
    schema = pa.schema([("id", pa.int64()), ("v", sl.variant())])
    properties = {"delta.columnMapping.mode": mode, "delta.enableVariantShredding": "true"}
    table = sl.Table.create(str(tmp_path / "t"), schema, properties=properties)
    table.append(
        pa.table({"id": [1, 2], "v": sl.from_json(pa.array(['{"a":"x"}', '{"a":"y"}']))}),
        shredding={"v": "struct<a string>"},
        options=sl.WriteOptions(bloom_filters=("v:a", "id")),
    )
    [file] = (tmp_path / "t").glob("*.parquet")
    chunks = read_footer(io.BytesIO(file.read_bytes())).row_groups()[0].structs(1)
    metas = [chunk.struct(3) for chunk in chunks]
    with_filter = [at for at, meta in enumerate(metas) if meta is not None and 14 in meta]
    assert with_filter == [0, len(chunks) - 1]
