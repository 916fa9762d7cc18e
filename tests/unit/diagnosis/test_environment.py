"""The environment that a diagnosis describes."""

from __future__ import annotations

from pathlib import Path

import shredlake as sl
from shredlake.diagnosis.environment import examine_environment


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
