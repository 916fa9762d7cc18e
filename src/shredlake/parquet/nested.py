"""Nested Arrow types and arrays by the leaf: cut down, put together again, Variants inside them replaced."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.parquet.format.schema import SchemaNode
from shredlake.parquet.replace import Names, unwrap
from shredlake.parquet.variant_columns import list_element


def leaf_types(schema: pa.Schema) -> list[pa.DataType]:
    """The types of a schema's leaves, numbered as Parquet numbers its columns.

    >>> leaf_types(pa.schema([("a", pa.int8()), ("m", pa.map_(pa.string(), pa.list_(pa.date32())))]))
    [DataType(int8), DataType(string), DataType(date32[day])]
    """
    return [leaf for field in schema for leaf in _leaves(field.type)]


def _leaves(type_: pa.DataType) -> list[pa.DataType]:
    below = _fields(type_)
    return [leaf for field in below for leaf in _leaves(field.type)] if below else [type_]


def prune_schema(schema: pa.Schema, wanted: frozenset[int]) -> pa.Schema:
    """A schema cut down to some of its leaves; maps and extension types stay whole.

    >>> nested = pa.struct([("x", pa.int8()), ("y", pa.list_(pa.int8()))])
    >>> schema = pa.schema([("a", pa.int8()), ("s", nested), ("b", pa.int8())])
    >>> pruned = prune_schema(schema, frozenset({0, 2}))
    >>> [(field.name, str(field.type)) for field in pruned]
    [('a', 'int8'), ('s', 'struct<y: list<item: int8>>')]
    """
    next_leaf = 0

    def prune(field: pa.Field) -> pa.Field | None:
        nonlocal next_leaf
        below = _fields(field.type)
        if not below:
            next_leaf += 1
            return field if next_leaf - 1 in wanted else None
        kept = [child for child in map(prune, below) if child is not None]
        if not kept:
            return None
        whole = pa.types.is_map(field.type) or isinstance(field.type, pa.BaseExtensionType)
        return field if whole else field.with_type(_with_fields(field.type, kept))

    return pa.schema([field for field in map(prune, schema) if field is not None])


def merge(parts: Sequence[pa.Array], full: pa.DataType) -> pa.Array:
    """One nested array of several that hold different leaves of it, for the same rows.

    >>> whole = pa.array([{"a": 1, "b": "x"}, None])
    >>> left, right = (whole.cast(pa.struct([field])) for field in whole.type)
    >>> merge([right, left], whole.type).equals(whole)
    True
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    if pa.types.is_struct(full):
        children, fields = [], []
        for field in full:
            held = [part.field(field.name) for part in parts if part.type.get_field_index(field.name) >= 0]
            if held:
                children.append(merge(held, field.type))
                fields.append(field.with_type(children[-1].type))
        mask = pc.is_null(first) if first.null_count else None
        return pa.StructArray.from_arrays(children, fields=fields, mask=mask)
    if pa.types.is_map(full) or not _fields(full):
        raise TypeError(f"a {full} can't be read in parts")
    [_], wrap = unwrap(first)
    inner = merge([unwrap(part)[0][0] for part in parts], full.value_type)
    return wrap([inner], _with_fields(full, [full.value_field.with_type(inner.type)]))


def replace_variants(
    array: pa.Array,
    node: SchemaNode,
    variants: Collection[Names],
    convert: Callable[[pa.Array, Names], pa.Array],
) -> pa.Array:
    """The array with each Variant in it converted, however deep; `node` is the array's place in the file.

    Files name the levels of their lists and maps as they like, so the way down is by structure, not by name.
    """
    if node.path in variants:
        return convert(array, node.path)
    if not any(path[: len(node.path)] == node.path for path in variants):
        return array
    children, wrap = unwrap(array)
    inner = [
        replace_variants(child, below, variants, convert)
        for child, below in zip(children, _below(node, array.type), strict=True)
    ]
    fields = [field.with_type(new.type) for field, new in zip(_fields(array.type), inner, strict=True)]
    return wrap(inner, _with_fields(array.type, fields))


def _below(node: SchemaNode, type_: pa.DataType) -> list[SchemaNode]:
    """The nodes of a nested type's fields."""
    if pa.types.is_struct(type_):
        return [node.find((field.name,)) for field in type_]
    if pa.types.is_map(type_):
        return list(node.children[0].children)
    return [list_element(node) or node.children[0]]


def _fields(type_: pa.DataType) -> list[pa.Field]:
    if isinstance(type_, pa.BaseExtensionType):
        return _fields(type_.storage_type)
    if pa.types.is_struct(type_):
        return list(type_)
    if pa.types.is_map(type_):
        return [type_.key_field, type_.item_field]
    return [type_.value_field] if hasattr(type_, "value_field") else []


def _with_fields(type_: pa.DataType, fields: list[pa.Field]) -> pa.DataType:
    if pa.types.is_struct(type_):
        return pa.struct(fields)
    if pa.types.is_map(type_):
        return pa.map_(fields[0], fields[1], keys_sorted=type_.keys_sorted)
    if pa.types.is_fixed_size_list(type_):
        return pa.list_(fields[0], type_.list_size)
    return pa.large_list(fields[0]) if pa.types.is_large_list(type_) else pa.list_(fields[0])
