"""`shredlake advise` on text, on a file and on a table."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import shredlake as sl
from shredlake.cli.app import app, main

ROWS = [{"id": n, "status": "n/a" if n % 50 == 0 else 200, "at": "2024-01-05T10:00:00Z"} for n in range(500)]
LAYOUT = "struct<at string, id bigint, status bigint>"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["advise", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def lines() -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)


def table() -> pa.Table:
    return pa.table({"n": range(len(ROWS)), "v": sl.from_json(pa.array(map(json.dumps, ROWS)))})


def test_text_for_people(tmp_path: Path) -> None:
    (tmp_path / "rows.ndjson").write_bytes(lines())
    text = run(str(tmp_path / "rows.ndjson"))
    assert "500 rows, 3 of at most 300 columns" in text
    assert "2.0% string in value" in text
    assert "strings that are all timestamps" in text
    assert "█" in text
    assert text.rstrip().endswith(LAYOUT), "the DDL to paste is one line"


@pytest.mark.parametrize("form", ["ndjson", "gzip", "array", "broken line"])
def test_forms_of_text(tmp_path: Path, form: str) -> None:
    path = tmp_path / ("rows.json.gz" if form == "gzip" else "rows.json")
    path.write_bytes(
        {
            "ndjson": lines(),
            "gzip": gzip.compress(lines()),
            "array": json.dumps(ROWS, indent=1).encode(),
            "broken line": lines() + b"{oops\n",
        }[form]
    )
    found = json.loads(run(str(path), "--json"))
    assert found["shredding"] == LAYOUT
    assert found["rows"] == (501 if form == "broken line" else 500)
    assert found["sample"]["rows"] == found["rows"]
    assert min(found["sample"]["bytes_after"], found["sample"]["bytes_before"]) > 1000


def test_parquet_files(tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    sl.write_parquet(table(), path)
    assert json.loads(run(str(path), "--json"))["column"] == "v"
    sl.write_parquet(table(), path, shredding={"v": "struct<id bigint, other string, at string>"})
    kept = json.loads(run(str(path), "--json"))
    assert "status" in kept["shredding"], (
        "the layout of the file must not leave a third of the values untyped"
    )
    pq.write_table(pa.table({"text": [json.dumps(row) for row in ROWS]}), path)
    assert json.loads(run(str(path), "--json"))["shredding"] == LAYOUT


def test_tables(tmp_path: Path) -> None:
    schema = pa.schema([("n", pa.int64()), ("v", sl.variant())])
    made = sl.Table.create(tmp_path / "t", schema, properties={"delta.enableVariantShredding": "true"})
    made.append(table())
    assert json.loads(run(str(tmp_path / "t"), "--json", "--column", "v"))["shredding"] == LAYOUT


def test_queries_and_budget(tmp_path: Path) -> None:
    (tmp_path / "rows.ndjson").write_bytes(lines())
    found = json.loads(run(str(tmp_path / "rows.ndjson"), "--json", "--max-leaves", "1", "-q", "$.status"))
    assert found["shredding"] == "struct<status bigint>"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere.ndjson", "does not exist"),
        ("empty.ndjson", "has no rows to profile"),
        ("plain.parquet", "has no Variant column; convert turns"),
    ],
)
def test_what_can_not_be_read_is_named(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    message: str,
) -> None:
    (tmp_path / "empty.ndjson").write_bytes(b"")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "plain.parquet")
    monkeypatch.setattr("sys.argv", ["shredlake", "advise", str(tmp_path / name)])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 1
    assert message in capsys.readouterr().err
