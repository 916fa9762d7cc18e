"""Rewrites a table's files without changing its rows: compacts, sorts and re-shreds.

```
files ─ bins of the same partition ─▶ task: read, shred, write, read back, compare ──────────────▶ one commit
files ─ read ─ the engine sorts by ranges of the key ──▶ task: write, read back ──▶ compare sums ─┘
```

Sizes are measured, not guessed: a pilot file with rows from many files tells how large the new files will be.
Files that are large enough and well laid out are left alone, and rewriting the others reduces their number,
so a second optimize finds nothing to do.

The commit removes the old files and adds the new ones with `dataChange=false`. Row counts and checksums of
all values are compared between the old files and the new; if they differ, the job stops before the commit.
Concurrent appends succeed; if another writer removes a rewritten file first, the job conflicts.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add as plus

import pyarrow as pa

from shredlake.delta.log.files import as_adds
from shredlake.delta.log.snapshot import Snapshot, latest_snapshot
from shredlake.delta.protocol.actions import Action, Add
from shredlake.delta.protocol.features import require_writable
from shredlake.delta.protocol.layout_tag import tagged_layout
from shredlake.delta.read.bind import condition
from shredlake.delta.read.data_file import DataFile, whole_rows
from shredlake.delta.schema.names import resolve
from shredlake.delta.schema.variants import VariantPlace, variants_at
from shredlake.delta.stats.skipping import prune
from shredlake.delta.storage.storage import Storage
from shredlake.delta.write.cleanup import removed_unless_committed
from shredlake.delta.write.commit import commit
from shredlake.delta.write.data_files import file_spec
from shredlake.delta.write.layout import choose
from shredlake.delta.write.transaction import Operation, Reads
from shredlake.errors import InvalidSchema
from shredlake.expr.sort_key import parse_sort_keys
from shredlake.formatting import bytes_text, counted, html_text
from shredlake.jobs.arguments import Address, as_tuple
from shredlake.jobs.data_files import FILE_BYTES, GATHER_BYTES, FileJob, write_tables
from shredlake.jobs.engine import Engine, SortJob, Watch
from shredlake.jobs.ingest.key_paths import key_paths, mixed_keys, shared_warnings
from shredlake.jobs.packing import pack_files
from shredlake.jobs.report import progress
from shredlake.jobs.verified_copy import (
    CopyResult,
    RowSum,
    check_same,
    copy_files,
    rows_in,
    sum_files,
    write_and_sum,
)
from shredlake.kernels.profile import merge_profiles, profile_bytes
from shredlake.parquet.write.writer import WriteOptions
from shredlake.shredding.inference.profile import Profile
from shredlake.shredding.request import Shredding

SAMPLE_FILES = 16
SAMPLE_ROWS = 20_000
LARGE_ENOUGH = 0.75
"""A file with this share of the target size is left alone if it is otherwise well laid out."""

WITHOUT_LIMIT = 1 << 62


@dataclass(frozen=True, kw_only=True)
class OptimizeReport:
    """The outcome of an optimize."""

    version: int
    files_before: int = 0
    files_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    rows: int = 0
    layout: str | None = None
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    """Probable mistakes: a sort key or a Bloom filter on a path that no row has."""

    def __str__(self) -> str:
        if not self.files_before:
            return f"version {self.version}: nothing to rewrite"
        return (
            f"version {self.version}: {counted(self.files_before, 'file')} ({bytes_text(self.bytes_before)}) "
            f"became {self.files_after:,} ({bytes_text(self.bytes_after)}), "
            f"{counted(self.rows, 'row')}, {self.seconds:.1f} s\n"
            f"layout: {self.layout or 'not shredded'}" + "".join(f"\nwarning: {w}" for w in self.warnings)
        )

    def _repr_html_(self) -> str:
        return html_text(str(self))


def optimize_table(
    engine: Engine,
    table: Address,
    *,
    where: str | None = None,
    sort_by: str | Sequence[str] = (),
    column: str | None = None,
    shredding: Shredding = "infer",
    file_bytes: int = FILE_BYTES,
    storage_options: Mapping[str, str] | None = None,
    writing: WriteOptions | None = None,
    show_progress: bool = False,
) -> OptimizeReport:
    """Rewrites the files that `where` cannot rule out, in tasks of an engine."""
    started = time.monotonic()
    sort_by = as_tuple(sort_by)
    snapshot = latest_snapshot(Storage(os.fspath(table), dict(storage_options or {})))
    require_writable(snapshot.protocol, snapshot.storage.uri)
    predicate = condition(where, snapshot.schema)
    engine.check_sort_keys(sort_by)
    adds = as_adds(snapshot.files.table(keep=prune(snapshot, predicate).keep))
    if column is not None and resolve(snapshot.schema, column)[-1].type != "variant":
        names = ", ".join(place.name for place in snapshot.variants) or "none"
        raise InvalidSchema(f"{column} is not a Variant, so it can't be shredded; the Variants are: {names}")
    layout = _layout(engine, snapshot, adds, column, shredding)
    chosen = adds if sort_by else [add for add in adds if not _is_well(add, layout, file_bytes)]
    paths = key_paths(sort_by, writing.bloom_filters if writing else ())
    spec = file_spec(snapshot, layout, writing)
    job = FileJob(spec, sort_by, file_bytes, paths=paths)
    small = snapshot.without_files()
    growth = _growth(engine, small, job, chosen)
    bins = list(pack_files(chosen, file_bytes, growth))
    if not sort_by:
        bins = [one for one in bins if len(one) > 1 or not _fits(one[0], layout)]
    if not bins:
        return OptimizeReport(version=snapshot.version, seconds=time.monotonic() - started)
    old = [add for one in bins for add in one]
    size = sum(add.size for add in old)
    with progress("optimize", len(bins), size, show_progress) as watch:
        if sort_by:
            results = _sorted(engine, snapshot, job, bins, _files_of(size * growth, file_bytes), watch)
        else:
            answers = engine.run(bins, partial(_rewrite, small, job, growth), watch)
            results = [CopyResult.from_json(answer) for answer in answers]
    new = [replace(add, data_change=False) for result in results for add in result.adds]
    version = _commit(snapshot, old, new, where, sort_by)
    return OptimizeReport(
        version=version,
        files_before=len(old),
        files_after=len(new),
        bytes_before=size,
        bytes_after=sum(add.size for add in new),
        rows=sum(result.total.rows for result in results),
        layout=next(iter(layout.values()), None),
        seconds=time.monotonic() - started,
        warnings=(
            *shared_warnings([result.warnings for result in results if result.total.rows]),
            *mixed_keys(snapshot, new, sort_by),
        ),
    )


def _commit(
    snapshot: Snapshot, old: Sequence[Add], new: Sequence[Add], where: str | None, sort_by: Sequence[str]
) -> int:
    now = int(time.time() * 1000)
    actions: list[Action] = [*(replace(add.removal(now), data_change=False) for add in old), *new]
    operation = Operation(
        "OPTIMIZE",
        # Rows are sorted by one key after the other, which is not a Z-order.
        {"predicate": [] if where is None else [where], "zOrderBy": [], "sortBy": list(sort_by)},
        {
            "numRemovedFiles": len(old),
            "numAddedFiles": len(new),
            "numRemovedBytes": sum(add.size for add in old),
            "numAddedBytes": sum(add.size for add in new),
        },
    )
    with removed_unless_committed(snapshot.storage, new):
        return commit(snapshot, actions, operation, Reads(files=frozenset(add.key for add in old)))


def _growth(engine: Engine, snapshot: Snapshot, job: FileJob, adds: Sequence[Add]) -> float:
    """The ratio of new bytes to old bytes, measured on a pilot file."""
    if len(adds) < 2 and sum(add.size for add in adds) <= job.file_bytes:
        return 1.0  # one file is written in any case
    chosen = adds[:: max(1, -(-len(adds) // SAMPLE_FILES))]
    [answer] = engine.run([tuple(chosen)], partial(write_pilot, snapshot, _pilot_job(job)))
    return float(answer)


def _pilot_job(job: FileJob) -> FileJob:
    """The job with its sort order, if that does not need Spark; otherwise rows keep their order."""
    only_spark = any(key.needs_spark for key in parse_sort_keys(job.sort_by))
    return replace(job, sort_by=()) if only_spark else job


def write_pilot(snapshot: Snapshot, job: FileJob, adds: Sequence[Add]) -> str:
    """Writes some rows of each file to a temporary file; returns its size relative to the rows' old size."""
    rows_each = max(1, SAMPLE_ROWS // len(adds))
    share, tables = 0.0, []
    for add in adds:
        taken: list[pa.RecordBatch] = []
        total = 0
        for batch in rows_in(snapshot, [add]):
            if total < rows_each:
                taken.append(batch.slice(0, rows_each - total))
            total += batch.num_rows
        if taken:
            tables.append(pa.Table.from_batches(taken))
            share += add.size * tables[-1].num_rows / total
    if not tables:
        return "1.0"
    with tempfile.TemporaryDirectory(prefix="shredlake-pilot-") as folder:
        spec = replace(job.spec, storage=Storage(folder), partition_columns=())
        table = pa.concat_tables(tables).combine_chunks()
        [written] = write_tables(replace(job, spec=spec, file_bytes=WITHOUT_LIMIT), [table])
        return str(written.size / share)


def _files_of(size: float, file_bytes: int) -> int:
    """The number of files of about the target size.

    >>> [_files_of(size, 100) for size in (0, 40, 140, 160)]
    [1, 1, 1, 2]
    """
    return max(1, round(size / file_bytes))


def _rewrite(snapshot: Snapshot, job: FileJob, growth: float, adds: Sequence[Add]) -> str:
    """Rewrites the rows of some files to new files of about equal size, as a task."""
    files = _files_of(sum(add.size for add in adds) * growth, job.file_bytes)
    if files == 1:
        return copy_files(snapshot, snapshot, replace(job, file_bytes=WITHOUT_LIMIT), adds)
    query = whole_rows(snapshot)
    rows = sum(DataFile(snapshot, add).count(query) for add in adds)
    return copy_files(snapshot, snapshot, replace(job, rows_per_file=max(1, -(-rows // files))), adds)


def _is_well(add: Add, layout: Mapping[str, str], file_bytes: int) -> bool:
    """Whether rewriting a file gains nothing: it is large, has no deleted rows, and is well laid out."""
    return add.size >= LARGE_ENOUGH * file_bytes and _fits(add, layout)


def _fits(add: Add, layout: Mapping[str, str]) -> bool:
    """Whether a file already has the target layout and no deleted rows."""
    if add.deletion_vector is not None:
        return False
    try:
        tagged = tagged_layout(add)
    except InvalidSchema:  # a damaged tag: the new file gets a sound one
        return False
    return tagged is not None and {name: str(schema) for name, schema in tagged.items()} == dict(layout)


def _layout(
    engine: Engine, snapshot: Snapshot, adds: Sequence[Add], column: str | None, shredding: Shredding
) -> dict[str, str]:
    """The layout of the new files; inferred from a sample of the old files if nothing prescribes it."""
    chosen = adds[:: max(1, -(-len(adds) // SAMPLE_FILES))]

    def sample_of(place: VariantPlace) -> Profile | None:
        parts = engine.run(chosen, partial(profile_file, snapshot.without_files(), place))
        found = [bytes.fromhex(part) for part in parts if part]
        return Profile.from_bytes(merge_profiles(found)) if found else None

    return choose(snapshot, shredding, sample_of, column=column)


def profile_file(snapshot: Snapshot, place: VariantPlace, add: Add) -> str:
    """The profile of one Variant column over the first rows of a file, as hexadecimal text."""
    parts, rows = [], 0
    for batch in rows_in(snapshot, [add]):
        parts.append(profile_bytes(variants_at(batch, place), threads=1))
        rows += batch.num_rows
        if rows >= SAMPLE_ROWS:
            break
    return merge_profiles(parts).hex() if parts else ""


# ── Sorted over all files ───────────────────────────────────────────────────────────────────────────────


class _Reader:
    """Reads the files of a task in this process and sums a checksum over their rows."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.sums: list[RowSum] = []

    def __call__(self, adds: Sequence[Add]) -> Iterator[pa.RecordBatch]:
        total = RowSum()
        for batch in rows_in(self.snapshot, adds):
            total.add(batch)
            yield batch
        self.sums.append(total)


def _write_sorted(snapshot: Snapshot, job: FileJob, batches: Iterable[pa.RecordBatch]) -> str:
    return write_and_sum(snapshot, job, batches).to_json()


def _sorted(
    engine: Engine, snapshot: Snapshot, job: FileJob, tasks: Sequence[Sequence[Add]], files: int, watch: Watch
) -> list[CopyResult]:
    """Sorts all rows by the key and writes them to files that do not overlap on it."""
    small = snapshot.without_files()
    read = _Reader(small)
    # The rows are sorted. Ranges differ in size, so only files that are far too large are split.
    plain = replace(job, sort_by=(), gather_bytes=GATHER_BYTES, file_bytes=2 * job.file_bytes)
    sorting = SortJob(
        read=read if engine.in_process else partial(rows_in, small),
        schema=snapshot.schema,
        partition_by=tuple(snapshot.metadata.partition_columns),
        sort_by=job.sort_by,
        parts=files,
        write=partial(_write_sorted, small, plain),
    )
    results = [CopyResult.from_json(answer) for answer in engine.sort(tasks, sorting, watch)]
    sums = read.sums
    if not engine.in_process:
        sums = [CopyResult.from_json(answer).total for answer in engine.run(tasks, partial(sum_files, small))]
    written = [add for result in results for add in result.adds]
    with removed_unless_committed(snapshot.storage, written):
        check_same(
            reduce(plus, sums, RowSum()),
            reduce(plus, (result.total for result in results), RowSum()),
            snapshot.storage.uri,
        )
    return results
