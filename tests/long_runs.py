"""Tests that start clusters or kill processes take minutes: `make kill` runs them, for a number of rounds."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final, TypeVar

import pytest

T = TypeVar("T")

KILLS: Final = int(os.environ.get("SHREDLAKE_KILLS", "0"))
"""How many rounds `make kill` asks for. 0 in the default suite."""

LONG = pytest.mark.skipif(not KILLS, reason="takes minutes: make kill")


def some(cases: Iterable[T], every: int = 3) -> list[T]:
    """Every third case in the default suite, and all of them where `make interop` asks for more."""
    return list(cases)[:: 1 if "SHREDLAKE_CASES" in os.environ else every]
