"""Tests that start clusters or kill processes take minutes: `make kill` runs them, for a number of rounds."""

from __future__ import annotations

import os
from typing import Final

import pytest

KILLS: Final = int(os.environ.get("SHREDLAKE_KILLS", "0"))
"""How many rounds `make kill` asks for. 0 in the default suite."""

LONG = pytest.mark.skipif(not KILLS, reason="takes minutes: make kill")
