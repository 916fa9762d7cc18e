"""The argument `shredding=`, the same in every public call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from shredlake.errors import InvalidSchema
from shredlake.shredding.schema import ShreddingSchema

Shredding: TypeAlias = Mapping[str, ShreddingSchema | str | None] | ShreddingSchema | str | None
"""`"infer"` (choose from the data), a schema or its DDL per Variant column, or None (do not shred). A schema
or DDL by itself applies to the only Variant column. A column that a mapping omits is inferred.
"""

Request: TypeAlias = ShreddingSchema | Literal["infer"] | None


def requests(given: Shredding, columns: Sequence[str], column: str | None = None) -> dict[str, Request]:
    """Resolves `shredding=` to a request per Variant column.

    `columns` are the names of all Variants, `column` is the one that a single schema applies to. Names match
    as in SQL: an exact match takes precedence over one that differs in case.

    >>> {name: str(wanted) for name, wanted in requests({"V": "struct<a int>"}, ["v", "w"]).items()}
    {'v': 'struct<a int>', 'w': 'infer'}
    >>> requests(None, ["v"])
    {'v': None}
    >>> requests("struct<a int>", ["v", "w"])
    Traceback (most recent call last):
    ...
    shredlake.errors.InvalidSchema: shredding is one schema, but there are several Variants: v, w. Give ...
    """
    if given is None or given == "infer":
        return dict.fromkeys(columns, None if given is None else "infer")
    asked: dict[str, Request] = dict.fromkeys(columns, "infer")
    for name, wanted in _by_column(given, columns, column).items():
        asked[_found(name, columns)] = _parsed(wanted)
    return asked


def _by_column(
    given: Mapping[str, ShreddingSchema | str | None] | ShreddingSchema | str,
    columns: Sequence[str],
    column: str | None = None,
) -> Mapping[str, ShreddingSchema | str | None]:
    """A mapping of columns to schemas; a single schema is mapped to the column that it applies to."""
    if isinstance(given, Mapping):
        return given
    if column is None and len(columns) != 1:
        known = f"several Variants: {', '.join(columns)}" if columns else "no Variants"
        raise InvalidSchema(
            f"shredding is one schema, but there are {known}. Give a schema per column: {{column: schema}}"
        )
    return {column or columns[0]: given}


def _found(name: str, columns: Sequence[str]) -> str:
    if name in columns:
        return name
    alike = [column for column in columns if column.casefold() == name.casefold()]
    if len(alike) != 1:
        known = ", ".join(columns) or "none"
        raise InvalidSchema(f"shredding is given for {name!r}; the Variant columns are: {known}")
    return alike[0]


def _parsed(wanted: ShreddingSchema | str | None) -> Request:
    if wanted is None or wanted == "infer":
        return None if wanted is None else "infer"
    return wanted if isinstance(wanted, ShreddingSchema) else ShreddingSchema.parse(wanted)
