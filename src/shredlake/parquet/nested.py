"""Nested Arrow types and arrays by the leaf: cut down, put together again, Variants inside them replaced."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.parquet.layout import list_element
from shredlake.parquet.schema import SchemaNode


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
    mask = pc.is_null(first) if first.null_count else None
    if pa.types.is_struct(full):
        children, fields = [], []
        for field in full:
            held = [part.field(field.name) for part in parts if part.type.get_field_index(field.name) >= 0]
            if held:
                children.append(merge(held, field.type))
                fields.append(field.with_type(children[-1].type))
        return pa.StructArray.from_arrays(children, fields=fields, mask=mask)
    if not _is_list(full):
        raise TypeError(f"a {full} can't be read in parts")
    inner = merge([_values(part) for part in parts], full.value_type)
    field = full.value_field.with_type(inner.type)
    return _list_like(first, inner, _with_fields(full, [field]), mask)


def replace_variants(
    array: pa.Array,
    node: SchemaNode,
    variants: frozenset[tuple[str, ...]],
    convert: Callable[[pa.Array], pa.Array],
) -> pa.Array:
    """The array with `convert` applied to each Variant in it, however deep. `node` is the array's schema."""
    if node.path in variants:
        return convert(array)
    if not any(path[: len(node.path)] == node.path for path in variants):
        return array
    type_ = array.type
    mask = pc.is_null(array) if array.null_count else None
    if pa.types.is_struct(type_):
        children = [
            replace_variants(array.field(at), _child(node, field.name), variants, convert)
            for at, field in enumerate(type_)
        ]
        fields = [field.with_type(child.type) for field, child in zip(type_, children, strict=True)]
        return pa.StructArray.from_arrays(children, fields=fields, mask=mask)
    if pa.types.is_map(type_):
        start, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
        entries = node.children[0].children
        key, item = (
            replace_variants(part.slice(start, end - start), entry, variants, convert)
            for part, entry in zip((array.keys, array.items), entries, strict=True)
        )
        offsets = pc.subtract(array.offsets, pa.scalar(start, pa.int32()))
        new = pa.map_(type_.key_field.with_type(key.type), type_.item_field.with_type(item.type))
        return pa.MapArray.from_arrays(offsets, key, item, type=new, mask=mask)
    element = list_element(node) or node.children[0]
    inner = replace_variants(_values(array), element, variants, convert)
    field = type_.value_field.with_type(inner.type)
    return _list_like(array, inner, _with_fields(type_, [field]), mask)


def _child(node: SchemaNode, name: str) -> SchemaNode:
    return node.find((name,))


def _fields(type_: pa.DataType) -> list[pa.Field]:
    if isinstance(type_, pa.BaseExtensionType):
        return _fields(type_.storage_type)
    if pa.types.is_struct(type_):
        return list(type_)
    if pa.types.is_map(type_):
        return [type_.key_field, type_.item_field]
    return [type_.value_field] if _is_list(type_) else []


def _with_fields(type_: pa.DataType, fields: list[pa.Field]) -> pa.DataType:
    if pa.types.is_struct(type_):
        return pa.struct(fields)
    if pa.types.is_fixed_size_list(type_):
        return pa.list_(fields[0], type_.list_size)
    if pa.types.is_large_list(type_):
        return pa.large_list(fields[0])
    if pa.types.is_list_view(type_):
        return pa.list_view(fields[0])
    if pa.types.is_large_list_view(type_):
        return pa.large_list_view(fields[0])
    return pa.list_(fields[0])


def _is_list(type_: pa.DataType) -> bool:
    return hasattr(type_, "value_field") and not pa.types.is_map(type_)


def _values(array: pa.Array) -> pa.Array:
    """The elements of a list array, from its first row to its last."""
    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        return array.values.slice(array.offset * size, len(array) * size)
    start, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
    return array.values.slice(start, end - start)


def _list_like(like: pa.Array, values: pa.Array, type_: pa.DataType, mask: pa.Array | None) -> pa.Array:
    """A list array with the rows of `like` and other elements."""
    if pa.types.is_fixed_size_list(type_):
        return pa.FixedSizeListArray.from_arrays(values, type=type_, mask=mask)
    offsets = pc.subtract(like.offsets, like.offsets[0])
    kind = pa.LargeListArray if pa.types.is_large_list(type_) else pa.ListArray
    return kind.from_arrays(offsets, values, type=type_, mask=mask)
