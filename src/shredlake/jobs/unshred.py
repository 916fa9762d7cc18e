"""Copies a table for engines that cannot read it: unshredded, or with JSON text for Variants."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import pyarrow as pa

from shredlake.delta.log.files import as_adds
from shredlake.delta.log.listing import list_log
from shredlake.delta.log.snapshot import Snapshot, latest_snapshot, load_snapshot
from shredlake.delta.protocol.properties import carried
from shredlake.delta.storage.storage import Storage
from shredlake.delta.write.create import planned
from shredlake.delta.write.data_files import file_spec
from shredlake.errors import InvalidSchema, TableExists
from shredlake.jobs.arguments import Address
from shredlake.jobs.data_files import FILE_BYTES, FileJob
from shredlake.jobs.engine import Engine
from shredlake.jobs.ingest.once import already_done, claim_job
from shredlake.jobs.packing import pack_files
from shredlake.jobs.report import IngestReport, progress
from shredlake.jobs.verified_copy import CopyResult, copy_files, publish_copy
from shredlake.kernels.arrow.types import is_variant
from shredlake.kernels.to_json import to_json


def unshred_table(
    engine: Engine,
    table: Address,
    target: Address,
    *,
    version: int | None = None,
    file_bytes: int = FILE_BYTES,
    storage_options: Mapping[str, str] | None = None,
    show_progress: bool = False,
    as_text: bool = False,
) -> IngestReport:
    """Copies a table into a table with unshredded files, for engines that cannot read shredded ones.

    With `as_text`, Variant columns become string columns of JSON, for engines without Variants.
    """
    started = time.monotonic()
    options = dict(storage_options or {})
    place = Storage(os.fspath(table), options)
    source = latest_snapshot(place) if version is None else load_snapshot(place, version)
    storage = Storage(os.fspath(target), options)
    schema = _with_texts(source) if as_text else source.arrow_schema
    snapshot = (
        planned(storage, schema, source.metadata.partition_columns, carried(source.settings, shredded=False))
        if list_log(storage).latest is None
        else load_snapshot(storage)
    )
    transaction = f"shredlake-{'text' if as_text else 'unshred'}-{source.metadata.id}", source.version
    if (done := already_done(snapshot, claim_job(transaction))) is not None:
        return done
    if snapshot.version > 0 or len(snapshot.files):
        raise TableExists(f"{storage.uri} already has rows. Copy into an empty or new table")
    if not any(is_variant(item.type) for item in source.arrow_schema):
        raise InvalidSchema(f"{source.storage.uri} has no Variant column, so there is nothing to unshred")
    bins = list(pack_files(as_adds(source.files.table()), file_bytes))
    job = FileJob(file_spec(snapshot, {}), file_bytes=file_bytes)
    size = sum(add.size for one in bins for add in one)
    with progress("unshred", len(bins), size, show_progress) as watch:
        change = texts_of if as_text else None
        work = partial(copy_files, source.without_files(), snapshot.without_files(), job, change=change)
        answers = engine.run(bins, work, watch)
    results = [CopyResult.from_json(answer) for answer in answers]
    report = publish_copy(snapshot, results, [transaction], "table")
    return replace(report, input_bytes=size, seconds=time.monotonic() - started)


def _with_texts(source: Snapshot) -> pa.Schema:
    """The schema with strings for Variants."""
    nested = next((place.name for place in source.variants if len(place.steps) > 1), None)
    if nested is not None:
        raise InvalidSchema(f"{source.storage.uri}: {nested} is a nested Variant, which can't become text")
    return pa.schema(
        [
            pa.field(item.name, pa.string(), item.nullable) if is_variant(item.type) else item
            for item in source.arrow_schema
        ]
    )


def texts_of(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows with JSON text for Variants.

    >>> from shredlake.kernels.from_json import from_json
    >>> texts_of(pa.record_batch({"v": from_json(['{"a":1}'])})).to_pylist()
    [{'v': '{"a":1}'}]
    """
    columns = [to_json(column) if is_variant(column.type) else column for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
