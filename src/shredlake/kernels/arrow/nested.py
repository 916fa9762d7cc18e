"""One level of a nested Arrow type or array: its fields, and the same level with other fields.

`children` lists the fields below a type; `with_children` and `unwrap` replace them. Every walk through nested
columns builds on these three, except those that work on raw buffers (docs/decisions/0014-the-tree.md).
Views of lists have no children here: `normalize` turns them into lists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

Names: TypeAlias = tuple[str, ...]
"""The names on the path to a column, as in Parquet: `("l", "list", "element")`."""

MAP_KEY: Final[Names] = ("key_value", "key")
"""The names from a map to its keys, which can't be null."""


def children(type_: pa.DataType) -> list[tuple[Names, pa.Field]]:
    """The fields below a nested type, each with the names on its path in Parquet.

    >>> [".".join(names) for names, _ in children(pa.map_(pa.string(), pa.int8()))]
    ['key_value.key', 'key_value.value']
    """
    if isinstance(type_, pa.BaseExtensionType):
        return children(type_.storage_type)
    if pa.types.is_struct(type_):
        return [((field.name,), field) for field in type_]
    if pa.types.is_map(type_):
        return [(MAP_KEY, type_.key_field), (("key_value", "value"), type_.item_field)]
    if pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_):
        return [(("list", "element"), type_.value_field)]
    return []


def with_children(type_: pa.DataType, fields: Sequence[pa.Field]) -> pa.DataType:
    """Returns the nested type with its fields replaced.

    >>> with_children(pa.large_list(pa.int8()), [pa.field("element", pa.string())])
    LargeListType(large_list<element: string>)
    """
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
    """The columns inside a struct, list or map, and a function that wraps other columns of the same length.

    >>> (values,), wrap = unwrap(pa.array([[1], None, [2, 3]]))
    >>> wrap([pc.multiply(values, 2)], pa.list_(pa.int64())).to_pylist()
    [[2], None, [4, 6]]
    """
    mask = pc.is_null(array)
    if pa.types.is_struct(array.type):
        fields = array.flatten()  # null if the struct is null, even over other values
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
