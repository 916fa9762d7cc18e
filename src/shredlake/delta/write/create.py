"""Creates tables. A table is planned first and exists from its first commit on."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from shredlake.delta.log.files import FILE_SCHEMA, Files
from shredlake.delta.log.listing import LogSegment, list_log
from shredlake.delta.log.snapshot import CLUSTERING, TOMBSTONE_SCHEMA, Snapshot
from shredlake.delta.protocol.actions import DomainMetadata, Metadata, Protocol
from shredlake.delta.protocol.features import require_writable, required_by_properties, with_features
from shredlake.delta.protocol.properties import (
    FEATURE_PREFIX,
    STATS_COLUMNS,
    TableProperties,
    checked,
    shredding_property,
)
from shredlake.delta.schema import column_mapping
from shredlake.delta.schema.types import (
    Array,
    DeltaType,
    Map,
    Struct,
    contains,
    features_of,
    from_arrow,
    schema_json,
    walk,
)
from shredlake.delta.schema.variants import variant_places
from shredlake.delta.storage.storage import Storage
from shredlake.delta.write.commit import commit
from shredlake.delta.write.constraints import check_definitions, check_generated
from shredlake.delta.write.folder import others_files
from shredlake.delta.write.layout import check_pins
from shredlake.delta.write.transaction import Operation
from shredlake.errors import CommitConflict, InvalidSchema, TableError, TableExists

# Readers and writers of every version support these two.
PLAIN_PROTOCOL = Protocol(1, 2)


def create(table: Snapshot, cluster_by: Sequence[str] = ()) -> None:
    """Writes version 0 of a planned table that does not exist yet."""
    storage, metadata = table.storage, table.metadata
    operation = Operation(
        "CREATE TABLE",
        {
            "partitionBy": list(metadata.partition_columns),
            "clusterBy": list(cluster_by),
            "description": metadata.description,
            "isManaged": "false",
            "properties": dict(table.properties),
        },
    )
    exists = TableExists(f"{storage.uri} is already a table; open it with Table({storage.uri!r})")
    if list_log(storage).latest is not None:
        raise exists
    try:
        commit(table, [], operation)
    except CommitConflict:
        raise exists from None


def shredded_by_default(schema: pa.Schema, properties: Mapping[str, Any] | None) -> dict[str, Any]:
    """The properties of a new table: one with Variants allows shredding, unless the properties say no.

    >>> from shredlake.kernels.arrow.types import variant
    >>> shredded_by_default(pa.schema([("v", variant())]), {"team": "x"})
    {'delta.enableVariantShredding': 'true', 'team': 'x'}
    """
    given = dict(properties or {})
    has_variants = any(True for _ in variant_places(from_arrow(schema)))
    return {**shredding_property(has_variants), **given}


def planned(
    storage: Storage,
    schema: pa.Schema,
    partition_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    *,
    cluster_by: Sequence[str] = (),
    name: str | None = None,
    description: str | None = None,
    force: bool = False,
) -> Snapshot:
    """A table that does not exist yet, as version -1. The first commit creates it.

    A folder that holds foreign files is refused unless `force` is set, because data files among them would
    look like the table's own.

    >>> from shredlake.delta.protocol.actions import Transaction
    >>> table = planned(Storage("memory://planned/table"), pa.schema([("id", pa.int64())]))
    >>> table.version, commit(table, [Transaction("app", 1)], Operation("WRITE"))
    (-1, 0)
    """
    configuration = checked(properties or {})
    delta_schema = from_arrow(schema)
    check_partitioning(delta_schema, partition_by, "partition")
    check_partitioning(delta_schema, cluster_by, "clustering")
    if partition_by and cluster_by:
        raise InvalidSchema("a table is partitioned or clustered, not both; drop partition_by or cluster_by")
    delta_schema, configuration = column_mapping.assign(delta_schema, configuration)
    check_properties(delta_schema, configuration)
    check_definitions(delta_schema, configuration)
    check_generated(delta_schema)
    needed = features_of(delta_schema) | required_by_properties(configuration)
    domains: dict[str, DomainMetadata] = {}
    if cluster_by:
        needed.add("clustering")
        physical = [[_physical_name(delta_schema, column)] for column in cluster_by]
        domain = DomainMetadata(CLUSTERING, json.dumps({"clusteringColumns": physical}))
        domains[domain.domain] = domain
    protocol = with_features(PLAIN_PROTOCOL, needed)
    require_writable(protocol, storage.uri)
    if not force:
        _check_folder(storage)
    metadata = Metadata(
        id=str(uuid.uuid4()),
        schema_string=schema_json(delta_schema),
        partition_columns=tuple(partition_by),
        configuration={k: v for k, v in configuration.items() if not k.startswith(FEATURE_PREFIX)},
        name=name,
        description=description,
        created_time=int(time.time() * 1000),
    )
    return Snapshot(
        storage=storage,
        segment=LogSegment(-1, None, ()),
        protocol=protocol,
        metadata=metadata,
        transactions={},
        domains=domains,
        files=Files([], FILE_SCHEMA.empty_table(), ()),
        recent_tombstones=TOMBSTONE_SCHEMA.empty_table(),
    )


def _check_folder(storage: Storage) -> None:
    """Refuses a folder that holds files and is not a table."""
    if (found := next(others_files(storage), None)) is not None and list_log(storage).latest is None:
        raise TableError(
            f"{storage.uri} is not a table and not empty: it holds {found!r}. Choose an empty folder, or "
            "pass force=True to create the table beside these files"
        )


def check_properties(schema: Struct, properties: Mapping[str, str]) -> None:
    """Refuses properties that name columns which the table lacks.

    >>> from shredlake.delta.schema.types import Field
    >>> check_properties(Struct((Field("id", "long"),)), {"delta.dataSkippingStatsColumns": "id, ix"})
    Traceback (most recent call last):
    ...
    shredlake.errors.InvalidSchema: delta.dataSkippingStatsColumns names 'ix', which is not a column: id
    """
    settings = TableProperties(properties)
    check_pins(schema, settings)
    known = {name for name, _ in walk(schema)}
    for name in settings.get(STATS_COLUMNS) or ():
        if name not in known:
            raise InvalidSchema(
                f"{STATS_COLUMNS.name} names {name!r}, which is not a column: {', '.join(schema.names)}"
            )


def check_partitioning(schema: Struct, columns: Sequence[str], role: str) -> None:
    """Refuses columns that can't be partitioned or clustered by: unknown, Variant, nested."""
    for column in columns:
        field = schema.get(column)
        if field is None or field.name != column:
            raise InvalidSchema(
                f"{role} column {column!r} is not a column of the table: {', '.join(schema.names)}"
                f"{'. A path is not a column, but ingest can compute one from it' if ':' in column else ''}"
            )
        if contains(field.type, "variant"):
            where = "is" if field.type == "variant" else "contains"
            raise InvalidSchema(
                f"{role} column {column!r} {where} a variant; variants can't be compared, so a table can't "
                "be "
                f"{'partitioned' if role == 'partition' else 'clustered'} by one. Extract a path of it into "
                "a "
                "column of its own first"
            )
        if isinstance(field.type, Struct | Array | Map):
            raise InvalidSchema(
                f"{role} column {column!r} is a {_kind(field.type)}; only plain columns can be used"
            )
    if columns and set(columns) >= set(schema.names) and role == "partition":
        raise InvalidSchema("all columns are partition columns; at least one must stay in the files")
    if len(set(columns)) < len(columns):
        raise InvalidSchema(f"a {role} column is named twice: {', '.join(columns)}")


def _kind(kind: DeltaType) -> str:
    return type(kind).__name__.lower()


def _physical_name(schema: Struct, column: str) -> str:
    field = schema.get(column)
    return column if field is None else field.physical_name
