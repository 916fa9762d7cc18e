"""Column mapping: every column has a physical name and an id that never change, whatever it is called."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace

from shredlake.delta.schema import COLUMN_ID, PHYSICAL_NAME, Field, Struct, map_fields, walk
from shredlake.errors import InvalidSchema

MODE = "delta.columnMapping.mode"
MAX_ID = "delta.columnMapping.maxColumnId"


def mode(properties: Mapping[str, str]) -> str:
    """`none`, `name` or `id`.

    >>> mode({})
    'none'
    """
    return properties.get(MODE, "none")


def assign(schema: Struct, properties: Mapping[str, str]) -> tuple[Struct, dict[str, str]]:
    """Gives names and ids to columns that have none yet, where the table maps columns."""
    chosen = mode(properties)
    if chosen == "none":
        return schema, dict(properties)
    if chosen not in ("name", "id"):
        raise InvalidSchema(f"{MODE} is {chosen!r}; it can be none, name or id")
    highest = max([_maximum(properties), *(item.id or 0 for _, item in walk(schema))])
    numbers = _counter(highest)

    def complete(item: Field) -> Field:
        if PHYSICAL_NAME in item.metadata and COLUMN_ID in item.metadata:
            return item
        added = {COLUMN_ID: next(numbers), PHYSICAL_NAME: f"col-{uuid.uuid4()}"}
        return replace(item, metadata={**item.metadata, **added})

    mapped = map_fields(schema, complete)
    highest = max(item.id or 0 for _, item in walk(mapped))
    return mapped, {**properties, MAX_ID: str(highest)}


def _maximum(properties: Mapping[str, str]) -> int:
    return int(properties.get(MAX_ID, "0"))


def _counter(start: int) -> Iterator[int]:
    while True:
        start += 1
        yield start
