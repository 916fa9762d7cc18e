"""Stream write: each batch is one commit that records the query's id and the number of the batch.

After a restart, Spark repeats a batch under the same number. The table's log then shows that it is already
committed, and its files are removed again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.storage.storage import Storage, decode_path, normalized_uri
from shredlake.delta.write.cleanup import remove_quietly
from shredlake.errors import CommitConflict, PipelineError, TableError
from shredlake.jobs.ingest.once import claim_job
from shredlake.jobs.ingest.rejects import rejects_place
from shredlake.spark.datasource.options import SourceOptions
from shredlake.spark.datasource.write import Written, is_done, publish_results, remove_files, results_of
from shredlake.spark.datasource.write_task import plan_write
from shredlake.spark.file_stream import local_or_url

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

QUERY: str = "metadata"
"""The file of a checkpoint in which Spark keeps the id of the query."""


class BatchWritten(Written):
    """The message of a stream's task to the driver; `table` identifies the table that its files fit."""

    def __init__(self, result: str, key: str, table: str) -> None:
        super().__init__(result, key)
        self.table = table


class StreamWriter(DataSourceStreamArrowWriter):
    """Adds every batch to a table once; in the output mode `complete`, replaces its rows.

    Spark makes one for the tasks, and one for each commit.
    """

    def __init__(self, options: SourceOptions, schema: StructType, overwrite: bool) -> None:
        self._options = options
        self._overwrite = overwrite
        self._query = options["txnAppId"] or query_id(options)
        self._task = plan_write(options, schema, keep_layout=True)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return BatchWritten(self._task.run(iterator).to_json(), self._task.key, identity(self._task.table))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        results = results_of(messages)
        storage = self._task.table.storage
        if is_done(self._task, (self._query, batchId)):
            remove_quietly(storage, [decode_path(add.path) for result in results for add in result.adds])
            return
        written = [message for message in messages if isinstance(message, BatchWritten)]
        if any(message.table != identity(self._task.table) for message in written):
            raise CommitConflict(
                f"{storage.uri}: the table's schema, partitioning or properties changed while the query ran. "
                f"Batch {batchId} was not committed: start the query again"
            )
        if not any(result.documents for result in results) and not self._overwrite:
            return  # a batch without rows
        claim = claim_job((self._query, batchId))
        task = self._task
        if written:
            claim = replace(claim, key=written[0].key)
            staging = rejects_place(storage, self._options["rejects"], claim.key, self._options.storage)[1]
            task = replace(task, job=replace(task.job, rejects=staging))
        publish_results(
            task,
            self._options,
            results,
            claim,
            overwrite=self._overwrite,
            started=time.monotonic(),
            batch=(self._query, batchId),
        )

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        remove_files(self._task, messages)


def query_id(options: SourceOptions) -> str:
    """The id of the streaming query, from its checkpoint: it stays the same across restarts."""
    if options.checkpoint is None:
        raise PipelineError(
            'writeStream.format("shredlake") needs .option("checkpointLocation", ...): the query\'s id in it '
            "makes each batch happen once"
        )
    place = Storage(normalized_uri(local_or_url(options.checkpoint)), dict(options.storage))
    try:
        return str(json.loads(place.get(QUERY))["id"])
    except (TableError, ValueError, LookupError) as error:
        raise PipelineError(
            f"the id of the query can't be read from {place.uri}/{QUERY} ({error}). Name the query with "
            '.option("txnAppId", "<an id of your own>")'
        ) from None


def identity(table: Snapshot) -> str:
    """The facts that files depend on: schema, partitioning, properties and protocol of the table."""
    facts = replace(table.metadata, id="", created_time=None, name=None, description=None)
    return json.dumps([table.protocol.to_json(), facts.to_json()], sort_keys=True)
