"""`shredlake ingest`, without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from command_line import run
from shredlake.delta.log.snapshot import Snapshot
from shredlake.jobs.ingest import ingest, ingest_arrow


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
