"""Ingests Arrow batches in this process, e.g. from a column of Parquet, CSV or Delta files."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby, islice
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.log.snapshot import Snapshot
from shredlake.errors import InvalidSchema, InvalidValue, PipelineError
from shredlake.jobs.ingest.computed import not_kept
from shredlake.jobs.ingest.folder_columns import refuse_for_columns
from shredlake.jobs.ingest.ingest import (
    IngestOptions,
    finish,
    layout_of_documents,
    open_checked,
    with_layout,
)
from shredlake.jobs.ingest.key_paths import PathWatch
from shredlake.jobs.ingest.once import already_done, claim_job, job_transaction
from shredlake.jobs.ingest.parse_task import TaskResult, WriteJob, variants_of, with_computed, write_rows
from shredlake.jobs.ingest.rejects import LineNumbers, Staging, rejects_place
from shredlake.jobs.report import IngestReport
from shredlake.kernels.arrow.types import variant
from shredlake.kernels.profile import merge_profiles, profile_bytes
from shredlake.variant import Variant

SAMPLE_ROWS = 20_000

DOCUMENTS_AT_ONCE: Final = 65_536
"""Python objects that become one batch."""


def ingest_batches(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    document: str,
    table: str,
    options: IngestOptions,
    opened: Snapshot | None = None,
) -> IngestReport:
    """Runs an ingest of Arrow batches whose column `document` holds text, structs or Variants.

    `opened` is the table if it is already open.

    >>> import tempfile
    >>> data = pa.table({"id": [1, 2], "body": ['{"a": 1}', '{"a": ']})
    >>> report = ingest_batches(data.to_batches(), data.schema, "body", tempfile.mkdtemp(), IngestOptions())
    >>> report.rows, report.rejects
    (1, 1)
    """
    started = time.monotonic()
    refuse_for_columns(options.folder_columns, options.multi_line)
    if options.range_partition:
        raise PipelineError(
            "only Spark sorts the rows of Parquet, CSV and Delta sources over all files. Use --engine spark, "
            "or omit range_partition and run optimize afterwards"
        )
    if document not in schema.names:
        raise InvalidSchema(f"the source has no column {document!r}; it has {', '.join(schema.names)}")
    if document != options.column and options.column in schema.names:
        raise InvalidSchema(
            f"the documents are in {document!r} and go to {options.column!r}, but the source has a column of "
            "that name too. Choose another name for `column`"
        )
    claim = claim_job(options.transaction or job_transaction(options.job_id))
    snapshot = opened or open_checked(table, options, [item for item in schema if item.name != document])
    storage = snapshot.storage
    if (done := already_done(snapshot, claim)) is not None:
        return done
    places = rejects_place(storage, options.rejects, claim.key, options.storage_options)
    files = options.file_job(snapshot)
    job = WriteJob(files, options.column, places[1], not_kept(snapshot, options.computed), options.parsing)
    rows = iter(batches)
    first: list[pa.RecordBatch] = []

    def profiled() -> bytes:
        while (
            sum(batch.num_rows for batch in first) < SAMPLE_ROWS and (batch := next(rows, None)) is not None
        ):
            first.append(batch)
        parts = [
            profile_bytes(pc.drop_null(variants_of(batch.column(document), options.parsing)[0]))
            for batch in first
        ]
        return merge_profiles(parts) if parts else b""

    layout = layout_of_documents(snapshot, options, profiled)
    job = with_layout(job, layout)
    result = _write(job, chain(first, rows), document)
    return finish(
        snapshot,
        [result],
        options,
        claim,
        source="Arrow",
        started=started,
        input_bytes=0,
        layout=layout,
        lines=LineNumbers([]),
    )


def ingest_documents(
    documents: Iterable[Any], table: str, options: IngestOptions, rows_at_once: int = DOCUMENTS_AT_ONCE
) -> IngestReport:
    """Runs an ingest of documents in this process: JSON text as str or bytes, or Python objects.

    >>> import tempfile
    >>> report = ingest_documents([{"a": 1}, b'{"a": 2}', '{"a": '], tempfile.mkdtemp(), IngestOptions())
    >>> report.rows, report.rejects
    (2, 1)
    """
    columns = document_columns(documents, rows_at_once)
    batches = (pa.record_batch({options.column: column}) for column in columns)
    schema = pa.schema([(options.column, pa.binary())])
    return ingest_batches(batches, schema, options.column, table, options)


def document_columns(documents: Iterable[Any], rows_at_once: int = DOCUMENTS_AT_ONCE) -> Iterator[pa.Array]:
    """Makes columns of documents: binary ones of JSON text, and Variants of Python objects.

    >>> [column.type == variant() for column in document_columns([{"a": 1}, b'{"a": 2}', '{"a": '])]
    [True, False]
    """
    first = 0
    for is_text, group in groupby(documents, lambda one: isinstance(one, str | bytes | bytearray)):
        while part := list(islice(group, rows_at_once)):
            yield _texts(part) if is_text else _objects(part, first)
            first += len(part)


def _texts(documents: Sequence[str | bytes]) -> pa.Array:
    texts = (
        one.encode("utf-8", "surrogatepass") if isinstance(one, str) else bytes(one) for one in documents
    )
    return pa.array(texts, pa.binary())


def _objects(documents: Sequence[Any], first: int) -> pa.Array:
    rows = []
    for number, value in enumerate(documents, first):
        try:
            made = value if isinstance(value, Variant) else Variant.of(value)
        except InvalidValue as error:
            raise InvalidValue(f"document {number}: {error}") from None
        rows.append({"metadata": bytes(made.metadata), "value": bytes(made.value)})
    return pa.array(rows, variant())


def _write(job: WriteJob, batches: Iterable[pa.RecordBatch], document: str) -> TaskResult:
    rejects = Staging(job.rejects)
    documents = 0

    def tables() -> Iterator[pa.Table]:
        nonlocal documents
        for batch in batches:
            documents += batch.num_rows
            column, found = variants_of(batch.column(document), job.parsing)
            table = pa.Table.from_batches([batch]).drop_columns([document]).append_column(job.column, column)
            refused = pc.is_valid(found.column("reason"))
            rejects.take(found.filter(refused))
            good = table.filter(pc.invert(refused))
            if good.num_rows:
                yield with_computed(job, good)

    result = write_rows(job, tables(), rejects, PathWatch(job.files.paths))
    return replace(result, documents=documents)
