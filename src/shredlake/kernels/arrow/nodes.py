"""An Arrow column as a tree of a few kinds of nodes, which `from_arrow` converts to Variants.

Arrow has several representations for most values (32 and 64-bit offsets, views, dictionaries, units of time).
Arrow's own casts reduce them to one representation here, so that the kernel and the reference handle ten
kinds of nodes instead of forty types.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.errors import InvalidSchema, InvalidValue
from shredlake.kernels.arrow.normalize import unencoded
from shredlake.kernels.arrow.types import is_list_like, is_variant, shredding_schema
from shredlake.kernels.unshred import unshred
from shredlake.variant.path import Path
from shredlake.variant.types import PRIMITIVE_IDS, VariantType

Steps = tuple[str | int, ...]


class Kind(enum.IntEnum):
    """The kind of a node; the numbers are those of from_arrow.pyx."""

    NULL = 0
    BOOLEAN = 1
    FIXED = 2  # `width` bytes, the same in the Variant and in Arrow
    UNSIGNED = 3  # 64 bits: int64 if it fits, else a decimal
    DECIMAL = 4  # 128 bits and a scale
    BYTES = 5  # string or binary, 64-bit offsets
    STRUCT = 6
    LIST = 7  # 64-bit offsets
    MAP = 8  # keys and values
    VARIANT = 9  # unshredded


@dataclass(frozen=True)
class ArrowNode:
    """One level of a column."""

    kind: Kind
    array: pa.Array
    type: VariantType | None = None
    width: int = 0
    scale: int = 0
    names: tuple[str, ...] = ()
    children: tuple[ArrowNode, ...] = ()
    starts: pa.Array | None = None  # for lists and maps: the start of each row's children
    ends: pa.Array | None = None


_FIXED: Final[dict[pa.DataType, tuple[VariantType, pa.DataType, int]]] = {
    pa.int8(): (VariantType.INT8, pa.int8(), 1),
    pa.int16(): (VariantType.INT16, pa.int16(), 2),
    pa.int32(): (VariantType.INT32, pa.int32(), 4),
    pa.int64(): (VariantType.INT64, pa.int64(), 8),
    pa.uint8(): (VariantType.INT16, pa.int16(), 2),
    pa.uint16(): (VariantType.INT32, pa.int32(), 4),
    pa.uint32(): (VariantType.INT64, pa.int64(), 8),
    pa.float16(): (VariantType.FLOAT, pa.float32(), 4),
    pa.float32(): (VariantType.FLOAT, pa.float32(), 4),
    pa.float64(): (VariantType.DOUBLE, pa.float64(), 8),
    pa.date32(): (VariantType.DATE, pa.date32(), 4),
    pa.date64(): (VariantType.DATE, pa.date32(), 4),
    pa.time32("s"): (VariantType.TIME, pa.time64("us"), 8),
    pa.time32("ms"): (VariantType.TIME, pa.time64("us"), 8),
    pa.time64("us"): (VariantType.TIME, pa.time64("us"), 8),
    pa.time64("ns"): (VariantType.TIME, pa.time64("us"), 8),
}
"""Arrow type to Variant type, the Arrow type with the same bytes, and their number."""

_BYTES: Final[tuple[tuple[Callable[[pa.DataType], bool], VariantType], ...]] = (
    (pa.types.is_string, VariantType.STRING),
    (pa.types.is_large_string, VariantType.STRING),
    (pa.types.is_string_view, VariantType.STRING),
    (pa.types.is_binary, VariantType.BINARY),
    (pa.types.is_large_binary, VariantType.BINARY),
    (pa.types.is_binary_view, VariantType.BINARY),
    (pa.types.is_fixed_size_binary, VariantType.BINARY),
)


def node_of(array: pa.Array, steps: Steps = ()) -> ArrowNode:
    """Builds the tree of a contiguous array whose offsets have been checked.

    >>> node_of(pa.array([{"a": 1}])).children[0].type
    <VariantType.INT64: 'int64'>
    """
    array = unencoded(array)
    type_ = array.type
    if type_ == pa.uuid():
        return ArrowNode(Kind.FIXED, array.storage, VariantType.UUID, 16)
    if is_variant(type_):
        return ArrowNode(Kind.VARIANT, array if shredding_schema(type_) is None else unshred(array))
    if pa.types.is_struct(type_):
        return _struct(array, steps)
    if pa.types.is_map(type_):
        return _map(array, steps)
    if is_list_like(type_):
        return _list(array, steps)
    return _scalar(array, steps)


def _struct(array: pa.StructArray, steps: Steps) -> ArrowNode:
    names = tuple(field.name for field in array.type)
    for index, name in enumerate(names):
        if name in names[:index]:
            raise InvalidSchema(
                f"{_path(steps)}: there are two fields named {name!r}, but the keys of an object are unique"
            )
    children = tuple(node_of(array.field(index), (*steps, name)) for index, name in enumerate(names))
    return ArrowNode(Kind.STRUCT, array, names=names, children=children)


def _list(array: pa.Array, steps: Steps) -> ArrowNode:
    """Reads lists in place: pyarrow 26 casts slices of list views and fixed-size lists incorrectly."""
    type_ = array.type
    if pa.types.is_fixed_size_list(type_):
        size = pa.scalar(type_.list_size, pa.int64())
        ends = pc.cumulative_sum(pa.repeat(size, len(array)))
        starts = pc.subtract(ends, size)
        values = array.values.slice(array.offset * type_.list_size, len(array) * type_.list_size)
    elif pa.types.is_list_view(type_) or pa.types.is_large_list_view(type_):
        starts = array.offsets.cast(pa.int64())
        ends = pc.add(starts, array.sizes.cast(pa.int64()))
        values = array.values
    else:
        starts, ends, (values,) = _reached(array, array.values)
    return ArrowNode(Kind.LIST, array, children=(node_of(values, (*steps, 0)),), starts=starts, ends=ends)


def _map(array: pa.MapArray, steps: Steps) -> ArrowNode:
    if _bytes_type(array.type.key_type) is not VariantType.STRING:
        raise InvalidSchema(
            f"{_path(steps)}: the map's keys are {array.type.key_type}, but an object's keys are strings"
        )
    starts, ends, (keys, items) = _reached(array, array.keys, array.items)
    children = (node_of(keys, steps), node_of(items, (*steps, "*")))
    return ArrowNode(Kind.MAP, array, children=children, starts=starts, ends=ends)


def _reached(array: pa.Array, *columns: pa.Array) -> tuple[pa.Array, pa.Array, list[pa.Array]]:
    """The children that the rows of a slice use, and the start and end of each row in them."""
    rows = len(array)
    offsets = array.offsets.cast(pa.int64()) if rows else pa.array([0], pa.int64())
    first, last = offsets[0].as_py(), offsets[rows].as_py()
    offsets = pc.subtract(offsets, first)
    return offsets.slice(0, rows), offsets.slice(1), [column.slice(first, last - first) for column in columns]


def _scalar(array: pa.Array, steps: Steps) -> ArrowNode:
    type_ = array.type
    if type_ in _FIXED:
        variant_type, stored_as, width = _FIXED[type_]
        return ArrowNode(Kind.FIXED, _cast(array, stored_as, steps), variant_type, width)
    if pa.types.is_timestamp(type_):
        unit = "ns" if type_.unit == "ns" else "us"
        return ArrowNode(Kind.FIXED, _cast(array, pa.timestamp(unit, type_.tz), steps), _timestamp(type_), 8)
    bytes_type = _bytes_type(type_)
    if bytes_type is not None:
        if pa.types.is_fixed_size_binary(type_):
            array = array.cast(pa.binary())
        stored_as = pa.large_string() if bytes_type is VariantType.STRING else pa.large_binary()
        return ArrowNode(Kind.BYTES, array.cast(stored_as), bytes_type)
    if pa.types.is_decimal(type_):
        scale = max(type_.scale, 0)
        if scale <= 38:
            return ArrowNode(Kind.DECIMAL, _cast(array, pa.decimal128(38, scale), steps), scale=scale)
    if pa.types.is_boolean(type_):
        return ArrowNode(Kind.BOOLEAN, array)
    if type_ == pa.uint64():
        return ArrowNode(Kind.UNSIGNED, array)
    if pa.types.is_null(type_):
        return ArrowNode(Kind.NULL, array)
    raise InvalidSchema(f"{_path(steps)}: {type_} has no Variant type; cast it first, for example to string")


def _timestamp(type_: pa.TimestampType) -> VariantType:
    if type_.unit == "ns":
        return VariantType.TIMESTAMP_NTZ_NANOS if type_.tz is None else VariantType.TIMESTAMP_NANOS
    return VariantType.TIMESTAMP_NTZ if type_.tz is None else VariantType.TIMESTAMP


def _bytes_type(type_: pa.DataType) -> VariantType | None:
    return next((variant_type for matches, variant_type in _BYTES if matches(type_)), None)


def _cast(array: pa.Array, type_: pa.DataType, steps: Steps) -> pa.Array:
    if array.type == type_:
        return array
    try:
        return array.cast(type_)
    except pa.ArrowInvalid as error:
        raise InvalidValue(f"{_path(steps)}: {array.type} can't be converted to a Variant: {error}") from None


def _path(steps: Steps) -> str:
    return Path(steps).normalized()


def primitive_header(node: ArrowNode) -> int:
    """The header byte of the node's values if all have one primitive type; else 0."""
    return PRIMITIVE_IDS[node.type] << 2 if node.type is not None else 0
