"""Changes of a table's definition: columns and properties, and the protocol that they need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import pyarrow as pa

from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Action, Metadata, Protocol
from shredlake.delta.protocol.features import require_writable, required_by_properties, with_features
from shredlake.delta.protocol.properties import (
    CHECK_PREFIX,
    COMMIT_TIMES,
    FEATURE_PREFIX,
    KNOWN,
    MAPPING_MODE,
    TableProperties,
    checked,
)
from shredlake.delta.schema import column_mapping
from shredlake.delta.schema.types import Struct, features_of, from_arrow, schema_json
from shredlake.delta.write.constraints import DEFAULT, GENERATED, check_definitions
from shredlake.delta.write.create import check_properties
from shredlake.errors import InvalidSchema, WrongType
from shredlake.formatting import kind_of

SchemaMode = Literal["strict", "merge"]
"""Whether rows with columns that the table lacks are refused, or their columns added to the table."""


def redefined(snapshot: Snapshot, schema: Struct, properties: Mapping[str, str]) -> list[Action]:
    """The actions that give a table this schema and these properties: metadata, and protocol if it grows."""
    have, wanted = snapshot.mapping_mode, TableProperties(properties).mapping_mode
    if wanted != have:
        raise InvalidSchema(
            f"{MAPPING_MODE.name} can't change from {have} to {wanted}: the files are named by the former. "
            "Set it when the table is created"
        )
    schema, configuration = column_mapping.assign(schema, properties)
    check_definitions(schema, configuration)
    needed = features_of(schema) | required_by_properties(configuration)
    protocol = with_features(snapshot.protocol, needed)
    require_writable(protocol, snapshot.storage.uri)
    metadata: Metadata = replace(
        snapshot.metadata,
        schema_string=schema_json(schema),
        configuration={k: v for k, v in configuration.items() if not k.startswith(FEATURE_PREFIX)},
    )
    changed: list[Action] = []
    if protocol != snapshot.protocol:
        changed.append(protocol)
    if metadata != snapshot.metadata:
        changed.append(metadata)
    return changed


def with_columns(snapshot: Snapshot, fields: Sequence[pa.Field]) -> list[Action]:
    """New columns at the end; old rows read as null in them."""
    for item in fields:
        if not isinstance(item, pa.Field):
            raise WrongType(
                f"a new column is an Arrow field such as pa.field('note', pa.string()), not {kind_of(item)}"
            )
    added = from_arrow(pa.schema(list(fields)))
    for item in added.fields:
        if snapshot.schema.get(item.name) is not None:
            raise InvalidSchema(f"the table has a column {item.name!r} already")
        if not item.nullable:
            raise InvalidSchema(
                f"column {item.name!r} is NOT NULL, but the rows that are there have no value for it; "
                "add it as nullable"
            )
        for key, what in ((DEFAULT, "a default"), (GENERATED, "an expression that generates it")):
            if key in item.metadata:
                raise InvalidSchema(
                    f"column {item.name!r} comes with {what}; a new column can't have one in the same step"
                )
    return redefined(snapshot, Struct((*snapshot.schema.fields, *added.fields)), snapshot.properties)


def with_merged_columns(snapshot: Snapshot, given: Sequence[pa.Field], mode: SchemaMode) -> Snapshot:
    """The table; with the mode `merge`, with those of the given columns that it lacks, planned.

    The commit that is made on this snapshot adds the columns. Old rows are null in them.
    """
    if mode not in get_args(SchemaMode):
        raise InvalidSchema(f"schema_mode is {mode!r}; it can be strict or merge")
    new = [pa.field(item.name, item.type) for item in given if snapshot.schema.get(item.name) is None]
    if mode == "strict" or not new:
        return snapshot
    changes = with_columns(snapshot, new)
    metadata = next(action for action in changes if isinstance(action, Metadata))
    protocol = next((action for action in changes if isinstance(action, Protocol)), snapshot.protocol)
    return replace(snapshot, metadata=metadata, protocol=protocol, planned=tuple(changes))


def with_properties(snapshot: Snapshot, properties: Mapping[str, Any]) -> list[Action]:
    """Properties set, or unset where the value is None."""
    if not isinstance(properties, Mapping):
        raise WrongType(
            f"properties are a dict such as {{'delta.appendOnly': True}}, not {kind_of(properties)}"
        )
    unset = {name for name, value in properties.items() if value is None}
    set_now = checked({name: value for name, value in properties.items() if value is not None})
    configuration = {**snapshot.properties, **set_now}
    for name in unset:
        _check_unset(name)
        configuration.pop(name, None)
    changed = TableProperties(configuration)
    if changed.commit_times and not snapshot.settings.commit_times:
        raise InvalidSchema(
            f"{COMMIT_TIMES.name} can be set when a table is created, not later, by shredlake"
        )
    check_properties(snapshot.schema, set_now)
    return redefined(snapshot, snapshot.schema, configuration)


def _check_unset(name: str) -> None:
    row = KNOWN.get(name)
    if row is not None and not row.settable:
        raise InvalidSchema(f"the property {name} is kept by writers and can't be removed")


def new_checks(properties: Mapping[str, Any]) -> list[str]:
    """Names of CHECK constraints among properties to set: existing rows must be checked before."""
    return [
        key.removeprefix(CHECK_PREFIX)
        for key, value in properties.items()
        if key.startswith(CHECK_PREFIX) and value is not None
    ]
