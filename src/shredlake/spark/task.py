"""What one task of an ingest does: text in, data files and rejects out, all inside the worker.

```
split ─ pieces ─ from_json ─┬─ rows ── computed columns ─ (gather, sort, split by partition) ─ data files
                            └─ rejects ──────────────────────────────────────────────────────── staged file
```

A task commits nothing. It answers with the `add` actions of its files and with its counts; the driver checks
the counts and commits. Line numbers of rejects count from the start of the split until the driver, who knows
how many lines the splits before it had, puts them right.
"""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta import partitions
from shredlake.delta.constraints import Constraints, complete
from shredlake.delta.storage import Storage
from shredlake.delta.write import DataFileWriter, FileSpec
from shredlake.expr.evaluate import evaluate
from shredlake.expr.parse import parse_columns
from shredlake.kernels import from_json
from shredlake.kernels.profile import merge_profiles, profile_bytes
from shredlake.parquet.write import ParquetWriter
from shredlake.spark.sources import Split
from shredlake.spark.text import Piece, pieces

REJECTS_SCHEMA = pa.schema(
    [
        pa.field("file", pa.string()),
        pa.field("line", pa.int64()),
        pa.field("offset", pa.int64()),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("raw", pa.binary()),
    ]
)
"""A rejects table: where the bad document stood (lines counted from 1; null where it came from no file), why
it was refused, and its bytes."""


@dataclass(frozen=True)
class Parsing:
    """How text becomes Variants."""

    duplicate_keys: Literal["error", "last_wins"] = "error"
    max_depth: int = 1000


@dataclass(frozen=True)
class WriteJob:
    """What all tasks of one ingest share; pickled to the workers."""

    spec: FileSpec
    column: str
    """The Variant column that the documents go to."""
    computed: Mapping[str, str] = field(default_factory=dict)
    """Other columns, as expressions over the document: `{"day": "v:ts::date"}`."""
    sort_by: tuple[str, ...] = ()
    parsing: Parsing = field(default_factory=Parsing)
    rejects: Storage | None = None
    """Where rejects are staged; None only counts them."""
    enforce: bool = True
    """Whether the table's constraints are checked here; Spark has done so already where they need Spark."""

    @property
    def gathers(self) -> bool:
        """Whether a task holds all its rows before it writes: to sort them, or to write by partition."""
        return bool(self.sort_by or self.spec.partition_columns)


@dataclass(frozen=True)
class TaskResult:
    """What a task has to say for itself."""

    adds: tuple[Mapping[str, Any], ...]
    documents: int
    written: int
    rejected: int
    staged: str | None = None
    """The file with the rejects, relative to the place where they are staged."""

    def to_json(self) -> str:
        return json.dumps(self.__dict__ | {"adds": list(self.adds)})

    @staticmethod
    def from_json(text: str) -> TaskResult:
        raw = json.loads(text)
        return TaskResult(**(raw | {"adds": tuple(raw["adds"])}))


def sample_split(parsing: Parsing, split: Split, limit: int) -> str:
    """Profiles the first `limit` bytes of a split, for the choice of a layout; bad documents do not count."""
    seen = 0
    parts: list[bytes] = []
    for piece in pieces(split):
        seen += piece.rows.nbytes
        parts.append(profile_bytes(pc.drop_null(_parsed(piece.rows, parsing)[0])))
        if seen >= limit:
            break
    return base64.b64encode(merge_profiles(parts)).decode()


def write_split(job: WriteJob, split: Split) -> str:
    """Reads, parses, shreds and writes one split."""
    rejects = _Rejects(job.rejects, split)
    documents = 0

    def tables() -> Iterator[pa.Table]:
        nonlocal documents
        for piece in pieces(split):
            documents += len(piece.rows)
            column, bad = _parsed(piece.rows, job.parsing)
            if bad.num_rows:
                rejects.take(piece, bad)
                column = pc.drop_null(column)
            if len(column):
                yield with_computed(job, pa.table({job.column: column}))

    try:
        adds = write_tables(job, tables())
        staged = rejects.close()
    except BaseException:
        rejects.abort()
        raise
    written = sum(json.loads(add["stats"])["numRecords"] for add in adds)
    return TaskResult(tuple(adds), documents, written, rejects.count, staged).to_json()


def write_tables(job: WriteJob, tables: Iterator[pa.Table]) -> list[dict[str, Any]]:
    """Writes conformed tables to data files: as they come, or gathered, sorted and split by partition."""
    if not job.gathers:
        first = next(tables, None)
        if first is None:
            return []
        with DataFileWriter(job.spec) as writer:
            writer.write(first)
            for table in tables:
                writer.write(table)
            return [writer.close().to_json()]
    gathered = list(tables)
    if not gathered:
        return []
    table = ordered(pa.concat_tables(gathered), job.sort_by)
    gathered.clear()
    adds = []
    for values, rows in partitions.split(table, job.spec.schema, job.spec.partition_columns):
        with DataFileWriter(job.spec, values) as writer:
            writer.write(rows)
            adds.append(writer.close().to_json())
    return adds


def ordered(table: pa.Table, sort_by: tuple[str, ...]) -> pa.Table:
    """The rows sorted by expressions, nulls last.

    >>> import shredlake as sl
    >>> table = pa.table({"v": sl.from_json(pa.array(['{"t": 2}', '{"t": 1}']))})
    >>> sl.to_json(ordered(table, ("v:t::bigint",)).column("v")).to_pylist()
    ['{"t":1}', '{"t":2}']
    """
    if not sort_by:
        return table
    keys = {str(n): evaluate(one.expr, table) for n, one in enumerate(parse_columns(list(sort_by)))}
    order = pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys])
    return table.take(order)


def _parsed(rows: pa.BinaryArray, parsing: Parsing) -> tuple[pa.Array, pa.Table]:
    column, rejects = from_json(
        rows,
        on_error="collect",
        duplicate_keys=parsing.duplicate_keys,
        max_depth=parsing.max_depth,
        threads=1,
    )
    return column, rejects


def with_computed(job: WriteJob, table: pa.Table) -> pa.Table:
    """The rows as the table wants them: computed, default and generated columns added, all checked."""
    for name, expression in job.computed.items():
        [projection] = parse_columns([expression])
        table = table.append_column(name, evaluate(projection.expr, table))
    full = complete(table, job.spec.schema)
    if job.enforce:
        Constraints.of(job.spec.schema, job.spec.properties).enforce(full)
    return full


class _Rejects:
    """The bad documents of one task, staged as a file of their own when there are any."""

    def __init__(self, storage: Storage | None, split: Split) -> None:
        self._storage, self._split = storage, split
        self._writer: ParquetWriter | None = None
        self._path = f"{uuid.uuid4()}.parquet"
        self.count = 0

    def take(self, piece: Piece, bad: pa.Table) -> None:
        rows = bad.column("row")
        table = pa.table(
            {
                "file": pa.repeat(pa.scalar(self._split.file.uri), bad.num_rows),
                "line": pc.add(rows, piece.first_line),
                "offset": piece.offsets.take(rows.combine_chunks()),
                "reason": bad.column("reason"),
                "raw": piece.rows.take(rows.combine_chunks()),
            },
            schema=REJECTS_SCHEMA,
        )
        self.count += bad.num_rows
        if self._storage is None:
            return
        if self._writer is None:
            location, store = self._storage.destination(self._path)
            self._writer = ParquetWriter(location, REJECTS_SCHEMA, store=store)
        self._writer.write(table)

    def close(self) -> str | None:
        if self._writer is None:
            return None
        self._writer.close()
        return self._path

    def abort(self) -> None:
        if self._writer is not None:
            self._writer.abort()


def stage_rejects(storage: Storage | None, refused: list[pa.Table]) -> str | None:
    """Stages documents that came from no file: the reason and the bytes of each, in that order of columns."""
    if storage is None:
        return None
    path = f"{uuid.uuid4()}.parquet"
    location, store = storage.destination(path)
    with ParquetWriter(location, REJECTS_SCHEMA, store=store) as writer:
        for table in refused:
            nothing = {name: pa.nulls(table.num_rows, REJECTS_SCHEMA.field(name).type) for name in _PLACE}
            found = {"reason": table.column(0), "raw": table.column(1)}
            writer.write(pa.table({**nothing, **found}, schema=REJECTS_SCHEMA))
    return path


_PLACE = ("file", "line", "offset")


def sample_windows(splits: list[Split], windows: int, window_bytes: int) -> list[Split]:
    """A fair sample: windows spread evenly over all the text; of compressed files, the beginnings.

    >>> from shredlake.spark.sources import SourceFile
    >>> whole = Split(SourceFile("a.ndjson", 1000, ""), 0, 1000, 0)
    >>> [(split.start, split.end) for split in sample_windows([whole], windows=4, window_bytes=10)]
    [(0, 10), (250, 260), (500, 510), (750, 760)]
    """
    total = sum(split.end - split.start for split in splits)
    step = max(total // windows, window_bytes)
    chosen: list[Split] = []
    passed = 0
    due = 0
    for split in splits:
        size = split.end - split.start
        if (split.array or split.file.codec is not None) and due < passed + size:
            chosen.append(split)
            due = passed + size
        while due < passed + size:
            start = split.start + due - passed
            chosen.append(Split(split.file, start, min(start + window_bytes, split.end), split.number))
            due += step
        passed += size
    return list(islice(chosen, windows))
