"""`shredlake count`: rows that meet a condition, of one version."""

from __future__ import annotations

import json

import shredlake as sl
from command_line import invoke as run


def test_count(thirty: sl.Table) -> None:
    assert run("count", thirty.uri).stdout == "30\n"
    assert run("count", thirty.uri, "-w", "v:a::bigint < 5").stdout == "5\n"
    assert json.loads(run("count", thirty.uri, "--json", "--version", "1").stdout) == {
        "version": 1,
        "rows": 10,
    }


def test_time_travel(thirty: sl.Table) -> None:
    moment = thirty.history()[1]["timestamp"].isoformat()
    assert run("count", thirty.uri, "--timestamp", moment).stdout == "20\n"
    assert "together" in run("count", thirty.uri, "--timestamp", moment, "--version", "1", code=2).output
