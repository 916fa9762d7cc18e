"""From the name of a column to its fields."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from shredlake.delta.schema.types import DeltaType, Field, Struct
from shredlake.errors import InvalidExpression
from shredlake.expr import name_parts
from shredlake.variant.path import Path


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
            hint = suggestion(schema, name_parts(name))
            raise InvalidExpression(f"the table has no column {name!r}; it has: {known}{hint}")
        found.append(field)
        kind = field.type
    return found


def suggestion(schema: Struct, parts: Sequence[str]) -> str:
    """Suggests a similar column, or a path of a Variant, for a name that is not a column.

    >>> table = Struct((Field("id", "long"), Field("v", "variant")))
    >>> suggestion(table, ["idd"]), suggestion(table, ["kind"]), suggestion(table, ["v", "user", "id"])
    ('. Did you mean id?', '. For a path of a Variant, write v:kind::string', '. ... write v:user.id::string')
    """
    first = schema.get(parts[0])
    if first is not None and first.type == "variant" and len(parts) > 1:
        path = str(Path(tuple(parts[1:]))).removeprefix("$").removeprefix(".")
        return f". For a path of a Variant, write {first.name}:{path}::string"
    if similar := get_close_matches(parts[0], schema.names, 1, 0.75):
        return f". Did you mean {similar[0]}?"
    variants = [field.name for field in schema.fields if field.type == "variant"]
    if not variants:
        return ""
    path = str(Path(tuple(parts))).removeprefix("$").removeprefix(".")
    return f". For a path of a Variant, write {variants[0]}:{path}::string"
