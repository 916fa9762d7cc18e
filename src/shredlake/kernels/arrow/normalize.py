"""Converts Arrow columns to the normal form that kernels read.

Arrow has several layouts for the same values: 32 or 64-bit offsets, views, list views, dictionaries, runs,
and extension types around all of them. Kernels read one layout of each; others are converted here:

```
unencoded  a dictionary, runs or an extension type (except uuid)                 ─▶ the values themselves
as_binary  bytes or texts of any layout                                           ─▶ binary, 32-bit offsets
as_list    lists of any layout                                                    ─▶ list, 32-bit offsets
normal     all of these at any depth, for Arrow's own functions
checked    offsets, views, indices and runs that point outside their buffers      ─▶ an InvalidValue
```

pyarrow accepts arrays from other libraries and from IPC messages without checking their offsets, and reads
wherever they point. So every array is `checked` before a kernel or one of Arrow's functions reads it.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.errors import InvalidValue
from shredlake.kernels.arrow.nested import children, with_children
from shredlake.kernels.threads import Column

_UNREAD_TEXT: Final[dict[pa.DataType, pa.DataType]] = {
    pa.string(): pa.binary(),
    pa.large_string(): pa.large_binary(),
    pa.string_view(): pa.binary_view(),
}
"""Strings as bytes: the kernels check their UTF-8, so that errors have a row number."""

_WITHOUT_VIEWS: Final[dict[pa.DataType, pa.DataType]] = {
    pa.string_view(): pa.string(),
    pa.binary_view(): pa.binary(),
}

_LARGE: Final[dict[pa.DataType, pa.DataType]] = {
    pa.string_view(): pa.large_string(),
    pa.binary_view(): pa.large_binary(),
}
"""Layouts with views, and their equivalents without."""


def unencoded_type(type_: pa.DataType) -> pa.DataType:
    """The type that `unencoded` gives an array of this type.

    >>> unencoded_type(pa.dictionary(pa.int8(), pa.run_end_encoded(pa.int16(), pa.string())))
    DataType(string)
    """
    while True:
        if pa.types.is_dictionary(type_) or pa.types.is_run_end_encoded(type_):
            type_ = type_.value_type
        elif isinstance(type_, pa.BaseExtensionType) and type_ != pa.uuid():
            type_ = type_.storage_type
        else:
            return type_


def unencoded(array: pa.Array) -> pa.Array:
    """Decodes an array that stores its values as a dictionary, as runs, or in an extension type.

    >>> unencoded(pa.array(["a", "b", "a"]).dictionary_encode()).type
    DataType(string)
    """
    while True:
        type_ = array.type
        if pa.types.is_dictionary(type_):
            array = _takeable(array.dictionary).take(array.indices)
        elif pa.types.is_run_end_encoded(type_):
            array = _takeable(array.values).take(_runs(array))
        elif isinstance(type_, pa.BaseExtensionType) and type_ != pa.uuid():
            array = array.storage
        else:
            return array


def _takeable(values: pa.Array) -> pa.Array:
    """Converts values to a layout that `take` supports: pyarrow 26 can't take views."""
    return values.cast(_LARGE[values.type]) if values.type in _LARGE else values


def _runs(array: pa.RunEndEncodedArray) -> pa.Array:
    """The run of each row; pyarrow 26 decodes runs of only a few types."""
    numbers = pa.array(range(len(array.values)), pa.int64())
    type_ = pa.run_end_encoded(array.run_ends.type, numbers.type)
    runs = pa.Array.from_buffers(
        type_, len(array), [None], offset=array.offset, children=[array.run_ends, numbers]
    )
    return pc.run_end_decode(runs)


def unwrapped(column: Column) -> Column:
    """Replaces an extension type (except uuid), such as `arrow.parquet.variant`, by its storage.

    >>> unwrapped(pa.array([1])).type
    DataType(int64)
    """
    type_ = column.type
    if not isinstance(type_, pa.BaseExtensionType) or type_ == pa.uuid():
        return column
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([chunk.storage for chunk in column.chunks], type_.storage_type)
    return column.storage


def as_binary(array: pa.Array) -> pa.Array:
    """Converts binary or string data of any layout to binary with 32-bit offsets.

    >>> as_binary(pa.array([b"x"], pa.binary_view())).type
    DataType(binary)
    """
    array = unencoded(checked(array))
    return array if array.type == pa.binary() else array.cast(pa.binary())


def as_list(array: pa.Array) -> pa.ListArray:
    """Converts lists of any layout to lists with 32-bit offsets.

    Views and fixed-size lists are converted here: pyarrow 26 casts views of structs to empty lists after the
    first null, and slices of either kind incorrectly.

    >>> as_list(pa.array([[1], None], pa.list_view(pa.int8()))).type
    ListType(list<item: int8>)
    """
    array = unencoded(array)
    if pa.types.is_list(array.type):
        return array
    type_ = pa.list_(array.type.value_field)
    if pa.types.is_large_list(array.type):
        return array.cast(type_)
    ends = pc.cumulative_sum(pc.fill_null(pc.list_value_length(array), 0)).cast(pa.int32())
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    buffers = [_bitmap(array), offsets.buffers()[1]]
    return pa.Array.from_buffers(type_, len(array), buffers, array.null_count, children=[array.flatten()])


def checked(array: pa.Array) -> pa.Array:
    """Returns the array; raises InvalidValue if its offsets point outside its buffers.

    >>> import struct
    >>> offsets = pa.py_buffer(struct.pack("<3i", 0, 5000, 2))
    >>> checked(pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"ab")]))
    Traceback (most recent call last):
    ...
    shredlake.errors.InvalidValue: an Arrow column of type string points outside its own buffers: ...
    """
    try:
        array.validate()  # buffer sizes, first and last offsets; takes no time
        _shape(array).validate(full=True)
    except pa.ArrowException as error:
        raise InvalidValue(
            f"an Arrow column of type {array.type} points outside its own buffers: {error}. The library "
            "that created it is at fault (array.validate(full=True) shows the same)"
        ) from None
    return array


def checked_table(table: pa.Table) -> pa.Table:
    """Returns the table, all of its columns `checked`.

    >>> checked_table(pa.table({"a": [1]})).num_rows
    1
    """
    for column in table.columns:
        for chunk in column.chunks:
            checked(chunk)
    return table


def _shape(array: pa.Array) -> pa.Array:
    """The array with its offsets, views, indices and runs, but without its values."""
    type_ = array.type
    if isinstance(type_, pa.BaseExtensionType):
        return _shape(array.storage)
    if type_ in _UNREAD_TEXT:
        return _in_place(array, _UNREAD_TEXT[type_], array.buffers())
    if pa.types.is_struct(type_):
        children = [_shape(array.field(index)) for index in range(type_.num_fields)]
        fields = [pa.field(str(index), child.type) for index, child in enumerate(children)]
        return pa.Array.from_buffers(pa.struct(fields), len(array), [None], children=children)
    if pa.types.is_map(type_):
        pairs = pa.StructArray.from_arrays([_shape(array.keys), _shape(array.items)], ["0", "1"])
        return _in_place(array, pa.list_(pairs.type), [None, array.buffers()[1]], [pairs])
    if pa.types.is_dictionary(type_):
        return pa.DictionaryArray.from_arrays(array.indices, _shape(array.dictionary), safe=False)
    if pa.types.is_run_end_encoded(type_):
        values = _shape(array.values)
        made = pa.run_end_encoded(type_.run_end_type, values.type)
        return _in_place(array, made, [None], [array.run_ends, values])
    if pa.types.is_nested(type_) and not pa.types.is_union(type_):
        return _shape_of_list(array)
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_) or pa.types.is_binary_view(type_):
        return array
    return pa.nulls(len(array))  # fixed width: its buffers are long enough, and any content is valid


def _shape_of_list(array: pa.Array) -> pa.Array:
    type_ = array.type
    values = _shape(array.values)
    if pa.types.is_fixed_size_list(type_):
        return values
    makes = {
        pa.types.is_large_list: pa.large_list,
        pa.types.is_list_view: pa.list_view,
        pa.types.is_large_list_view: pa.large_list_view,
    }
    make = next((make for matches, make in makes.items() if matches(type_)), pa.list_)
    offsets = array.buffers()[1 : 3 if make in (pa.list_view, pa.large_list_view) else 2]
    return _in_place(array, make(values.type), [None, *offsets], [values])


def _in_place(
    array: pa.Array,
    type_: pa.DataType,
    buffers: list[pa.Buffer | None],
    children: list[pa.Array] | None = None,
) -> pa.Array:
    """The rows of an array over the given buffers, as another type."""
    return pa.Array.from_buffers(type_, len(array), buffers, offset=array.offset, children=children)


def normal_type(type_: pa.DataType) -> pa.DataType:
    """The type that `normal` gives an array of this type; unchanged if it is already normal.

    >>> normal_type(pa.struct([("a", pa.list_view(pa.string_view()))]))
    StructType(struct<a: list<item: string>>)
    """
    if type_ == pa.uuid():
        return type_
    if isinstance(type_, pa.BaseExtensionType):
        return normal_type(type_.storage_type)
    if pa.types.is_run_end_encoded(type_):
        return normal_type(type_.value_type)
    if pa.types.is_dictionary(type_):
        value = normal_type(type_.value_type)
        return type_ if value == type_.value_type else value
    if type_ in _WITHOUT_VIEWS:
        return _WITHOUT_VIEWS[type_]
    if below := children(type_):
        return with_children(type_, [_normal_field(field) for _, field in below])
    if pa.types.is_list_view(type_) or pa.types.is_large_list_view(type_):
        return pa.list_(_normal_field(type_.value_field))
    return type_


def _normal_field(field: pa.Field) -> pa.Field:
    return field.with_type(normal_type(field.type))


def normal(array: pa.Array) -> pa.Array:
    """Converts an array, at any depth, to layouts that Arrow's functions and Parquet writer support.

    Views become plain lists, strings and binaries; runs and extension types become their values.

    >>> normal(pa.array([["a"]], pa.list_view(pa.string_view()))).type
    ListType(list<item: string>)
    """
    type_ = normal_type(array.type)
    return array if type_ == array.type else _normal(array, type_)


def _normal(array: pa.Array, type_: pa.DataType) -> pa.Array:
    array = unencoded(array)
    if pa.types.is_struct(type_):
        children = [normal(array.field(index)) for index in range(type_.num_fields)]
        return pa.Array.from_buffers(type_, len(array), [_bitmap(array)], children=children)
    if pa.types.is_map(type_):
        pairs = pa.StructArray.from_arrays(
            [normal(array.keys), normal(array.items)], fields=[type_.key_field, type_.item_field]
        )
        return _in_place(array, type_, array.buffers()[:2], [pairs])
    if pa.types.is_nested(type_):
        if pa.types.is_list(type_):
            array = as_list(array)
        buffers = array.buffers()[: 1 if pa.types.is_fixed_size_list(type_) else 2]
        return _in_place(array, type_, buffers, [normal(array.values)])
    return array.cast(type_)


def _bitmap(array: pa.Array) -> pa.Buffer | None:
    """The validity bitmap of an array, starting at bit 0."""
    return pc.is_valid(array).buffers()[1] if array.null_count else None


def normal_schema(schema: pa.Schema) -> pa.Schema:
    """The schema of `normal_table` for a table of this schema.

    >>> normal_schema(pa.schema([("a", pa.string_view())])).field("a").type
    DataType(string)
    """
    return pa.schema([_normal_field(field) for field in schema], schema.metadata)


def normal_table(table: pa.Table) -> pa.Table:
    """Converts a table to normal layouts; returns it unchanged if it is already normal.

    All columns are `checked`.

    >>> normal_table(pa.table({"a": pa.array(["x"], pa.string_view())})).schema.field("a").type
    DataType(string)
    """
    checked_table(table)
    schema = normal_schema(table.schema)
    if schema.equals(table.schema):
        return table
    columns = [
        column
        if column.type == field.type
        else pa.chunked_array([normal(chunk) for chunk in column.chunks], field.type)
        for column, field in zip(table.columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)
