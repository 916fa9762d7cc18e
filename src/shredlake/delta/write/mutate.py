"""Writes: append, overwrite, delete. Each plans on a snapshot, writes files, commits, or cleans up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.log.files import as_adds, file_rows
from shredlake.delta.log.snapshot import Snapshot, load_snapshot
from shredlake.delta.protocol.actions import Action, Add, ChangeFile, Remove, Transaction
from shredlake.delta.protocol.features import require_writable
from shredlake.delta.read.bind import condition
from shredlake.delta.read.data_file import read_rows
from shredlake.delta.schema import partitions
from shredlake.delta.schema.types import Struct
from shredlake.delta.storage.storage import Storage
from shredlake.delta.write.cleanup import removed_unless_committed
from shredlake.delta.write.constraints import Constraints, complete
from shredlake.delta.write.data_files import DEFAULT_FILE_BYTES, write_files
from shredlake.delta.write.delete import delete_rows, write_changes
from shredlake.delta.write.layout import Layout, asked_for, choose, of_rows
from shredlake.delta.write.spec import file_spec
from shredlake.delta.write.transaction import NOTHING, WHOLE_TABLE, Operation, Reads, commit
from shredlake.errors import CommitConflict, ConstraintViolation, InvalidSchema
from shredlake.expr import Expr
from shredlake.expr.arguments import read_condition
from shredlake.expr.evaluate import matching
from shredlake.parquet.given import given_tables
from shredlake.parquet.write.writer import WriteOptions
from shredlake.shredding.request import Shredding

MAX_PLANS = 5

T = TypeVar("T")


def tables_of(data: Any, schema: Struct) -> Iterator[pa.Table]:
    """What a user hands over for a table, in tables of bounded size."""
    variants = [item.name for item in schema.fields if item.type == "variant"]
    return given_tables(data, variants, DEFAULT_FILE_BYTES)


def write_rows(
    snapshot: Snapshot,
    data: Any,
    shredding: Shredding,
    options: WriteOptions | None,
    written: list[Action],
    check: Callable[[pa.Table, int], None] | None = None,
) -> int:
    """Completes, checks and writes rows; `written` grows file by file. Returns how many rows."""
    constraints = Constraints.of(snapshot.schema, snapshot.properties)
    asked_for(snapshot, shredding)
    layout: Layout | None = None
    rows = 0
    for table in tables_of(data, snapshot.schema):
        full = complete(table, snapshot.schema, snapshot.metadata.partition_columns, first_row=rows)
        constraints.enforce(full, rows)
        if check is not None:
            check(full, rows)
        if full.num_rows == 0:
            continue
        if layout is None:
            layout = choose(snapshot, shredding, of_rows(full))
        written.extend(write_files(file_spec(snapshot, layout, options), full))
        rows += full.num_rows
    return rows


def append(
    snapshot: Snapshot,
    data: Any,
    *,
    shredding: Shredding = "infer",
    options: WriteOptions | None = None,
    transaction: tuple[str, int] | None = None,
) -> int:
    """Adds rows and returns the new version.

    With `transaction=(application, number)` the rows are added once: if the table has seen that number of
    that application, or a later one, nothing happens and the current version is returned.
    """
    require_writable(snapshot.protocol, snapshot.storage.uri)
    if transaction is not None and _is_done(snapshot, transaction):
        return snapshot.version
    written: list[Action] = []
    try:
        with removed_unless_committed(snapshot.storage, written):
            rows = write_rows(snapshot, data, shredding, options, written)
            operation = Operation(
                "WRITE",
                {"mode": "Append", "partitionBy": list(snapshot.metadata.partition_columns)},
                _metrics(written, numOutputRows=rows),
            )
            return commit(snapshot, [*_marks(transaction), *written], operation, NOTHING)
    except CommitConflict:
        latest = load_snapshot(snapshot.storage)
        if transaction is not None and _is_done(latest, transaction):
            return latest.version  # the same rows, sent twice at a time, were faster elsewhere
        raise


def overwrite(
    storage: Storage,
    data: Any,
    *,
    where: str | Expr | None = None,
    by_partition: bool = False,
    shredding: Shredding = "infer",
    options: WriteOptions | None = None,
) -> int:
    """Replaces all rows, those that `where` keeps, or the partitions that occur in the new rows."""
    if where is not None and by_partition:
        raise InvalidSchema("overwrite takes where=... or partitions=True, not both")
    read_condition(where)  # a text that does not parse is refused before the table is opened
    tables = list(tables_of(data, load_snapshot(storage).schema))  # the plan may have to be made again

    def plan(snapshot: Snapshot) -> int:
        require_writable(snapshot.protocol, storage.uri)
        predicate = condition(where, snapshot.schema)
        written: list[Action] = []
        with removed_unless_committed(storage, written):
            check = None if predicate is None else _matches(predicate)
            rows = write_rows(snapshot, tables, shredding, options, written, check)
            new = [action for action in written if isinstance(action, Add)]
            parameters: dict[str, Any] = {"mode": "Overwrite"}
            if predicate is not None:
                parameters["predicate"] = str(where)
                gone, reads = _replaced_rows(snapshot, predicate, new, written)
            elif by_partition:
                parameters["partitionOverwriteMode"] = "dynamic"
                gone, reads = _replaced_partitions(snapshot, new)
                written.extend(gone)
            else:
                gone, reads = _everything(snapshot), WHOLE_TABLE
                written.extend(gone)
            parameters["partitionBy"] = list(snapshot.metadata.partition_columns)
            metrics = _metrics(written, numOutputRows=rows, numRemovedFiles=len(gone))
            return commit(snapshot, written, Operation("WRITE", parameters, metrics), reads)

    return planned_again(storage, plan)


def _matches(predicate: Expr) -> Callable[[pa.Table, int], None]:
    """New rows must belong to what they replace."""

    def check(table: pa.Table, first_row: int) -> None:
        held = matching(predicate, table)
        row = pc.index(held, False).as_py()
        if row >= 0:
            raise ConstraintViolation(
                f"row {first_row + row} does not match the predicate of the overwrite; rows that are "
                "written in "
                "place of others must match what those matched"
            )

    return check


def _replaced_rows(
    snapshot: Snapshot, predicate: Expr, new: Sequence[Add], written: list[Action]
) -> tuple[list[Remove], Reads]:
    outcome = delete_rows(snapshot, predicate, written)
    if any(isinstance(action, ChangeFile) for action in written):
        # Change files must tell the whole story, the inserted rows too.
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


def delete(storage: Storage, where: str | Expr | None) -> int:
    """Removes the rows for which the predicate is true, all where there is none; returns the version."""
    read_condition(where)  # a text that does not parse is refused before the table is opened

    def plan(snapshot: Snapshot) -> int:
        require_writable(snapshot.protocol, storage.uri)
        predicate = condition(where, snapshot.schema)
        written: list[Action] = []
        with removed_unless_committed(storage, written):
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
                    "numAddedChangeFiles": sum(isinstance(a, ChangeFile) for a in written),
                },
            )
            return commit(snapshot, written, operation, outcome.reads(snapshot, predicate))

    return planned_again(storage, plan)


def planned_again(storage: Storage, plan: Callable[[Snapshot], int]) -> int:
    """Runs a plan on the latest snapshot, again where another commit made it stale, a few times."""
    for attempt in range(MAX_PLANS):
        try:
            return plan(load_snapshot(storage))
        except CommitConflict:
            if attempt == MAX_PLANS - 1:
                raise
    raise AssertionError("unreachable")


def _is_done(snapshot: Snapshot, transaction: tuple[str, int]) -> bool:
    seen = snapshot.transactions.get(transaction[0])
    return seen is not None and seen.version >= transaction[1]


def _marks(transaction: tuple[str, int] | None) -> list[Action]:
    if transaction is None:
        return []
    return [Transaction(transaction[0], transaction[1], int(time.time() * 1000))]


def _metrics(written: Sequence[Action], **more: int) -> dict[str, Any]:
    adds = [action for action in written if isinstance(action, Add)]
    return {"numFiles": len(adds), **more, "numOutputBytes": sum(add.size for add in adds)}
