"""Columns inside columns: finding them in structs, lists and maps, and putting others in their place.

What lies around a replaced column keeps its buffers; columns without one pass through untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

Names: TypeAlias = tuple[str, ...]
"""The names on the way to a column, as Parquet spells them: `("l", "list", "element")`."""


@dataclass(frozen=True)
class Replacement:
    """What stands in for a nested column: its type, and how its arrays are made of the old ones."""

    type: pa.DataType
    make: Callable[[pa.Array], pa.Array]


def find_types(schema: pa.Schema, wanted: Callable[[pa.DataType], bool]) -> dict[Names, pa.DataType]:
    """The columns whose type is wanted, wherever they lie; none inside another.

    >>> schema = pa.schema([("l", pa.list_(pa.int8())), ("m", pa.map_(pa.string(), pa.int8()))])
    >>> [".".join(names) for names in find_types(schema, pa.types.is_int8)]
    ['l.list.element', 'm.key_value.value']
    """
    return {names: type_ for field in schema for names, type_ in _find(field.type, (field.name,), wanted)}


def _find(
    type_: pa.DataType, names: Names, wanted: Callable[[pa.DataType], bool]
) -> Iterator[tuple[Names, pa.DataType]]:
    if wanted(type_):
        yield names, type_
        return
    for step, field in _children(type_):
        yield from _find(field.type, (*names, *step), wanted)


def replace_columns(table: pa.Table, replacements: Mapping[Names, Replacement]) -> pa.Table:
    """The table with other columns in place of these.

    >>> table = pa.table({"l": [[1, 2], None]})
    >>> doubled = Replacement(pa.int64(), lambda array: pc.multiply(array, 2))
    >>> replace_columns(table, {("l", "list", "element"): doubled})["l"].to_pylist()
    [[2, 4], None]
    """
    columns, fields = [], []
    for field, column in zip(table.schema, table.columns, strict=True):
        names = (field.name,)
        type_ = _replaced_type(field.type, names, replacements)
        if _touches(names, replacements):
            chunks = [_replaced(chunk, names, replacements) for chunk in column.chunks]
            column = pa.chunked_array(chunks, type_)
        columns.append(column)
        fields.append(field.with_type(type_))
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, metadata=table.schema.metadata))


def _touches(names: Names, replacements: Mapping[Names, Replacement]) -> bool:
    return any(other[: len(names)] == names for other in replacements)


def _replaced_type(
    type_: pa.DataType, names: Names, replacements: Mapping[Names, Replacement]
) -> pa.DataType:
    if names in replacements:
        return replacements[names].type
    if not _touches(names, replacements):
        return type_
    fields = [
        field.with_type(_replaced_type(field.type, (*names, *step), replacements))
        for step, field in _children(type_)
    ]
    return _with_children(type_, fields)


def _replaced(array: pa.Array, names: Names, replacements: Mapping[Names, Replacement]) -> pa.Array:
    if names in replacements:
        return replacements[names].make(array)
    if not _touches(names, replacements):
        return array
    steps = _children(array.type)
    children, wrap = unwrap(array)
    inner = [
        _replaced(child, (*names, *step), replacements)
        for child, (step, _) in zip(children, steps, strict=True)
    ]
    fields = [field.with_type(child.type) for child, (_, field) in zip(inner, steps, strict=True)]
    return wrap(inner, _with_children(array.type, fields))


def _children(type_: pa.DataType) -> list[tuple[Names, pa.Field]]:
    """The fields below a nested type, each with the names that Parquet puts on the way to it."""
    if pa.types.is_struct(type_):
        return [((field.name,), field) for field in type_]
    if pa.types.is_map(type_):
        return [(("key_value", "key"), type_.key_field), (("key_value", "value"), type_.item_field)]
    if pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_):
        return [(("list", "element"), type_.value_field)]
    return []


def _with_children(type_: pa.DataType, fields: list[pa.Field]) -> pa.DataType:
    if pa.types.is_struct(type_):
        return pa.struct(fields)
    if pa.types.is_map(type_):
        return pa.map_(fields[0], fields[1], keys_sorted=type_.keys_sorted)
    if pa.types.is_large_list(type_):
        return pa.large_list(fields[0])
    if pa.types.is_fixed_size_list(type_):
        return pa.list_(fields[0], type_.list_size)
    return pa.list_(fields[0])


def unwrap(array: pa.Array) -> tuple[list[pa.Array], Callable[[list[pa.Array], pa.DataType], pa.Array]]:
    """The columns that a struct, list or map covers, and how to wrap others of that length like them."""
    mask = pc.is_null(array)
    if pa.types.is_struct(array.type):
        fields = array.flatten()  # null where the struct is, whatever lies under it
        return fields, lambda new, type_: pa.StructArray.from_arrays(new, fields=list(type_), mask=mask)
    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        values = array.values.slice(array.offset * size, len(array) * size)
        return [values], lambda new, type_: pa.FixedSizeListArray.from_arrays(new[0], type=type_, mask=mask)
    start, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
    offsets = pc.subtract(array.offsets, pa.scalar(start, array.offsets.type))
    if pa.types.is_map(array.type):
        entries = [array.keys.slice(start, end - start), array.items.slice(start, end - start)]
        return entries, lambda new, type_: pa.MapArray.from_arrays(offsets, *new, type=type_, mask=mask)
    kind = pa.LargeListArray if pa.types.is_large_list(array.type) else pa.ListArray
    values = array.values.slice(start, end - start)
    return [values], lambda new, type_: kind.from_arrays(offsets, new[0], type=type_, mask=mask)
