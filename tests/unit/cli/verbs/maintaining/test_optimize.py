"""`shredlake optimize`, without Spark."""

from __future__ import annotations

from pathlib import Path

import shredlake as sl
from command_line import run


def test_optimize(tmp_path: Path, events: Path) -> None:
    table = tmp_path / "table"
    for job in "abc":
        run("ingest", events, table, "--job-id", job, "--shredding", "none")
    said = run("optimize", table, "--sort-by", "v:id::bigint", "--engine", "local")
    assert "3 files" in said
    assert "became 1" in said
    found = sl.Table(table).scan(columns=["v:id::bigint AS id"]).to_arrow().column("id").to_pylist()
    assert found == sorted([*range(10)] * 3)
