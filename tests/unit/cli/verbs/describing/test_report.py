"""`shredlake report`: the paths of a table's Variants over all its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import shredlake as sl
from delta_tables import ID_AND_VARIANT, rows_of
from random_tables import forget_layouts
from shredlake.cli.app import app


@pytest.fixture
def table(tmp_path: Path) -> sl.Table:
    made = sl.Table.create(
        tmp_path / "t", ID_AND_VARIANT, properties={"delta.enableVariantShredding": "true"}
    )
    layout = "struct<a bigint, u struct<`x.y` string>, l array<bigint>>"
    for start in (0, 10, 20):
        values: list[Any] = [{"a": n, "u": {"x.y": "z"}, "l": [n]} for n in range(start, start + 10)]
        made.append(rows_of(range(start, start + 10), values), shredding={"v": layout})
    made.append(rows_of([30, 31], [{"a": 1}, {"a": "x"}]), shredding={"v": "struct<a decimal(5,1)>"})
    made.append(rows_of([32], [{"a": 1}]), shredding={"v": None})
    return made


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["report", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("told", [True, False], ids=["from the log", "from footers"])
def test_paths_over_all_files(table: sl.Table, tmp_path: Path, told: bool) -> None:
    table.delete("id = 5")
    if not told:
        forget_layouts(tmp_path / "t")
    facts = json.loads(run(table.uri, "--json"))
    assert (facts["version"], facts["files"], facts["rows"], facts["layouts"]) == (6, 5, 32, 3)
    assert facts["untouched"] == {"v": 1}
    a, *others = facts["paths"]["v"]
    assert a["path"] == "a"
    assert a["types"] == {"bigint": 3, "decimal(5,1)": 1}
    assert a["mixed"] == 1
    assert [one["path"] for one in others] == ["l[*]", "u['x.y']"]
    if told:
        assert a["files_per_value"] == 1.0
        assert a["with_statistics"] >= 3


def test_a_page_for_people(table: sl.Table) -> None:
    lines = run(table.uri).splitlines()
    assert "5 files   33 rows" in lines[0]
    assert lines[0].endswith("in 3 layouts")
    assert lines[1] == "v  not shredded in 1 file"
    assert lines[2].split("  ")[0] == "path"
    assert "bigint (3), decimal(5,1) (1)" in lines[3]


def test_nothing_to_report(tmp_path: Path) -> None:
    sl.Table.create(tmp_path, ID_AND_VARIANT)
    assert "0 files   0 rows" in run(str(tmp_path))
