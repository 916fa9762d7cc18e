"""Damaged files are a ShredlakeError or the values that are left, never anything else."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

FUZZER = Path(__file__).parents[3] / "fuzz" / "fuzz_parquet.py"


def test_a_few_hundred_damaged_files(capsys: pytest.CaptureFixture[str]) -> None:
    """`make fuzz` runs the same by the ten thousand."""
    runpy.run_path(str(FUZZER))["main"](count=300, seed=2)
    assert "nothing else" in capsys.readouterr().out
