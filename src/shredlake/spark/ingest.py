"""JSON text to a shredded Delta table: found, sampled, laid out, written by tasks, checked, committed once.

```
files ─ splits ─▶ sample ─▶ layout ─▶ one task per split ─▶ counts checked ─▶ rejects ─▶ commit
                 profiles   the same   files, uncommitted    documents =       their      rows, with
                 merged     for all    until the end         rows + rejects    table      the job's id
```

Exactly once: the commit carries the job's id in a `txn` action. A job that is run again after a crash finds
the id and stops, or finds none and does its work; what the crashed run left behind are files that no version
names, for `vacuum` to remove.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shredlake.delta.actions import Add, Transaction
from shredlake.delta.commit import Operation, commit
from shredlake.delta.create import create
from shredlake.delta.layouts import PIN_PREFIX
from shredlake.delta.log import list_log
from shredlake.delta.mutate import append
from shredlake.delta.snapshot import Snapshot, load_snapshot
from shredlake.delta.spec import file_spec
from shredlake.delta.storage import Storage
from shredlake.delta.write import LAYOUT_TAG
from shredlake.errors import InvalidSchema, TableExists, TooManyRejects, VerificationFailed
from shredlake.expr.evaluate import evaluate
from shredlake.expr.parse import parse_columns
from shredlake.kernels.layout import variant
from shredlake.kernels.profile import merge_profiles
from shredlake.parquet.write import WriteOptions
from shredlake.shredding.infer import infer_schema
from shredlake.shredding.profile import Profile
from shredlake.shredding.schema import ShreddingSchema
from shredlake.spark.engine import Engine
from shredlake.spark.report import IngestReport, progress
from shredlake.spark.sources import Split, cut, find_files, fingerprint
from shredlake.spark.task import (
    REJECTS_SCHEMA,
    Parsing,
    TaskResult,
    WriteJob,
    sample_split,
    sample_windows,
    write_split,
)

SAMPLE_WINDOWS = 32
SAMPLE_BYTES = 1 << 20
SMALLEST_SPLIT = 8 << 20
LARGEST_SPLIT = 256 << 20

SHREDDING = {"delta.enableVariantShredding": "true"}

Shredding = ShreddingSchema | str | Literal["infer"] | None


@dataclass(frozen=True)
class IngestOptions:
    """How an ingest is done. The defaults suit a table that is filtered by path."""

    column: str = "v"
    """The Variant column that the documents go to."""
    shredding: Shredding = "infer"
    """A layout as DDL or schema, "infer" to choose one from a sample, None to shred nothing."""
    computed: Mapping[str, str] = field(default_factory=dict)
    """Further columns as expressions over the document: `{"day": "v:ts::date"}`."""
    partition_by: tuple[str, ...] = ()
    sort_by: tuple[str, ...] = ()
    """Expressions by which the rows of each file are sorted, for skipping."""
    rejects: str | None = None
    """Address of the rejects table; beside the table, with `_rejects` at the end, where not given."""
    max_rejects: int | float | None = None
    """How many bad documents are too many: a number, or a share below 1; None lets any number pass."""
    job_id: str | None = None
    """What makes the job this job; made from the sources' names, sizes and times where not given."""
    transaction: tuple[str, int] | None = None
    """For a stream: its name and the number of the batch, in place of a job's id."""
    split_size: int | None = None
    parsing: Parsing = field(default_factory=Parsing)
    properties: Mapping[str, str] = field(default_factory=dict)
    """Properties of the table, if the job creates it."""
    storage_options: Mapping[str, str] = field(default_factory=dict)
    writing: WriteOptions | None = None
    show_progress: bool = False


def ingest_text(
    engine: Engine, source: str | Iterable[str], table: str, options: IngestOptions
) -> IngestReport:
    """Runs an ingest of text files on an engine."""
    started = time.monotonic()
    files = find_files(source, options.storage_options)
    job_id = options.job_id or fingerprint(files)
    storage = Storage(table, dict(options.storage_options))
    snapshot = open_or_create(storage, options)
    mark = options.transaction or (application(job_id), 1)
    if (done := already_done(snapshot, mark)) is not None:
        return done
    total = sum(file.size for file in files)
    splits = cut(files, options.split_size or split_size(total, engine.parallelism))
    layout = settled_layout(snapshot, options)
    if layout is None:
        layout = layout_from_profile(snapshot, options, sample(engine, splits, options))
    rejects, staging = rejects_of(storage, options, job_id)
    job = WriteJob(
        spec=file_spec(snapshot, layout, options.writing),
        column=options.column,
        computed=dict(options.computed),
        sort_by=tuple(options.sort_by),
        parsing=options.parsing,
        rejects=staging,
    )
    with progress("ingest", len(splits), total, options.show_progress) as watch:
        answers = engine.run(splits, partial(write_split, job), watch)
    results = [TaskResult.from_json(answer) for answer in answers]
    check_counts(results, options.max_rejects, storage.uri)
    write_rejects(rejects, staging, list(zip(results, first_lines(splits, results), strict=True)), mark)
    version = commit_adds(snapshot, results, mark, "text")
    return summary(snapshot, version, results, rejects, total, layout, started)


def rejects_of(table: Storage, options: IngestOptions, job_id: str) -> tuple[Storage, Storage]:
    """The rejects table, and where tasks put what belongs in it until the driver has counted lines."""
    uri = options.rejects or f"{table.uri}_rejects"
    reach = dict(options.storage_options)
    return Storage(uri, reach), Storage(f"{uri}/_staging/{job_id}", reach)


def split_size(total: int, parallelism: int) -> int:
    """Small enough that all cores work, large enough for good files.

    >>> split_size(10 << 30, 8) >> 20, split_size(100 << 20, 2) >> 20, split_size(1000, 8) >> 20
    (256, 25, 8)
    """
    return max(SMALLEST_SPLIT, min(LARGEST_SPLIT, -(-total // (2 * parallelism))))


def open_or_create(storage: Storage, options: IngestOptions, extra: Sequence[pa.Field] = ()) -> Snapshot:
    """The table as it is, made first if there is none."""
    if list_log(storage).latest is None:
        fields = [*extra, *computed_fields(options), pa.field(options.column, variant())]
        properties = {**(SHREDDING if options.shredding is not None else {}), **options.properties}
        with suppress(TableExists):  # another job was faster, and made it
            create(storage, pa.schema(fields), options.partition_by, properties)
    snapshot = load_snapshot(storage)
    found = snapshot.schema.get(options.column)
    if found is None or found.type != "variant":
        raise InvalidSchema(
            f"{storage.uri} has no Variant column {options.column!r}; "
            f"it has {', '.join(snapshot.schema.names)}"
        )
    if options.partition_by and tuple(options.partition_by) != snapshot.metadata.partition_columns:
        raise InvalidSchema(
            f"{storage.uri} is partitioned by {list(snapshot.metadata.partition_columns)}, "
            f"not by {list(options.partition_by)}"
        )
    return snapshot


def computed_fields(options: IngestOptions) -> list[pa.Field]:
    """The columns that expressions make, with the types that evaluating them on nothing gives."""
    nothing = pa.table({options.column: pa.array([], variant())})
    fields = []
    for name, expression in options.computed.items():
        [projection] = parse_columns([expression])
        fields.append(pa.field(name, evaluate(projection.expr, nothing).type))
    return fields


def application(job_id: str) -> str:
    """The name under which a job's commit is remembered in the table."""
    return f"shredlake-ingest-{job_id}"


Mark = tuple[str, int]
"""What makes a commit happen once: the name of a job or stream, and a number that only grows."""


def already_done(snapshot: Snapshot, mark: Mark) -> IngestReport | None:
    """A report that says so, if the table has this commit."""
    seen = snapshot.transactions.get(mark[0])
    if seen is None or seen.version < mark[1]:
        return None
    return IngestReport(
        snapshot.storage.uri, snapshot.version, 0, 0, 0, None, 0, 0, 0, None, 0.0, already_done=True
    )


def settled_layout(snapshot: Snapshot, options: IngestOptions) -> dict[str, str] | None:
    """The layout where no look at the data is needed: none, pinned, or given; else None."""
    pinned = snapshot.properties.get(PIN_PREFIX + options.column)
    if not snapshot.is_true("delta.enableVariantShredding") or options.shredding is None or pinned == "none":
        return {}
    if pinned is None and options.shredding == "infer":
        return None
    wanted = pinned if pinned is not None else str(options.shredding)
    return {_physical(snapshot, options.column): str(ShreddingSchema.parse(wanted))}


def layout_from_profile(snapshot: Snapshot, options: IngestOptions, profile: bytes) -> dict[str, str]:
    """The layout that a sample suggests, close to the one that the table has."""
    previous = previous_layout(snapshot, options.column)
    inferred = infer_schema(Profile.from_bytes(profile), previous=previous)
    return {} if inferred is None else {_physical(snapshot, options.column): str(inferred)}


def sample(engine: Engine, splits: Sequence[Split], options: IngestOptions) -> bytes:
    """A profile of windows spread over all the text, made by tasks and merged."""
    windows = sample_windows(list(splits), SAMPLE_WINDOWS, SAMPLE_BYTES)
    with progress("sample", len(windows), 0, options.show_progress) as watch:
        parts = engine.run(windows, partial(sample_split, options.parsing, limit=SAMPLE_BYTES), watch)
    return merge_profiles([base64.b64decode(part) for part in parts])


def _physical(snapshot: Snapshot, column: str) -> str:
    found = snapshot.schema.get(column)
    return column if found is None else found.physical_name


def previous_layout(snapshot: Snapshot, column: str) -> ShreddingSchema | None:
    """How the newest file of the table shreds a column: new files agree with it unless change pays."""
    tags = snapshot.files.recent.column("tags")
    if not len(tags):
        return None
    layouts = json.loads(dict(tags[-1].as_py() or ()).get(LAYOUT_TAG, "{}"))
    found = layouts.get(_physical(snapshot, column))
    return ShreddingSchema.parse(found["shredding"]) if found else None


def check_counts(results: Sequence[TaskResult], max_rejects: int | float | None, table: str) -> None:
    """Refuses to commit if a document is unaccounted for, or too many were bad."""
    documents = sum(result.documents for result in results)
    rejected = sum(result.rejected for result in results)
    written = sum(result.written for result in results)
    if documents != written + rejected:
        raise VerificationFailed(
            f"{table}: {documents:,} documents were read, but {written:,} rows written and {rejected:,} "
            "rejected. Nothing was committed"
        )
    if max_rejects is None:
        return
    allowed = max_rejects if max_rejects >= 1 or max_rejects == 0 else max_rejects * documents
    if rejected > allowed:
        raise TooManyRejects(
            f"{table}: {rejected:,} of {documents:,} documents are bad, more than max_rejects={max_rejects} "
            "allows. Nothing was committed; run with more, or look at the source"
        )


def write_rejects(
    rejects: Storage, staging: Storage, results: Sequence[tuple[TaskResult, int]], mark: Mark
) -> None:
    """Moves staged rejects into their table; with each result come the lines of its file before its split."""
    staged = [(result.staged, before) for result, before in results if result.staged is not None]
    if not staged:
        return
    if list_log(rejects).latest is None:
        with suppress(TableExists):
            create(rejects, REJECTS_SCHEMA)

    def batches() -> Iterable[pa.RecordBatch]:
        for path, before in staged:
            with pq.ParquetFile(staging.open_input(path)) as file:
                for batch in file.iter_batches(batch_size=1024):
                    line = pc.add(batch.column("line"), before + 1)
                    yield batch.set_column(1, REJECTS_SCHEMA.field("line"), line)

    append(load_snapshot(rejects), batches(), transaction=mark)
    staging.delete([path for path, _ in staged])


def first_lines(splits: Sequence[Split], results: Sequence[TaskResult]) -> list[int]:
    """How many lines of its file come before each split."""
    first = [0] * len(splits)
    before: dict[str, int] = {}
    for index in sorted(range(len(splits)), key=lambda n: (splits[n].file.uri, splits[n].number)):
        uri = splits[index].file.uri
        first[index] = before.get(uri, 0)
        before[uri] = first[index] + results[index].documents
    return first


def commit_adds(snapshot: Snapshot, results: Sequence[TaskResult], mark: Mark, source: str) -> int:
    """One commit for the whole job."""
    adds = [Add.from_json(dict(add)) for result in results for add in result.adds]
    operation = Operation(
        "WRITE",
        {"mode": "Append", "partitionBy": list(snapshot.metadata.partition_columns), "source": source},
        {
            "numFiles": len(adds),
            "numOutputRows": sum(result.written for result in results),
            "numOutputBytes": sum(add.size for add in adds),
        },
    )
    done = Transaction(*mark, int(time.time() * 1000))
    return commit(snapshot, [done, *adds], operation)


def summary(
    snapshot: Snapshot,
    version: int,
    results: Sequence[TaskResult],
    rejects: Storage,
    total: int,
    layout: Mapping[str, str],
    started: float,
) -> IngestReport:
    """What was done, for people."""
    rejected = sum(result.rejected for result in results)
    return IngestReport(
        table=snapshot.storage.uri,
        version=version,
        documents=sum(result.documents for result in results),
        rows=sum(result.written for result in results),
        rejects=rejected,
        rejects_table=rejects.uri if rejected else None,
        files=sum(len(result.adds) for result in results),
        input_bytes=total,
        table_bytes=sum(int(add["size"]) for result in results for add in result.adds),
        layout=next(iter(layout.values()), None),
        seconds=time.monotonic() - started,
    )
