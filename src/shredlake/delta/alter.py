"""Changes of a table's definition: columns and properties, and the protocol that they need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from shredlake.delta import column_mapping
from shredlake.delta.actions import Action, Metadata
from shredlake.delta.constraints import CHECK_PREFIX, DEFAULT, GENERATED, check_definitions
from shredlake.delta.create import property_text
from shredlake.delta.features import required_by_properties, with_features
from shredlake.delta.schema import Struct, features_of, from_arrow, schema_json
from shredlake.delta.snapshot import Snapshot
from shredlake.errors import InvalidSchema

# Properties that describe what was done rather than what is wanted.
_INTERNAL = (
    column_mapping.MAX_ID,
    "delta.inCommitTimestampEnablementVersion",
    "delta.inCommitTimestampEnablementTimestamp",
)


def redefined(snapshot: Snapshot, schema: Struct, properties: Mapping[str, str]) -> list[Action]:
    """The actions that give a table this schema and these properties: metadata, and protocol if it grows."""
    schema, configuration = column_mapping.assign(schema, properties)
    check_definitions(schema, configuration)
    needed = features_of(schema) | required_by_properties(configuration)
    protocol = with_features(snapshot.protocol, needed)
    metadata: Metadata = replace(
        snapshot.metadata,
        schema_string=schema_json(schema),
        configuration={k: v for k, v in configuration.items() if not k.startswith("delta.feature.")},
    )
    changed: list[Action] = []
    if protocol != snapshot.protocol:
        changed.append(protocol)
    if metadata != snapshot.metadata:
        changed.append(metadata)
    return changed


def with_columns(snapshot: Snapshot, fields: Sequence[pa.Field]) -> list[Action]:
    """New columns at the end; old rows read as null in them."""
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


def with_properties(snapshot: Snapshot, properties: Mapping[str, Any]) -> list[Action]:
    """Properties set, or unset where the value is None."""
    for name in properties:
        if name in _INTERNAL:
            raise InvalidSchema(f"the property {name} is kept by writers and can't be set")
    set_now = {key: property_text(value) for key, value in properties.items() if value is not None}
    configuration = {**snapshot.properties, **set_now}
    for name, value in properties.items():
        if value is None:
            configuration.pop(name, None)
    if column_mapping.MODE in set_now:
        _check_mapping_change(snapshot, set_now[column_mapping.MODE])
    if set_now.get("delta.enableInCommitTimestamps") == "true" and not snapshot.is_true(
        "delta.enableInCommitTimestamps"
    ):
        raise InvalidSchema(
            "delta.enableInCommitTimestamps can be set when a table is created, not later, by shredlake"
        )
    return redefined(snapshot, snapshot.schema, configuration)


def _check_mapping_change(snapshot: Snapshot, wanted: str) -> None:
    have = column_mapping.mode(snapshot.properties)
    if wanted != have:
        raise InvalidSchema(
            f"{column_mapping.MODE} can't change from {have} to {wanted}: the files are named by the former. "
            "Set it when the table is created"
        )


def new_checks(properties: Mapping[str, Any]) -> list[str]:
    """Names of CHECK constraints among properties to set: existing rows must be checked before."""
    return [
        key.removeprefix(CHECK_PREFIX)
        for key, value in properties.items()
        if key.startswith(CHECK_PREFIX) and value is not None
    ]
