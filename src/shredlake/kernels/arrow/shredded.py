"""Prepares the columns of a shredded Variant for the unshredding kernel, in plain layouts.

Columns come from pyarrow's Parquet reader or other libraries. Layouts that the kernel does not support
(large, view and dictionary layouts, other widths of decimals) are cast; the others are read in place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from shredlake.errors import MalformedVariant
from shredlake.kernels.arrow.buffers import address, part, size_of, validity_of
from shredlake.kernels.arrow.flat_schema import Kind, Plan
from shredlake.kernels.arrow.normalize import as_binary, as_list, checked, unencoded
from shredlake.kernels.arrow.types import typed_value_type
from shredlake.shredding.schema import Array, Node, Object, Scalar
from shredlake.variant.metadata import Dictionary, encode_metadata

LARGEST_ARRAY = (1 << 31) - 1
"""The most bytes in one array's data; more data goes to a second array."""

Part: TypeAlias = tuple[int, int, int, int, int]
"""Validity, Arrow offset, offsets, data, size of the data."""


def largest_array() -> int:
    """The number of bytes that the kernel may write to one array."""
    return LARGEST_ARRAY


@dataclass(frozen=True)
class Columns:
    """A shredded column in plain layouts, and the positions of the columns of a plan's nodes."""

    piece: pa.StructArray
    places: list[tuple[int, int, int]]
    """Per node: its group among its parent's fields, `value` and `typed_value` in the group; -1 if absent."""


def columns_in(piece: pa.StructArray, plan: Plan) -> Columns:
    """The columns of a piece, cast if they are not plain."""
    piece.validate()
    places = places_in(piece.type, plan)
    if places is None:
        piece = _plain_group(checked(piece), plan.root, ("metadata",))
        places = places_in(piece.type, plan)
        assert places is not None
    return Columns(piece, places)


def places_in(type_: pa.StructType, plan: Plan) -> list[tuple[int, int, int]] | None:
    """The positions of the columns of a plan's nodes; None if some are not plain. Cached with the plan."""
    return plan.places.get(type_, lambda _: _places(type_, plan))


def _places(type_: pa.StructType, plan: Plan) -> list[tuple[int, int, int]] | None:
    found = [(-1, -1, -1)] * len(plan.nodes)
    return found if _find_places(type_, 0, 0, plan, found) else None


def _find_places(
    group: pa.StructType, number: int, index: int, plan: Plan, found: list[tuple[int, int, int]]
) -> bool:
    """Adds the positions of a group and of all groups below it; returns whether all of them are plain."""
    node = plan.nodes[index]
    value, typed = group.get_field_index("value"), group.get_field_index("typed_value")
    found[index] = (number, value, typed)
    plain: bool = (
        value < 0 or pa.types.is_string(group.field(value).type) or group.field(value).type == pa.binary()
    )
    if typed < 0:
        return plain
    type_ = group.field(typed).type
    match node.kind:
        case Kind.OBJECT:
            for name, child in node.fields:
                place = type_.get_field_index(plan.names[name].decode())
                plain &= _find_places(type_.field(place).type, place, child, plan, found)
            return plain
        case Kind.ARRAY:
            below = _find_places(type_.value_type, 0, node.element, plan, found)
            return bool(plain and below and pa.types.is_list(type_))
    assert isinstance(node.node, Scalar)
    return plain and _is_plain_scalar(type_, node.node)


def bytes_part(array: pa.Array) -> Part:
    """Returns the addresses and sizes of a binary array."""
    validity, offsets, data = array.buffers()
    valid = address(validity) if array.null_count else 0
    return valid, array.offset, address(offsets), address(data), size_of(data)


def extend_metadata(metadata: pa.Array, names: tuple[bytes, ...]) -> pa.Array:
    """Appends missing names to the metadata, so that existing field ids stay valid.

    Files of other writers may omit names that occur only in shredded columns. Done per distinct dictionary.

    >>> extend_metadata(pa.array([b"\\x01\\x01\\x00\\x01b"]), (b"a", b"b"))[0].as_py()
    b'\\x01\\x02\\x00\\x01\\x02ba'
    """
    encoded = metadata.dictionary_encode()
    return pa.array([_extended(each, names) for each in encoded.dictionary.to_pylist()], pa.binary()).take(
        encoded.indices
    )


def _extended(metadata: bytes, names: tuple[bytes, ...]) -> bytes:
    try:
        dictionary = Dictionary(metadata)
        known = [dictionary.name_bytes(id_) for id_ in range(len(dictionary))]
    except MalformedVariant:
        return metadata  # the kernel reports it with its row, unless the row is null
    missing = [name for name in names if name not in set(known)]
    return encode_metadata([*known, *missing]) if missing else metadata


def _plain_group(group: pa.StructArray, node: Node, others: tuple[str, ...] = ()) -> pa.StructArray:
    """Converts the columns of a node's group to plain layouts."""
    parts = {name: part(group, name) for name in others}
    value, typed = part(group, "value"), part(group, "typed_value")
    if value is not None:
        parts["value"] = value if pa.types.is_string(value.type) else as_binary(value)
    if typed is not None:
        parts["typed_value"] = _plain_typed(typed, node)
    return _struct(group, parts)


def _plain_typed(typed: pa.Array, node: Node) -> pa.Array:
    match node:
        case Object(fields):
            return _struct(typed, {name: _plain_group(part(typed, name), child) for name, child in fields})
        case Array(element):
            typed = as_list(typed)
            values = _plain_group(typed.values, element)
            type_ = pa.list_(pa.field("element", values.type, nullable=False))
            offsets = pa.concat_arrays([typed.offsets]).buffers()[1]
            return pa.Array.from_buffers(type_, len(typed), [_bitmap(typed), offsets], children=[values])
    assert isinstance(node, Scalar)
    return _plain_scalar(typed, node)


def _struct(like: pa.StructArray, parts: dict[str, pa.Array]) -> pa.StructArray:
    """A struct of the given parts, with the nulls of another struct."""
    type_ = pa.struct([pa.field(name, array.type) for name, array in parts.items()])
    return pa.Array.from_buffers(type_, len(like), [_bitmap(like)], children=list(parts.values()))


def _bitmap(array: pa.Array) -> pa.Buffer | None:
    """The validity bitmap of an array, starting at bit 0."""
    validity = validity_of(array)
    return None if validity is None else validity.buffers()[1]


def _is_plain_scalar(type_: pa.DataType, node: Scalar) -> bool:
    """Whether a scalar column has the layout of `shredded_type`."""
    wanted = typed_value_type(node)
    # A timestamp is stored in UTC, in whichever zone it is shown.
    return bool(type_ == wanted or (pa.types.is_timestamp(type_) and pa.types.is_timestamp(wanted)))


def _plain_scalar(typed: pa.Array, node: Scalar) -> pa.Array:
    """Converts a scalar column to that layout; an extension type is replaced by its storage."""
    typed = unencoded(typed)
    if isinstance(typed.type, pa.BaseExtensionType) or _is_plain_scalar(typed.type, node):
        return typed
    return typed.cast(typed_value_type(node))
