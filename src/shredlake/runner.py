"""Runs jobs on threads: the one place that makes pools.

| jobs                               | run by        | results                                            |
|------------------------------------|---------------|----------------------------------------------------|
| that read or compute               | OrderedRunner | in order, with only a few jobs ahead of the reader |
| that mostly wait for storage       | call_storage  | in order, all of them                              |
| of very different lengths, counted | as_done       | as each job finishes                               |

The number of jobs in flight bounds a scan's memory. A reader that stops early cancels the rest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from functools import partial
from itertools import chain, islice
from types import TracebackType
from typing import Final, TypeVar

T = TypeVar("T")
Item = TypeVar("Item")

STORAGE_CALLS: Final = 16
"""How many calls wait for storage at a time."""


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


def call_storage(call: Callable[[Item], T], items: Iterable[Item]) -> list[T]:
    """Calls a function that mostly waits for storage for each item, and returns the results in order.

    There are more threads than cores, because waiting takes no time of a core.

    >>> call_storage(len, ["a", "bc"])
    [1, 2]
    """
    return list(in_order((partial(call, item) for item in items), STORAGE_CALLS))


def as_done(jobs: Iterable[Callable[[], T]], threads: int) -> Generator[tuple[int, T], None, None]:
    """Runs jobs on threads of their own, and yields the index and the result of each job when it is done.

    For jobs that may take very different times: behind a slow one, in order, threads would have nothing to do
    and no progress could be shown. A reader that stops, or an error, cancels the jobs that have not started.

    >>> sorted(as_done((lambda n=n: n * n for n in range(3)), threads=2))
    [(0, 0), (1, 1), (2, 4)]
    """
    with ThreadPoolExecutor(threads) as pool:
        indexes = {pool.submit(job): index for index, job in enumerate(jobs)}
        try:
            for future in as_completed(indexes):
                yield indexes[future], future.result()
        finally:
            pool.shutdown(cancel_futures=True)
