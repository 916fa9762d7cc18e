"""One version of a table: the log replayed.

The newest reference to a logical file wins, and so does the newest protocol, metadata, transaction and
domain. Commits are read newest first; everything that they do not define comes from the checkpoint.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.log.checkpoint_read import CheckpointPart, open_checkpoint
from shredlake.delta.log.files import FILE_SCHEMA, VECTOR_TYPE, Files, file_rows, keys_of, logged_key
from shredlake.delta.log.listing import (
    LogSegment,
    find_segment,
    is_unchanged,
    list_log,
    segment_of,
    with_unlisted_commits,
)
from shredlake.delta.protocol.action_types import problem_of
from shredlake.delta.protocol.actions import (
    Action,
    DomainMetadata,
    Metadata,
    Protocol,
    Transaction,
    raw_lines,
)
from shredlake.delta.protocol.features import reader_features, require_readable
from shredlake.delta.protocol.properties import TableProperties
from shredlake.delta.schema import column_mapping
from shredlake.delta.schema.type_widening import check_type_changes
from shredlake.delta.schema.types import DeltaType, Struct, arrow_schema, parse_schema
from shredlake.delta.schema.variants import VariantPlace, variant_places
from shredlake.delta.storage.storage import Storage
from shredlake.errors import CorruptLog, InvalidSchema, TableError

_log = logging.getLogger(__name__)

CLUSTERING = "delta.clustering"
"""The domain that records the clustering columns of a table."""

TOMBSTONE_SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("deletionTimestamp", pa.int64()),
        ("dataChange", pa.bool_()),
        ("extendedFileMetadata", pa.bool_()),
        ("partitionValues", FILE_SCHEMA.field("partitionValues").type),
        ("size", pa.int64()),
        ("deletionVector", VECTOR_TYPE),
    ]
)


@dataclass(frozen=True)
class Snapshot:
    """A table at one version."""

    storage: Storage
    segment: LogSegment
    protocol: Protocol
    metadata: Metadata
    transactions: Mapping[str, Transaction]
    domains: Mapping[str, DomainMetadata]
    files: Files = field(repr=False)
    recent_tombstones: pa.Table = field(repr=False)
    planned: tuple[Action, ...] = ()
    """Changes of protocol and metadata that the next commit makes; both fields show them already."""

    def without_files(self) -> Snapshot:
        """The snapshot without its list of files: small to send, and enough for a worker to read a file."""
        return replace(
            self,
            transactions={},
            domains={},
            files=Files([], FILE_SCHEMA.empty_table(), ()),
            recent_tombstones=self.recent_tombstones.slice(0, 0),
        )

    @property
    def version(self) -> int:
        return self.segment.version

    @cached_property
    def schema(self) -> Struct:
        try:
            schema = parse_schema(self.metadata.schema_string)
        except (CorruptLog, InvalidSchema) as error:
            raise type(error)(f"{self.storage.uri}: {error}") from None
        if self.mapping_mode == "none":
            schema = column_mapping.unmapped(schema)
        check_type_changes(schema, self.storage.uri)
        names = self.metadata.partition_columns
        for name in names:
            column = schema.get(name)
            plain = column is not None and isinstance(column.type, str) and column.type != "variant"
            if not plain or names.count(name) > 1:
                raise CorruptLog(
                    f"{self.storage.uri}: the partition column {name!r} is not a plain column of the table"
                )
        return schema

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        return arrow_schema(self.schema)

    @cached_property
    def variants(self) -> tuple[VariantPlace, ...]:
        """The Variants of the schema, wherever they are nested."""
        return tuple(variant_places(self.schema))

    @property
    def properties(self) -> Mapping[str, str]:
        return self.metadata.configuration

    @cached_property
    def settings(self) -> TableProperties:
        """The properties, typed."""
        return TableProperties(self.properties)

    @property
    def mapping_mode(self) -> str:
        """How columns are found in files: `none`, `name` or `id`. The property alone does not count."""
        return self.settings.mapping_mode if "columnMapping" in reader_features(self.protocol) else "none"

    @cached_property
    def clustering_columns(self) -> tuple[str, ...]:
        """Logical names of the columns that a clustered table is clustered by."""
        domain = self.domains.get(CLUSTERING)
        if domain is None:
            return ()
        try:
            columns = json.loads(domain.configuration)["clusteringColumns"]
            physical = [column if isinstance(column, list) else [str(column)] for column in columns]
            return tuple(_logical_name(self.schema, names) for names in physical)
        except (ValueError, KeyError, TypeError, RecursionError):
            found = repr(domain.configuration[:200])
            raise CorruptLog(f"{self.storage.uri}: the domain {CLUSTERING} can't be read: {found}") from None

    def tombstones(self) -> pa.Table:
        """Files that were removed: by recent commits, and those that the checkpoint still lists."""
        pieces = [self.recent_tombstones]
        for part in self.files.parts:
            with part.reading():
                found = part.read_tombstones(TOMBSTONE_SCHEMA.names)
                if found.num_rows == 0:
                    continue
                columns = [_column(found, item) for item in TOMBSTONE_SCHEMA]
                table = pa.Table.from_arrays(columns, schema=TOMBSTONE_SCHEMA)
                table.validate(full=True)
                keys = keys_of(table.column("path"), table.column("deletionVector"))
                known = pc.is_in(keys, value_set=self.files.superseded)
                pieces.append(table.filter(pc.invert(known)))
        return pa.concat_tables(pieces)


def _logical_name(schema: Struct, physical: Sequence[str]) -> str:
    """The dotted logical name of a column; names that the schema lacks stay as they are."""
    names = []
    kind: DeltaType | None = schema
    for name in physical:
        fields = kind.fields if isinstance(kind, Struct) else ()
        found = next((item for item in fields if item.physical_name == name), None)
        names.append(name if found is None else found.name)
        kind = None if found is None else found.type
    return ".".join(names)


def _column(table: pa.Table, item: pa.Field) -> Any:
    if item.name not in table.column_names:
        return pa.nulls(table.num_rows, item.type)
    return table.column(item.name).cast(item.type)


class Replay:
    """Collects the newest action of each kind while the log is read backwards."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self.protocol: Protocol | None = None
        self.metadata: Metadata | None = None
        self.transactions: dict[str, Transaction] = {}
        self.domains: dict[str, DomainMetadata] = {}
        self.seen: set[str] = set()
        self.adds: list[pa.Table] = []
        self.removes: list[dict[str, Any]] = []

    def commit(self, file: str, actions: Iterator[tuple[str, dict[str, Any]]]) -> None:
        """Adds the actions of one commit, which is older than all commits added before."""
        adds: dict[str, dict[str, Any]] = {}
        removes: dict[str, dict[str, Any]] = {}
        once: dict[str, dict[str, Any]] = {}
        for name, fields in actions:
            if name in ("add", "remove"):
                target = adds if name == "add" else removes
                key = logged_key(fields)
                if key in target:
                    raise CorruptLog(f"{file} has two {name} actions for {fields['path']}")
                target[key] = fields
            elif name in ("protocol", "metaData"):
                if name in once:
                    raise CorruptLog(f"{file} has two {name} actions; a commit may hold one")
                once[name] = fields
            else:
                self.small(name, fields, file)
        both = adds.keys() & removes.keys()
        if both:
            raise CorruptLog(f"{file} both adds and removes {sorted(both)[0]!r}: the order is not defined")
        for name, fields in once.items():
            self.small(name, fields, file)
        fresh = [fields for key, fields in adds.items() if key not in self.seen]
        if fresh:
            self.adds.append(file_rows(fresh))
        self.removes.extend(fields for key, fields in removes.items() if key not in self.seen)
        self.seen.update(adds, removes)

    def small(self, name: str, fields: dict[str, Any], file: str) -> None:
        """Adds an action that is not a file, unless a newer one is known."""
        problem = problem_of(name, fields)
        if problem is not None:
            raise CorruptLog(f"{file}: {problem}")
        match name:
            case "protocol" if self.protocol is None:
                self.protocol = Protocol.from_json(fields)
            case "metaData" if self.metadata is None:
                self.metadata = Metadata.from_json(fields)
            case "txn":
                self.transactions.setdefault(fields["appId"], Transaction.from_json(fields))
            case "domainMetadata":
                self.domains.setdefault(fields["domain"], DomainMetadata.from_json(fields))


def load_snapshot(storage: Storage, version: int | None = None) -> Snapshot:
    """Replays the log up to a version, by default the latest.

    >>> from shredlake.example import example_table
    >>> snapshot = load_snapshot(Storage(example_table("snapshot").uri))
    >>> snapshot.version, snapshot.schema.names, len(snapshot.files)
    (1, ['id', 'v'], 1)
    """
    return _rebuilt(storage, find_segment(storage, version))


def newest(snapshot: Snapshot) -> Snapshot:
    """The latest snapshot of a table: the given object itself if the log has not changed.

    >>> from shredlake.example import example_table
    >>> table = example_table("newest")
    >>> opened = table.snapshot
    >>> newest(opened) is opened
    True
    >>> _ = table.delete("id = 1")
    >>> newest(opened).version
    2
    """
    return _moved_on(snapshot, find_segment(snapshot.storage))


def latest_snapshot(storage: Storage, known: Snapshot | None = None) -> Snapshot:
    """The latest snapshot, to plan a write on. Commits that a listing does not show yet are found by name.

    Without them, an operation could find nothing to do in an older version, and end as if it were done.
    `known` is a snapshot of the table that the caller has. The result is never older, unless another
    table is in its place now.

    >>> from shredlake.example import example_table
    >>> latest_snapshot(Storage(example_table("latest-snapshot").uri)).version
    1
    """
    segment = find_segment(storage)
    if known is not None and known.version > segment.version and is_unchanged(storage, known.segment):
        segment = known.segment
    segment = with_unlisted_commits(storage, segment)
    return _rebuilt(storage, segment) if known is None else _moved_on(known, segment)


def _moved_on(snapshot: Snapshot, segment: LogSegment) -> Snapshot:
    """The snapshot of a segment: the given object itself if it is that of the segment."""
    return snapshot if segment == snapshot.segment else _rebuilt(snapshot.storage, segment)


def _rebuilt(storage: Storage, segment: LogSegment) -> Snapshot:
    """Replays a segment. If its checkpoint is damaged, the one before it or the commits may be enough."""
    try:
        return replay(storage, segment)
    except CorruptLog as error:
        if segment.checkpoint is None:
            raise
        listing, damaged = list_log(storage), segment.checkpoint.version
        older = {version: one for version, one in listing.checkpoints.items() if version < damaged}
        try:
            listing = replace(listing, checkpoints=older)
            found = replay(storage, segment_of(storage, listing, segment.version))
        except TableError:
            raise error from None
        _log.warning("%s. The table was read without this checkpoint; check with repair replaces it", error)
        return found


def replay(storage: Storage, segment: LogSegment) -> Snapshot:
    """Builds the snapshot that the files of a segment describe."""
    state = Replay(storage.uri)
    for commit in reversed(segment.commits):
        path = commit.entry.path
        state.commit(path, raw_lines(storage.get(path), path))
    superseded = set(state.seen)
    parts: list[CheckpointPart] = []
    if segment.checkpoint is not None:
        parts = _replay_checkpoint(storage, segment, state)
    if state.protocol is None or state.metadata is None:
        missing = "protocol" if state.protocol is None else "metaData"
        raise CorruptLog(f"{storage.uri}: the log up to version {segment.version} has no {missing} action")
    require_readable(state.protocol, storage.uri)
    recent = pa.concat_tables(state.adds) if state.adds else FILE_SCHEMA.empty_table()
    return Snapshot(
        storage=storage,
        segment=segment,
        protocol=state.protocol,
        metadata=state.metadata,
        transactions=_unexpired(state.transactions, state.metadata),
        domains={name: domain for name, domain in state.domains.items() if not domain.removed},
        files=Files(parts, recent, superseded),
        recent_tombstones=_tombstone_rows(state.removes),
    )


def _unexpired(transactions: dict[str, Transaction], metadata: Metadata) -> dict[str, Transaction]:
    """The transactions that the table still remembers. Without a retention, and without a time, all stay."""
    retention = TableProperties(metadata.configuration).transaction_retention_ms
    if retention is None:
        return transactions
    oldest = int(time.time() * 1000) - retention
    return {
        name: one
        for name, one in transactions.items()
        if one.last_updated is None or one.last_updated > oldest
    }


def _replay_checkpoint(storage: Storage, segment: LogSegment, state: Replay) -> list[CheckpointPart]:
    checkpoint = segment.checkpoint
    assert checkpoint is not None
    path = checkpoint.files[0].path
    if not checkpoint.is_json:
        small, parts = open_checkpoint(storage, checkpoint)
    else:
        content = list(raw_lines(storage.get(path), path))
        small, parts = open_checkpoint(storage, checkpoint, iter(content))
        state.commit(path, ((name, fields) for name, fields in content if name in ("add", "remove")))
    for name, fields in small:
        state.small(name, fields, path)
    return parts


def _tombstone_rows(removes: list[dict[str, Any]]) -> pa.Table:
    columns = []
    for item in TOMBSTONE_SCHEMA:
        values = [remove.get(item.name) for remove in removes]
        if item.name == "partitionValues":
            values = [None if value is None else list(value.items()) for value in values]
        columns.append(pa.array(values, type=item.type))
    return pa.Table.from_arrays(columns, schema=TOMBSTONE_SCHEMA)


def actions_of(snapshot: Snapshot) -> Iterator[Action]:
    """The actions of a snapshot that are not files, as a checkpoint keeps them."""
    yield snapshot.protocol
    yield snapshot.metadata
    yield from snapshot.transactions.values()
    yield from snapshot.domains.values()
