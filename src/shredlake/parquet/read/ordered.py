"""Jobs on threads, results in order, only a few ahead of the reader: what bounds a scan's memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def in_order(jobs: Iterable[Callable[[], T]], threads: int) -> Iterator[T]:
    """Runs jobs and yields their results in the order of the jobs.

    >>> list(in_order((lambda n=n: n * n for n in range(5)), threads=2))
    [0, 1, 4, 9, 16]
    """
    if threads <= 1:
        yield from (job() for job in jobs)
        return
    pool = ThreadPoolExecutor(threads, thread_name_prefix="shredlake-scan")
    running: deque[Future[T]] = deque()
    try:
        for job in jobs:
            running.append(pool.submit(job))
            if len(running) > threads:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    finally:
        for future in running:
            future.cancel()
        pool.shutdown()
