"""The environment that a diagnosis describes."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import shredlake as sl
from command_line import invoke
from shredlake.diagnosis import environment
from shredlake.diagnosis.environment import NEEDED, examine_environment


def test_the_environment() -> None:
    found = {check.name: check for check in examine_environment()}
    assert found["shredlake"].found == sl.__version__
    assert found["kernels"].good
    assert "free" in found["disk"].found
    assert all(check.good or check.advice for check in found.values())


def test_access_to_a_store(tmp_path: Path) -> None:
    assert examine_environment(str(tmp_path))[-1].good
    bad = examine_environment("nothing://x")[-1]
    assert not bad.good
    assert "nothing" in bad.advice
    missing = examine_environment(str(tmp_path / "missing"))[-1]
    assert (missing.good, missing.advice) == (False, f"{tmp_path / 'missing'} is not a folder")


def test_every_library_that_the_package_needs_is_looked_at() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert {one.partition(">")[0] for one in project["dependencies"]} == set(NEEDED)


def test_a_version_that_is_too_old_or_too_new_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.requires", lambda name: ['duckdb<3,>=2; extra == "sql"'])
    for version, good in (("1.4.2", False), ("2.0.0", True), ("3.0.0", False)):
        monkeypatch.setattr(environment, "_version", lambda name, version=version: version)
        check = next(check for check in examine_environment() if check.name == "duckdb")
        assert (check.good, check.found) == (good, version)
        assert check.advice == "pip install 'duckdb<3,>=2'"


def test_the_exit_code_tells_of_a_store_that_can_not_be_listed(tmp_path: Path) -> None:
    assert invoke("doctor", "--store", str(tmp_path)).exit_code == 0
    failed = invoke("doctor", "--store", "nothing://x", code=1)
    assert "nothing" in failed.stdout
