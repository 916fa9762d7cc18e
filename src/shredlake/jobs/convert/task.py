"""One task of a conversion.

```
files ─ read ─▶ parse ─▶ rows with Variants ─ write ─▶ new files ─ read back ─▶ checksums compared ─▶ entry
                  └────▶ rows that are not JSON ─────▶ staged, whole, for the rejects table
```

An interrupted run leaves entries and files. They are compared with the source in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.check.file_check import check_file
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Add
from shredlake.delta.read.data_file import DataFile, nullable_schema, whole_rows
from shredlake.delta.schema.variants import VariantPlace
from shredlake.delta.storage.storage import decode_path
from shredlake.delta.write.constraints import Constraints
from shredlake.errors import ShredlakeError, VerificationFailed
from shredlake.jobs.convert.journal import Entry, Journal, Task
from shredlake.jobs.data_files import FileJob, Written
from shredlake.jobs.engine import Answer
from shredlake.jobs.ingest.parse_task import Parsing, parse
from shredlake.jobs.ingest.rejects import REASON_OF_ROW, Staging
from shredlake.jobs.optimize import SAMPLE_ROWS, profile_file
from shredlake.jobs.verified_copy import RowSum, check_same, row_sum, rows_in, write_and_sum
from shredlake.kernels.profile import merge_profiles, profile_bytes
from shredlake.parquet.read.scan import scan_parquet

FACTS = pa.schema(
    [("_file", pa.string()), ("_row", pa.int64()), ("_column", pa.string()), (REASON_OF_ROW, pa.string())]
)
"""The columns of the rejects table besides those of the source: the position of a row, and the reason."""


@dataclass(frozen=True)
class ConvertJob:
    """The part of a conversion that all tasks share; pickled to the workers."""

    source: Snapshot
    target: Snapshot
    columns: tuple[str, ...]
    files: FileJob
    journal: Journal
    parsing: Parsing


def rejects_schema(source: Snapshot) -> pa.Schema:
    """The schema of rows that could not be parsed."""
    return pa.schema([*FACTS, *nullable_schema(source.arrow_schema)])


def convert_files(job: ConvertJob, task: Task) -> Answer:
    """Converts some files, as a task, and records that they are done."""
    before = RowSum()
    rejects = Staging(job.journal.folder, rejects_schema(job.source), f"{task.name}.parquet")
    read = 0

    def rows() -> Iterator[pa.RecordBatch]:
        nonlocal read
        for count, good in _parsed(job, task, rejects.take):
            read += count
            before.add(good)
            if good.num_rows:
                yield good

    document = job.target.schema.get(job.columns[0])
    written = Written(job.columns[0] if document is None else document.physical_name)
    try:
        result = write_and_sum(job.target, job.files, rows(), written)
        staged = rejects.close()
    except BaseException:
        rejects.abort()
        raise
    uri = job.target.storage.uri
    check_same(before, result.total, uri)
    if read != result.total.rows + rejects.count:
        raise VerificationFailed(
            f"{uri}: {read:,} rows were read, but {result.total.rows:,} written and {rejects.count:,} "
            "rejected. Nothing was committed"
        )
    entry = Entry(
        adds=result.adds,
        read=read,
        rows=result.total.rows,
        sum=result.total.sum,
        rejected=rejects.count,
        staged=staged,
        typed_bytes=written.typed_bytes,
        total_bytes=written.total_bytes,
    )
    job.journal.record(task, entry)
    return Answer(entry.to_json(), entry.rows, entry.rejected)


def confirmed(job: ConvertJob, claim: tuple[Task, Entry]) -> str:
    """The name of a task, as a task, if its entry and files hold what it reads from the source; else ''."""
    task, entry = claim
    good, bad = RowSum(), RowSum()

    def take(rejects: pa.Table) -> None:
        for batch in rejects.to_batches():
            bad.add(batch)

    for _, batch in _parsed(job, task, take):
        good.add(batch)
    try:
        there, staged = row_sum(rows_in(job.target, entry.adds)), row_sum(_staged(job, entry))
        same = (good, bad) == (there, staged) and (entry.rows, entry.rejected) == (good.rows, bad.rows)
        # The rows are right; their statistics and layouts, by which readers skip files, may still lie.
        sound = same and not any(check_file(job.target, add, quick=False).findings for add in entry.adds)
    except ShredlakeError:
        return ""
    return task.name if sound else ""


def _staged(job: ConvertJob, entry: Entry) -> Iterator[pa.RecordBatch]:
    if entry.staged is not None:
        location, store = job.journal.folder.source(entry.staged)
        yield from scan_parquet(location, store=store).to_batches()


def _parsed(
    job: ConvertJob, task: Task, take: Callable[[pa.Table], None]
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of a task's files with Variants, in batches, each with the number of rows read for it.

    `take` gets the rows that are not JSON.
    """
    constraints = Constraints.of(job.target.schema, job.target.properties)
    for add in task.adds:
        row = 0
        for batch in DataFile(job.source, add).batches(whole_rows(job.source)):
            good = _converted(job, batch, take, decode_path(add.path), row)
            constraints.enforce(pa.Table.from_batches([good]), row)
            row += batch.num_rows
            yield batch.num_rows, good


def _converted(
    job: ConvertJob, batch: pa.RecordBatch, take: Callable[[pa.Table], None], file: str, first_row: int
) -> pa.RecordBatch:
    """The rows of a batch whose texts are JSON, with Variants; the others go to the rejects."""
    columns = list(batch.columns)
    column_of = pa.nulls(batch.num_rows, pa.string())
    reason_of = pa.nulls(batch.num_rows, pa.string())
    for name in job.columns:
        place = batch.schema.get_field_index(name)
        columns[place], bad = parse(batch.column(place), job.parsing)
        if bad.num_rows:
            numbers = bad.column("row").combine_chunks()
            wrong = pc.is_in(pa.array(range(batch.num_rows), pa.int64()), value_set=numbers)
            new = pc.and_(wrong, pc.is_null(reason_of))
            reasons = pc.replace_with_mask(
                pa.nulls(batch.num_rows, pa.string()), wrong, bad.column("reason").combine_chunks()
            )
            reason_of = pc.if_else(new, reasons, reason_of)
            column_of = pc.if_else(new, pa.scalar(name), column_of)
    schema = nullable_schema(job.target.arrow_schema)
    made = pa.RecordBatch.from_arrays(columns, schema=schema)
    if reason_of.null_count == batch.num_rows:
        return made
    refused = pc.is_valid(reason_of)
    numbers = pa.array(range(first_row, first_row + batch.num_rows), pa.int64())
    files = pa.repeat(pa.scalar(file), batch.num_rows)
    facts = [files, numbers, column_of, reason_of, *batch.columns]
    take(pa.Table.from_arrays(facts, schema=rejects_schema(job.source)).filter(refused))
    return made.filter(pc.invert(refused))


def profile_texts(job: ConvertJob, place: VariantPlace, add: Add) -> str:
    """The profile of the JSON in the first rows of a file, as hexadecimal text; empty if there is none."""
    if place.steps[0] not in job.columns or len(place.steps) > 1:
        return profile_file(job.source, place, add)
    parts, rows = [], 0
    for batch in DataFile(job.source, add).batches(whole_rows(job.source)):
        variants, _ = parse(batch.column(place.steps[0]), job.parsing)
        parts.append(profile_bytes(pc.drop_null(variants), threads=1))
        rows += batch.num_rows
        if rows >= SAMPLE_ROWS:
            break
    return merge_profiles(parts).hex() if parts else ""
