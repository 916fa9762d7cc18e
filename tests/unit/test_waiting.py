"""Tests wait for conditions, never for a time."""

from __future__ import annotations

import time
from pathlib import Path

from waiting import wait_until

TESTS = Path(__file__).parents[1]


def test_no_test_sleeps() -> None:
    sleeping = "sleep" + "("
    found = [path.name for path in TESTS.rglob("*.py") if sleeping in path.read_text()]
    assert found == ["waiting.py"], "use waiting.wait_until"


def test_waiting_ends_with_the_condition_or_the_deadline() -> None:
    looks = iter([False, False, True])
    assert wait_until(lambda: next(looks))
    began = time.monotonic()
    assert not wait_until(lambda: False, seconds=0.02)
    assert time.monotonic() - began >= 0.02
