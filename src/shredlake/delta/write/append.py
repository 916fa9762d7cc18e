"""Appending: rows are completed, checked, written to files and committed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Literal, get_args

import pyarrow as pa

from shredlake.delta.log.snapshot import Snapshot, newest
from shredlake.delta.protocol.actions import Action, Add, Metadata, TransactionId
from shredlake.delta.protocol.features import require_writable
from shredlake.delta.schema.types import Struct
from shredlake.delta.write.alter import with_columns
from shredlake.delta.write.cleanup import removed_unless_committed
from shredlake.delta.write.commit import commit, is_committed, transaction_actions
from shredlake.delta.write.constraints import Constraints, complete
from shredlake.delta.write.data_files import DEFAULT_FILE_BYTES, file_spec, write_files
from shredlake.delta.write.layout import Layout, asked_for, choose, of_rows
from shredlake.delta.write.transaction import NOTHING, Operation
from shredlake.errors import CommitConflict, InvalidSchema
from shredlake.parquet.given import given_tables
from shredlake.parquet.write.writer import WriteOptions
from shredlake.shredding.request import Shredding

SchemaMode = Literal["strict", "merge"]
"""Whether rows with columns that the table lacks are refused, or their columns added to the table."""


def tables_of(data: Any, schema: Struct) -> Iterator[pa.Table]:
    """The caller's rows, as tables of bounded size."""
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
    data: Any,
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
    if schema_mode not in get_args(SchemaMode):
        raise InvalidSchema(f"schema_mode is {schema_mode!r}; it can be strict or merge")
    grown, changes = snapshot, list[Action]()
    if schema_mode == "merge":
        data, grown, changes = _with_new_columns(snapshot, data)
    written: list[Action] = []
    try:
        with removed_unless_committed(snapshot.storage, written):
            rows = write_rows(grown, data, shredding, options, written)
            operation = Operation(
                "WRITE",
                {"mode": "Append", "partitionBy": list(snapshot.metadata.partition_columns)},
                write_metrics(written, numOutputRows=rows),
            )
            return commit(
                snapshot,
                [*changes, *transaction_actions([] if transaction is None else [transaction]), *written],
                operation,
                NOTHING,
            )
    except CommitConflict:
        latest = newest(snapshot)
        if transaction is not None and is_committed(latest, transaction):
            return latest.version  # another writer committed the same rows first
        raise


def _with_new_columns(snapshot: Snapshot, data: Any) -> tuple[Any, Snapshot, list[Action]]:
    """The rows, the table with the columns that it lacks, and the actions that add them.

    The first piece of the rows decides. Old rows are null in a new column.
    """
    pieces = tables_of(data, snapshot.schema)
    first = next(pieces, None)
    if first is None:
        return [], snapshot, []
    new = [field.with_nullable(True) for field in first.schema if snapshot.schema.get(field.name) is None]
    changes = with_columns(snapshot, new)
    grown = snapshot
    for action in changes:
        changed: dict[str, Any] = {"metadata" if isinstance(action, Metadata) else "protocol": action}
        grown = replace(grown, **changed)
    return chain([first], pieces), grown, changes


def write_metrics(written: Sequence[Action], **more: int) -> dict[str, Any]:
    """Metrics of a write, named as other writers name them."""
    adds = [action for action in written if isinstance(action, Add)]
    return {"numFiles": len(adds), **more, "numOutputBytes": sum(add.size for add in adds)}
