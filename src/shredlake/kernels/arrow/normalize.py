"""Converts Arrow columns to the one normal form that kernels read.

Arrow spells one thing in many ways: offsets of 32 or 64 bits, views, lists as views, dictionaries, runs,
extension types around all of them. Kernels read one spelling of each; others are laid out anew here:

```
unencoded  a dictionary, runs or an extension type (but uuid, a type of its own)  ─▶ the values themselves
as_binary  bytes or texts of any layout                                           ─▶ binary, 32-bit offsets
as_list    lists of any layout                                                    ─▶ list, 32-bit offsets
normal     all of that, however nested, for what Arrow itself is to read
checked    offsets, views, indices and runs that point outside their buffers      ─▶ an InvalidValue
```

pyarrow takes an array from other libraries, and from IPC messages, without a look at its offsets, and reads
wherever they point. So every array is `checked` before a kernel or one of Arrow's own functions reads it.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.errors import InvalidValue
from shredlake.kernels.threads import Column

_UNREAD_TEXT: Final[dict[pa.DataType, pa.DataType]] = {
    pa.string(): pa.binary(),
    pa.large_string(): pa.large_binary(),
    pa.string_view(): pa.binary_view(),
}
"""Texts as bytes: what the bytes say is for the kernels to judge, with the number of the row."""

_WITHOUT_VIEWS: Final[dict[pa.DataType, pa.DataType]] = {
    pa.string_view(): pa.string(),
    pa.binary_view(): pa.binary(),
}

_LARGE: Final[dict[pa.DataType, pa.DataType]] = {
    pa.string_view(): pa.large_string(),
    pa.binary_view(): pa.large_binary(),
}
"""Views in a layout without them."""


def unencoded_type(type_: pa.DataType) -> pa.DataType:
    """The type that `unencoded` makes of an array of this type.

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
    """The values of an array that holds them as a dictionary, as runs, or in an extension type.

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
    """Values in a layout that Arrow takes rows from: pyarrow 26 can't take views."""
    return values.cast(_LARGE[values.type]) if values.type in _LARGE else values


def _runs(array: pa.RunEndEncodedArray) -> pa.Array:
    """Which run each row belongs to; pyarrow 26 decodes runs of few types only."""
    numbers = pa.array(range(len(array.values)), pa.int64())
    type_ = pa.run_end_encoded(array.run_ends.type, numbers.type)
    runs = pa.Array.from_buffers(
        type_, len(array), [None], offset=array.offset, children=[array.run_ends, numbers]
    )
    return pc.run_end_decode(runs)


def unwrapped(column: Column) -> Column:
    """A column of an extension type (but uuid) as its storage: as in `arrow.parquet.variant`.

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
    """Bytes in Arrow's plain layout with 32-bit offsets, whatever layout they come in.

    >>> as_binary(pa.array([b"x"], pa.binary_view())).type
    DataType(binary)
    """
    array = unencoded(checked(array))
    return array if array.type == pa.binary() else array.cast(pa.binary())


def as_list(array: pa.Array) -> pa.ListArray:
    """Lists in Arrow's plain layout with 32-bit offsets.

    Views and lists of a fixed size are laid out by hand: pyarrow 26 casts views of structs to empty lists
    behind the first null, and slices of either kind wrongly.

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
    """The same array; an InvalidValue if it says that its values lie outside its buffers.

    >>> import struct
    >>> offsets = pa.py_buffer(struct.pack("<3i", 0, 5000, 2))
    >>> checked(pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"ab")]))
    Traceback (most recent call last):
    ...
    shredlake.errors.InvalidValue: an Arrow column of type string points outside its own buffers: ...
    """
    try:
        array.validate()  # sizes of buffers, first and last offsets: takes no time
        _shape(array).validate(full=True)
    except pa.ArrowException as error:
        raise InvalidValue(
            f"an Arrow column of type {array.type} points outside its own buffers: {error}; the library "
            "that made it is at fault (array.validate(full=True) shows the same)"
        ) from None
    return array


def _shape(array: pa.Array) -> pa.Array:
    """The array with its offsets, views, indices and runs, but without what its values mean."""
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
    return pa.nulls(len(array))  # of a fixed width: its buffers are long enough, any content is a value


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
    """The rows of an array over buffers of its own, as another type."""
    return pa.Array.from_buffers(type_, len(array), buffers, offset=array.offset, children=children)


def normal_type(type_: pa.DataType) -> pa.DataType:
    """The type that `normal` makes of an array of this type: the same if nothing is to be done.

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
    if pa.types.is_struct(type_):
        return pa.struct([_normal_field(field) for field in type_])
    if pa.types.is_map(type_):
        return pa.map_(_normal_field(type_.key_field), _normal_field(type_.item_field), type_.keys_sorted)
    if pa.types.is_fixed_size_list(type_):
        return pa.list_(_normal_field(type_.value_field), type_.list_size)
    if pa.types.is_large_list(type_):
        return pa.large_list(_normal_field(type_.value_field))
    if pa.types.is_nested(type_) and not pa.types.is_union(type_):
        return pa.list_(_normal_field(type_.value_field))
    return type_


def _normal_field(field: pa.Field) -> pa.Field:
    return field.with_type(normal_type(field.type))


def normal(array: pa.Array) -> pa.Array:
    """An array, however nested, in layouts that Arrow's own functions and Parquet writer take.

    Views become plain lists, texts and bytes, runs and extension types their values; the rest stays.

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
    """The validity of an array from bit 0 on."""
    return pc.is_valid(array).buffers()[1] if array.null_count else None


def normal_schema(schema: pa.Schema) -> pa.Schema:
    """The schema that `normal_table` gives a table.

    >>> normal_schema(pa.schema([("a", pa.string_view())])).field("a").type
    DataType(string)
    """
    return pa.schema([_normal_field(field) for field in schema], schema.metadata)


def normal_table(table: pa.Table) -> pa.Table:
    """A table in normal layouts; itself if it is.

    >>> normal_table(pa.table({"a": pa.array(["x"], pa.string_view())})).schema.field("a").type
    DataType(string)
    """
    schema = normal_schema(table.schema)
    if schema.equals(table.schema):
        return table
    columns = [
        column
        if column.type == field.type
        else pa.chunked_array([normal(checked(chunk)) for chunk in column.chunks], field.type)
        for column, field in zip(table.columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)
