"""The engines that run the tasks of a job: the protocol, and a local engine that uses threads.

A task is a plain object that can be pickled. The work is a function from a task to a line of JSON. An engine
runs each task at least once and returns one result per task. A task may run twice (retried or speculated);
files of the extra run are never committed.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

import pyarrow as pa

from shredlake.delta.schema.types import Struct
from shredlake.expr.sort_key import parse_sort_keys
from shredlake.jobs.sorting import ExternalSort
from shredlake.runner import as_done

Task = TypeVar("Task")


class Watch(Protocol):
    """Receives the number of finished tasks, and the rows and rejects that they produced."""

    def __call__(self, done: int, rows: int = 0, rejects: int = 0) -> None: ...


def unwatched(done: int, rows: int = 0, rejects: int = 0) -> None:
    """Ignores progress."""


class Answer(NamedTuple):
    """The result of a task: a line of JSON, and the rows and rejects to count for the progress bar."""

    text: str
    rows: int = 0
    rejects: int = 0

    @staticmethod
    def of(result: str | Answer) -> Answer:
        """A result without counts is text alone."""
        return Answer(result) if isinstance(result, str) else result


Work: TypeAlias = Callable[[Task], str | Answer]
"""Performs one task."""


@dataclass(frozen=True)
class SortJob(Generic[Task]):
    """How rows are read, sorted over all tasks, and written."""

    read: Callable[[Task], Iterator[pa.RecordBatch]]
    """Reads the rows of a task."""
    schema: Struct
    """The columns of the rows."""
    partition_by: tuple[str, ...]
    """Columns that come before the sort keys."""
    sort_by: tuple[str, ...]
    """Sort keys such as `v:ts::bigint DESC`."""
    parts: int
    """The number of ranges of the key to aim for; few distinct keys make fewer."""
    write: Callable[[Iterator[pa.RecordBatch]], str]
    """Writes the sorted rows of one range and returns a line of JSON."""


class Engine(Protocol):
    """Runs tasks in parallel, and sorts more rows than fit into memory."""

    @property
    def parallelism(self) -> int:
        """The number of tasks that run at once."""
        ...

    @property
    def in_process(self) -> bool:
        """Whether tasks run in this process, and so share its memory and its open files."""
        ...

    def run(self, tasks: Sequence[Task], work: Work[Task], watch: Watch = unwatched) -> list[str]:
        """Returns the result of every task, in the order of the tasks."""
        ...

    def check_sort_keys(self, sort_by: Sequence[str]) -> None:
        """Raises if the engine cannot sort by these keys; called before any work."""
        ...

    def sort(self, tasks: Sequence[Task], job: SortJob[Task], watch: Watch = unwatched) -> list[str]:
        """Sorts the rows of all tasks and returns one result per range, in the order of the ranges.

        Ranges do not overlap: rows with the same key are in the same range.
        """
        ...


class LocalEngine:
    """Runs tasks on threads of this process; compiled kernels release the GIL, so all cores work.

    `sort` spills sorted runs to the system's folder for temporary files. See `shredlake.jobs.sorting` for
    how much memory it takes.

    >>> LocalEngine().run([1, 2, 3], lambda number: str(number * 2))
    ['2', '4', '6']
    """

    in_process: Literal[True] = True

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads or os.cpu_count() or 1

    @property
    def parallelism(self) -> int:
        return self._threads

    def run(self, tasks: Sequence[Task], work: Work[Task], watch: Watch = unwatched) -> list[str]:
        rows = rejects = 0
        texts = [""] * len(tasks)
        with closing(as_done((partial(work, task) for task in tasks), self._threads)) as results:
            for done, (index, result) in enumerate(results, 1):
                answer = Answer.of(result)
                rows, rejects = rows + answer.rows, rejects + answer.rejects
                texts[index] = answer.text
                watch(done, rows, rejects)
        return texts

    def check_sort_keys(self, sort_by: Sequence[str]) -> None:
        for key in parse_sort_keys(sort_by):
            key.expr  # noqa: B018 - raises UnsupportedExpression

    def sort(self, tasks: Sequence[Task], job: SortJob[Task], watch: Watch = unwatched) -> list[str]:
        with tempfile.TemporaryDirectory(prefix="shredlake-sort-") as folder:
            rows = ExternalSort(folder, job.partition_by, job.sort_by)
            self.run(tasks, lambda task: rows.add(job.read(task)))
            return self.run(rows.ranges(job.parts), lambda part: job.write(rows.merged(part)), watch)
