"""Who runs the tasks of a job: Spark's workers, or threads of this process.

A task is a plain object that pickles; the work is a function from a task to a line of JSON. Either engine
runs each task at least once and hands back one result per task. A task may run twice (retried, or
speculated): what the extra run wrote is never committed.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pyarrow as pa

from shredlake import errors
from shredlake.errors import PipelineError, ShredlakeError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Task = TypeVar("Task")
Watch = Callable[[int], None]
"""Told from time to time how many tasks are done."""


class Engine(Protocol):
    """Runs tasks, a few at a time."""

    @property
    def parallelism(self) -> int:
        """How many tasks can run at once."""
        ...

    def run(self, tasks: Sequence[Task], work: Callable[[Task], str], watch: Watch) -> list[str]:
        """The result of every task, in the order of the tasks."""
        ...


class LocalEngine:
    """Threads of this process: the kernels release the lock, so all cores work.

    >>> LocalEngine().run([1, 2, 3], lambda number: str(number * 2), watch=lambda done: None)
    ['2', '4', '6']
    """

    @property
    def parallelism(self) -> int:
        return os.cpu_count() or 1

    def run(self, tasks: Sequence[Task], work: Callable[[Task], str], watch: Watch) -> list[str]:
        with ThreadPoolExecutor(self.parallelism) as pool:
            futures = [pool.submit(work, task) for task in tasks]
            waiting = set(futures)
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                watch(len(tasks) - len(waiting))
                if any(future.exception() for future in done):
                    # No use in starting what would be thrown away.
                    pool.shutdown(cancel_futures=True)
                    break
            return [future.result() for future in futures if not future.cancelled()]


class SparkEngine:
    """One Spark task per task; only its few facts and its result pass through the JVM."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    @property
    def parallelism(self) -> int:
        if is_connect(self._spark):
            return int(self._spark.conf.get("spark.default.parallelism", "") or 8)
        return int(self._spark.sparkContext.defaultParallelism)

    def run(self, tasks: Sequence[Task], work: Callable[[Task], str], watch: Watch) -> list[str]:
        if not tasks:
            return []
        count = len(tasks)
        listed = list(tasks)

        def perform(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield pa.RecordBatch.from_pydict({"task": [number], "result": [work(listed[number])]})

        # A range of n rows in n partitions: partition i holds the row i, and so the task i.
        frame = self._spark.range(0, count, 1, count).mapInArrow(perform, "task bigint, result string")
        with _Watcher(self._spark, watch):
            try:
                rows = frame.collect()
            except Exception as error:
                raise translated(error) from error
        watch(count)
        results = {row["task"]: row["result"] for row in rows}
        return [results[number] for number in range(count)]


def is_connect(spark: SparkSession) -> bool:
    """Whether the session talks to a Spark elsewhere, so that there is no JVM to ask.

    >>> is_connect(object())
    False
    """
    return type(spark).__module__.startswith("pyspark.sql.connect")


class _Watcher:
    """Counts finished tasks of the job that this thread starts, while it waits for the result."""

    def __init__(self, spark: SparkSession, watch: Watch) -> None:
        self._spark, self._watch = spark, watch
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> None:
        if is_connect(self._spark):
            return
        context = self._spark.sparkContext
        group = f"shredlake-{time.monotonic_ns()}"
        context.setJobGroup(group, "shredlake")
        tracker = context.statusTracker()

        def count() -> None:
            while not self._stop.wait(0.5):
                done = 0
                for job in tracker.getJobIdsForGroup(group):
                    for stage in (tracker.getJobInfo(job) or _NO_STAGES).stageIds:
                        facts = tracker.getStageInfo(stage)
                        done += facts.numCompletedTasks if facts else 0
                self._watch(done)

        self._thread = threading.Thread(target=count, daemon=True)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()


class _NoStages:
    stageIds: tuple[int, ...] = ()


_NO_STAGES = _NoStages()


def translated(error: BaseException) -> Exception:
    """The error of ours that a worker raised, taken out of Spark's wrapping; or Spark's own, as one line.

    >>> translated(RuntimeError("job aborted\\nshredlake.errors.PipelineError: a.gz: breaks off\\n"))
    PipelineError('a.gz: breaks off')
    """
    if isinstance(error, ShredlakeError):
        return error
    text = str(error)
    raised = re.findall(r"^shredlake\.errors\.(\w+): (.*)$", text, re.MULTILINE)
    for name, message in raised:
        kind: Any = getattr(errors, name, None)
        if isinstance(kind, type) and issubclass(kind, ShredlakeError):
            try:
                return kind(message)
            except TypeError:
                return PipelineError(message)
    first = next((line for line in text.splitlines() if line.strip()), type(error).__name__)
    return PipelineError(f"the Spark job failed: {first}")
