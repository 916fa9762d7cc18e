"""Migrates files of the draft layout into a table."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from shredlake.delta.log.listing import list_log
from shredlake.delta.log.snapshot import Snapshot, load_snapshot
from shredlake.delta.protocol.features import require_writable
from shredlake.delta.protocol.properties import shredding_property
from shredlake.delta.schema.variants import type_at
from shredlake.delta.storage.storage import Storage
from shredlake.delta.write.constraints import Constraints, complete
from shredlake.delta.write.create import planned
from shredlake.delta.write.data_files import file_spec
from shredlake.delta.write.layout import choose
from shredlake.errors import InvalidSchema
from shredlake.jobs.arguments import Address, addresses
from shredlake.jobs.data_files import FILE_BYTES, FileJob
from shredlake.jobs.engine import Engine
from shredlake.jobs.ingest.once import already_done, claim_files
from shredlake.jobs.ingest.sources import SourceFile, find_files, location
from shredlake.jobs.packing import pack
from shredlake.jobs.report import IngestReport, progress
from shredlake.jobs.verified_copy import CopyResult, check_same, publish_copy, row_sum, write_and_sum
from shredlake.parquet.io.source import open_input
from shredlake.parquet.legacy.convert import read_draft
from shredlake.parquet.legacy.types import draft_schema, is_draft
from shredlake.parquet.read.stream import parquet_file
from shredlake.runner import call_storage
from shredlake.shredding.legacy import current_node
from shredlake.shredding.schema import ShreddingSchema


def migrate_files(
    engine: Engine,
    source: Address | Iterable[Address],
    table: Address,
    *,
    reject_conflicts: bool = False,
    file_bytes: int = FILE_BYTES,
    storage_options: Mapping[str, str] | None = None,
    show_progress: bool = False,
) -> IngestReport:
    """Migrates draft-layout files into a table, shredded as they were; a repeated run adds nothing."""
    started = time.monotonic()
    options = dict(storage_options or {})
    files = [file for file in find_files(addresses(source), options) if file.uri.endswith(".parquet")]
    if not files:
        raise InvalidSchema(f"no Parquet files at {', '.join(addresses(source))}")
    storage = Storage(os.fspath(table), options)
    snapshot = (
        planned(storage, _schema(files[0], reject_conflicts), properties=shredding_property(True))
        if list_log(storage).latest is None
        else load_snapshot(storage)
    )
    require_writable(snapshot.protocol, storage.uri)
    claim = claim_files(snapshot, files, {"read as": "draft"}, engine)
    if (done := already_done(snapshot, claim)) is not None:
        return done
    job = FileJob(file_spec(snapshot, {}), file_bytes=file_bytes)
    tasks = _tasks(snapshot, claim.files, file_bytes)
    total = sum(file.size for file in claim.files)
    with progress("migrate", len(tasks), total, show_progress) as watch:
        answers = engine.run(tasks, partial(_migrate, snapshot.without_files(), job, reject_conflicts), watch)
    results = [CopyResult.from_json(answer) for answer in answers]
    return replace(
        publish_copy(snapshot, results, claim.transactions, "draft files"),
        input_bytes=total,
        layout=next((layout for task in tasks for layout in task.layout.values()), None),
        seconds=time.monotonic() - started,
        skipped=claim.skipped,
    )


@dataclass(frozen=True)
class _Task:
    """Draft files that are written together because their Variants have the same layout."""

    layout: Mapping[str, str]
    files: tuple[SourceFile, ...]


def _schema(file: SourceFile, reject_conflicts: bool) -> pa.Schema:
    """The schema of a draft file with Variants as Variants."""
    path, store = location(file)
    return read_draft(path, reject_conflicts=reject_conflicts, store=store).schema


def _tasks(snapshot: Snapshot, files: Sequence[SourceFile], file_bytes: int) -> list[_Task]:
    """Groups files that get the same layout."""
    layouts = call_storage(partial(_layout, snapshot), files)
    groups: dict[str, list[SourceFile]] = {}
    for file, layout in zip(files, layouts, strict=True):
        groups.setdefault(json.dumps(layout, sort_keys=True), []).append(file)
    return [
        _Task(json.loads(layout), together)
        for layout, alike in groups.items()
        for together in pack(alike, lambda file: file.size, file_bytes)
    ]


def _layout(snapshot: Snapshot, file: SourceFile) -> dict[str, str]:
    """The layout of the file that replaces a draft file: the same shredding, if the table allows it."""
    path, store = location(file)
    with open_input(path, store) as source, parquet_file(source) as opened:
        arrow = opened.schema_arrow
    given: dict[str, ShreddingSchema | str | None] = {}
    for place in snapshot.variants:
        draft = type_at(arrow, place)
        known = draft is not None and is_draft(draft)
        given[place.name] = ShreddingSchema(current_node(draft_schema(draft))) if known else None
    return choose(snapshot, given, lambda place: None)


def _migrate(target: Snapshot, job: FileJob, reject_conflicts: bool, task: _Task) -> str:
    """Reads draft files, writes new files, reads them back, and compares."""
    job = replace(job, spec=replace(job.spec, shredding=dict(task.layout)))
    constraints = Constraints.of(target.schema, target.properties)
    tables = []
    for file in task.files:
        path, store = location(file)
        table = complete(
            read_draft(path, reject_conflicts=reject_conflicts, store=store),
            target.schema,
            target.metadata.partition_columns,
        )
        constraints.enforce(table)
        tables.append(table)
    result = write_and_sum(target, job, (batch for table in tables for batch in table.to_batches()))
    check_same(row_sum(tables), result.total, target.storage.uri)
    return result.to_json()
