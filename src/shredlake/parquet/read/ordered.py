"""Runs jobs on threads and yields their results in order, with only a few jobs ahead of the reader.

The number of jobs in flight bounds a scan's memory. A reader that stops early cancels the rest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from types import TracebackType
from typing import TypeVar

T = TypeVar("T")


class OrderedRunner:
    """One pool of threads for the jobs of a scan.

    Several runs may share it, such as one over the files of a table and one over the windows of a large file.
    Jobs must not start runs of their own; only the reader of the results may.

    >>> with OrderedRunner(threads=2) as runner:
    ...     list(runner.run(lambda n=n: n * n for n in range(5)))
    [0, 1, 4, 9, 16]
    """

    def __init__(self, threads: int) -> None:
        """With at most one thread, jobs run in the thread that takes their results."""
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="shredlake-scan") if threads > 1 else None

    def run(self, jobs: Iterable[Callable[[], T]], *, gradual: bool = False) -> Iterator[T]:
        """Yields the results in the order of the jobs.

        With `gradual`, the first job runs alone and more run ahead with each result taken, for readers that
        may need only the first.
        """
        if self._pool is None:
            yield from (job() for job in jobs)
            return
        waiting = iter(jobs)
        ahead = list(islice(waiting, 1 if gradual else 2))
        if len(ahead) == 1:  # nothing to run beside it: starting a thread takes longer than many a job
            yield ahead.pop()()
        most = self._threads + 1
        under_way = min(2, most) if gradual else most
        running: deque[Future[T]] = deque()
        try:
            for job in chain(ahead, waiting):
                running.append(self._pool.submit(job))
                while len(running) >= under_way:
                    yield running.popleft().result()
                    under_way = min(2 * under_way, most)
            while running:
                yield running.popleft().result()
        finally:
            for future in running:
                future.cancel()

    def __enter__(self) -> OrderedRunner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def in_order(jobs: Iterable[Callable[[], T]], threads: int, *, gradual: bool = False) -> Iterator[T]:
    """Runs jobs on threads of their own and yields the results in the order of the jobs.

    `gradual` is that of `OrderedRunner.run`.

    >>> list(in_order((lambda n=n: n * n for n in range(5)), threads=2))
    [0, 1, 4, 9, 16]
    """
    with OrderedRunner(threads) as runner:
        yield from runner.run(jobs, gradual=gradual)
