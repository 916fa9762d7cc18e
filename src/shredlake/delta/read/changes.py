"""The change data feed: the rows that each version inserted, updated or deleted.

If a version has change files, they alone describe it. Otherwise the rows of added files are inserts and those
of removed files are deletes. If only the deletion vector of a file changed, the rows in which the two vectors
differ are the changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pyarrow as pa
from pyroaring import BitMap64

from shredlake.delta.log.history import enabled_since
from shredlake.delta.log.listing import as_version, commit_path, commit_timestamps, list_log
from shredlake.delta.log.snapshot import Snapshot, load_snapshot
from shredlake.delta.protocol.actions import Action, Add, ChangeFile, Metadata, Remove, loads
from shredlake.delta.protocol.properties import TableProperties
from shredlake.delta.read.data_file import DataFile, nullable_schema, whole_rows
from shredlake.delta.schema.change_feed import (
    CHANGE_TYPE,
    COMMIT_TIMESTAMP,
    COMMIT_VERSION,
    change_schema,
    check_feed,
)
from shredlake.delta.schema.types import schema_json
from shredlake.errors import TableError, VersionNotFound


def changes(snapshot: Snapshot, start: int, end: int | None = None) -> pa.Table:
    """Returns rows that changed in versions `start` to `end`, both included, and the type of each change.

    The columns are those of version `end`, plus `_change_type`, `_commit_version` and `_commit_timestamp`.
    """
    start = as_version(start)
    last = snapshot.version if end is None else as_version(end)
    if start < 0 or last > snapshot.version or start > last:
        raise VersionNotFound(f"changes of versions {start} to {last}: the table has 0 to {snapshot.version}")
    check_feed(snapshot.schema, snapshot.settings)
    at_end = snapshot if last == snapshot.version else load_snapshot(snapshot.storage, last)
    listing = list_log(snapshot.storage)
    times = commit_timestamps(snapshot.storage, listing, enabled_since(snapshot))
    tables: list[pa.Table] = []
    metadata: Metadata | None = None
    for version in range(start, last + 1):
        if version not in listing.commits:
            raise VersionNotFound(f"{snapshot.storage.uri}: commit {version} is no longer in the log")
        actions = list(loads(snapshot.storage.get(commit_path(version)), commit_path(version)))
        metadata = next((action for action in actions if isinstance(action, Metadata)), metadata)
        if metadata is None:
            metadata = load_snapshot(snapshot.storage, version).metadata
        check_enabled(snapshot.storage.uri, metadata, version)
        tables.extend(
            table
            for change in file_changes(actions, version, times[version])
            for table in change_rows(at_end, change)
        )
    return pa.concat_tables(tables) if tables else feed_schema(at_end).empty_table()


@dataclass(frozen=True)
class FileChange:
    """The changes of a version that one file tells of: a data file that was added, removed or given another
    deletion vector, or a change file."""

    version: int
    timestamp: int
    """Milliseconds since 1970."""
    add: Add | None = None
    remove: Remove | None = None
    changes: ChangeFile | None = None

    @property
    def size(self) -> int:
        """The bytes of the file."""
        file = self.changes or self.add or self.remove
        return (file.size or 0) if file is not None else 0


def file_changes(actions: Sequence[Action], version: int, timestamp: int) -> list[FileChange]:
    """The changes of a version, file by file."""
    files = [action for action in actions if isinstance(action, ChangeFile)]
    if files:
        return [FileChange(version, timestamp, changes=file) for file in files]
    adds = {a.path: a for a in actions if isinstance(a, Add) and a.data_change}
    removes = {a.path: a for a in actions if isinstance(a, Remove) and a.data_change}
    names = dict.fromkeys([*adds, *removes])
    return [FileChange(version, timestamp, adds.get(name), removes.get(name)) for name in names]


def change_rows(snapshot: Snapshot, change: FileChange) -> Iterator[pa.Table]:
    """The changed rows of one file, with the columns of the snapshot and those of the change feed."""
    if change.changes is not None:
        found: Iterator[pa.Table] = iter([_change_file_rows(snapshot, change.changes)])
    else:
        found = _data_file_changes(snapshot, change.add, change.remove)
    moment = datetime.fromtimestamp(change.timestamp / 1000, UTC)
    for table in found:
        yield _stamped(table, change.version, moment)


def feed_schema(snapshot: Snapshot) -> pa.Schema:
    """The columns of the change data feed."""
    fields = list(nullable_schema(snapshot.arrow_schema))
    return pa.schema(
        [
            *fields,
            pa.field(CHANGE_TYPE, pa.string()),
            pa.field(COMMIT_VERSION, pa.int64()),
            pa.field(COMMIT_TIMESTAMP, pa.timestamp("us", tz="UTC")),
        ]
    )


def check_enabled(uri: str, metadata: Metadata, version: int) -> None:
    """Refuse versions without the feed, in which rewritten rows can't be told apart from changed rows."""
    if not TableProperties(metadata.configuration).change_feed:
        raise TableError(
            f"{uri} has no change data feed at version {version}; set "
            "delta.enableChangeDataFeed=true to record changes from then on"
        )


def _data_file_changes(snapshot: Snapshot, add: Add | None, remove: Remove | None) -> Iterator[pa.Table]:
    if add is not None and remove is not None:
        file = DataFile(snapshot, replace(add, deletion_vector=None))
        before, after = file.deleted(remove.deletion_vector), file.deleted(add.deletion_vector)
        query = whole_rows(snapshot)
        whole = pa.Table.from_batches(file.batches(query), query.schema)
        yield _marked(_picked(whole, after - before), "delete")
        yield _marked(_picked(whole, before - after), "insert")
    elif add is not None:
        yield from (_marked(rows, "insert") for rows in _rows(snapshot, add))
    elif remove is not None:
        yield from (_marked(rows, "delete") for rows in _rows(snapshot, _as_add(remove)))


def _as_add(remove: Remove) -> Add:
    return Add(
        path=remove.path,
        size=remove.size or 0,
        modification_time=0,
        partition_values=remove.partition_values or {},
        deletion_vector=remove.deletion_vector,
    )


def _rows(snapshot: Snapshot, add: Add) -> Iterator[pa.Table]:
    """The rows of a file, batch by batch."""
    query = whole_rows(snapshot)
    for batch in DataFile(snapshot, add).batches(query):
        yield pa.Table.from_batches([batch], query.schema)


def _picked(whole: pa.Table, rows: BitMap64) -> pa.Table:
    return whole.take(pa.array(rows.to_array(), pa.uint64()))


def _marked(table: pa.Table, kind: str) -> pa.Table:
    return table.append_column(CHANGE_TYPE, pa.array([kind] * table.num_rows, pa.string()))


def _change_file_rows(snapshot: Snapshot, file: ChangeFile) -> pa.Table:
    """A change file has the table's columns and `_change_type`."""
    schema = schema_json(change_schema(snapshot.schema))
    wider = replace(snapshot, metadata=replace(snapshot.metadata, schema_string=schema))
    add = Add(file.path, file.size, 0, file.partition_values)
    query = whole_rows(wider)
    return pa.Table.from_batches(DataFile(wider, add).batches(query), query.schema)


def _stamped(table: pa.Table, version: int, moment: datetime) -> pa.Table:
    count = table.num_rows
    versions = pa.array([version] * count, pa.int64())
    moments = pa.array([moment] * count, pa.timestamp("us", tz="UTC"))
    return table.append_column(COMMIT_VERSION, versions).append_column(COMMIT_TIMESTAMP, moments)
