"""Batch write: tasks write files, and one commit on the driver publishes them.

Spark lets one attempt of each task commit, so of retries and speculative copies only one message reaches
`commit`. Files of the other attempts belong to no version, and `vacuum` removes them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from shredlake.delta.log.snapshot import load_snapshot
from shredlake.delta.protocol.actions import TransactionId
from shredlake.delta.storage.storage import decode_path
from shredlake.delta.write.cleanup import remove_quietly
from shredlake.delta.write.overwrite import overwrite_with_files
from shredlake.errors import PipelineError
from shredlake.jobs.ingest.ingest import finish
from shredlake.jobs.ingest.once import Claim, is_recorded
from shredlake.jobs.ingest.parse_task import TaskResult
from shredlake.jobs.ingest.rejects import LineNumbers
from shredlake.spark.datasource.options import SourceOptions
from shredlake.spark.datasource.write_task import WriteTask, ingest_options, plan_write

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

OF_READS = ("columns", "where", "version", "timestamp", "readChangeFeed")
"""Options of a view that shows something other than the rows of the table as they are."""


@dataclass
class Written(WriterCommitMessage):
    """The message of a task to the driver."""

    result: str
    key: str
    """The folder in which the task staged rejects."""


class TableWriter(DataSourceArrowWriter):
    """Appends to a table, or overwrites it."""

    def __init__(self, options: SourceOptions, schema: StructType, overwrite: bool) -> None:
        _check_options(options, overwrite)
        self._options = options
        self._overwrite = overwrite
        self._started = time.monotonic()
        self._task = plan_write(options, schema)
        self._transaction: TransactionId | None = None
        if options["txnAppId"] is not None:
            self._transaction = (options["txnAppId"], options["txnVersion"])
        self._is_done = self._transaction is not None and is_done(self._task, self._transaction)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        rows: Iterable[pa.RecordBatch] = () if self._is_done else iterator
        return Written(self._task.run(rows).to_json(), self._task.key)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        if self._is_done:
            return
        transactions = () if self._transaction is None else (self._transaction,)
        publish_results(
            self._task,
            self._options,
            results_of(messages),
            Claim(self._task.key, transactions),
            overwrite=self._overwrite,
            started=self._started,
        )

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        remove_files(self._task, messages)


def _check_options(options: SourceOptions, overwrite: bool) -> None:
    read = options.given(*OF_READS)
    if read:
        raise PipelineError(
            f"a write can't have the option {read[0]}: a view with it does not show the table's own rows. "
            "Insert into a view with path only, or use df.write"
        )
    replaces = options.given("replaceWhere", "partitionOverwriteMode")
    if replaces and not overwrite:
        raise PipelineError(f'{replaces[0]} needs mode("overwrite")')
    if options["replaceWhere"] is not None and options["partitionOverwriteMode"] == "dynamic":
        raise PipelineError("an overwrite takes replaceWhere or partitionOverwriteMode=dynamic, not both")
    if len(options.given("txnAppId", "txnVersion")) == 1:
        raise PipelineError("txnAppId and txnVersion go together: they make a write happen once")


def is_done(task: WriteTask, transaction: TransactionId) -> bool:
    """Whether the table has recorded this transaction, or a later one of its application."""
    return task.table.version >= 0 and is_recorded(load_snapshot(task.table.storage), transaction)


def results_of(messages: Sequence[WriterCommitMessage | None]) -> list[TaskResult]:
    """The results in the messages that Spark passes from the tasks."""
    return [TaskResult.from_json(message.result) for message in messages if isinstance(message, Written)]


def publish_results(
    task: WriteTask,
    options: SourceOptions,
    results: Sequence[TaskResult],
    claim: Claim,
    *,
    overwrite: bool,
    started: float,
    batch: TransactionId | None = None,
) -> None:
    """Checks the counts, writes the rejects to their table, and commits once; `batch` is that of a stream."""
    document = None if task.document is None else (task.document, task.job.column)
    publish = None
    if overwrite and task.table.version >= 0:
        publish = partial(
            overwrite_with_files,
            task.table,
            where=options["replaceWhere"],
            by_partition=options["partitionOverwriteMode"] == "dynamic",
            transactions=claim.transactions,
        )
    finish(
        task.table,
        results,
        ingest_options(options, document, batch),
        claim,
        source="DataFrame",
        started=started,
        input_bytes=0,
        layout={},
        lines=LineNumbers([]),
        publish=publish,
    )


def remove_files(task: WriteTask, messages: Sequence[WriterCommitMessage | None]) -> None:
    """Removes the files of a write that Spark gives up.

    Spark also aborts after a commit that failed, or whose answer was lost, although the version may be in
    the log. Then every task has a message, and the files stay: those of no version are left to `vacuum`.
    """
    if None not in messages:
        return
    results = results_of(messages)
    remove_quietly(task.table.storage, [decode_path(add.path) for result in results for add in result.adds])
    remove_quietly(task.job.rejects, [result.staged for result in results if result.staged is not None])
