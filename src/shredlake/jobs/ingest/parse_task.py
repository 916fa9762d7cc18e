"""One task of an ingest: reads text and writes data files and rejects, all inside the worker.

```
splits ─ pieces ─ from_json ─┬─ rows ── computed columns ─ (gather, sort, split by partition) ─ data files
                             └─ rejects ──────────────────────────────────────────────────────── staged file
```

A task commits nothing. It returns the `add` actions of its files and its counts; the driver checks the counts
and commits.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.protocol.actions import Add
from shredlake.delta.storage.storage import Storage
from shredlake.delta.write.constraints import Constraints, complete
from shredlake.errors import ConstraintViolation
from shredlake.expr.evaluate import evaluate
from shredlake.expr.parse import parse_columns
from shredlake.jobs import meter
from shredlake.jobs.data_files import FileJob, Written, adds_from_json, adds_to_json, write_tables
from shredlake.jobs.engine import Answer
from shredlake.jobs.ingest.folder_columns import with_folders
from shredlake.jobs.ingest.key_paths import PathWatch
from shredlake.jobs.ingest.rejects import REJECTS_SCHEMA, Staging
from shredlake.jobs.ingest.sources import Split
from shredlake.jobs.ingest.text import MAX_DOCUMENT, Piece, pieces
from shredlake.kernels import from_arrow, from_json, unshred
from shredlake.kernels.arrow.types import is_variant, shredding_schema, variant
from shredlake.kernels.threads import Column

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Parsing:
    """Options for parsing text into Variants."""

    duplicate_keys: Literal["error", "last_wins"] = "error"
    max_depth: int = 1000
    max_document: int = MAX_DOCUMENT
    """The longest line in bytes; longer lines are rejected."""


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
    folder_columns: Mapping[str, str] = field(default_factory=dict)
    """Columns from the names of the files' folders, with their types."""


@dataclass(frozen=True)
class TaskResult:
    """The result of a task."""

    adds: tuple[Add, ...]
    documents: int
    written: int
    rejected: int
    staged: str | None = None
    """The file with the rejects, relative to the staging folder."""
    lines: tuple[int, ...] = ()
    """The number of lines in each of the task's splits."""
    typed_bytes: int = 0
    """Bytes of the documents' column in typed columns, and in all."""
    total_bytes: int = 0
    warnings: tuple[str, ...] = ()
    """Warnings about this task's rows; reported only if all tasks return them."""

    def to_json(self) -> str:
        return json.dumps({**self.__dict__, "adds": adds_to_json(self.adds)})

    def answer(self) -> Answer:
        """The result as a task returns it."""
        return Answer(self.to_json(), self.written, self.rejected)

    @staticmethod
    def from_json(text: str) -> TaskResult:
        raw: dict[str, Any] = json.loads(text)
        for name in ("lines", "warnings"):
            raw[name] = tuple(raw[name])
        return TaskResult(**{**raw, "adds": adds_from_json(raw["adds"])})


def write_rows(
    job: WriteJob, tables: Iterable[pa.Table], rejects: Staging, paths: PathWatch | None = None
) -> TaskResult:
    """Writes the rows of a task; `tables` puts invalid documents into `rejects` while it is read."""
    schema = job.files.spec.schema
    column = schema.get(job.column)
    written = Written(job.column if column is None else column.physical_name)
    try:
        adds = write_tables(job.files, tables if paths is None else paths.over(tables), written)
        staged = rejects.close()
    except BaseException:
        rejects.abort()
        raise
    return TaskResult(
        tuple(adds),
        documents=0,
        written=written.rows,
        rejected=rejects.count,
        staged=staged,
        typed_bytes=written.typed_bytes,
        total_bytes=written.total_bytes,
        warnings=() if paths is None else paths.warnings,
    )


def write_splits(job: WriteJob, splits: Sequence[Split]) -> TaskResult:
    """Reads, parses, shreds and writes some splits."""
    rejects = Staging(job.rejects)
    lines = [0] * len(splits)

    def tables() -> Iterator[pa.Table]:
        for index, split in enumerate(splits):
            for parsed in parsed_pieces(split, job.parsing):
                lines[index] += parsed.documents
                meter.add(parsed.size // EXPANSION if split.packed else parsed.size)
                rejects.take(parsed.rejects)
                if len(parsed.column):
                    yield _checked_rows(job, parsed.column, split)

    result = write_rows(job, tables(), rejects, PathWatch(job.files.paths))
    return replace(result, documents=sum(lines), lines=tuple(lines))


def _checked_rows(job: WriteJob, column: pa.ChunkedArray, split: Split) -> pa.Table:
    try:
        rows = with_folders(pa.table({job.column: column}), split.file.uri, job.folder_columns)
        return with_computed(job, rows)
    except ConstraintViolation as violation:
        raise ConstraintViolation(f"{split.file.uri}: {violation}. Nothing was committed") from None


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
