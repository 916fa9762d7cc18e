"""Who runs the tasks of a job: the protocol, and threads of this process.

A task is a plain object that pickles; the work is a function from a task to a line of JSON. Every engine
runs each task at least once and hands back one result per task. A task may run twice (retried, or
speculated): what the extra run wrote is never committed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Protocol, TypeVar

Task = TypeVar("Task")


class Watch(Protocol):
    """Told from time to time how many tasks are done, and how many rows and rejects they made."""

    def __call__(self, done: int, rows: int = 0, rejects: int = 0) -> None: ...


def unwatched(done: int, rows: int = 0, rejects: int = 0) -> None:
    """For jobs that nobody looks at."""


Tally = Callable[[str], tuple[int, int]]
"""Rows and rejects, read from the result of a task."""


def no_tally(result: str) -> tuple[int, int]:
    """For tasks that make no rows."""
    return 0, 0


class Engine(Protocol):
    """Runs tasks, a few at a time."""

    @property
    def parallelism(self) -> int:
        """How many tasks can run at once."""
        ...

    def run(
        self,
        tasks: Sequence[Task],
        work: Callable[[Task], str],
        watch: Watch = unwatched,
        tally: Tally = no_tally,
    ) -> list[str]:
        """The result of every task, in the order of the tasks."""
        ...


class LocalEngine:
    """Threads of this process: the kernels release the lock, so all cores work.

    >>> LocalEngine().run([1, 2, 3], lambda number: str(number * 2))
    ['2', '4', '6']
    """

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads or os.cpu_count() or 1

    @property
    def parallelism(self) -> int:
        return self._threads

    def run(
        self,
        tasks: Sequence[Task],
        work: Callable[[Task], str],
        watch: Watch = unwatched,
        tally: Tally = no_tally,
    ) -> list[str]:
        rows = rejects = 0
        told: set[int] = set()
        with ThreadPoolExecutor(self._threads) as pool:
            futures = [pool.submit(work, task) for task in tasks]
            try:
                for done, future in enumerate(as_completed(futures), 1):
                    result = future.result()
                    told.add(id(future))
                    made = tally(result)
                    rows, rejects = rows + made[0], rejects + made[1]
                    watch(done, rows, rejects)
            except BaseException:
                pool.shutdown(cancel_futures=True)  # no use in starting what would be thrown away
                for future in futures:  # whoever cleans up hears of all that was done
                    if id(future) not in told and not future.cancelled() and future.exception() is None:
                        tally(future.result())
                raise
        return [future.result() for future in futures]
