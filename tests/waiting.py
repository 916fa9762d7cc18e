"""Waiting for a condition, with a deadline: the only place where tests let time pass."""

from __future__ import annotations

import time
from collections.abc import Callable

STEP = 0.005
"""Seconds between two looks."""


def wait_until(condition: Callable[[], object], seconds: float = 240) -> bool:
    """Waits until the condition holds or the time is over, and tells whether it holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(STEP)
    return True
