"""`shredlake doctor`, of tables, of files and of the environment."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from command_line import invoke
from shredlake.diagnosis.rules import ENGINES


def test_a_table(table: sl.Table) -> None:
    text = invoke("doctor", table.uri, "--rules-only").stdout
    heading, columns, *rows = text.splitlines()
    assert heading.startswith(f"{table.uri}  needs feature variantShredding, ")
    assert columns.split()[:2] == ["engine", "version"]
    assert {row.split()[0] for row in rows if not row.startswith(" ")} == set(ENGINES)
    assert "tried here" not in text


def test_installed_engines_are_tried(table: sl.Table) -> None:
    pytest.importorskip("deltalake", reason="deltalake is not installed")
    found = json.loads(invoke("doctor", table.uri, "--json").stdout)
    tried = {one["engine"]: one["verdict"] for one in found["engines"] if one["checked"]}
    assert tried["deltalake"] == "no"
    rules = json.loads(invoke("doctor", table.uri, "--rules-only", "--json").stdout)
    assert not any(one["checked"] for one in rules["engines"])
    assert rules["address"] == table.uri


def test_a_file_without_variants_needs_nothing(tmp_path: Path) -> None:
    sl.write_parquet(pa.table({"n": [1]}), tmp_path / "n.parquet")
    text = invoke("doctor", str(tmp_path / "n.parquet"), "--rules-only").stdout
    assert text.splitlines()[0] == f"{tmp_path / 'n.parquet'}  needs nothing special"


def test_a_narrow_terminal_gets_paragraphs(table: sl.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines = invoke("doctor", table.uri, "--rules-only").stdout.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("deltalake "))
    assert lines[start].endswith(": no (rule)")
    assert lines[start + 1].startswith("         it refuses the reader feature")
    assert "…" not in "".join(lines)


def test_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    text = invoke("doctor").stdout
    assert any(line.split()[:2] == ["ok", "pyarrow"] for line in text.splitlines())
    found = {one["name"]: one for one in json.loads(invoke("doctor", "--json").stdout)}
    assert found["pyarrow"] == {
        "name": "pyarrow", "found": pa.__version__, "good": True,
        "advice": found["pyarrow"]["advice"], "needed": True,
    }  # fmt: skip
    monkeypatch.setenv("COLUMNS", "60")
    assert f"ok  pyarrow: {pa.__version__}" in invoke("doctor").stdout


def test_a_store_that_can_not_be_listed_is_a_failure(tmp_path: Path) -> None:
    good = invoke("doctor", "--store", str(tmp_path)).stdout
    assert f"{tmp_path} can be listed" in " ".join(good.split())
    bad = invoke("doctor", "--store", "ftp://host/t", code=1).stdout
    [line] = [line for line in bad.splitlines() if " store " in line]
    assert line.split()[:2] == ["no", "store"]
    found = json.loads(invoke("doctor", "--store", "ftp://host/t", "--json", code=1).stdout)
    assert [one["name"] for one in found if one["needed"] and not one["good"]] == ["store"]


def test_what_is_not_there(tmp_path: Path) -> None:
    assert "the folder does not exist" in str(invoke("doctor", str(tmp_path / "t"), code=1).exception)
