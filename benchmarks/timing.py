"""Timing of alternating runs."""

from __future__ import annotations

import time
from collections.abc import Callable


def best_of(
    runs: int, *works: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Seconds of the fastest run of each; runs alternate, so that noise affects all alike."""
    best = [float("inf")] * len(works)
    for _ in range(runs):
        for index, work in enumerate(works):
            started = clock()
            result = work()
            best[index] = min(best[index], clock() - started)
            del result  # releasing its memory is not part of the work
    return best
