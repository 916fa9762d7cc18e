"""Runs jobs on threads: the one place that makes pools.

| jobs                               | run by        | results                                            |
|------------------------------------|---------------|----------------------------------------------------|
| that read or compute               | OrderedRunner | in order, with only a few jobs ahead of the reader |
| that mostly wait for storage       | call_storage  | in order, all of them                              |
| of very different lengths, counted | as_done       | as each job finishes                               |

The number of jobs in flight bounds a scan's memory. A reader that stops early cancels the rest. The pieces of
one column, which are all in memory and all wanted, are worked on by `kernels.threads.run`, without a pool.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from itertools import chain, islice
from types import TracebackType
from typing import Final, Generic, NoReturn, TypeVar, cast

T = TypeVar("T")
Item = TypeVar("Item")

STORAGE_CALLS: Final = 16
"""How many calls wait for storage at a time."""

SMALL_RESULTS: Final = 16 << 20
"""While the results that wait for the reader of a run have at most this many bytes, more jobs run ahead."""


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

    def run(
        self,
        jobs: Iterable[Callable[[], T]],
        *,
        gradual: bool = False,
        size: Callable[[T], int] | None = None,
    ) -> Iterator[T]:
        """Yields the results in the order of the jobs.

        With `gradual`, the first job runs alone and more run ahead with each result taken, for readers that
        may need only the first. With `size`, which tells the bytes of a result, more jobs run ahead while the
        results that wait for the reader are small.
        """
        if self._pool is None:
            yield from (job() for job in jobs)
            return
        waiting = iter(jobs)
        ahead = list(islice(waiting, 1 if gradual else 2))
        if len(ahead) == 1:  # nothing to run beside it: starting a thread takes longer than many a job
            yield ahead.pop()()
            if not gradual:  # it was the only one
                return
        line = _Line(self._pool, chain(ahead, waiting), self._threads, gradual, size)
        try:
            yield from line.results()
        finally:
            line.stop()

    def __enter__(self) -> OrderedRunner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


class _Line(Generic[T]):
    """The jobs of one run. Threads take one after another, so none waits for the reader to hand out work.

    ```
    jobs     0 1 2 3 4 5 6 7 ...
    taken by the reader ─┘ │ └─ running, or done and waiting for the reader: at most `_most`
                           └─ the reader waits for this one
    ```
    """

    def __init__(
        self,
        pool: ThreadPoolExecutor,
        jobs: Iterator[Callable[[], T]],
        threads: int,
        gradual: bool,
        size: Callable[[T], int] | None,
    ) -> None:
        self._pool, self._jobs, self._threads, self._size = pool, jobs, threads, size
        self._most = min(2, threads + 1) if gradual else threads + 1
        self._choosing = threading.Lock()  # held while a thread takes the next job
        self._changed = threading.Condition()  # guards what follows
        self._workers = 0
        self._started = self._given = 0
        self._done: dict[int, tuple[T | None, BaseException | None, int]] = {}
        self._bytes = 0
        self._over = False

    def results(self) -> Iterator[T]:
        """Yields the results in order."""
        while True:
            with self._changed:
                self._add_workers()
                while self._given not in self._done:
                    if self._over and self._given == self._started:
                        return
                    self._changed.wait()
                result, error, size = self._done.pop(self._given)
            if error is not None:
                raise error
            yield cast(T, result)
            with self._changed:  # until now the reader worked on this result, so it still took room
                self._given += 1
                self._bytes -= size
                self._most = min(2 * self._most, self._threads + 1)

    def stop(self) -> None:
        """No more jobs are started."""
        with self._changed:
            self._over = True
            self._done.clear()

    def _add_workers(self) -> None:
        free = self._most - (self._started - self._given)
        for _ in range(min(free, self._threads - self._workers) if not self._over else 0):
            self._workers += 1
            self._pool.submit(self._work)

    def _has_room(self) -> bool:
        """Whether a job may start: few results wait for the reader, or they are small."""
        ahead = self._started - self._given
        if self._size is not None and self._bytes <= SMALL_RESULTS:
            ahead -= len(self._done)
        return not self._over and ahead < self._most

    def _work(self) -> None:
        """Runs jobs while there are any and there is room for their results."""
        while (chosen := self._next_job()) is not None:
            place, job = chosen
            result, error, size = None, None, 0
            try:
                result = job()
                size = 0 if self._size is None else self._size(result)
            except BaseException as raised:
                error = raised
            with self._changed:
                self._done[place] = result, error, size
                self._bytes += size
                self._changed.notify_all()

    def _next_job(self) -> tuple[int, Callable[[], T]] | None:
        with self._choosing:
            with self._changed:
                if not self._has_room():
                    self._workers -= 1
                    return None
            try:
                job = next(self._jobs, None)
            except BaseException as raised:
                job = partial(_raise, raised)
            with self._changed:
                if job is None:
                    self._over = True
                    self._workers -= 1
                    self._changed.notify_all()
                    return None
                self._started += 1
                return self._started - 1, job


def _raise(error: BaseException) -> NoReturn:
    raise error


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
