"""One task of a write: takes rows and writes data files. Nothing is committed here.

```
batches ─ documents to Variants ─┬─ rows ── completed, checked ─ layout of the first rows ─ data files
                                 └─ rejects ───────────────────────────────────────────── staged file
```
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.log.listing import list_log
from shredlake.delta.log.snapshot import Snapshot, load_snapshot
from shredlake.delta.protocol.actions import TransactionId
from shredlake.delta.protocol.features import require_writable
from shredlake.delta.protocol.properties import shredding_property
from shredlake.delta.read.bind import condition
from shredlake.delta.schema.types import arrow_schema, contains, from_arrow, parse_schema
from shredlake.delta.storage.storage import Storage
from shredlake.delta.write.alter import with_merged_columns
from shredlake.delta.write.create import planned
from shredlake.delta.write.layout import LayoutRules, of_rows
from shredlake.delta.write.overwrite import rows_match
from shredlake.errors import InvalidSchema
from shredlake.jobs.data_files import FILE_BYTES
from shredlake.jobs.ingest.computed import check_computed
from shredlake.jobs.ingest.ingest import IngestOptions, with_layout
from shredlake.jobs.ingest.outcome import rejects_limit
from shredlake.jobs.ingest.parse_task import TaskResult, WriteJob, variants_of, with_computed, write_rows
from shredlake.jobs.ingest.rejects import Staging, rejects_place
from shredlake.kernels.arrow.types import variant
from shredlake.spark.arrow import from_spark
from shredlake.spark.datasource.opened import arrow_schema_of, storage_of
from shredlake.spark.datasource.options import SourceOptions
from shredlake.spark.given import check_document
from shredlake.spark.worker import prepare_worker

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

SAMPLE_ROWS: Final = 20_000
SAMPLE_BYTES: Final = 64 << 20
"""The rows, and at most the Arrow bytes, that a task holds to choose its layout."""

DOCUMENTS: Final = ("string", "struct")
"""The types of a frame's columns that become Variants. A Variant already is one."""


@dataclass(frozen=True)
class WriteTask:
    """The part of a write that all tasks share; pickled to the workers."""

    table: Snapshot
    """The table as the write found or planned it, without its files."""
    job: WriteJob
    layout: LayoutRules
    document: str | None
    """The frame's column of documents, which go to the column `job.column` of the table."""
    replace_where: str | None = None
    key: str = ""
    """Names the folder in which this write stages rejects."""

    def run(self, batches: Iterable[pa.RecordBatch]) -> TaskResult:
        """Writes the rows of one partition."""
        prepare_worker()
        rejects = Staging(self.job.rejects)
        counts = [0]
        rows = self._tables(batches, rejects, counts)
        job = self.job
        try:
            if first := list(_first(rows)):
                job = with_layout(job, self.layout.choose(of_rows(pa.concat_tables(first))))
        except BaseException:
            rejects.abort()
            raise
        return replace(write_rows(job, chain(first, rows), rejects), documents=counts[0])

    def _tables(
        self, batches: Iterable[pa.RecordBatch], rejects: Staging, counts: list[int]
    ) -> Iterator[pa.Table]:
        """The rows in the table's columns and types. Invalid documents go to the rejects."""
        predicate = condition(self.replace_where, self.table.schema)
        matches = None if predicate is None else rows_match(predicate)
        for batch in batches:
            written = counts[0]
            counts[0] += batch.num_rows
            table = pa.table([from_spark(column) for column in batch.columns], names=batch.schema.names)
            if self.document is not None:
                column, found = variants_of(table.column(self.document).combine_chunks(), self.job.parsing)
                refused = pc.is_valid(found.column("reason"))
                rejects.take(found.filter(refused))
                table = table.drop_columns([self.document]).append_column(self.job.column, column)
                table = table.filter(pc.invert(refused)) if found.num_rows else table
            if table.num_rows:
                full = with_computed(self.job, table)
                if matches is not None:
                    matches(full, written)
                yield full


def _first(rows: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Enough rows to choose a layout."""
    count = size = 0
    for table in rows:
        yield table
        count, size = count + table.num_rows, size + table.nbytes
        if count >= SAMPLE_ROWS or size >= SAMPLE_BYTES:
            return


# ── Planning ────────────────────────────────────────────────────────────────────────────────────────────


def ingest_options(
    options: SourceOptions, document: tuple[str, str] | None, transaction: TransactionId | None = None
) -> IngestOptions:
    """The options of the ingest that a write is; `transaction` is that of a stream's batch."""
    column = document[1] if document is not None else options["column"] or "v"
    limit = options["maxRejects"]
    return IngestOptions(
        column=column,
        shredding=options["shredding"],
        schema_mode=options["schemaMode"],
        partition_by=options["partitionBy"],
        rejects=options["rejects"],
        max_rejects=None if limit is None else rejects_limit(limit),
        file_bytes=options["fileBytes"] or FILE_BYTES,
        transaction=transaction,
        storage_options=dict(options.storage),
    )


def plan_write(options: SourceOptions, frame: StructType, *, keep_layout: bool = False) -> WriteTask:
    """Opens or plans the table, and checks columns and types before any task starts."""
    storage = storage_of(options)
    found = None if list_log(storage).latest is None else load_snapshot(storage)
    document = document_of(options, frame, found)
    table = planned_table(storage, options, frame, document) if found is None else found
    if found is not None:
        table = with_merged_columns(found, _columns(frame, document), options["schemaMode"])
        _check_existing(table, options, frame, document)
    given = ingest_options(options, document)
    key = uuid.uuid4().hex
    staging = rejects_place(storage, options["rejects"], key, options.storage)[1]
    job = WriteJob(given.file_job(table), given.column, staging, parsing=given.parsing)
    shredding = options["shredding"]
    alone = shredding is not None and shredding != "infer" and not isinstance(shredding, dict)
    column = given.column if alone and document is not None else None
    layout = LayoutRules.of(table, shredding, column=column, keep=keep_layout)
    task = WriteTask(
        table.without_files(), job, layout, document[0] if document else None, options["replaceWhere"], key
    )
    with_computed(job, _no_rows(frame, task))
    return task


def document_of(options: SourceOptions, frame: StructType, table: Snapshot | None) -> tuple[str, str] | None:
    """The frame's column of documents, and the table's column that they go to; None without documents.

    It is the option `document`; or a column of text or structs under the name of a Variant of the table; or
    in a new table a column of text or structs named as the option `column` says, by default `v`.
    """
    kinds = {item.name: item.dataType.typeName() for item in frame.fields}
    given, column = options["document"], options["column"]
    if given is not None:
        if given not in kinds:
            raise InvalidSchema(f"the frame has no column {given!r}; it has {', '.join(kinds)}")
        check_document(given, frame[given].dataType, "option('document', ...)")
        target = column or "v"
        if target != given and target in kinds:
            raise InvalidSchema(
                f"the documents in {given!r} go to the column {target!r}, but the frame also has a column of "
                "that name. Drop or rename it"
            )
        return given, target
    wanted = {name.casefold(): name for name, kind in kinds.items() if kind in DOCUMENTS}
    if table is None:
        name = wanted.get((column or "v").casefold())
        return None if name is None else (name, name)
    variants = [item.name for item in table.schema.fields if item.type == "variant"]
    fitting = [(wanted[name.casefold()], name) for name in variants if name.casefold() in wanted]
    if len(fitting) > 1:
        raise InvalidSchema(
            f"several columns hold documents as text or structs: {', '.join(name for name, _ in fitting)}. "
            "One of them can be converted: convert the others with parse_json first"
        )
    return fitting[0] if fitting else None


def planned_table(
    storage: Storage, options: SourceOptions, frame: StructType, document: tuple[str, str] | None
) -> Snapshot:
    """A new table with the columns of the frame, which the commit of the write creates."""
    schema = pa.schema(_columns(frame, document))
    holds_variants = any(contains(item.type, "variant") for item in from_arrow(schema).fields)
    shredded = holds_variants and options["shredding"] is not None
    return planned(storage, schema, options["partitionBy"], shredding_property(shredded))


def _columns(frame: StructType, document: tuple[str, str] | None) -> list[pa.Field]:
    """The columns of the frame as a table stores them."""
    fields = []
    for item in arrow_schema(parse_schema(frame.json())):
        if document is not None and item.name == document[0]:
            fields.append(pa.field(document[1], variant()))
        else:
            fields.append(pa.field(item.name, item.type))
    return fields


def _check_existing(
    table: Snapshot, options: SourceOptions, frame: StructType, document: tuple[str, str] | None
) -> None:
    """Refuses columns that the table lacks, another partitioning, and partition columns without values."""
    where = table.storage.uri
    require_writable(table.protocol, where)
    asked, own = options["partitionBy"], table.metadata.partition_columns
    if asked and asked != own:
        raise InvalidSchema(f"{where} is partitioned by {list(own)}, not by {list(asked)}")
    names = [document[1] if document is not None and n == document[0] else n for n in frame.names]
    unknown = [name for name in names if table.schema.get(name) is None]
    if unknown:
        raise InvalidSchema(
            f"the frame has the column {unknown[0]!r}, but {where} has {', '.join(table.schema.names)}. Drop "
            "it from the frame, add it with option('schemaMode', 'merge'), or name the column of documents "
            "with option('document', ...)"
        )
    check_computed(table, {}, names)


def _no_rows(frame: StructType, task: WriteTask) -> pa.Table:
    """An empty table as the tasks will have it, on which types and expressions are checked."""
    nothing: dict[str, Any] = {}
    for item in arrow_schema_of(frame):
        if item.name != task.document:
            nothing[item.name] = from_spark(pa.array([], item.type))
    if task.document is not None:
        nothing[task.job.column] = pa.array([], variant())
    return pa.table(nothing)
