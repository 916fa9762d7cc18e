"""Checks one file of a table against its entry in the log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from shredlake.delta.check.findings import Finding
from shredlake.delta.check.measure import Measured
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Add
from shredlake.delta.protocol.layout_tag import LAYOUT_TAG, layout_text
from shredlake.delta.read.data_file import DataFile, open_file, partition_values, whole_rows
from shredlake.delta.read.deletion_vectors import check_inside, read_vector
from shredlake.delta.read.layouts import Layout, layout_of
from shredlake.delta.stats.columns import JsonPiece
from shredlake.delta.storage.storage import Entry, Storage, decode_path
from shredlake.errors import InvalidSchema, ShredlakeError
from shredlake.parquet.read.counts import FooterCounts
from shredlake.parquet.read.open_file import OpenFile
from shredlake.parquet.variant_columns import parse_layout_json


@dataclass(frozen=True)
class FileResult:
    """The result of checking one file."""

    add: Add
    rows: int = 0
    findings: tuple[Finding, ...] = ()


def check_file(snapshot: Snapshot, add: Add, *, quick: bool) -> FileResult:
    """Checks a file: its entry, then its footer, then, unless `quick`, all its rows."""
    rows, findings = 0, []
    for found in _steps(snapshot, add, quick):
        if isinstance(found, int):
            rows = found
        else:
            findings.append(found)
    return FileResult(add, rows, tuple(findings))


def _steps(snapshot: Snapshot, add: Add, quick: bool) -> Iterator[Finding | int]:
    """The findings, and the number of rows once it is known. Stops where later steps can't be done."""

    def finding(rule: str, problem: object) -> Finding:
        return Finding(rule, add.path, str(problem))

    try:
        entry = file_entry(snapshot.storage, decode_path(add.path))
    except ShredlakeError as error:
        yield finding("path", error)
        return
    if entry is None:
        yield finding("file-missing", "is not there")
        return
    if entry.size != add.size:
        yield finding("file-size", f"has {entry.size:,} bytes, the log says {add.size:,}")
    try:
        partition_values(snapshot, add)
    except ShredlakeError as error:
        yield finding("partition-value", error)
        return
    try:
        file = open_file(snapshot, add)
    except ShredlakeError as error:
        yield finding("file-damaged", error)
        return
    try:
        rows = sum(file.chunks.row_counts)
        yield rows
        try:
            data = DataFile(snapshot, add, file)
        except ShredlakeError as error:
            yield finding("file-damaged", error)
            return
        yield from (finding("layout-tag", problem) for problem in _tag_problems(add, file))
        recorded = JsonPiece.of(pa.array([add.stats], pa.string()))
        if add.stats is not None and recorded.parsed.null_count:
            yield finding("statistics", "the statistics are not JSON")
        count = recorded.num_records()[0].as_py()
        if count is not None and count != rows:
            yield finding("row-count", f"has {rows:,} rows, the statistics say {count:,}")
        if add.deletion_vector is not None:
            try:
                check_inside(read_vector(snapshot.storage, add.deletion_vector), rows, add.path)
            except ShredlakeError as error:
                yield finding("deletion-vector", error)
                return
        if not quick:
            yield from _data_findings(snapshot, data, layout_with_objects(file))
    finally:
        file.close()


def _data_findings(snapshot: Snapshot, data: DataFile, layout: Layout) -> Iterator[Finding]:
    try:
        measured = measure(snapshot, data, layout)
    except ShredlakeError as error:
        # A column of another type that fits the table's is fine, which only its values tell.
        rule = "file-damaged" if isinstance(error, InvalidSchema) else "page-damaged"
        yield Finding(rule, data.add.path, str(error))
        return
    # Bounds of a file with deleted rows may be wider than its live rows, and its null counts may be old.
    exact = data.add.deletion_vector is None
    problems = list(measured.problems(exact_nulls=exact))
    if problems:
        more = f"; and {len(problems) - 3} more" if len(problems) > 3 else ""
        yield Finding("statistics", data.add.path, "; ".join(problems[:3]) + more)


def measure(snapshot: Snapshot, data: DataFile, layout: Layout) -> Measured:
    """Reads all live rows of a file and measures them."""
    found = Measured(snapshot.schema, snapshot.metadata.partition_columns, data.add.stats, layout)
    for batch in data.batches(whole_rows(snapshot)):
        found.add(batch)
    return found


def file_entry(storage: Storage, path: str) -> Entry | None:
    """A file of the table as the store has it, or None if it is missing."""
    storage, path = storage.located(path)
    return storage.head(path)


def layout_with_objects(file: OpenFile) -> Layout:
    """The layout of a file as its writer would have tagged it."""
    columns = {column.name: column for column in file.columns.variants.values()}
    return {
        name: replace(
            layout,
            objects=FooterCounts(file.columns.schema, file.chunks, columns[name]).objects_in_every_row(),
        )
        for name, layout in layout_of(file).items()
    }


def _tag_problems(add: Add, file: OpenFile) -> Iterator[str]:
    """How the tag misleads readers: another layout, or data where it says there is none."""
    text = layout_text(add)
    if text is None:
        return  # written by others, or by a later version
    try:
        tagged = parse_layout_json(text)
    except ShredlakeError as error:
        yield f"the tag {LAYOUT_TAG} can't be read: {error}"
        return
    actual = layout_with_objects(file)
    if tagged.keys() != actual.keys():
        yield f"the tag shreds {_names(tagged)}, the file {_names(actual)}"
        return
    for name, column in tagged.items():
        if column.schema != actual[name].schema:
            yield f"the tag shreds {name} as {column.schema}, the file as {actual[name].schema}"
        elif missing := actual[name].residual - column.residual:
            yield f"the tag says that {name} has only typed values at {min(missing)}, which is not so"
        elif wrong := (column.objects or frozenset()) - (actual[name].objects or frozenset()):
            yield f"the tag says that {name} is an object in every row at {min(wrong)}, which is not so"


def _names(layout: Layout) -> str:
    return ", ".join(sorted(layout)) or "nothing"
