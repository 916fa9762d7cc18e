"""Runs the tasks of a job as Spark tasks, and converts Spark's errors to shredlake's."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal

import pyarrow as pa

from shredlake import errors
from shredlake.delta.read.conform import conform
from shredlake.errors import MissingDependency, PipelineError, ShredlakeError
from shredlake.jobs.engine import Answer, SortJob, Task, Watch, Work, unwatched
from shredlake.spark.arrow import from_spark, spark_batch, spark_type
from shredlake.spark.columns import at, spark_order
from shredlake.spark.settings import is_connect
from shredlake.spark.shared import shared
from shredlake.spark.worker import prepare_worker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


DESCRIPTION: Final = "spark.job.description"
GROUP: Final = "spark.jobGroup.id"
"""Properties of the thread that starts jobs."""


class SparkEngine:
    """Runs each task as a Spark task. Only the task number and the result pass through the JVM."""

    in_process: Literal[False] = False

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    @property
    def parallelism(self) -> int:
        if is_connect(self.spark):
            return int(self.spark.conf.get("spark.default.parallelism", "") or 8)
        return int(self.spark.sparkContext.defaultParallelism)

    def run(self, tasks: Sequence[Task], work: Work[Task], watch: Watch = unwatched) -> list[str]:
        if not tasks:
            return []
        count = len(tasks)
        found = shared(self.spark, [*tasks, work])
        counters = _Counters(self.spark)
        add = counters.add

        def perform(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            work: Work[Task] = found(count)
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    answer = Answer.of(work(found(number)))
                    prepare_worker()
                    add(answer.rows, answer.rejects)
                    yield pa.RecordBatch.from_pydict({"task": [number], "result": [answer.text]})

        # A range of n rows in n partitions puts row i, and therefore task i, into partition i.
        frame = self.spark.range(0, count, 1, count).mapInArrow(perform, "task bigint, result string")
        rows = collected(frame, watch, counters)
        watch(count, *counters.values)
        results = {row["task"]: row["result"] for row in rows}
        return [results[number] for number in range(count)]

    def check_sort_keys(self, sort_by: Sequence[str]) -> None:
        spark_order(sort_by)

    def sort(self, tasks: Sequence[Task], job: SortJob[Task], watch: Watch = unwatched) -> list[str]:
        from pyspark.sql.types import StructField, StructType

        fields = [StructField(item.name, spark_type(item.type)) for item in job.schema.fields]
        rows = from_tasks(self.spark, tasks, job.read, StructType(fields))
        keys = [*(at((name,)).asc_nulls_last() for name in job.partition_by), *spark_order(job.sort_by)]
        try:
            rows = rows.repartitionByRange(job.parts, *keys).sortWithinPartitions(*keys)
            rows.schema  # noqa: B018 - Connect resolves the keys only here
        except Exception as error:
            raise translated(error) from error
        schema, found = job.schema, shared(self.spark, [job.write])

        def perform(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            def converted() -> Iterator[pa.RecordBatch]:
                for batch in batches:
                    table = pa.table([from_spark(column) for column in batch.columns], names=schema.names)
                    yield from conform(table, schema).to_batches()

            yield pa.RecordBatch.from_pydict({"result": [found(0)(converted())]})

        return [row["result"] for row in collected(rows.mapInArrow(perform, "result string"), watch)]


def from_tasks(
    spark: SparkSession,
    tasks: Sequence[Task],
    work: Callable[[Task], Iterator[pa.RecordBatch]],
    schema: StructType,
) -> DataFrame:
    """A frame of the rows that the workers produce from the tasks, with one partition per task."""
    names, count, found = schema.names, len(tasks), shared(spark, [*tasks, work])

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        prepare_worker()
        work = found(count)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for rows in work(found(number)):
                    yield spark_batch(rows.columns, names)

    # A range of n rows in n partitions puts row i, and therefore task i, into partition i.
    return spark.range(0, count, 1, count).mapInArrow(run, schema)


def collected(frame: DataFrame, watch: Watch = unwatched, counters: _Counters | None = None) -> list[Any]:
    """Collects the rows of a frame and reports progress to `watch`. Raises shredlake's errors unwrapped."""
    with _Watcher(frame.sparkSession, watch, counters):
        try:
            return list(frame.collect())
        except Exception as error:
            raise translated(error) from error


@contextmanager
def described(spark: SparkSession, verb: str, table: str | os.PathLike[str]) -> Iterator[None]:
    """Names the jobs of the block in Spark's UI, and restores the caller's description afterwards.

    Connect has no job descriptions.
    """
    if is_connect(spark):
        yield
        return
    context = spark.sparkContext
    before = context.getLocalProperty(DESCRIPTION)
    context.setLocalProperty(DESCRIPTION, f"shredlake: {verb} {os.fspath(table)}")
    try:
        yield
    finally:
        context.setLocalProperty(DESCRIPTION, before)


class _Counters:
    """Counts rows and rejects with Spark accumulators as tasks finish. Connect does not have accumulators."""

    def __init__(self, spark: SparkSession) -> None:
        if is_connect(spark):
            self.add: Callable[[int, int], None] = _nothing
            self._both: tuple[Any, ...] = ()
            return
        self._both = both = (spark.sparkContext.accumulator(0), spark.sparkContext.accumulator(0))

        def add(rows: int, rejects: int) -> None:
            both[0].add(rows)
            both[1].add(rejects)

        self.add = add

    @property
    def values(self) -> tuple[int, int]:
        return (self._both[0].value, self._both[1].value) if self._both else (0, 0)


def _nothing(rows: int, rejects: int) -> None:
    return None


class _Watcher:
    """Reports the number of finished tasks while the thread that started the job waits for its result."""

    def __init__(self, spark: SparkSession, watch: Watch, counters: _Counters | None) -> None:
        self._spark, self._watch, self._counters = spark, watch, counters
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._group: str | None = None

    def __enter__(self) -> None:
        if self._watch is unwatched or is_connect(self._spark):
            return
        context = self._spark.sparkContext
        group = f"shredlake-{time.monotonic_ns()}"
        self._group = context.getLocalProperty(GROUP)
        context.setLocalProperty(GROUP, group)
        tracker = context.statusTracker()

        def count() -> None:
            while not self._stop.wait(0.5):
                done = 0
                for job in tracker.getJobIdsForGroup(group):
                    for stage in (tracker.getJobInfo(job) or _NO_STAGES).stageIds:
                        facts = tracker.getStageInfo(stage)
                        done += facts.numCompletedTasks if facts else 0
                self._watch(done, *(self._counters.values if self._counters else (0, 0)))

        self._thread = threading.Thread(target=count, daemon=True)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._spark.sparkContext.setLocalProperty(GROUP, self._group)


class _NoStages:
    stageIds: tuple[int, ...] = ()


_NO_STAGES = _NoStages()


CAUSE: Final = re.compile(
    r"""
    Traceback\ \(most\ recent\ call\ last\):\n
    (?:[ \t].*\n|\n)*                            # stack frames
    (?P<kind>[\w.]+)
    (?::\ (?P<text>.*(?:\n(?!\s+at\ |\s*SQLSTATE|\n).*)*))?
    """,
    re.VERBOSE,
)
"""Matches a Python traceback in the text of a Spark error: the exception's class and its full message."""
LONGEST: Final = 2000
"""The maximum length of a cause in an error message."""


def translated(error: BaseException) -> Exception:
    """The shredlake error that a worker raised, unwrapped from Spark's error; otherwise Spark's own cause.

    >>> translated(RuntimeError("job aborted\\nshredlake.errors.PipelineError: a.gz: breaks off\\n"))
    PipelineError('a.gz: breaks off')
    >>> worker = "Traceback (most recent call last):\\n  File x\\nOSError: disk full\\n\\tat org.apache"
    >>> translated(RuntimeError(worker))
    PipelineError('the Spark job failed: OSError: disk full')
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
    if "No module named 'shredlake" in text:
        return MissingDependency(
            "the Spark job failed because its workers can't import shredlake. Install the same version "
            "on the workers, or ship an environment with the job: "
            "https://github.com/shredlake/shredlake/blob/main/docs/cluster.md"
        )
    return PipelineError(f"the Spark job failed: {_cause(text) or type(error).__name__}")


def _cause(text: str) -> str:
    """The last exception that a worker raised, or the first line of the text that is not blank."""
    found = list(CAUSE.finditer(text))
    if found:
        kind, message = found[-1]["kind"], (found[-1]["text"] or "").strip()
        return f"{kind}: {message}"[:LONGEST] if message else kind
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:LONGEST]
