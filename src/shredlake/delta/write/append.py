"""Appending: rows are completed, checked, written to files and committed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa

from shredlake.delta.log.snapshot import Snapshot, latest_snapshot
from shredlake.delta.protocol.actions import Action, Add, TransactionId
from shredlake.delta.protocol.features import require_writable
from shredlake.delta.schema.types import Struct
from shredlake.delta.write.alter import SchemaMode, with_merged_columns
from shredlake.delta.write.cleanup import removed_unless_committed
from shredlake.delta.write.commit import commit, is_committed, transaction_actions
from shredlake.delta.write.constraints import Constraints, complete
from shredlake.delta.write.data_files import DEFAULT_FILE_BYTES, file_spec, write_files
from shredlake.delta.write.layout import Layout, asked_for, choose, of_rows
from shredlake.delta.write.transaction import NOTHING, Operation
from shredlake.errors import CommitConflict
from shredlake.parquet.given import Rows, given_tables
from shredlake.parquet.write.writer import WriteOptions
from shredlake.shredding.request import Shredding


def tables_of(data: Rows, schema: Struct) -> Iterator[pa.Table]:
    """The caller's rows, as tables of bounded size."""
    variants = [item.name for item in schema.fields if item.type == "variant"]
    return given_tables(data, variants, DEFAULT_FILE_BYTES)


def write_rows(
    snapshot: Snapshot,
    data: Rows,
    shredding: Shredding,
    options: WriteOptions | None,
    written: list[Action],
    check: Callable[[pa.Table, int], None] | None = None,
) -> int:
    """Completes, checks and writes rows, and returns how many there are.

    `written` gets the action of each file as soon as it is written, so that a failed write can be cleaned up.
    """
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
    data: Rows,
    *,
    shredding: Shredding = "infer",
    options: WriteOptions | None = None,
    transaction: TransactionId | None = None,
    schema_mode: SchemaMode = "strict",
) -> int:
    """Adds rows and returns the new version.

    With `transaction=(application, number)` the rows are added once: if the table has recorded that number of
    the application, or a later one, nothing happens and the current version is returned. With
    `schema_mode="merge"`, columns that the table lacks are added to it in the same commit.
    """
    require_writable(snapshot.protocol, snapshot.storage.uri)
    if transaction is not None and is_committed(snapshot, transaction):
        return snapshot.version
    data, snapshot = _with_new_columns(snapshot, data, schema_mode)
    written: list[Action] = []
    try:
        with removed_unless_committed(snapshot.storage, written):
            rows = write_rows(snapshot, data, shredding, options, written)
            operation = Operation(
                "WRITE",
                {"mode": "Append", "partitionBy": list(snapshot.metadata.partition_columns)},
                write_metrics(written, numOutputRows=rows),
            )
            return commit(
                snapshot,
                [*transaction_actions([] if transaction is None else [transaction]), *written],
                operation,
                NOTHING,
            )
    except CommitConflict:
        latest = latest_snapshot(snapshot.storage, snapshot)
        if transaction is not None and is_committed(latest, transaction):
            return latest.version  # another writer committed the same rows first
        raise


def _with_new_columns(snapshot: Snapshot, data: Rows, mode: SchemaMode) -> tuple[Rows, Snapshot]:
    """The rows, and the table with the columns that it lacks. The first piece of the rows decides."""
    if mode != "merge":
        return data, with_merged_columns(snapshot, [], mode)
    pieces = tables_of(data, snapshot.schema)
    first = next(pieces, None)
    if first is None:
        return [], snapshot
    return chain([first], pieces), with_merged_columns(snapshot, list(first.schema), mode)


def write_metrics(written: Sequence[Action], **more: int) -> dict[str, Any]:
    """Metrics of a write, named as other writers name them."""
    adds = [action for action in written if isinstance(action, Add)]
    return {"numFiles": len(adds), **more, "numOutputBytes": sum(add.size for add in adds)}
