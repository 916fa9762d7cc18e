"""Null Variants, alone and nested, come back in a form that pyarrow's own writer takes."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from shredlake.kernels.arrow.buffers import null_rows

ONE = {"metadata": b"\x01\0\0", "value": b"\x0c\x01"}
VARIANT = sl.variant()
STRUCT = pa.struct([("v", VARIANT), ("n", pa.int64())])
TYPES: dict[str, pa.DataType] = {
    "v": VARIANT,
    "s": STRUCT,
    "ss": pa.struct([("s", STRUCT)]),
    "l": pa.list_(pa.field("element", VARIANT)),
    "m": pa.map_(pa.string(), VARIANT),
}
ROWS: dict[str, dict[str, list[Any]]] = {
    "all null": {name: [None, None] for name in TYPES},
    "null inside": {
        "v": [ONE, None],
        "s": [{"v": None, "n": 1}, None],
        "ss": [{"s": None}, {"s": {"v": None, "n": 2}}],
        "l": [[None], [ONE, None]],
        "m": [[("a", None)], None],
    },
}


def written_by_pyarrow(table: pa.Table) -> None:
    table.validate(full=True)
    pq.write_table(table, io.BytesIO())


@pytest.fixture(params=ROWS)
def table(request: pytest.FixtureRequest) -> pa.Table:
    return pa.table({name: pa.array(ROWS[request.param][name], type_) for name, type_ in TYPES.items()})


@pytest.mark.parametrize("shredding", [None, "infer"])
def test_files(table: pa.Table, tmp_path: Path, shredding: str | None) -> None:
    sl.write_parquet(table, tmp_path / "f.parquet", shredding=shredding)
    written_by_pyarrow(sl.read_parquet(tmp_path / "f.parquet"))


def test_tables(table: pa.Table, tmp_path: Path) -> None:
    delta = sl.Table.create(str(tmp_path / "t"), table.schema)
    delta.append(table)
    written_by_pyarrow(delta.scan().to_arrow())
    written_by_pyarrow(delta.scan(["v:a AS a", "ss.s.v AS v", "CAST(NULL AS variant) AS n"]).to_arrow())


def test_added_columns(table: pa.Table, tmp_path: Path) -> None:
    delta = sl.Table.create(str(tmp_path / "t"), pa.schema([("id", pa.int64())]))
    delta.append(pa.table({"id": [1, 2]}))
    delta.add_column(*(pa.field(name, type_) for name, type_ in TYPES.items()))
    delta.append(pa.table({"id": [3]}))
    delta.append(table)
    written_by_pyarrow(delta.scan().to_arrow())


def test_null_rows_keep_what_is_required() -> None:
    required = pa.struct([pa.field("n", pa.int64(), False), pa.field("v", VARIANT, False)])
    array = null_rows(3, pa.struct([pa.field("r", required, nullable=False)]))
    assert array.to_pylist() == [None] * 3
    written_by_pyarrow(pa.table({"s": array}))
