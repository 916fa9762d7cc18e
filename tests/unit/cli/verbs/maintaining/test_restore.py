"""`shredlake restore`: an older version becomes the newest one."""

from __future__ import annotations

import json

import shredlake as sl
from command_line import invoke as run


def test_restore(thirty: sl.Table) -> None:
    thirty.delete("v:a::bigint >= 20")
    assert json.loads(run("restore", thirty.uri, "--version", "3", "--json").stdout) == {
        "version": 5,
        "restored": 3,
    }
    assert run("count", thirty.uri).stdout == "30\n"


def test_restore_wants_one_version(thirty: sl.Table) -> None:
    run("restore", thirty.uri, code=2)
