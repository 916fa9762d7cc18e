"""Deleting rows.

Files are never changed. A file with some deleted rows is replaced by one without them, a file with only
deleted rows is removed, and all other files stay. If the change data feed is on, the deleted rows also go to
change files.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.log.files import Files, as_adds, file_rows
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Action, Add, ChangeFile
from shredlake.delta.protocol.features import require_writable
from shredlake.delta.read.bind import canonical, condition
from shredlake.delta.read.data_file import partition_values, read_rows
from shredlake.delta.schema.change_feed import CHANGE_DIRECTORY, CHANGE_TYPE, change_schema, check_feed
from shredlake.delta.stats.records import live_rows
from shredlake.delta.stats.skipping import prune
from shredlake.delta.write.cleanup import removed_unless_committed
from shredlake.delta.write.commit import commit, retry_on_conflict
from shredlake.delta.write.data_files import FileSpec, file_spec, write_files
from shredlake.delta.write.layout import Layout, layout_like
from shredlake.delta.write.transaction import Operation, Reads, require_removable
from shredlake.expr import Column, Expr, references
from shredlake.expr.evaluate import matching
from shredlake.expr.parse import read_condition


def change_where(
    snapshot: Snapshot,
    where: str | Expr | None,
    change: Callable[[Snapshot, Expr | None, list[Action]], int],
) -> int:
    """Runs `change`, which replaces rows for which `where` is true and returns the version that it committed.

    It receives the table, the condition bound to the table, and an empty list for the actions of the files
    that it writes. Files that no commit uses are removed. After a conflict it runs again, on the latest
    version.
    """
    read_condition(where)  # raises early if the condition does not parse

    def plan(snapshot: Snapshot) -> int:
        require_writable(snapshot.protocol, snapshot.storage.uri)
        written: list[Action] = []
        with removed_unless_committed(snapshot.storage, written):
            return change(snapshot, condition(where, snapshot.schema), written)

    return retry_on_conflict(snapshot, plan)


def delete(snapshot: Snapshot, where: str | Expr | None) -> int:
    """Deletes the rows for which `where` is true, or all rows, and returns the version."""
    require_removable(snapshot)

    def change(snapshot: Snapshot, predicate: Expr | None, written: list[Action]) -> int:
        outcome = delete_rows(snapshot, predicate, written)
        if not written:
            return snapshot.version
        operation = Operation(
            "DELETE",
            {"predicate": [] if where is None else [str(where)]},
            {
                "numRemovedFiles": outcome.removed_files,
                "numAddedFiles": outcome.added_files,
                "numDeletedRows": outcome.deleted_rows,
                "numCopiedRows": outcome.copied_rows,
                "numAddedChangeFiles": sum(isinstance(action, ChangeFile) for action in written),
            },
        )
        return commit(snapshot, written, operation, outcome.reads(snapshot, predicate))

    return change_where(snapshot, where, change)


@dataclass
class Rewrite:
    """The result of a deletion: its actions, the files that it read, and its counts."""

    actions: list[Action]
    files_read: list[Add] = field(default_factory=list)
    deleted_rows: int = 0
    copied_rows: int = 0
    removed_files: int = 0
    added_files: int = 0

    def reads(self, snapshot: Snapshot, predicate: Expr | None) -> Reads:
        """The state that concurrent commits must not have changed."""
        return Reads(
            files=frozenset(add.key for add in self.files_read),
            affected_by=lambda added: may_hold(snapshot, predicate, added),
        )


def may_hold(snapshot: Snapshot, predicate: Expr | None, added: Sequence[Add]) -> bool:
    """Whether files that other commits added may hold rows for which a predicate is true."""
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

    `actions` gets the action of each file as soon as it is written, so that a failure can be cleaned up.
    """
    predicate = None if predicate is None else canonical(predicate, snapshot.schema)
    verdict = prune(snapshot, predicate)
    candidates = as_adds(snapshot.files.table(keep=verdict.keep))
    result = Rewrite(actions, files_read=candidates)
    feed = snapshot.settings.change_feed
    whole: list[tuple[Add, int]] = []
    for add in candidates:  # one file in memory at a time
        if predicate is None or _always_true(snapshot, predicate, add):
            whole.append((add, live_rows(add) or 0))
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
    writes_changes = feed and result.added_files > 0
    for add, count in whole:
        _remove(result, add)
        if writes_changes:
            # If a version has change files, readers use only those: they must hold every deleted row.
            rows = read_rows(snapshot, add)
            result.actions.extend(write_changes(snapshot, add, rows, "delete"))
            count = rows.num_rows
        result.deleted_rows += count
    return result


def _always_true(snapshot: Snapshot, predicate: Expr, add: Add) -> bool:
    """Whether a predicate that reads only partition columns is true for the whole file."""
    columns = {name.casefold() for name in snapshot.metadata.partition_columns}
    used = references(predicate)
    if not used or not all(isinstance(ref, Column) and ref.name.casefold() in columns for ref in used):
        return False
    values = partition_values(snapshot, add)
    one = pa.Table.from_pylist([values], schema=pa.schema([snapshot.arrow_schema.field(n) for n in values]))
    return bool(matching(predicate, one)[0].as_py())


def _remove(result: Rewrite, add: Add) -> None:
    result.actions.append(add.removal(int(time.time() * 1000)))
    result.removed_files += 1


def _replace(result: Rewrite, snapshot: Snapshot, add: Add, rows: pa.Table) -> None:
    """Writes a new file with the rows that are left of an old one, shredded like the old one."""
    spec = file_spec(snapshot, layout_like(snapshot, add, rows))
    for written in write_files(spec, rows):
        result.actions.append(written)
        result.added_files += 1
    result.copied_rows += rows.num_rows


def change_spec(snapshot: Snapshot, layout: Layout) -> FileSpec:
    """How change files are written: the table's columns and the type of the change."""
    check_feed(snapshot.schema, snapshot.settings)
    spec = file_spec(snapshot, layout)
    return replace(spec, schema=change_schema(snapshot.schema), directory=CHANGE_DIRECTORY, prefix="cdc")


def write_changes(snapshot: Snapshot, add: Add, rows: pa.Table, kind: str) -> Iterator[ChangeFile]:
    """Writes change files for rows of a data file, all with the same type of change."""
    marked = rows.append_column(CHANGE_TYPE, pa.array([kind] * rows.num_rows, pa.string()))
    for file in write_files(change_spec(snapshot, layout_like(snapshot, add, rows)), marked):
        yield ChangeFile(file.path, file.size, file.partition_values, file.tags)
