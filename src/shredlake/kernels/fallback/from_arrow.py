"""Converts Arrow columns to Variants, row by row, with `VariantBuilder`."""

from __future__ import annotations

import pyarrow as pa

from shredlake.errors import InvalidValue, MalformedVariant, ShredlakeError
from shredlake.kernels.arrow.nodes import ArrowNode, Kind, primitive_header
from shredlake.kernels.fallback.json_encode import variants
from shredlake.variant.builder import VariantBuilder
from shredlake.variant.metadata import EMPTY_METADATA
from shredlake.variant.scalars import Int64, unscaled_and_scale
from shredlake.variant.types import MICROS_PER_DAY, VariantType
from shredlake.variant.value import Variant


def encode(node: ArrowNode, from_row: int, variant_type: pa.DataType) -> tuple[pa.Array, int, bool]:
    """As in the compiled module."""
    rows: list[dict[str, bytes] | None] = []
    for row in range(from_row, len(node.array)):
        if not node.array[row].is_valid:
            rows.append(None)
            continue
        try:
            variant = row_variant(node, row)
        except ShredlakeError:
            return variants(rows, variant_type), row, bool(rows)
        rows.append({"metadata": variant.metadata, "value": variant.value})
    return variants(rows, variant_type), len(node.array), False


def row_variant(node: ArrowNode, row: int) -> Variant:
    """Converts one row, which is not null."""
    builder = VariantBuilder()
    _append(builder, node, row)
    return builder.build()


def _append(builder: VariantBuilder, node: ArrowNode, row: int) -> None:
    if node.kind is Kind.NULL or not node.array[row].is_valid:
        builder.append(None)
    elif node.kind is Kind.STRUCT:
        builder.start_object()
        for name, child in zip(node.names, node.children, strict=True):
            builder.key(name)
            _append(builder, child, row)
        builder.end()
    elif node.kind is Kind.LIST:
        builder.start_array()
        for index in _range(node, row):
            _append(builder, node.children[0], index)
        builder.end()
    elif node.kind is Kind.MAP:
        keys, items = node.children
        builder.start_object()
        for index in _range(node, row):
            builder.key(_text(keys.array[index]))
            _append(builder, items, index)
        builder.end()
    else:
        _append_scalar(builder, node, node.array[row])


def _append_scalar(builder: VariantBuilder, node: ArrowNode, scalar: pa.Scalar) -> None:
    if node.kind is Kind.BOOLEAN:
        builder.append(scalar.as_py())
    elif node.kind is Kind.UNSIGNED:
        number = scalar.as_py()
        if number < 1 << 63:
            builder.append(Int64(number))
        else:
            builder.append_decimal(number, 0)
    elif node.kind is Kind.DECIMAL:
        builder.append_decimal(unscaled_and_scale(scalar.as_py())[0], node.scale)
    elif node.kind is Kind.VARIANT:
        builder.append_variant(_inner(scalar))
    elif node.type is VariantType.STRING:
        builder.append_string(_text(scalar))
    elif node.type is VariantType.BINARY:
        builder.append(scalar.as_py())
    elif node.type is VariantType.TIME and not 0 <= scalar.value < MICROS_PER_DAY:
        raise InvalidValue(f"{scalar.value} microseconds is not a time of day; a day has {MICROS_PER_DAY:,}")
    else:
        raw = pa.array([scalar]).buffers()[1].to_pybytes()[: node.width]
        builder.append_variant(Variant(EMPTY_METADATA, bytes([primitive_header(node)]) + raw))


def _inner(scalar: pa.StructScalar) -> Variant:
    metadata, value = scalar["metadata"].as_py(), scalar["value"].as_py()
    if value is None:
        return Variant.of(None)
    if metadata is None:
        raise MalformedVariant("the metadata is null, but the value is not", part="metadata")
    return Variant(metadata, value)


def _range(node: ArrowNode, row: int) -> range:
    """The rows of the children that belong to a list or map."""
    assert node.starts is not None
    assert node.ends is not None
    return range(node.starts[row].as_py(), node.ends[row].as_py())


def _text(scalar: pa.Scalar) -> str:
    encoded: bytes = scalar.as_buffer().to_pybytes()
    try:
        return encoded.decode()
    except UnicodeDecodeError:
        raise InvalidValue(f"the string is not UTF-8: {encoded!r}") from None
