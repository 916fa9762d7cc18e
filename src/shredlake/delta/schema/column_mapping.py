"""Column mapping: every column has a physical name and an id, which stay the same if it is renamed."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace

from shredlake.delta.protocol.properties import MAPPING_MODE, MAX_COLUMN_ID, TableProperties, bad_value
from shredlake.delta.schema.types import COLUMN_ID, PHYSICAL_NAME, Field, Struct, map_fields, walk

MAX_ID = MAX_COLUMN_ID.name


def unmapped(schema: Struct) -> Struct:
    """The schema without physical names and ids, which mean nothing if the table does not use column mapping.

    >>> stale = Field("id", "long", metadata={COLUMN_ID: 1, PHYSICAL_NAME: "col-1", "comment": "kept"})
    >>> unmapped(Struct((stale,))).fields[0].metadata
    {'comment': 'kept'}
    """

    def without(item: Field) -> Field:
        if PHYSICAL_NAME not in item.metadata and COLUMN_ID not in item.metadata:
            return item
        kept = {key: value for key, value in item.metadata.items() if key not in (PHYSICAL_NAME, COLUMN_ID)}
        return replace(item, metadata=kept)

    return map_fields(schema, without)


def assign(schema: Struct, properties: Mapping[str, str]) -> tuple[Struct, dict[str, str]]:
    """Assigns physical names and ids to new columns if the table uses column mapping."""
    settings = TableProperties(properties)
    if settings.mapping_mode == "none":
        if MAPPING_MODE.name in properties and properties[MAPPING_MODE.name] != "none":
            raise bad_value(MAPPING_MODE, properties[MAPPING_MODE.name])
        return schema, dict(properties)
    highest = max([settings.max_column_id, *(item.id or 0 for _, item in walk(schema))])
    numbers = _counter(highest)

    def complete(item: Field) -> Field:
        if PHYSICAL_NAME in item.metadata and COLUMN_ID in item.metadata:
            return item
        added = {COLUMN_ID: next(numbers), PHYSICAL_NAME: f"col-{uuid.uuid4()}"}
        return replace(item, metadata={**item.metadata, **added})

    mapped = map_fields(schema, complete)
    highest = max(item.id or 0 for _, item in walk(mapped))
    return mapped, {**properties, MAX_ID: str(highest)}


def _counter(start: int) -> Iterator[int]:
    while True:
        start += 1
        yield start
