"""`ingest`, `optimize`, `migrate` and `demo` from the command line, without Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import shredlake as sl
from shredlake.cli.app import app
from shredlake.delta.log.snapshot import Snapshot
from shredlake.jobs.ingest import ingest, ingest_arrow
from shredlake.parquet.legacy.convert import write_draft


def run(*arguments: object, fails: bool = False) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert (result.exit_code != 0) == fails, result.output
    return result.output if not fails else f"{result.output}{result.exception}"


@pytest.fixture
def events(tmp_path: Path) -> Path:
    lines = [json.dumps({"id": n, "day": f"2026-01-0{1 + n % 2}"}) for n in range(10)]
    (tmp_path / "events.ndjson").write_text("\n".join([*lines, "broken"]))
    return tmp_path / "events.ndjson"


def test_ingest(tmp_path: Path, events: Path) -> None:
    table = tmp_path / "table"
    said = run(
        "ingest", events, table, "--with", "day: v:day::date", "--partition-by", "day",
        "--sort-by", "v:id::bigint", "--max-rejects", "10%", "--rejects", tmp_path / "bad",
    )  # fmt: skip
    assert "11 = 10 rows + 1 reject" in said
    assert sl.Table(table).partition_columns == ("day",)
    assert sl.Table(tmp_path / "bad").scan().to_arrow().column("line").to_pylist() == [11]
    assert "already committed" in run("ingest", events, table, "--engine", "local")
    assert "max_rejects=0" in run("ingest", events, table, "--max-rejects", 0, "--job-id", "x", fails=True)
    assert "name: expression" in run("ingest", events, table, "--with", "nonsense", fails=True)


@pytest.mark.parametrize("kind", ["parquet", "csv", "delta"])
def test_ingest_of_a_column(tmp_path: Path, kind: str) -> None:
    data = pa.table({"n": [1, 2], "body": ['{"id": 1}', '{"id": 2}']})
    source = tmp_path / f"source.{kind}"
    if kind == "parquet":
        pq.write_table(data, source)
    elif kind == "csv":
        pyarrow.csv.write_csv(data, source)
    else:
        sl.Table.create(source, data.schema).append(data)
    said = run("ingest", source, tmp_path / "table", "--format", kind, "--from", "body", "--column", "event")
    assert "2 rows" in said
    found = sl.Table(tmp_path / "table").scan(columns=["n", "event:id::int AS id"]).to_arrow().to_pylist()
    assert found == [{"n": 1, "id": 1}, {"n": 2, "id": 2}]


def test_optimize(tmp_path: Path, events: Path) -> None:
    table = tmp_path / "table"
    for job in "abc":
        run("ingest", events, table, "--job-id", job, "--shredding", "none")
    said = run("optimize", table, "--sort-by", "v:id::bigint", "--engine", "local")
    assert "3 files" in said
    assert "became 1" in said
    found = sl.Table(table).scan(columns=["v:id::bigint AS id"]).to_arrow().column("id").to_pylist()
    assert found == sorted([*range(10)] * 3)


def test_migrate_to_a_table_and_back_out(tmp_path: Path) -> None:
    (tmp_path / "drafts").mkdir()
    data = pa.table({"v": sl.from_json(pa.array(['{"id": 1, "x": 2}']))})
    write_draft(data, tmp_path / "drafts" / "a.parquet", {"v": "struct<id bigint>"})
    assert "1 row " in run("migrate", tmp_path / "drafts", tmp_path / "table", "--table")
    assert "1 row " in run("migrate", tmp_path / "table", tmp_path / "plain", "--unshred")
    column = sl.Table(tmp_path / "plain").scan().to_arrow().column("v")
    assert sl.to_json(column).to_pylist() == ['{"id":1,"x":2}']


@pytest.mark.parametrize("java", [True, False])
def test_demo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, java: bool) -> None:
    if java:
        said = run("demo", "--engine", "local", "--events", 500)
    else:
        monkeypatch.delenv("JAVA_HOME", raising=False)
        monkeypatch.setenv("PATH", str(tmp_path))
        said = run("demo", "--events", 500)
        assert said.splitlines()[0].startswith("no Java found: the demo runs in this process")
    assert "500 rows + 0 rejects" in said
    assert "posts in Japanese" in said


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_ingest_opens_the_table_once(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source, table = tmp_path / "a", tmp_path / "table"
    if kind == "json":
        source.write_text('{"id": 1}\n')
    else:
        pq.write_table(pa.table({"v": ['{"id": 1}']}), source)
    opened: list[str] = []
    real = ingest.open_checked

    def counted(place: str, *arguments: Any) -> Snapshot:
        opened.append(place)
        return real(place, *arguments)

    for module in (ingest, ingest_arrow):
        monkeypatch.setattr(module, "open_checked", counted)
    run("ingest", "--format", kind, source, table)
    assert opened == [str(table)]
    assert sl.Table(table).scan().count() == 1
