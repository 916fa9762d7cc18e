"""One task of an ingest: reads text and writes data files and rejects, all inside the worker.

```
splits ─ pieces ─ from_json ─┬─ rows ── computed columns ─ (gather, sort, split by partition) ─ data files
                             └─ rejects ──────────────────────────────────────────────────────── staged file
```

A task commits nothing. It returns the `add` actions of its files and its counts; the driver checks the counts
and commits.
"""

from __future__ import annotations

import base64
import json
import logging
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.schema import partitions
from shredlake.delta.storage.storage import Storage
from shredlake.delta.write.constraints import Constraints, complete
from shredlake.delta.write.data_files import DataFileWriter, FileSpec
from shredlake.errors import ConstraintViolation
from shredlake.expr.evaluate import evaluate
from shredlake.expr.parse import parse_columns
from shredlake.expr.sort_key import parse_sort_keys, sort_indices
from shredlake.formatting import bytes_text
from shredlake.jobs import meter
from shredlake.jobs.ingest.key_paths import KeyPath, PathWatch
from shredlake.jobs.ingest.rejects import REJECTS_SCHEMA, Staging
from shredlake.jobs.ingest.sources import Split
from shredlake.jobs.ingest.text import MAX_DOCUMENT, Piece, pieces
from shredlake.jobs.packing import pack
from shredlake.kernels import from_arrow, from_json, unshred
from shredlake.kernels.arrow.types import is_variant, shredding_schema, variant
from shredlake.kernels.profile import merge_profiles, profile_bytes
from shredlake.kernels.threads import Column

_log = logging.getLogger(__name__)

GATHER_BYTES = 256 << 20
"""Arrow bytes that a task buffers to sort rows or to split them by partition; bounds a worker's memory."""

FILE_BYTES = 128 << 20
"""The target size of a data file."""

ARROW_PER_FILE_BYTE = 4
"""The assumed ratio of compressed Variant files to their Arrow columns, used until it is measured."""

ROWS_AT_ONCE = 64 << 10
"""The number of rows between checks whether a file is full."""

SAMPLE_READ = 256 << 10


@dataclass(frozen=True)
class Parsing:
    """Options for parsing text into Variants."""

    duplicate_keys: Literal["error", "last_wins"] = "error"
    max_depth: int = 1000
    max_document: int = MAX_DOCUMENT
    """The longest line in bytes; longer lines are rejected."""


@dataclass(frozen=True)
class FileJob:
    """Options for writing rows to data files."""

    spec: FileSpec
    sort_by: tuple[str, ...] = ()
    file_bytes: int = FILE_BYTES
    gather_bytes: int = GATHER_BYTES
    rows_per_file: int | None = None
    """Rows per file, if known; otherwise a file is closed when its measured size reaches the target."""
    paths: tuple[KeyPath, ...] = ()
    """Paths of sort keys and Bloom filters, which are searched for in the rows."""

    @property
    def gathers(self) -> bool:
        """Whether a task buffers rows before writing, to sort them or to split them by partition."""
        return bool(self.sort_by or self.spec.partition_columns)


@dataclass(frozen=True)
class WriteJob:
    """The part of the job that all tasks share; pickled to the workers."""

    files: FileJob
    column: str
    """The Variant column that stores the documents."""
    rejects: Storage
    """Where rejects are staged."""
    computed: Mapping[str, str] = field(default_factory=dict)
    """Other columns, as expressions over the document: `{"day": "v:ts::date"}`."""
    parsing: Parsing = field(default_factory=Parsing)


@dataclass(frozen=True)
class TaskResult:
    """The result of a task."""

    adds: tuple[Mapping[str, Any], ...]
    documents: int
    written: int
    rejected: int
    staged: str | None = None
    """The file with the rejects, relative to the staging folder."""
    lines: tuple[int, ...] = ()
    """The number of lines in each of the task's splits."""
    warnings: tuple[str, ...] = ()
    """Warnings about this task's rows; reported only if all tasks return them."""

    def to_json(self) -> str:
        return json.dumps(self.__dict__)

    @staticmethod
    def from_json(text: str) -> TaskResult:
        raw: dict[str, Any] = json.loads(text)
        for name in ("adds", "lines", "warnings"):
            raw[name] = tuple(raw[name])
        return TaskResult(**raw)


def tally(result: str) -> tuple[int, int]:
    """Rows and rejects of a task, for the progress bar."""
    made = TaskResult.from_json(result)
    return made.written, made.rejected


def write_splits(job: WriteJob, splits: Sequence[Split]) -> str:
    """Reads, parses, shreds and writes some splits."""
    rejects = Staging(job.rejects)
    lines = [0] * len(splits)
    paths = PathWatch(job.files.paths)

    def tables() -> Iterator[pa.Table]:
        for index, split in enumerate(splits):
            for parsed in parsed_pieces(split, job.parsing):
                lines[index] += parsed.documents
                meter.add(parsed.size // EXPANSION if split.packed else parsed.size)
                rejects.take(parsed.rejects)
                if len(parsed.column):
                    yield _checked_rows(job, parsed.column, split)

    try:
        adds = write_tables(job.files, paths.over(tables()))
        staged = rejects.close()
    except BaseException:
        rejects.abort()
        raise
    counts = sum(lines), rows_of(adds), rejects.count
    return TaskResult(tuple(adds), *counts, staged, tuple(lines), paths.warnings).to_json()


def _checked_rows(job: WriteJob, column: pa.ChunkedArray, split: Split) -> pa.Table:
    try:
        return with_computed(job, pa.table({job.column: column}))
    except ConstraintViolation as violation:
        raise ConstraintViolation(f"{split.file.uri}: {violation}. Nothing was committed") from None


def rows_of(adds: Iterable[Mapping[str, Any]]) -> int:
    """The number of rows in some files, as counted while they were written."""
    return sum(json.loads(add["stats"])["numRecords"] for add in adds)


@dataclass(frozen=True)
class ParsedPiece:
    """Some documents of a split, divided into rows and rejects."""

    column: pa.ChunkedArray
    rejects: pa.Table
    """REJECTS_SCHEMA, lines counted from 0 at the start of the split."""
    documents: int
    size: int
    """Bytes of the documents, as text."""


def parsed_pieces(split: Split, parsing: Parsing) -> Iterator[ParsedPiece]:
    """Reads and parses a split, a few megabytes at a time."""
    for piece in pieces(split, max_document=parsing.max_document):
        if piece.problem is not None:
            column, rows = pa.chunked_array([], variant()), pa.array(range(len(piece.rows)), pa.int64())
            reasons = pa.repeat(pa.scalar(piece.problem), len(rows))
        else:
            # Chunks, which the kernel does not need to concatenate.
            column, bad = parse(pa.chunked_array([piece.rows]), parsing)
            rows, reasons = bad.column("row").combine_chunks(), bad.column("reason")
            column = pc.drop_null(column) if len(rows) else column
        yield ParsedPiece(column, _rejects(split, piece, rows, reasons), len(piece.rows), piece.rows.nbytes)


def _rejects(split: Split, piece: Piece, rows: pa.Array, reasons: Any) -> pa.Table:
    raw = piece.rows.take(rows)
    return pa.table(
        {
            "file": pa.repeat(pa.scalar(split.file.uri), len(rows)),
            "line": pc.add(rows, piece.first_line),
            "offset": piece.offsets.take(rows),
            "reason": _named_truncation(reasons, raw),
            "raw": raw,
        },
        schema=REJECTS_SCHEMA,
    )


EXPANSION: Final = 5
"""By how much compressed JSON grows, about; only the progress bar depends on it."""

CUT_OFF: Final = "^(found the end of the text|this string is never closed)"
NEVER_CLOSED: Final = "^found the control character U\\+000A in a string.*"
"""How the reasons begin for documents that end too early: at the end of the text, or inside a string."""


def _named_truncation(reasons: Any, raw: Any) -> Any:
    """Says that a document is truncated, where it is."""
    ends = pc.equal(pc.find_substring(raw, b"\n"), pc.subtract(pc.binary_length(raw), 1))
    closed = pc.replace_substring_regex(reasons, NEVER_CLOSED, "this string is never closed")
    reasons = pc.if_else(ends, closed, reasons)
    return pc.replace_substring_regex(reasons, CUT_OFF, r"the document is truncated: \1")


def parse(rows: Column, parsing: Parsing) -> tuple[Column, pa.Table]:
    """Parses text into Variants on this thread; returns the Variants and the rejects."""
    return from_json(
        rows,
        on_error="collect",
        duplicate_keys=parsing.duplicate_keys,
        max_depth=parsing.max_depth,
        threads=1,
    )


def count_lines(split: Split) -> str:
    """The number of documents in a split, bad ones included."""
    return str(sum(len(piece.rows) for piece in pieces(split)))


# ── Rows ────────────────────────────────────────────────────────────────────────────────────────────────


def with_computed(job: WriteJob, table: pa.Table) -> pa.Table:
    """The rows as the table needs them: computed, default and generated columns added, and all checked."""
    for name, expression in job.computed.items():
        [projection] = parse_columns([expression])
        table = table.append_column(name, evaluate(projection.expr, table))
    spec = job.files.spec
    full = complete(table, spec.schema, spec.partition_columns, first_row=None)
    Constraints.of(spec.schema, spec.properties).enforce(full, None)
    return full


def ordered(table: pa.Table, sort_by: Sequence[str]) -> pa.Table:
    """Sorts rows by keys such as `v:t::bigint DESC`; nulls come last unless a key specifies otherwise.

    >>> import shredlake as sl
    >>> table = pa.table({"v": sl.from_json(pa.array(['{"t": 2}', '{"t": 1}']))})
    >>> sl.to_json(ordered(table, ("v:t::bigint",)).column("v")).to_pylist()
    ['{"t":1}', '{"t":2}']
    """
    if not sort_by:
        return table
    return table.take(sort_indices(parse_sort_keys(sort_by), table))


# ── Files ───────────────────────────────────────────────────────────────────────────────────────────────


def write_tables(job: FileJob, tables: Iterable[pa.Table]) -> list[dict[str, Any]]:
    """Writes conformed tables to data files: in the order given, or buffered, sorted and partitioned."""
    if not job.gathers:
        return list(_write_parts(job, (({}, table) for table in tables)))
    return list(
        _write_parts(
            job,
            (
                part
                for gathered in pack(tables, lambda table: int(table.nbytes), job.gather_bytes)
                for part in partitions.split(
                    ordered(pa.concat_tables(gathered), job.sort_by),
                    job.spec.schema,
                    job.spec.partition_columns,
                )
            ),
        )
    )


def _write_parts(
    job: FileJob, parts: Iterable[tuple[Mapping[str, Any], pa.Table]]
) -> Iterator[dict[str, Any]]:
    """Writes rows, given with their partition values, to files of the target size, one file at a time."""
    writer: DataFileWriter | None = None
    held: Mapping[str, Any] = {}
    gauge = Gauge(job)
    try:
        for values, rows in parts:
            for batch in _cut_to(gauge, rows):
                if writer is not None and (gauge.full or values != held):
                    yield _closed(writer, gauge)
                    writer = None
                if writer is None:
                    writer, held = DataFileWriter(job.spec, values), values
                writer.write(batch)
                gauge.wrote(batch, *writer.measured)
        if writer is not None:
            yield _closed(writer, gauge)
    except BaseException:
        if writer is not None:
            writer.abort()
        raise


def _closed(writer: DataFileWriter, gauge: Gauge) -> dict[str, Any]:
    add = writer.close()
    gauge.closed(add.size)
    return add.to_json()


def _cut_to(gauge: Gauge, rows: pa.Table) -> Iterator[pa.RecordBatch]:
    """Slices rows into batches that end where a file ends."""
    for batch in rows.to_batches(max_chunksize=ROWS_AT_ONCE):
        while batch.num_rows:
            room = batch.num_rows if gauge.room is None else gauge.room
            yield batch.slice(0, room)
            batch = batch.slice(room)


class Gauge:
    """Measures how full a file is: by rows if their number is known, otherwise by bytes on disk."""

    def __init__(self, job: FileJob) -> None:
        self._job = job
        self._ratio = 1 / ARROW_PER_FILE_BYTE
        self._rows = self._arrow = 0
        self._size = 0.0

    @property
    def full(self) -> bool:
        if self._job.rows_per_file is not None:
            return self._rows >= self._job.rows_per_file
        return self._size >= self._job.file_bytes

    @property
    def room(self) -> int | None:
        """The number of rows that fit into the file, or into the next if it is full; None if not counted."""
        most = self._job.rows_per_file
        return None if most is None else most if self.full else most - self._rows

    def wrote(self, batch: pa.RecordBatch, arrow: int, size: int) -> None:
        """Records a batch written to the file, of which `arrow` bytes take `size` bytes on disk."""
        self._rows += batch.num_rows
        self._arrow += batch.nbytes
        if arrow and size:
            self._ratio = size / arrow
        self._size = size + (self._arrow - arrow) * self._ratio

    def closed(self, size: int) -> None:
        """Records the final size of a file."""
        if self._arrow:
            self._ratio = size / self._arrow
        self._rows = self._arrow = 0
        self._size = 0.0


# ── Sampling ────────────────────────────────────────────────────────────────────────────────────────────


Window = tuple[Split, ...]
"""Contiguous text: a range of one file, continued in the following files if that is short."""

FILES_PER_WINDOW = 32
"""The most files in a window, since opening a file costs more than reading a small one."""

SAMPLE_PATIENCE = 4 << 20
"""A window that begins inside a line is given up if the line does not end within this many bytes."""


def sample_splits(parsing: Parsing, limit: int, windows: Sequence[Window]) -> str:
    """Profiles `limit` bytes of valid documents of each window, to choose a layout."""
    parts = [part for window in windows for part in _sample_window(parsing, limit, window)]
    return base64.b64encode(merge_profiles(parts)).decode() if parts else ""


def _sample_window(parsing: Parsing, limit: int, window: Window) -> Iterator[bytes]:
    seen = 0
    for split in window:
        passed = 0
        for piece in pieces(
            split, max_document=parsing.max_document, read_size=SAMPLE_READ, patience=SAMPLE_PATIENCE
        ):
            passed += piece.rows.nbytes
            if piece.problem is None:
                column, _ = parse(piece.rows, parsing)
                good = pc.drop_null(column)
                if len(good):
                    yield profile_bytes(good, threads=1)
                    seen += piece.rows.nbytes * len(good) // len(column)
            if seen >= limit:
                return
            if passed >= 4 * limit:
                break  # this file holds little JSON; the next one may hold more


def sample_windows(splits: Sequence[Split], windows: int, window_bytes: int) -> list[Window]:
    """A fair sample: windows spread evenly over all the text, across all files.

    Text that can only be read from its beginning (compressed, small, arrays) is sampled there.

    >>> from shredlake.jobs.ingest.sources import SourceFile
    >>> whole = Split(SourceFile("a.ndjson", 1000, ""), 0, 1000, 0, "lines")
    >>> [[(split.start, split.end) for split in window] for window in sample_windows([whole], 4, 10)]
    [[(0, 10)], [(250, 260)], [(500, 510)], [(750, 760)]]
    >>> small = [Split(SourceFile(f"{n}.ndjson", 4, ""), 0, 4, 0) for n in range(100)]
    >>> [len(window) for window in sample_windows(small, 4, 10)]
    [3, 3, 3, 3]
    """
    ends = list(accumulate(split.end - split.start for split in splits))
    total = ends[-1] if ends else 0
    step = max(-(-total // windows), 1)
    chosen: list[Window] = []
    fresh = 0  # splits before this index are sampled
    for due in range(0, total, step):
        index = max(bisect_right(ends, due), fresh)
        if index >= len(splits):
            break
        split = splits[index]
        start = split.start
        if not split.whole:
            start += max(due - (ends[index] - (split.end - split.start)), 0)
        window: list[Split] = []
        left = min(window_bytes, step)
        while left > 0 and len(window) < FILES_PER_WINDOW:
            # Past the end of the split: steps and splits coincide, and one byte of it may be left.
            end = split.end if split.whole else min(start + left, split.file.size)
            window.append(replace(split, start=start, end=end))
            left -= end - start
            fresh = index + 1 if split.whole else index
            while index < len(splits) and splits[index].file.uri == split.file.uri:
                index += 1
            if index == len(splits):
                break
            split, start = splits[index], splits[index].start
        chosen.append(tuple(window))
    read = [split for window in chosen for split in window]
    most = bytes_text(sum(min(split.end - split.start, window_bytes) for split in read))
    places = f"{len(chosen)} places in {len({split.file.uri for split in read})} files"
    _log.info("a sample of at most %s, from %s, decides what to shred", most, places)
    return chosen


def variants_of(source: pa.Array, parsing: Parsing) -> tuple[pa.Array, pa.Table]:
    """Converts text, structs or Variants to Variants; also returns one rejects row per document."""
    nothing = {item.name: pa.nulls(len(source), item.type) for item in REJECTS_SCHEMA}
    if is_variant(source.type):
        return (source if shredding_schema(source.type) is None else unshred(source)), pa.table(nothing)
    if pa.types.is_nested(source.type):
        return from_arrow(source), pa.table(nothing)
    column, bad = parse(source, parsing)
    if bad.num_rows:
        wrong = pc.is_in(
            pa.array(range(len(source)), pa.int64()), value_set=bad.column("row").combine_chunks()
        )
        nothing["reason"] = pc.replace_with_mask(
            nothing["reason"], wrong, bad.column("reason").combine_chunks()
        )
        nothing["raw"] = pc.if_else(wrong, source.cast(pa.binary()), nothing["raw"])
    return column, pa.table(nothing)
