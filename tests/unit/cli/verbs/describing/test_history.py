"""`shredlake history`: one line per version."""

from __future__ import annotations

import json
import re
from pathlib import Path

import shredlake as sl
from command_line import run


def test_history(table: sl.Table, tmp_path: Path) -> None:
    table.delete("v:a::bigint = 3")
    text = run("history", str(tmp_path))
    lines = text.splitlines()
    assert lines[0].split() == ["version", "time", "operation", "what", "engine"]
    assert lines[1].split()[0] == "5"
    assert 'predicate=["v:a::bigint = 3"]' in text, "as it stands, no emoji"
    assert "deleted rows 1" in lines[1]
    assert not re.search(r"num[A-Z]|[a-z][A-Z]\w*=", lines[1]), "metrics are words"
    assert len(run("history", str(tmp_path), "-n", "2").splitlines()) == 3
    entries = [json.loads(line) for line in run("history", str(tmp_path), "--json").splitlines()]
    assert [entry["version"] for entry in entries] == [5, 4, 3, 2, 1, 0]
    assert entries[0]["operation"] == "DELETE"
