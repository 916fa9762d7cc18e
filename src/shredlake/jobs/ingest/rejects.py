"""Invalid documents: tasks stage them; the driver numbers their lines and appends them to a table.

A task counts lines only from the start of its split. The driver knows how many lines each split has, so it
computes the line numbers when it moves staged rejects into the table.
"""

from __future__ import annotations

import hashlib
import logging
import uuid
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shredlake.delta.log.listing import list_log
from shredlake.delta.log.snapshot import load_snapshot
from shredlake.delta.protocol.actions import Action, TransactionId
from shredlake.delta.report.rejects import RejectedFor, by_reason
from shredlake.delta.storage.storage import Storage
from shredlake.delta.write.alter import with_merged_columns
from shredlake.delta.write.append import write_rows
from shredlake.delta.write.cleanup import removed_unless_committed
from shredlake.delta.write.commit import commit, transaction_actions
from shredlake.delta.write.create import create, planned
from shredlake.delta.write.transaction import Operation
from shredlake.errors import CommitConflict, PipelineError, TableExists
from shredlake.jobs.ingest.once import Claim, is_recorded
from shredlake.jobs.ingest.sources import Split, place
from shredlake.parquet.write.writer import ParquetWriter

_log = logging.getLogger(__name__)

ATTEMPTS = 5

SHOWN = 3
"""The number of rejects shown in an error."""

STARTS: Final[Mapping[bytes, str]] = {
    b"PAR1": "This is a Parquet file: ingest it with --format parquet and --from COLUMN, or its Delta table "
    "with --format delta",
    b"\xff\xfe": "This may be UTF-16: convert it to UTF-8 first, e.g. with iconv",
    b"\xfe\xff": "This may be UTF-16: convert it to UTF-8 first, e.g. with iconv",
    b"Obj\x01": "This is an Avro file: read it with Spark and ingest the DataFrame",
    b"ORC": "This is an ORC file: read it with Spark and ingest the DataFrame",
    b"PK\x03\x04": "This is a ZIP archive: unpack it first",
    b"<": "This may be XML or HTML",
}
"""The first bytes of files that are not JSON, with advice."""

REJECTS_SCHEMA = pa.schema(
    [
        pa.field("file", pa.string()),
        pa.field("line", pa.int64()),
        pa.field("offset", pa.int64()),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("raw", pa.binary()),
    ]
)
"""The schema of a rejects table: the position of the bad document (lines counted from 1, bytes from 0; null
if it does not come from a file), the reason, and its bytes.
"""


REASON_OF_ROW: Final = "_reason"
"""The column of the reason in rejects tables of conversions, which hold whole rows."""


class Staging:
    """Stages the rejects of one task in a file, created with the first reject."""

    def __init__(self, storage: Storage, schema: pa.Schema = REJECTS_SCHEMA, name: str | None = None) -> None:
        self.schema = schema
        self.count = 0
        self._storage = storage
        self._writer: ParquetWriter | None = None
        self._path = name or f"{uuid.uuid4()}.parquet"

    def take(self, rejects: pa.Table) -> None:
        """Adds rows of the schema."""
        if not rejects.num_rows:
            return
        with self._storage.doing("written", self._path):
            if self._writer is None:
                location, store = self._storage.destination(self._path)
                self._writer = ParquetWriter(location, self.schema, shredding=None, store=store)
            self._writer.write(rejects.cast(self.schema))
        self.count += rejects.num_rows

    def close(self) -> str | None:
        """Closes the file and returns its name, or None if there were no rejects."""
        if self._writer is None:
            return None
        with self._storage.doing("written", self._path):
            self._writer.close()
        return self._path

    def abort(self) -> None:
        """Removes the file."""
        if self._writer is not None:
            self._writer.abort()


class LineNumbers:
    """Converts line numbers within a split to line numbers within its file.

    >>> from shredlake.jobs.ingest.sources import SourceFile
    >>> file = SourceFile("a.ndjson", 30, "")
    >>> lines = LineNumbers([(Split(file, 0, 20, 0), 5), (Split(file, 20, 30, 1), 2)])
    >>> lines.number("a.ndjson", offset=3, line=0), lines.number("a.ndjson", offset=20, line=0)
    (1, 6)
    """

    def __init__(self, counted: Iterable[tuple[Split, int]]) -> None:
        self._splits: dict[str, tuple[list[int], list[int]]] = {}
        total: dict[str, int] = {}
        for split, lines in sorted(counted, key=lambda one: (one[0].file.uri, one[0].number)):
            uri = split.file.uri
            starts, before = self._splits.setdefault(uri, ([], []))
            starts.append(split.start)
            before.append(total.get(uri, 0))
            total[uri] = before[-1] + lines

    def number(self, uri: str | None, offset: int | None, line: int | None) -> int | None:
        """The line number in the file, counted from 1, or None if the document does not come from a file."""
        if uri is None or offset is None or line is None:
            return None
        starts, before = self._splits[uri]
        return before[bisect_right(starts, offset) - 1] + line + 1


def rejects_place(table: Storage, given: str | None, job_id: str, options: Mapping[str, str]) -> Places:
    """The rejects table, and the folder where tasks stage rejects until the driver has counted lines.

    Raises if the rejects table is the table itself, or if one lies inside the other.
    """
    rejects = Storage(given or f"{table.uri}_rejects", dict(options))
    ours, theirs = place(table.uri), place(rejects.uri)
    if ours == theirs[: len(ours)] or theirs == ours[: len(theirs)]:
        raise PipelineError(
            f"rejects={given!r} is {'the table itself' if ours == theirs else 'inside it or around it'} "
            f"({table.uri}). Rejects need a separate table. Give another address, or omit it "
            f"for {table.uri}_rejects"
        )
    return rejects, Storage(f"{rejects.uri}/_staging/{job_id}-{_short(table)}", dict(options))


def _short(table: Storage) -> str:
    """A short hash of a table's address."""
    return hashlib.sha256("/".join(place(table.uri)).encode()).hexdigest()[:16]


Places = tuple[Storage, Storage]


def write_rejects(
    places: Places, staged: Iterable[str], lines: LineNumbers, claim: Claim, table: Storage
) -> None:
    """Moves staged rejects into their table exactly once; rejects staged by failed tasks are ignored.

    Rejects of files that a crashed run already stored are not written again.
    """
    rejects, staging = places
    paths = sorted(staged)
    if paths:
        if list_log(rejects).latest is None:
            with suppress(TableExists):
                create(planned(rejects, REJECTS_SCHEMA))
        _append(rejects, staging, paths, lines, _transactions(staging, paths, claim, _short(table)))
    discard_staged(places)


def _transactions(
    staging: Storage, paths: Iterable[str], claim: Claim, table: str
) -> dict[str | None, TransactionId]:
    """The transaction ids for the rejects table, which several tables may share.

    The keys are files; the key None holds one id for all files.
    """
    if not claim.by_file:
        named: Iterable[tuple[str | None, TransactionId]] = ((None, one) for one in claim.transactions)
        return {file: (f"{name}-{table}", version) for file, (name, version) in named}
    files: set[str] = set()
    for path in paths:
        with pq.ParquetFile(staging.open_input(path), pre_buffer=False) as file:
            for batch in file.iter_batches(columns=["file"], use_threads=False):
                files.update(pc.unique(batch.column("file")).to_pylist())
    found = {file: claim.by_file[file] for file in files if file in claim.by_file}
    return {file: (f"{name}-{table}", version) for file, (name, version) in found.items()}


def _append(
    rejects: Storage,
    staging: Storage,
    paths: Sequence[str],
    lines: LineNumbers,
    transactions: Mapping[str | None, TransactionId],
) -> None:
    for attempt in range(ATTEMPTS):
        snapshot = load_snapshot(rejects)
        if snapshot.schema.get(REASON_OF_ROW) is not None:  # made by a conversion of the same table
            snapshot = with_merged_columns(snapshot, list(REJECTS_SCHEMA), "merge")
        known = {file for file, one in transactions.items() if is_recorded(snapshot, one)}
        if None in known:
            return
        written: list[Action] = []
        new = transaction_actions(one for file, one in transactions.items() if file not in known)
        try:
            with removed_unless_committed(rejects, written):
                rows = write_rows(snapshot, _numbered(staging, paths, lines, known), None, None, written)
                operation = Operation("WRITE", {"mode": "Append", "partitionBy": []}, {"numOutputRows": rows})
                if rows:
                    commit(snapshot, [*new, *written], operation)
            return
        except CommitConflict:  # a concurrent run of the same job may have stored the same rejects
            if attempt + 1 == ATTEMPTS:
                raise


def discard_staged(places: Places) -> None:
    """Removes all that is staged for a job, also by failed tasks and by an earlier run that crashed."""
    _, staging = places
    try:
        staging.delete([entry.path for entry in staging.list()])
    except Exception as error:
        _log.warning("%s is of no more use and stays until vacuum: %s", staging.uri, error)
    if staging.is_local:
        for folder in (staging.local_root, staging.local_root.parent):
            with suppress(OSError):  # another job stages there, or nothing was ever staged
                folder.rmdir()


def first_rejects(places: Places, staged: Iterable[str], lines: LineNumbers) -> list[dict[str, Any]]:
    """A few staged rejects, the first of each task."""
    found: list[dict[str, Any]] = []
    for batch in _numbered(places[1], sorted(staged)[:SHOWN], lines, set()):
        found.extend(batch.slice(0, SHOWN).to_pylist())
        if len(found) >= SHOWN:
            break
    return sorted(found, key=lambda row: (row["file"] or "", row["line"] or 0))[:SHOWN]


def staged_reasons(places: Places, staged: Iterable[str], lines: LineNumbers) -> tuple[RejectedFor, ...]:
    """All staged rejects by reason, with the first of each."""
    batches = _numbered(places[1], sorted(staged), lines, set())
    return by_reason(row for batch in batches for row in batch.to_pylist())


def guess(raw: bytes) -> str:
    """Guesses the format of a text that is not JSON, and advises what to do.

    >>> guess(b"id,name")
    'This may be CSV: ingest it with --format csv and --from COLUMN'
    >>> guess("{}".encode("utf-16"))
    'This may be UTF-16: convert it to UTF-8 first, e.g. with iconv'
    """
    for start, advice in STARTS.items():
        if raw.startswith(start):
            return advice
    if b"\0" in raw[:8]:
        return STARTS[b"\xff\xfe"]
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return "This may be Latin-1 or another encoding: convert it to UTF-8 first, e.g. with iconv"
    if text.lstrip().startswith(("{", "[")):
        return "This looks like truncated or damaged JSON"
    if "," in text or ";" in text or "\t" in text:
        return "This may be CSV: ingest it with --format csv and --from COLUMN"
    return "Check that this is the right file"


def _numbered(
    staging: Storage, paths: Iterable[str], lines: LineNumbers, known: Set[str | None]
) -> Iterator[pa.RecordBatch]:
    """Staged rejects with line numbers of their files, without those of files already stored."""
    for path in paths:
        with pq.ParquetFile(staging.open_input(path), pre_buffer=False) as file:
            for staged in file.iter_batches(batch_size=256, use_threads=False):
                batch = staged
                if known:
                    batch = staged.filter(
                        pc.invert(pc.is_in(staged.column("file"), value_set=pa.array(known, pa.string())))
                    )
                places = zip(
                    *(batch.column(name).to_pylist() for name in ("file", "offset", "line")), strict=True
                )
                numbers = pa.array([lines.number(*place) for place in places], pa.int64())
                yield batch.set_column(1, REJECTS_SCHEMA.field("line"), numbers)
