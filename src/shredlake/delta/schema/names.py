"""From the name of a column to its fields."""

from __future__ import annotations

from shredlake.delta.schema.types import DeltaType, Field, Struct
from shredlake.errors import InvalidExpression
from shredlake.expr import name_parts


def resolve(schema: Struct, name: str) -> list[Field]:
    """The fields from the root to the one that a dotted name means. An exact match wins over one that
    differs in case.

    >>> [field.name for field in resolve(Struct((Field("s", Struct((Field("Id", "long"),))),)), "s.id")]
    ['s', 'Id']
    """
    found: list[Field] = []
    kind: DeltaType = schema
    for part in name_parts(name):
        field = kind.get(part) if isinstance(kind, Struct) else None
        if field is None:
            known = ", ".join(schema.names)
            raise InvalidExpression(f"there is no column {name!r} in the table; it has: {known}")
        found.append(field)
        kind = field.type
    return found
