"""`shredlake migrate`, without Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import shredlake as sl
from command_line import run
from shredlake.cli.app import app
from shredlake.parquet.legacy.convert import write_draft


def test_migrate_to_a_table_and_back_out(tmp_path: Path) -> None:
    (tmp_path / "drafts").mkdir()
    data = pa.table({"v": sl.from_json(pa.array(['{"id": 1, "x": 2}']))})
    write_draft(data, tmp_path / "drafts" / "a.parquet", {"v": "struct<id bigint>"})
    assert "1 row " in run("migrate", tmp_path / "drafts", tmp_path / "table", "--table")
    assert "1 row " in run("migrate", tmp_path / "table", tmp_path / "plain", "--unshred")
    column = sl.Table(tmp_path / "plain").scan().to_arrow().column("v")
    assert sl.to_json(column).to_pylist() == ['{"id":1,"x":2}']


def test_draft_files_through_pipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draft = tmp_path / "draft.parquet"
    sl.write_draft(pa.table({"v": sl.from_json(['{"a": 1}', '{"a": 2}'])}), draft, {"v": "struct<a bigint>"})
    sent = CliRunner().invoke(app, ["migrate", "-", "-"], input=draft.read_bytes())
    assert sent.exit_code == 0, sent.output
    (tmp_path / "new.parquet").write_bytes(sent.stdout_bytes)
    assert sl.check(tmp_path / "new.parquet") == []
    assert sl.to_json(sl.read_parquet(tmp_path / "new.parquet")["v"]).to_pylist() == ['{"a":1}', '{"a":2}']
    said = CliRunner().invoke(app, ["migrate", "-", str(tmp_path / "file.parquet")], input=draft.read_bytes())
    assert "2 rows" in said.stdout
