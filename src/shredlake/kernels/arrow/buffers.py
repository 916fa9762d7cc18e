"""Splits Variant columns into buffers for the kernels, and builds columns from their results."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.errors import InvalidSchema, InvalidValue, MalformedVariant
from shredlake.formatting import kind_of
from shredlake.kernels.arrow.flat_schema import Plan
from shredlake.kernels.arrow.normalize import as_binary, unwrapped
from shredlake.kernels.arrow.types import shredding_schema
from shredlake.kernels.threads import Column
from shredlake.shredding.schema import Array, Object, ShreddingSchema


def no_values(plan: Plan, rows: int, index: int = 0) -> list[pa.Array]:
    """An all-null `value` of a node, and its `typed_value` if it has one."""
    node = plan.nodes[index]
    value = pa.nulls(rows, pa.binary())
    zeros = value.buffers()[0] or (pa.py_buffer(bytes(rows + 7 >> 3)) if rows else None)
    match node.node:
        case Object():
            fields = sorted(child for _, child in node.fields)
            children = [_empty_group(plan, rows, child) for child in fields]
            return [value, pa.Array.from_buffers(node.typed_type, rows, [zeros], rows, children=children)]
        case Array():
            buffers = [zeros, pa.nulls(rows + 1, pa.int32()).buffers()[1]]
            children = [_empty_group(plan, 0, node.element)]
            return [value, pa.Array.from_buffers(node.typed_type, rows, buffers, rows, children=children)]
    return [value] if node.typed_type is None else [value, pa.nulls(rows, node.typed_type)]


def _empty_group(plan: Plan, rows: int, index: int) -> pa.StructArray:
    """The required group of a missing field or element."""
    type_ = plan.nodes[index].group_type
    return pa.Array.from_buffers(type_, rows, [None], 0, children=no_values(plan, rows, index))


def group_of(value: pa.Array | None, typed: pa.Array | None) -> pa.StructArray:
    """Builds the required group of a field or an element from its parts."""
    parts = {"value": value, "typed_value": typed}
    fields = [pa.field(name, part.type) for name, part in parts.items() if part is not None]
    arrays = [part for part in parts.values() if part is not None]
    return pa.Array.from_buffers(pa.struct(fields), len(arrays[0]), [None], 0, children=arrays)


def column_of(
    metadata: pa.Array, value: pa.Array | None, typed: pa.Array | None, validity: pa.Array | None
) -> pa.StructArray:
    """Builds a Variant column from its parts; `validity` (see `validity_of`) marks null rows.

    Metadata is never null, not even in a null row, because writers reject nulls in a required field.
    """
    if metadata.null_count:
        metadata = pc.fill_null(metadata, b"")
    parts = {"value": value, "typed_value": typed}
    fields = [
        pa.field("metadata", metadata.type, nullable=False),
        *(pa.field(name, part.type) for name, part in parts.items() if part is not None),
    ]
    arrays = [metadata, *(part for part in parts.values() if part is not None)]
    nulls = None if validity is None else pc.invert(validity)
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=nulls)


def null_rows(rows: int, type_: pa.DataType) -> pa.Array:
    """Returns null rows of any type whose required fields are not null; pa.nulls makes those null too.

    >>> from shredlake.kernels.arrow.types import variant
    >>> null_rows(1, variant()).field("metadata").to_pylist()
    [b'']
    """
    if not pa.types.is_struct(type_):
        return pa.nulls(rows, type_)
    bitmap = pa.py_buffer(bytes(rows + 7 >> 3))
    return pa.Array.from_buffers(type_, rows, [bitmap], rows, children=_null_fields(rows, type_))


def _null_fields(rows: int, type_: pa.StructType) -> list[pa.Array]:
    return [
        null_rows(rows, field.type) if field.nullable else _zero_rows(rows, field.type) for field in type_
    ]


def _zero_rows(rows: int, type_: pa.DataType) -> pa.Array:
    """Returns rows of any value that takes no space, to fill the null rows of a struct."""
    if pa.types.is_struct(type_):
        return pa.Array.from_buffers(type_, rows, [None], 0, children=_null_fields(rows, type_))
    nothing = pa.nulls(rows, type_)
    if pa.types.is_nested(type_) or type_.num_buffers < 2 or pa.types.is_dictionary(type_):
        return nothing
    return pa.Array.from_buffers(type_, rows, [None, *nothing.buffers()[1:]], 0)


def validity_of(array: pa.Array) -> pa.Array | None:
    """The rows that are not null, as booleans that start at bit 0; None if all rows are valid."""
    return pc.is_valid(array) if array.null_count else None


def part(group: pa.StructArray, name: str) -> pa.Array | None:
    """A field of a struct by name, sliced like the struct, without applying the struct's own nulls."""
    index = group.type.get_field_index(name)
    return group.field(index) if index >= 0 else None


def metadata_of(column: pa.StructArray, first_row: int) -> pa.Array:
    """The metadata of a Variant column as plain binary; raises if a row that is not null lacks it."""
    metadata = as_binary(column.field(column.type.get_field_index("metadata")))
    require_metadata(metadata, validity_of(column), first_row)
    return metadata


def filled(value: pa.Array, column: pa.StructArray) -> pa.Array:
    """The values of an unshredded column, with a Variant null where a row that is not null has none."""
    return pc.fill_null(value, b"\x00") if value.null_count > column.null_count else value


def require_metadata(metadata: pa.Array, needed: pa.Array | None, first_row: int) -> None:
    """Raises for the first of the `needed` rows (None: all) whose metadata is null."""
    if not metadata.null_count:
        return
    lacking = pc.is_null(metadata)
    row = pc.index(lacking if needed is None else pc.and_(lacking, needed), True).as_py()
    if row >= 0:
        raise MalformedVariant(
            f"row {first_row + row}: the metadata is null, but the row is not; a Variant has both parts",
            part="metadata",
        )


def check_column(column: Any) -> Column:
    """Returns the column without its extension type; raises if it is not a valid Variant column."""
    if not isinstance(column, pa.Array | pa.ChunkedArray):
        raise InvalidSchema(f"expected a pyarrow Array or ChunkedArray, found {kind_of(column)}")
    column = unwrapped(column)
    shredding_schema(column.type)  # raises if it is not one
    try:
        column.validate()  # checks buffer sizes only; the parts that kernels read are fully `checked`
    except pa.ArrowException as error:
        raise InvalidValue(f"the Arrow column is invalid: {error}") from None
    return column


def check_schema(schema: Any) -> None:
    """Raises an error unless the object is a ShreddingSchema (its text is not one)."""
    if not isinstance(schema, ShreddingSchema):
        raise InvalidSchema(
            f"expected a ShreddingSchema, found {kind_of(schema)}: {schema!r}; "
            "ShreddingSchema.parse reads one from text"
        )


def address(buffer: pa.Buffer | None) -> int:
    """Returns the address of a buffer; 0 for None."""
    return 0 if buffer is None else buffer.address


def size_of(buffer: pa.Buffer | None) -> int:
    """Returns the size of a buffer; 0 for None."""
    return 0 if buffer is None else buffer.size
