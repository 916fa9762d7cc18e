"""Overwriting: new rows replace all rows, the rows that match a predicate, or whole partitions."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.log.files import as_adds, file_rows
from shredlake.delta.log.snapshot import Snapshot, latest_snapshot, load_snapshot
from shredlake.delta.protocol.actions import Action, Add, ChangeFile, Remove, TransactionId
from shredlake.delta.read.bind import condition
from shredlake.delta.read.data_file import read_rows
from shredlake.delta.schema import partitions
from shredlake.delta.stats.records import live_rows
from shredlake.delta.write.append import tables_of, write_metrics, write_rows
from shredlake.delta.write.cleanup import removed_unless_committed
from shredlake.delta.write.commit import commit, is_committed, retry_on_conflict, transaction_actions
from shredlake.delta.write.delete import change_where, delete_rows, write_changes
from shredlake.delta.write.transaction import WHOLE_TABLE, Operation, Reads, require_removable
from shredlake.errors import CommitConflict, ConstraintViolation, InvalidSchema
from shredlake.expr import Expr
from shredlake.expr.evaluate import matching
from shredlake.expr.parse import read_condition
from shredlake.parquet.given import Rows
from shredlake.parquet.write.writer import WriteOptions
from shredlake.shredding.request import Shredding


def overwrite(
    snapshot: Snapshot,
    data: Rows,
    *,
    where: str | Expr | None = None,
    by_partition: bool = False,
    shredding: Shredding = "infer",
    options: WriteOptions | None = None,
) -> int:
    """Replaces all rows, those for which `where` is true, or the partitions that occur in the new rows."""
    if where is not None and by_partition:
        raise InvalidSchema("overwrite takes where=... or partitions=True, not both")
    read_condition(where)  # raises before the rows are read, as does the next
    require_removable(snapshot)
    tables = list(tables_of(data, snapshot.schema))  # they may be written several times

    def change(snapshot: Snapshot, predicate: Expr | None, written: list[Action]) -> int:
        check = None if predicate is None else rows_match(predicate)
        rows = write_rows(snapshot, tables, shredding, options, written, check)
        new = [action for action in written if isinstance(action, Add)]
        return _commit_replacement(snapshot, new, written, _Replaced(where, by_partition, rows))

    return change_where(snapshot, where, change)


@dataclass(frozen=True)
class _Replaced:
    """The scope of an overwrite, and the number of new rows."""

    where: str | Expr | None
    by_partition: bool
    rows: int
    transactions: tuple[TransactionId, ...] = ()


def _commit_replacement(
    snapshot: Snapshot, new: Sequence[Add], written: list[Action], replaced: _Replaced
) -> int:
    """Commits the new files, and the removal of what they replace. `written` gets what is written for it."""
    predicate = condition(replaced.where, snapshot.schema)
    parameters: dict[str, Any] = {"mode": "Overwrite"}
    if predicate is not None:
        parameters["predicate"] = str(replaced.where)
        gone, reads = _replaced_rows(snapshot, predicate, new, written)
    elif replaced.by_partition:
        parameters["partitionOverwriteMode"] = "dynamic"
        gone, reads = _replaced_partitions(snapshot, new)
        written.extend(gone)
    else:
        gone, reads = _everything(snapshot), WHOLE_TABLE
        written.extend(gone)
    parameters["partitionBy"] = list(snapshot.metadata.partition_columns)
    metrics = write_metrics(written, numOutputRows=replaced.rows, numRemovedFiles=len(gone))
    done = transaction_actions(replaced.transactions)
    return commit(snapshot, [*done, *written], Operation("WRITE", parameters, metrics), reads)


def overwrite_with_files(
    planned: Snapshot,
    new: Sequence[Add],
    *,
    where: str | None = None,
    by_partition: bool = False,
    transactions: Sequence[TransactionId] = (),
) -> int:
    """Replaces rows as `overwrite` does, by files that workers wrote for the table as it was planned.

    Their rows must satisfy `where` already. If it does not cover whole files, these are rewritten here.
    Raises `CommitConflict` if the table has recorded one of the transactions.
    """
    storage = planned.storage
    rows = sum(live_rows(add) or 0 for add in new)
    before = load_snapshot(storage, planned.version) if planned.planned else planned

    def plan(snapshot: Snapshot) -> int:
        if any(is_committed(snapshot, one) for one in transactions):
            raise CommitConflict(f"{storage.uri}: another run of this write was committed meanwhile")
        if (snapshot.protocol, snapshot.metadata) != (before.protocol, before.metadata):
            raise CommitConflict(
                f"{storage.uri}: the table's schema, properties or protocol changed while the new rows were "
                "written. Nothing was replaced: try again"
            )
        snapshot = replace(
            snapshot, protocol=planned.protocol, metadata=planned.metadata, planned=planned.planned
        )
        written: list[Action] = list(new)
        added: list[Action] = []
        with removed_unless_committed(storage, added):
            try:
                replaced = _Replaced(where, by_partition, rows, tuple(transactions))
                return _commit_replacement(snapshot, new, written, replaced)
            finally:
                added.extend(written[len(new) :])

    return retry_on_conflict(latest_snapshot(storage), plan)


def rows_match(predicate: Expr) -> Callable[[pa.Table, int], None]:
    """A check that every new row satisfies the predicate."""

    def check(table: pa.Table, first_row: int) -> None:
        held = matching(predicate, table)
        row = pc.index(held, False).as_py()
        if row >= 0:
            raise ConstraintViolation(
                f"row {first_row + row} does not match the predicate of the overwrite. Every new row must "
                "satisfy the overwrite's `where`"
            )

    return check


def _replaced_rows(
    snapshot: Snapshot, predicate: Expr, new: Sequence[Add], written: list[Action]
) -> tuple[list[Remove], Reads]:
    outcome = delete_rows(snapshot, predicate, written)
    if any(isinstance(action, ChangeFile) for action in written):
        # If a version has change files, readers use only those: they must hold the inserted rows too.
        for add in new:
            written.extend(write_changes(snapshot, add, read_rows(snapshot, add), "insert"))
    removed = [action for action in written if isinstance(action, Remove)]
    return removed, outcome.reads(snapshot, predicate)


def _replaced_partitions(snapshot: Snapshot, new: Sequence[Add]) -> tuple[list[Remove], Reads]:
    if not snapshot.metadata.partition_columns:
        raise InvalidSchema("overwrite(partitions=True) needs a partitioned table; this one is not")
    fields = [item for item in snapshot.schema if item.name in snapshot.metadata.partition_columns]

    def of(adds: Sequence[Add]) -> Any:
        rows = file_rows([add.to_json() for add in adds])
        return partitions.identities(rows.column("partitionValues"), fields)

    wanted = pc.unique(of(new))

    def concerns(adds: Sequence[Add]) -> bool:
        return bool(pc.any(pc.is_in(of(adds), value_set=wanted)).as_py())

    all_files = partitions.identities(snapshot.files.column("partitionValues"), fields)
    keep = pc.is_in(all_files, value_set=wanted).to_numpy(zero_copy_only=False)
    gone = as_adds(snapshot.files.table(keep=keep))
    now = int(time.time() * 1000)
    reads = Reads(files=frozenset(add.key for add in gone), affected_by=concerns)
    return [add.removal(now) for add in gone], reads


def _everything(snapshot: Snapshot) -> list[Remove]:
    now = int(time.time() * 1000)
    return [add.removal(now) for add in as_adds(snapshot.files.table())]
