"""Traverses nested Arrow types: finds, prunes, merges and replaces nested columns.

Columns that are not replaced keep their buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.kernels.arrow.nested import Names, children, unwrap, with_children
from shredlake.parquet.format.schema import SchemaNode
from shredlake.parquet.variant_columns import list_element


def dictionaries_fit(columns: Iterable[pa.Array]) -> bool:
    """Whether the indexes of all dictionaries, at any depth, are in range. pyarrow reads them unchecked.

    >>> wrong = pa.DictionaryArray.from_arrays(pa.array([0, 7]), pa.array(["a"]), safe=False)
    >>> dictionaries_fit([wrong]), dictionaries_fit([wrong.slice(0, 1)])
    (False, True)
    """
    for column in columns:
        if pa.types.is_dictionary(column.type):
            low, high = (end.as_py() for end in pc.min_max(column.indices).values())
            if low is not None and (low < 0 or high >= len(column.dictionary)):
                return False
        elif children(column.type):
            stored = column.storage if isinstance(column, pa.ExtensionArray) else column
            if not dictionaries_fit(unwrap(stored)[0]):
                return False
    return True


def find_types(schema: pa.Schema, wanted: Callable[[pa.DataType], bool]) -> dict[Names, pa.DataType]:
    """Finds columns of the wanted type at any depth, but not inside each other.

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
    for step, field in children(type_):
        yield from _find(field.type, (*names, *step), wanted)


def leaf_types(schema: pa.Schema) -> list[pa.DataType]:
    """The types of a schema's leaves, numbered as Parquet's columns.

    >>> leaf_types(pa.schema([("a", pa.int8()), ("m", pa.map_(pa.string(), pa.list_(pa.date32())))]))
    [DataType(int8), DataType(string), DataType(date32[day])]
    """
    return [leaf for field in schema for leaf in _leaves(field.type)]


def _leaves(type_: pa.DataType) -> list[pa.DataType]:
    below = children(type_)
    return [leaf for _, field in below for leaf in _leaves(field.type)] if below else [type_]


def prune_schema(schema: pa.Schema, wanted: frozenset[int]) -> pa.Schema:
    """Prunes a schema to some of its leaves; maps and extension types stay whole.

    >>> nested = pa.struct([("x", pa.int8()), ("y", pa.list_(pa.int8()))])
    >>> schema = pa.schema([("a", pa.int8()), ("s", nested), ("b", pa.int8())])
    >>> pruned = prune_schema(schema, frozenset({0, 2}))
    >>> [(field.name, str(field.type)) for field in pruned]
    [('a', 'int8'), ('s', 'struct<y: list<item: int8>>')]
    """
    next_leaf = 0

    def prune(field: pa.Field) -> pa.Field | None:
        nonlocal next_leaf
        below = children(field.type)
        if not below:
            next_leaf += 1
            return field if next_leaf - 1 in wanted else None
        kept = [child for child in (prune(inner) for _, inner in below) if child is not None]
        if not kept:
            return None
        whole = pa.types.is_map(field.type) or isinstance(field.type, pa.BaseExtensionType)
        return field if whole else field.with_type(with_children(field.type, kept))

    return pa.schema([field for field in map(prune, schema) if field is not None])


def merge(parts: Sequence[pa.Array], full: pa.DataType) -> pa.Array:
    """Joins arrays that hold different leaves of one nested column, for the same rows.

    >>> whole = pa.array([{"a": 1, "b": "x"}, None])
    >>> left, right = (whole.cast(pa.struct([field])) for field in whole.type)
    >>> merge([right, left], whole.type).equals(whole)
    True
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    if pa.types.is_struct(full):
        arrays, fields = [], []
        for field in full:
            held = [part.field(field.name) for part in parts if part.type.get_field_index(field.name) >= 0]
            if held:
                arrays.append(merge(held, field.type))
                fields.append(field.with_type(arrays[-1].type))
        mask = pc.is_null(first) if first.null_count else None
        return pa.StructArray.from_arrays(arrays, fields=fields, mask=mask)
    if pa.types.is_map(full) or not children(full):
        raise TypeError(f"a {full} can't be read in parts")
    [_], wrap = unwrap(first)
    inner = merge([unwrap(part)[0][0] for part in parts], full.value_type)
    return wrap([inner], with_children(full, [full.value_field.with_type(inner.type)]))


@dataclass(frozen=True)
class Replacement:
    """The new type of a nested column, and the function that converts its arrays."""

    type: pa.DataType
    make: Callable[[pa.Array], pa.Array]


def replace_columns(table: pa.Table, replacements: Mapping[Names, Replacement]) -> pa.Table:
    """Replaces some nested columns of a table.

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
        for step, field in children(type_)
    ]
    return with_children(type_, fields)


def _replaced(array: pa.Array, names: Names, replacements: Mapping[Names, Replacement]) -> pa.Array:
    if names in replacements:
        return replacements[names].make(array)
    if not _touches(names, replacements):
        return array
    steps = children(array.type)
    columns, wrap = unwrap(array)
    inner = [
        _replaced(child, (*names, *step), replacements)
        for child, (step, _) in zip(columns, steps, strict=True)
    ]
    return wrap(inner, _with_types_of(inner, array.type))


def replace_variants(
    array: pa.Array,
    node: SchemaNode,
    variants: Collection[Names],
    convert: Callable[[pa.Array, Names], pa.Array],
) -> pa.Array:
    """Converts each Variant in the array, at any depth; `node` is the array's schema node in the file.

    Writers name the levels of lists and maps differently, so levels are matched by structure, not by name.
    """
    if node.path in variants:
        return convert(array, node.path)
    if not any(path[: len(node.path)] == node.path for path in variants):
        return array
    columns, wrap = unwrap(array)
    inner = [
        replace_variants(child, below, variants, convert)
        for child, below in zip(columns, _below(node, array.type), strict=True)
    ]
    return wrap(inner, _with_types_of(inner, array.type))


def _below(node: SchemaNode, type_: pa.DataType) -> list[SchemaNode]:
    """The schema nodes of a nested type's fields."""
    if pa.types.is_struct(type_):
        return [node.find((field.name,)) for field in type_]
    if pa.types.is_map(type_):
        return list(node.children[0].children)
    return [list_element(node) or node.children[0]]


def _with_types_of(columns: Sequence[pa.Array], type_: pa.DataType) -> pa.DataType:
    """The nested type with the types of these columns as its fields."""
    below = zip(children(type_), columns, strict=True)
    return with_children(type_, [field.with_type(column.type) for (_, field), column in below])
