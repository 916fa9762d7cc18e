"""`shredlake head`: the first rows, printed or written to a file."""

from __future__ import annotations

import json
from pathlib import Path

import shredlake as sl
from command_line import invoke as run


def test_head(thirty: sl.Table) -> None:
    rows = run("head", thirty.uri, "id, v:a::bigint AS a", "-n", "2", "--json").stdout.splitlines()
    assert [json.loads(row) for row in rows] == [{"id": n, "a": n} for n in (20, 21)]
    assert run("head", thirty.uri).stdout.count("│ ") >= 5


def test_head_writes_to_a_file(thirty: sl.Table, tmp_path: Path) -> None:
    run("head", thirty.uri, "id", "-n", "3", "--output", str(tmp_path / "rows.csv"))
    assert (tmp_path / "rows.csv").read_text().splitlines() == ['"id"', "20", "21", "22"]
