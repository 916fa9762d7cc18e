"""Ingests JSON text into a shredded Delta table: find, sample, lay out, write, check, commit once.

```
files ─ splits ─▶ sample ─▶ layout ─▶ one task per split ─▶ counts checked ─▶ rejects ─▶ commit
                 profiles   the same   files, uncommitted    documents =       their      rows, with
                 merged     for all    until the end         rows + rejects    table      the job's id
```

Exactly once: the commit carries `txn` actions, one per file or one for the job (see `once`). A job that is
run again after a crash finds them and stops; if it finds none, it does its work. The files that the crashed
run left are in no version, and `vacuum` removes them. The same commit creates the table if it does not exist.
"""

from __future__ import annotations

import base64
import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import pyarrow as pa

from shredlake.delta.log.listing import list_log
from shredlake.delta.log.snapshot import Snapshot, latest_snapshot, load_snapshot
from shredlake.delta.protocol.actions import Add, TransactionId
from shredlake.delta.protocol.features import require_writable
from shredlake.delta.protocol.properties import shredding_property
from shredlake.delta.schema.names import resolve
from shredlake.delta.schema.variants import VariantPlace
from shredlake.delta.storage.storage import Storage, decode_path
from shredlake.delta.write.alter import SchemaMode, with_merged_columns
from shredlake.delta.write.cleanup import remove_quietly, removed_unless_committed
from shredlake.delta.write.create import planned
from shredlake.delta.write.data_files import file_spec
from shredlake.delta.write.layout import choose
from shredlake.errors import (
    CommitConflict,
    InvalidSchema,
    NotJson,
    PipelineError,
    TooManyRejects,
    UnsupportedExpression,
    VerificationFailed,
)
from shredlake.expr import join_name
from shredlake.formatting import counted, is_text
from shredlake.jobs.data_files import FILE_BYTES, FileJob, ordered
from shredlake.jobs.engine import Answer, Engine, LocalEngine, Watch
from shredlake.jobs.ingest.computed import check_computed, computed_fields, kept, not_kept
from shredlake.jobs.ingest.folder_columns import check_folders, folder_fields
from shredlake.jobs.ingest.key_paths import key_paths, mixed_keys, shared_warnings
from shredlake.jobs.ingest.once import (
    Claim,
    already_done,
    claim_files,
    claim_job,
    is_recorded,
    job_transaction,
)
from shredlake.jobs.ingest.outcome import check_counts, check_json, typed_share
from shredlake.jobs.ingest.parse_task import Parsing, TaskResult, WriteJob, with_computed, write_splits
from shredlake.jobs.ingest.publish import commit_adds
from shredlake.jobs.ingest.rejects import (
    LineNumbers,
    discard_staged,
    rejects_place,
    staged_reasons,
    write_rejects,
)
from shredlake.jobs.ingest.sampling import sample_splits, sample_windows
from shredlake.jobs.ingest.sources import SourceFile, Split, find_files, spooled
from shredlake.jobs.ingest.tasks import text_tasks
from shredlake.jobs.report import IngestReport, progress
from shredlake.kernels.arrow.types import variant
from shredlake.kernels.profile import merge_profiles
from shredlake.parquet.write.writer import WriteOptions
from shredlake.shredding.inference.profile import Profile
from shredlake.shredding.request import Shredding

_log = logging.getLogger(__name__)

SAMPLE_WINDOWS = 32
SAMPLE_BYTES = 256 << 10
SMALL_INPUT = 1 << 30
"""Samples up to this size are read by the driver, which is faster than starting a job."""
LARGEST_SORT = 2 << 30
"""The most text whose rows one process sorts in memory; the rows take about four times as much."""


@dataclass(frozen=True)
class IngestOptions:
    """The options of an ingest. The defaults suit a table that is filtered by path."""

    column: str = "v"
    """The Variant column that stores the documents."""
    shredding: Shredding = "infer"
    """"infer" chooses a layout from a sample; a schema or DDL applies to the documents, or per column in a
    mapping; None shreds nothing."""
    keep_layout: bool = False
    """Whether a table that is not small keeps the layout of its newest file without sampling the data."""
    computed: Mapping[str, str] = field(default_factory=dict)
    """Further columns as expressions over the document: `{"day": "v:ts::date"}`."""
    folder_columns: Mapping[str, str] = field(default_factory=dict)
    """Further columns from the names of the files' folders (`day=2026-01-01/`): `{"day": "date"}`."""
    multi_line: bool | None = None
    """Whether documents may span lines. None detects it by the first bytes of each file."""
    schema_mode: SchemaMode = "strict"
    """"merge" adds columns that the table lacks, in the commit of the job; "strict" refuses them."""
    partition_by: tuple[str, ...] = ()
    sort_by: tuple[str, ...] = ()
    """Sort keys for the rows of each file, which let queries skip row groups and pages."""
    range_partition: bool = False
    """Whether Spark first partitions rows by ranges of `sort_by`, so that files barely overlap."""
    rejects: str | None = None
    """Address of the rejects table; by default the table's address with `_rejects` appended."""
    max_rejects: int | float | None = None
    """The most bad documents that are allowed: an int is a count, a float up to 1 a share, and None allows
    any number.
    """
    job_id: str | None = None
    """Idempotency key: a job whose id is committed is skipped; any other job ingests all its files. Without a
    job id, files that the table already has are skipped: those with the same name, size and content.
    """
    transaction: TransactionId | None = None
    """For a stream: its name and the batch number, which replace the job id."""
    task_bytes: int | None = None
    """How much text one task reads; by default chosen by the size of the input."""
    file_bytes: int = FILE_BYTES
    """The target size of a data file."""
    parsing: Parsing = field(default_factory=Parsing)
    properties: Mapping[str, str] = field(default_factory=dict)
    """Table properties, used if the job creates the table."""
    force: bool = False
    """Whether a table may be created in a folder that already holds other files."""
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    writing: WriteOptions | None = None
    show_progress: bool = False

    def __post_init__(self) -> None:
        at_least_one(task_bytes=self.task_bytes, file_bytes=self.file_bytes)
        at_least_one(max_depth=self.parsing.max_depth, max_document=self.parsing.max_document)
        if not self.column or any(
            not name for name in (*self.computed, *self.folder_columns, *self.partition_by)
        ):
            raise PipelineError(
                "a column needs a name: column, computed, folder_columns and partition_by may not hold ''"
            )
        if self.job_id == "" or not is_text(str(self.job_id)):
            raise PipelineError(f"job_id={self.job_id!a} names no job: give it a text that is not empty")
        names = [name.casefold() for name in (self.column, *self.computed, *self.folder_columns)]
        if (twice := next((name for name in names if names.count(name) > 1), None)) is not None:
            raise PipelineError(f"the column {twice!r} is given twice, by column, computed or folder_columns")
        limit = self.max_rejects
        if limit is not None and not (limit >= 0 and (isinstance(limit, int) or limit <= 1)):
            raise PipelineError(f"max_rejects={limit!r} is not a count (100) or a share (0.02, at most 1.0)")
        if self.range_partition and not self.sort_by:
            raise PipelineError("range_partition needs sort_by to know the key of the ranges")

    @property
    def file_options(self) -> WriteOptions:
        """The options for writing files; by default the fastest ones."""
        return (self.writing or WriteOptions()).quick()

    def file_job(self, snapshot: Snapshot) -> FileJob:
        """The job that writes rows to files of a table, without a layout."""
        writing = self.file_options
        paths = key_paths(self.sort_by, writing.bloom_filters)
        return FileJob(file_spec(snapshot, {}, writing), self.sort_by, self.file_bytes, paths=paths)


def at_least_one(**options: int | None) -> None:
    """Raises if an option is a number below 1.

    >>> at_least_one(file_bytes=-5)
    Traceback (most recent call last):
    ...
    shredlake.errors.PipelineError: file_bytes=-5 must be at least 1
    """
    for name, value in options.items():
        if value is not None and value < 1:
            raise PipelineError(f"{name}={value!r} must be at least 1")


def open_checked(table: str, options: IngestOptions, others: Sequence[pa.Field] = ()) -> Snapshot:
    """Opens the table, or plans one, and evaluates all of the job's and the table's expressions on no rows.

    `others` are the source's columns beside the documents. Raises `UnsupportedExpression` if only Spark SQL
    can evaluate one of the expressions. `open_or_reason` returns it instead, to callers that can use Spark.
    """
    storage = Storage(table, dict(options.storage_options))
    others = [*others, *folder_fields(options.folder_columns)]
    snapshot = open_or_plan(storage, options, [*others, *computed_fields(options.column, options.computed)])
    computed = not_kept(snapshot, options.computed)
    job = WriteJob(options.file_job(snapshot), options.column, storage, computed, options.parsing)
    nothing = pa.table({job.column: pa.array([], variant())})
    for item in others:
        nothing = nothing.append_column(item, pa.array([], item.type))
    ordered(with_computed(job, nothing), job.files.sort_by)
    return snapshot


def open_or_reason(
    table: str, options: IngestOptions, others: Sequence[pa.Field] = ()
) -> Snapshot | UnsupportedExpression:
    """The table, or the reason why only Spark SQL can evaluate the expressions of the job or the table."""
    try:
        return open_checked(table, options, others)
    except UnsupportedExpression as reason:
        return reason


def ingest_text(
    engine: Engine,
    source: str | Iterable[str] | SourceFile,
    table: str,
    options: IngestOptions,
    opened: Snapshot | None = None,
) -> IngestReport:
    """Runs an ingest of text files on an engine; `opened` is the table if it is already open.

    Raises `UnsupportedExpression`, before any work is done, if only Spark SQL can evaluate an expression of
    the job or the table.
    """
    found = [source] if isinstance(source, SourceFile) else find_files(source, options.storage_options)
    with spooled(found, here=engine.in_process) as files:
        return _ingest_files(engine, files, options, opened or open_checked(table, options))


def _ingest_files(
    engine: Engine, found: Sequence[SourceFile], options: IngestOptions, snapshot: Snapshot
) -> IngestReport:
    started = time.monotonic()
    storage = snapshot.storage
    claim = claim_text(snapshot, found, options, engine)
    if (done := already_done(snapshot, claim)) is not None:
        return done
    check_folders(claim.files, options.folder_columns)
    files = [replace(file, multi_line=options.multi_line) for file in claim.files]
    places = rejects_place(storage, options.rejects, claim.key, options.storage_options)
    job = WriteJob(
        options.file_job(snapshot),
        options.column,
        places[1],
        not_kept(snapshot, options.computed),
        options.parsing,
        options.folder_columns,
    )
    total = sum(file.size for file in files)
    splits, tasks = text_tasks(files, options.task_bytes, engine.parallelism)
    layout = layout_of_documents(snapshot, options, lambda: sample(engine, splits, options))
    job = with_layout(job, layout)
    if options.range_partition:
        job, tasks = sorted_here(job, splits, total)
    with progress("ingest", len(tasks), total, options.show_progress) as watch:
        results = _run(engine, tasks, job, watch)
    counted = zip(
        (split for task in tasks for split in task),
        (lines for result in results for lines in result.lines),
        strict=True,
    )
    numbers = LineNumbers(counted)
    return finish(
        snapshot,
        results,
        options,
        claim,
        source="text",
        started=started,
        input_bytes=total,
        layout=layout,
        lines=numbers,
    )


def sorted_here(
    job: WriteJob, splits: Sequence[Split], total: int
) -> tuple[WriteJob, list[tuple[Split, ...]]]:
    """Returns one task that sorts all rows in memory, so that files do not overlap."""
    if total > LARGEST_SORT:
        raise PipelineError(
            f"range_partition sorts {total:,} bytes of text, but one process sorts at most {LARGEST_SORT:,} "
            "in memory. Use Spark, or omit range_partition and run optimize afterwards"
        )
    files = replace(job.files, gather_bytes=sys.maxsize)
    return replace(job, files=files), [tuple(splits)]


def _run(engine: Engine, tasks: Sequence[tuple[Split, ...]], job: WriteJob, watch: Watch) -> list[TaskResult]:
    """Runs the tasks. If one fails, or at Ctrl-C, what the others wrote in this process is removed."""
    if not engine.in_process:
        return list(map(TaskResult.from_json, engine.run(tasks, partial(answer_splits, job), watch)))
    finished: dict[str, TaskResult] = {}

    def noted(splits: tuple[Split, ...]) -> Answer:
        result = write_splits(job, splits)
        answer = result.answer()
        finished[answer.text] = result
        return answer

    try:
        return [finished[text] for text in engine.run(tasks, noted, watch)]
    except BaseException:
        made = finished.values()
        remove_quietly(job.files.spec.storage, [decode_path(add.path) for one in made for add in one.adds])
        remove_quietly(job.rejects, [one.staged for one in made if one.staged is not None])
        raise


def answer_splits(job: WriteJob, splits: Sequence[Split]) -> Answer:
    """Reads, parses, shreds and writes some splits, as a task."""
    return write_splits(job, splits).answer()


def with_layout(job: WriteJob, layout: Mapping[str, str]) -> WriteJob:
    """Returns the job with the layout of its files set."""
    spec = replace(job.files.spec, shredding=dict(layout))
    return replace(job, files=replace(job.files, spec=spec))


# ── The table ───────────────────────────────────────────────────────────────────────────────────────────


def open_or_plan(storage: Storage, options: IngestOptions, others: Sequence[pa.Field]) -> Snapshot:
    """Opens the table, or plans one that the job's commit will create, with `others` as further columns."""
    if list_log(storage).latest is None:
        schema = pa.schema(
            [*kept(others, options.column, options.computed), pa.field(options.column, variant())]
        )
        shredded = shredding_property(options.shredding is not None)
        return planned(
            storage, schema, options.partition_by, {**shredded, **options.properties}, force=options.force
        )
    snapshot = load_snapshot(storage)
    require_writable(snapshot.protocol, storage.uri)
    found = snapshot.schema.get(options.column)
    if found is None or found.type != "variant":
        raise InvalidSchema(
            f"{storage.uri} has no Variant column {options.column!r}; "
            f"it has {', '.join(snapshot.schema.names)}"
        )
    snapshot = with_merged_columns(snapshot, others, options.schema_mode)
    check_computed(snapshot, options.computed, [field.name for field in others])
    if options.partition_by and tuple(options.partition_by) != snapshot.metadata.partition_columns:
        own = ", ".join(snapshot.metadata.partition_columns)
        raise InvalidSchema(
            f"{storage.uri} is {f'partitioned by {own}' if own else 'not partitioned'}, "
            f"so it can't be partitioned by {', '.join(options.partition_by)}"
        )
    return snapshot


def claim_text(
    snapshot: Snapshot, files: Sequence[SourceFile], options: IngestOptions, engine: Engine
) -> Claim:
    """Claims the work of the job: all files for a stream or a job with an id, otherwise the new files."""
    if options.transaction is not None:
        return claim_job(options.transaction, files)
    if options.job_id is not None:
        return claim_job(job_transaction(options.job_id), files)
    how: dict[str, Any] = {
        "column": options.column,
        "computed": not_kept(snapshot, options.computed),
        "parsing": asdict(options.parsing),
    }
    # Options that are not given do not count, so that tables recognise the files of earlier jobs.
    further = {"folder_columns": dict(options.folder_columns) or None, "multi_line": options.multi_line}
    how |= {name: value for name, value in further.items() if value is not None}
    return claim_files(snapshot, files, how, engine)


# ── The layout ──────────────────────────────────────────────────────────────────────────────────────────


def layout_of_documents(
    snapshot: Snapshot, options: IngestOptions, profiled: Callable[[], bytes]
) -> dict[str, str]:
    """The layout of the new files; `profiled` profiles a sample of the documents, if one is needed."""
    document = resolve(snapshot.schema, join_name((options.column,)))[0].name

    def sample_of(place: VariantPlace) -> Profile | None:
        found = profiled() if place.steps == (document,) else b""
        return Profile.from_bytes(found) if found else None

    return choose(snapshot, options.shredding, sample_of, column=options.column, keep=options.keep_layout)


def sample(engine: Engine, splits: Sequence[Split], options: IngestOptions) -> bytes:
    """Profiles windows spread over all the text, in tasks, and merges them; empty if there is no text."""
    windows = sample_windows(splits, SAMPLE_WINDOWS, SAMPLE_BYTES)
    if sum(split.size for split in splits) < SMALL_INPUT:
        engine = LocalEngine(min(engine.parallelism, os.cpu_count() or 1))
    # Starting a task costs more than reading a window, so there are no more tasks than can run at once.
    tasks = [tuple(windows[n :: engine.parallelism]) for n in range(min(engine.parallelism, len(windows)))]
    with progress("sample", len(tasks), 0, options.show_progress) as watch:
        parts = engine.run(tasks, partial(sample_splits, options.parsing, SAMPLE_BYTES), watch)
    found = [base64.b64decode(part) for part in parts if part]
    return merge_profiles(found) if found else b""


def physical_name(snapshot: Snapshot, column: str) -> str:
    """A column's name inside files."""
    found = snapshot.schema.get(column)
    return column if found is None else found.physical_name


# ── The end of a job ────────────────────────────────────────────────────────────────────────────────────


def finish(
    snapshot: Snapshot,
    results: Sequence[TaskResult],
    options: IngestOptions,
    claim: Claim,
    *,
    source: str,
    started: float,
    input_bytes: int,
    layout: Mapping[str, str],
    lines: LineNumbers,
    publish: Callable[[Sequence[Add]], int] | None = None,
) -> IngestReport:
    """Checks the counts, stores the rejects, commits once, and returns the report.

    `publish` commits the files in another way than by appending them.
    """
    storage = snapshot.storage
    places = rejects_place(storage, options.rejects, claim.key, options.storage_options)
    adds = [add for result in results for add in result.adds]
    try:
        with removed_unless_committed(storage, adds):
            check_counts(results, options.max_rejects, storage.uri)
            if options.max_rejects is None and options.transaction is None:  # a stream goes on
                check_json(places, results, lines, storage.uri)
            staged = [result.staged for result in results if result.staged is not None]
            reasons = staged_reasons(places, staged, lines)
            write_rejects(places, staged, lines, claim, storage)
            if publish is not None:
                version = publish(adds)
            else:
                rejects = {"numRejects": sum(result.rejected for result in results)}
                version = commit_adds(snapshot, adds, claim.transactions, source, rejects)
    except (CommitConflict, NotJson, TooManyRejects, VerificationFailed, FileNotFoundError):
        discard_staged(places)
        if (done := _done_meanwhile(storage, claim)) is not None:
            return done
        raise
    rejected = sum(result.rejected for result in results)
    report = IngestReport(
        table=storage.uri,
        version=version,
        documents=sum(result.documents for result in results),
        rows=sum(result.written for result in results),
        rejects=rejected,
        rejects_table=places[0].uri if rejected else None,
        reasons=reasons,
        files=len(adds),
        input_bytes=input_bytes,
        table_bytes=sum(add.size for add in adds),
        layout=layout.get(physical_name(snapshot, options.column)),
        typed_share=typed_share(results),
        seconds=time.monotonic() - started,
        skipped=claim.skipped,
        warnings=(
            *shared_warnings([result.warnings for result in results if result.written]),
            *mixed_keys(snapshot, adds, options.sort_by),
        ),
    )
    _log.info(
        "%s: version %d has %s more in %s from %s; rejected: %s",
        *(report.table, report.version, counted(report.rows, "row"), counted(report.files, "file")),
        *(source, counted(report.rejects, "document")),
    )
    return report


def _done_meanwhile(storage: Storage, claim: Claim) -> IngestReport | None:
    """The report of the same job if it ran concurrently and committed first.

    Raises `CommitConflict` if another job ingested a file of this one.
    """
    if list_log(storage).latest is None:
        return None
    latest = latest_snapshot(storage)
    if (done := already_done(latest, claim)) is not None:
        return done
    taken = [file for file, one in claim.by_file.items() if is_recorded(latest, one)]
    if taken:
        raise CommitConflict(
            f"{storage.uri}: another job ingested {taken[0]} meanwhile. Nothing was committed. Run "
            "the job again to ingest the other files"
        ) from None
    return None
