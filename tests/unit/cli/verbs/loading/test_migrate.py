"""`shredlake migrate`, without Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv

import shredlake as sl
from command_line import run
from shredlake.parquet.legacy.convert import write_draft


def test_migrate_to_a_table_and_back_out(tmp_path: Path) -> None:
    (tmp_path / "drafts").mkdir()
    data = pa.table({"v": sl.from_json(pa.array(['{"id": 1, "x": 2}']))})
    write_draft(data, tmp_path / "drafts" / "a.parquet", {"v": "struct<id bigint>"})
    assert "1 row " in run("migrate", tmp_path / "drafts", tmp_path / "table", "--table")
    assert "1 row " in run("migrate", tmp_path / "table", tmp_path / "plain", "--unshred")
    column = sl.Table(tmp_path / "plain").scan().to_arrow().column("v")
    assert sl.to_json(column).to_pylist() == ['{"id":1,"x":2}']
