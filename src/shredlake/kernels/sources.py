"""The columns of a shredded Variant as the unshredding kernel reads them: addresses, in plain layouts.

Columns come as pyarrow's Parquet reader and other libraries make them. What the kernel does not read as it is
(large, view and dictionary layouts, other widths of decimals) is cast; the rest is read in place.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import pyarrow as pa

from shredlake.errors import MalformedVariant
from shredlake.kernels.columns import address, as_binary, as_list, part, size_of
from shredlake.kernels.layout import typed_value_type
from shredlake.kernels.plan import Kind, Plan
from shredlake.shredding.schema import Scalar
from shredlake.variant.metadata import Dictionary, encode_metadata

LARGEST_ARRAY = (1 << 31) - 1
"""Bytes of one array's data; more goes to a second array."""

Part: TypeAlias = tuple[int, int, int, int, int]
"""Validity, Arrow offset, offsets, data, size of the data."""


def largest_array() -> int:
    """How many bytes the kernel may put into one array."""
    return LARGEST_ARRAY


def gather(
    piece: pa.StructArray, plan: Plan
) -> tuple[list[tuple[Any, ...]], list[tuple[int, int]], list[pa.Array]]:
    """The nodes as `Unshredder` takes them, (name, node) of all objects' fields, and what must stay alive."""
    piece.validate()
    sources = _Sources(plan)
    sources.group(0, None, part(piece, "value"), part(piece, "typed_value"))
    nodes: list[tuple[Any, ...]] = []
    fields: list[tuple[int, int]] = []
    for index, node in enumerate(plan.nodes):
        shape = (node.kind, node.type_id, node.width, node.precision, node.scale, node.element)
        parts = sources.parts.get(index, (0, None, None, None))
        nodes.append((*shape, len(fields), len(node.fields), *parts))
        fields += node.fields
    return nodes, fields, sources.alive


def bytes_part(array: pa.Array) -> Part:
    """Where a binary array lies."""
    validity, offsets, data = array.buffers()
    valid = address(validity) if array.null_count else 0
    return valid, array.offset, address(offsets), address(data), size_of(data)


def extend_metadata(metadata: pa.Array, names: tuple[bytes, ...]) -> pa.Array:
    """The metadata with the names that it lacks added at the end, so that field ids keep their meaning.

    Files of other writers leave out names that occur in shredded columns only. Done per distinct dictionary.

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
        return metadata  # the kernel reports it, with its row, if the row is not null
    missing = [name for name in names if name not in set(known)]
    return encode_metadata([*known, *missing]) if missing else metadata


class _Sources:
    """Walks a schema and its arrays together."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.parts: dict[int, tuple[int, Part | None, Part | None, Part | None]] = {}
        self.alive: list[pa.Array] = []

    def group(
        self, index: int, group: pa.Array | None, value: pa.Array | None, typed: pa.Array | None
    ) -> None:
        """A field's or an element's group; `group` only if it can be null itself."""
        self.parts[index] = (
            max(len(column) for column in (value, typed) if column is not None),
            self.validity(group) if group is not None and group.null_count else None,
            self.bytes(value) if value is not None and value.null_count < len(value) else None,
            self.typed(index, typed) if typed is not None and typed.null_count < len(typed) else None,
        )

    def typed(self, index: int, typed: pa.Array) -> Part:
        node = self.plan.nodes[index]
        match node.kind:
            case Kind.OBJECT:
                for number, child in node.fields:
                    group = part(typed, self.plan.names[number].decode())
                    self.group(child, group, part(group, "value"), part(group, "typed_value"))
                return self.validity(typed)
            case Kind.ARRAY:
                typed = as_list(typed)
                group = typed.values
                self.group(node.element, group, part(group, "value"), part(group, "typed_value"))
                valid, start, _, _, _ = self.validity(typed)
                return valid, start, address(typed.buffers()[1]), 0, len(group)
        assert isinstance(node.node, Scalar)
        typed = plain_scalar(typed, node.node)
        if pa.types.is_string(typed.type) or pa.types.is_binary(typed.type):
            return self.bytes(typed)
        valid, start, _, _, _ = self.validity(typed)
        data = typed.buffers()[1]
        return valid, start, 0, address(data), size_of(data)

    def bytes(self, array: pa.Array) -> Part:
        array = array if pa.types.is_string(array.type) else as_binary(array)
        self.alive.append(array)
        return bytes_part(array)

    def validity(self, array: pa.Array) -> Part:
        self.alive.append(array)
        return address(array.buffers()[0]) if array.null_count else 0, array.offset, 0, 0, 0


def plain_scalar(typed: pa.Array, node: Scalar) -> pa.Array:
    """A scalar column in the layout that `shredded_type` gives it; an extension type as its storage."""
    if pa.types.is_dictionary(typed.type):
        typed = typed.dictionary_decode()
    if isinstance(typed.type, pa.BaseExtensionType):
        return typed.storage
    wanted = typed_value_type(node)
    if pa.types.is_timestamp(wanted) or typed.type == wanted:
        return typed  # whichever zone a timestamp is shown in, it is stored in UTC
    return typed.cast(wanted)
