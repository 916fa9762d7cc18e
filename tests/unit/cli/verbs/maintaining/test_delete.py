"""`shredlake delete`: the rows that meet a condition, or all of them."""

from __future__ import annotations

import pytest

import shredlake as sl
from command_line import invoke as run


def test_delete(thirty: sl.Table) -> None:
    assert "30 rows would be deleted" in run("delete", thirty.uri, "--all", "--dry-run").stdout
    ran = run("delete", thirty.uri, "-w", "v:a::bigint >= 20")
    assert ran.stdout == "10 rows deleted: the table is at version 4\n"
    assert ran.stderr == f"To undo this: shredlake restore {thirty.uri} --version 3\n"
    assert "No row meets the condition" in run("delete", thirty.uri, "-w", "id = 99").stdout
    assert run("count", thirty.uri).stdout == "20\n"


@pytest.mark.parametrize("arguments", [[], ["--where", "id = 1", "--all"]])
def test_delete_wants_to_know_which_rows(thirty: sl.Table, arguments: list[str]) -> None:
    assert "--all" in run("delete", thirty.uri, *arguments, code=2).output
