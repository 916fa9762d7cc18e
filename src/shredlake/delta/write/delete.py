"""Taking rows out of files: which files hold them, what stays, what goes.

Files are never changed: one that holds both kinds of rows is replaced by one without the deleted, one that
holds nothing else is removed, one that holds none is left alone. With the change data feed on, the deleted
rows are written apart as well.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.log.files import Files, as_adds, file_rows
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Action, Add, ChangeFile
from shredlake.delta.read.bind import canonical
from shredlake.delta.read.data_file import partition_values, read_rows
from shredlake.delta.schema.change_feed import CHANGE_DIRECTORY, CHANGE_TYPE, change_schema, check_feed
from shredlake.delta.stats.skipping import prune
from shredlake.delta.write.data_files import FileSpec, write_files
from shredlake.delta.write.layout import Layout, layout_like
from shredlake.delta.write.spec import file_spec
from shredlake.delta.write.transaction import Reads
from shredlake.expr import Column, Expr, references
from shredlake.expr.evaluate import matching


@dataclass
class Rewrite:
    """The outcome: actions, what was read, what was counted."""

    actions: list[Action]
    files_read: list[Add] = field(default_factory=list)
    deleted_rows: int = 0
    copied_rows: int = 0
    removed_files: int = 0
    added_files: int = 0

    def reads(self, snapshot: Snapshot, predicate: Expr | None) -> Reads:
        """What another commit must not have touched."""
        return Reads(
            files=frozenset(add.key for add in self.files_read),
            affected_by=lambda added: may_hold(snapshot, predicate, added),
        )


def may_hold(snapshot: Snapshot, predicate: Expr | None, added: Sequence[Add]) -> bool:
    """Whether files that others added may hold rows that a predicate keeps."""
    rows = file_rows([add.to_json() for add in added])
    with_added = Snapshot(
        storage=snapshot.storage,
        segment=snapshot.segment,
        protocol=snapshot.protocol,
        metadata=snapshot.metadata,
        transactions={},
        domains={},
        files=Files([], rows, ()),
        recent_tombstones=snapshot.recent_tombstones.slice(0, 0),
    )
    predicate = None if predicate is None else canonical(predicate, snapshot.schema)
    return bool(prune(with_added, predicate).keep.any())


def delete_rows(snapshot: Snapshot, predicate: Expr | None, actions: list[Action]) -> Rewrite:
    """Plans and writes the removal of all rows for which the predicate is true.

    `actions` grows file by file: whoever gives up halfway knows what was written.
    """
    predicate = None if predicate is None else canonical(predicate, snapshot.schema)
    verdict = prune(snapshot, predicate)
    candidates = as_adds(snapshot.files.table(keep=verdict.keep))
    result = Rewrite(actions, files_read=candidates)
    feed = snapshot.settings.change_feed
    whole: list[tuple[Add, int]] = []
    for add in candidates:  # one file in memory at a time
        if predicate is None or _always_true(snapshot, predicate, add):
            whole.append((add, num_records(add)))
            continue
        rows = read_rows(snapshot, add)
        gone = matching(predicate, rows)
        count = gone.true_count
        if count == rows.num_rows and rows.num_rows:
            whole.append((add, count))
        elif count:
            _remove(result, add)
            _replace(result, snapshot, add, rows.filter(pc.invert(gone)))
            if feed:
                result.actions.extend(write_changes(snapshot, add, rows.filter(gone), "delete"))
            result.deleted_rows += count
    tells_all = feed and result.added_files > 0
    for add, count in whole:
        _remove(result, add)
        if tells_all:
            # Readers take change files alone where there are any, so these must tell all of it.
            rows = read_rows(snapshot, add)
            result.actions.extend(write_changes(snapshot, add, rows, "delete"))
            count = rows.num_rows
        result.deleted_rows += count
    return result


def _always_true(snapshot: Snapshot, predicate: Expr, add: Add) -> bool:
    """Whether a predicate on partition columns alone takes the whole file."""
    columns = {name.casefold() for name in snapshot.metadata.partition_columns}
    used = references(predicate)
    if not used or not all(isinstance(ref, Column) and ref.name.casefold() in columns for ref in used):
        return False
    values = partition_values(snapshot, add)
    one = pa.Table.from_pylist([values], schema=pa.schema([snapshot.arrow_schema.field(n) for n in values]))
    return bool(matching(predicate, one)[0].as_py())


def num_records(add: Add) -> int:
    """Live rows of a file by its statistics, 0 where they do not say."""
    try:
        total = int(json.loads(add.stats or "{}").get("numRecords", 0))
    except ValueError:
        return 0
    return total - (add.deletion_vector.cardinality if add.deletion_vector else 0)


def _remove(result: Rewrite, add: Add) -> None:
    result.actions.append(add.removal(int(time.time() * 1000)))
    result.removed_files += 1


def _replace(result: Rewrite, snapshot: Snapshot, add: Add, rows: pa.Table) -> None:
    """A new file with what stays of an old one, laid out as that was."""
    spec = file_spec(snapshot, layout_like(snapshot, add, rows))
    for written in write_files(spec, rows):
        result.actions.append(written)
        result.added_files += 1
    result.copied_rows += rows.num_rows


def change_spec(snapshot: Snapshot, layout: Layout) -> FileSpec:
    """Change files have the table's columns and one that says what happened."""
    check_feed(snapshot.schema, snapshot.settings)
    spec = file_spec(snapshot, layout)
    return replace(spec, schema=change_schema(snapshot.schema), directory=CHANGE_DIRECTORY, prefix="cdc")


def write_changes(snapshot: Snapshot, add: Add, rows: pa.Table, kind: str) -> Iterator[ChangeFile]:
    """Writes change files for rows of a data file, all with the same type of change."""
    marked = rows.append_column(CHANGE_TYPE, pa.array([kind] * rows.num_rows, pa.string()))
    for file in write_files(change_spec(snapshot, layout_like(snapshot, add, rows)), marked):
        yield ChangeFile(file.path, file.size, file.partition_values, file.tags)
