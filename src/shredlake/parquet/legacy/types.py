"""Arrow types of the draft layout, and conversion between its columns and rows of the reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from shredlake.errors import InvalidSchema
from shredlake.kernels.arrow.nested import Names
from shredlake.kernels.arrow.rows import from_shredded, to_shredded
from shredlake.kernels.arrow.types import (
    is_binary_like,
    is_list_like,
    is_variant,
    shredding_schema,
    typed_value_type,
)
from shredlake.parquet.nested import find_types
from shredlake.shredding.legacy import PARTS, UNTYPED_SPELLINGS, DraftNode, DraftValue
from shredlake.shredding.reference import MISSING, Shredded
from shredlake.shredding.schema import ARRAY_ELEMENT, Scalar, Steps, node_path


def draft_type(node: DraftNode) -> pa.StructType:
    """The Arrow type of a draft level; everything in it is optional.

    >>> from shredlake.shredding.legacy import draft_node
    >>> from shredlake.shredding.schema import ShreddingSchema
    >>> draft_type(draft_node(ShreddingSchema.parse("bigint")))
    StructType(struct<untyped_value: binary, typed_value: int64>)
    """
    return pa.struct([pa.field(part, _part_type(node, part)) for part in node.parts])


def _part_type(node: DraftNode, part: str) -> pa.DataType:
    if part == "object" and node.object is not None:
        return pa.struct([pa.field(name, draft_type(child)) for name, child in node.object.items()])
    if part == "array" and node.array is not None:
        return pa.list_(pa.field("element", draft_type(node.array)))
    if part == "typed_value" and node.typed is not None:
        return typed_value_type(node.typed)
    return pa.binary()


def is_draft(type_: pa.DataType) -> bool:
    """Whether a column has the shape of the draft layout: known parts, one of them a residual.

    >>> is_draft(pa.struct([("untyped_value", pa.binary()), ("typed_value", pa.int64())]))
    True
    >>> is_draft(pa.struct([("metadata", pa.binary()), ("value", pa.binary())]))
    False
    """
    if not pa.types.is_struct(type_):
        return False
    types = {field.name: field.type for field in type_ if not field.name.startswith("_")}
    residuals = [types[name] for name in UNTYPED_SPELLINGS if name in types]
    if residuals:
        return (
            all(is_binary_like(residual) for residual in residuals)
            and not {"metadata", "value"} & types.keys()
        )
    try:
        # Without a residual at the top, every level below must be valid; a lone typed_value proves nothing.
        return bool(types.keys() & {"object", "array"}) and draft_schema(type_) is not None
    except InvalidSchema:
        return False


def draft_types(schema: pa.Schema) -> dict[Names, pa.DataType]:
    """The columns in the draft layout at any depth, except inside Variants of the current layout.

    >>> level = pa.struct([("variant_value", pa.binary()), ("typed_value", pa.int64())])
    >>> list(draft_types(pa.schema([("v", level), ("id", pa.int64())])))
    [('v',)]
    """
    found = find_types(schema, lambda type_: is_variant(type_) or is_draft(type_))
    return {names: type_ for names, type_ in found.items() if not is_variant(type_)}


def draft_schema(type_: pa.DataType, steps: Steps = ()) -> DraftNode:
    """Derives the draft level from an Arrow type. Parts that start with `_` are ignored, unknown ones raise.

    >>> draft_schema(pa.struct([("untyped_value", pa.binary()), ("other", pa.int8())]))
    Traceback (most recent call last):
    ...
    shredlake.errors.InvalidSchema: $: unknown part 'other' of the draft layout; expected untyped_value, ...
    """
    where = node_path(steps)
    if not pa.types.is_struct(type_):
        raise InvalidSchema(f"expected a group of the draft layout, found {type_}", path=where)
    parts = [field.name for field in type_ if not field.name.startswith("_")]
    for part in parts:
        if part not in PARTS:
            raise InvalidSchema(
                f"unknown part {part!r} of the draft layout; expected {', '.join(PARTS)}", path=where
            )
    if len(parts) != len(set(parts)) or not parts:
        raise InvalidSchema(f"expected parts of the draft layout, each once, found {parts}", path=where)
    untyped = [part for part in UNTYPED_SPELLINGS if part in parts]
    if len(untyped) > 1 or not all(is_binary_like(type_.field(part).type) for part in untyped):
        raise InvalidSchema(f"expected one binary untyped_value or variant_value, found {type_}", path=where)
    return DraftNode(
        untyped=untyped[0] if untyped else None,
        object=_object_of(type_.field("object").type, steps) if "object" in parts else None,
        array=_array_of(type_.field("array").type, steps) if "array" in parts else None,
        typed=_scalar_of(type_.field("typed_value").type, steps) if "typed_value" in parts else None,
        parts=tuple(parts),
    )


def _object_of(type_: pa.DataType, steps: Steps) -> dict[str, DraftNode]:
    if not pa.types.is_struct(type_) or not type_.num_fields:
        raise InvalidSchema(f"object must be a group of fields, found {type_}", path=node_path(steps))
    return {field.name: draft_schema(field.type, (*steps, field.name)) for field in type_}


def _array_of(type_: pa.DataType, steps: Steps) -> DraftNode:
    if not is_list_like(type_):
        raise InvalidSchema(f"array must be a list, found {type_}", path=node_path(steps))
    return draft_schema(type_.value_type, (*steps, ARRAY_ELEMENT))


def _scalar_of(type_: pa.DataType, steps: Steps) -> Scalar:
    if pa.types.is_nested(type_):
        raise InvalidSchema(
            f"typed_value must be a scalar in the draft layout, found {type_}", path=node_path(steps)
        )
    beside = pa.field("metadata", pa.binary())
    try:
        schema = shredding_schema(pa.struct([beside, pa.field("typed_value", type_)]))
    except InvalidSchema as error:
        raise InvalidSchema(error.problem, path=node_path(steps)) from None
    assert schema is not None
    assert isinstance(schema.root, Scalar)
    return schema.root


def draft_rows(array: pa.StructArray, node: DraftNode) -> list[DraftValue | None]:
    """Converts a draft column to values of the reference; None for a null group."""
    nothing: list[Any] = [None] * len(array)
    untyped = nothing if node.untyped is None else array.field(node.untyped).to_pylist()
    objects = nothing if node.object is None else _object_rows(array.field("object"), node.object)
    arrays = nothing if node.array is None else _array_rows(array.field("array"), node.array)
    typed = nothing
    if node.typed is not None:
        typed = [row.typed_value for row in to_shredded(None, array.field("typed_value"), node.typed)]
    return [
        DraftValue(*parts) if valid else None
        for valid, *parts in zip(array.is_valid().to_pylist(), untyped, objects, arrays, typed, strict=True)
    ]


def _object_rows(array: pa.StructArray, fields: Any) -> list[Any]:
    columns = {name: draft_rows(array.field(name), child) for name, child in fields.items()}
    return [
        {name: column[row] for name, column in columns.items()} if valid else None
        for row, valid in enumerate(array.is_valid().to_pylist())
    ]


def _array_rows(array: pa.Array, element: DraftNode) -> list[Any]:
    lists = array.cast(pa.large_list(array.type.value_field))
    elements = draft_rows(lists.values, element)
    ends = lists.offsets.to_pylist()
    return [
        elements[ends[row] : ends[row + 1]] if valid else None
        for row, valid in enumerate(lists.is_valid().to_pylist())
    ]


def draft_array(rows: Sequence[DraftValue | None], node: DraftNode) -> pa.StructArray:
    """Builds a draft column from rows; the inverse of `draft_rows`."""
    parts: dict[str, pa.Array] = {}
    if node.untyped is not None:
        parts[node.untyped] = pa.array([None if row is None else row.untyped for row in rows], pa.binary())
    if node.object is not None:
        objects = [None if row is None else row.object for row in rows]
        fields = [
            draft_array([None if value is None else value.get(name) for value in objects], child)
            for name, child in node.object.items()
        ]
        parts["object"] = pa.StructArray.from_arrays(
            fields, fields=list(_part_type(node, "object")), mask=_nulls(objects)
        )
    if node.array is not None:
        arrays = [None if row is None else row.array for row in rows]
        ends = [0]
        for values in arrays:
            ends.append(ends[-1] + len(values or ()))
        elements = draft_array([value for values in arrays for value in values or ()], node.array)
        parts["array"] = pa.ListArray.from_arrays(
            pa.array(ends, pa.int32()), elements, type=_part_type(node, "array"), mask=_nulls(arrays)
        )
    if node.typed is not None:
        typed = [MISSING if row is None else Shredded(None, row.typed) for row in rows]
        parts["typed_value"] = from_shredded(typed, node.typed)[1]
    return pa.StructArray.from_arrays(
        [parts[part] for part in node.parts], fields=list(draft_type(node)), mask=_nulls(rows)
    )


def _nulls(rows: Sequence[object]) -> pa.Array:
    return pa.array([row is None for row in rows], pa.bool_())
