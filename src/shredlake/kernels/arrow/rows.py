"""Converts shredded Arrow columns to the reference's objects, one per row, and back. Slow: used for rows in
error messages, and if the kernels are not compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from shredlake.errors import MalformedVariant
from shredlake.kernels.arrow.buffers import group_of, part
from shredlake.kernels.arrow.normalize import as_list, unencoded
from shredlake.kernels.arrow.types import typed_value_type
from shredlake.shredding.reference import MISSING, Shredded
from shredlake.shredding.schema import Array, Node, Object, Scalar, Untyped
from shredlake.variant.decode import python_decimal
from shredlake.variant.scalars import unscaled_and_scale
from shredlake.variant.types import DECIMAL_PRECISION, VariantType

_COUNTS: Final[dict[VariantType, pa.DataType]] = {
    VariantType.DATE: pa.int32(),
    VariantType.TIME: pa.int64(),
    VariantType.TIMESTAMP: pa.int64(),
    VariantType.TIMESTAMP_NTZ: pa.int64(),
    VariantType.TIMESTAMP_NANOS: pa.int64(),
    VariantType.TIMESTAMP_NTZ_NANOS: pa.int64(),
}
"""Types that are stored as numbers: the reference counts days, microseconds and nanoseconds."""


def to_shredded(value: pa.Array | None, typed: pa.Array | None, node: Node) -> list[Shredded]:
    """The rows of a group; a row whose parts are both null is missing."""
    rows = max(len(column) for column in (value, typed) if column is not None)
    values = [None] * rows if value is None else value.to_pylist()
    typed_values = [None] * rows if typed is None else _typed_rows(typed, node)
    return [Shredded(*parts) for parts in zip(values, typed_values, strict=True)]


def from_shredded(rows: list[Shredded], node: Node) -> tuple[pa.Array, pa.Array | None]:
    """Builds the `value` and `typed_value` columns of some rows."""
    value = pa.array([row.value for row in rows], pa.binary())
    return value, None if isinstance(node, Untyped) else _typed_column(
        [row.typed_value for row in rows], node
    )


def _typed_rows(typed: pa.Array, node: Node) -> list[Any]:
    match node:
        case Scalar():
            return _scalar_rows(typed, node)
        case Object(fields):
            columns = {name: _group_rows(part(typed, name), child) for name, child in fields}
            return [
                {name: column[row] for name, column in columns.items() if column[row] is not None}
                if valid
                else None
                for row, valid in enumerate(typed.is_valid().to_pylist())
            ]
        case Array(element):
            lists = as_list(typed)
            ends = lists.offsets.to_pylist()
            first, last = (ends[0], ends[-1]) if ends else (0, 0)
            elements = [
                row or MISSING for row in _group_rows(lists.values.slice(first, last - first), element)
            ]
            return [
                elements[ends[row] - first : ends[row + 1] - first] if valid else None
                for row, valid in enumerate(lists.is_valid().to_pylist())
            ]
        case Untyped():
            return [None] * len(typed)


def _group_rows(group: pa.StructArray, node: Node) -> list[Shredded | None]:
    """The rows of a field's or an element's group; None if the group itself is null."""
    rows = to_shredded(part(group, "value"), part(group, "typed_value"), node)
    return [row if valid else None for row, valid in zip(rows, group.is_valid().to_pylist(), strict=True)]


def _scalar_rows(typed: pa.Array, node: Scalar) -> list[Any]:
    typed = unencoded(typed)
    if isinstance(typed.type, pa.BaseExtensionType):
        typed = typed.storage
    convert: Callable[[Any], Any] | None = None
    if node.type in _COUNTS:
        typed = typed.view(_COUNTS[node.type])
    elif node.type is VariantType.STRING:
        typed, convert = typed.cast(pa.large_string()).view(pa.large_binary()), _text
    elif node.type in DECIMAL_PRECISION:
        convert = _unscaled
    rows = typed.to_pylist()
    return rows if convert is None else [None if row is None else convert(row) for row in rows]


def _text(encoded: bytes) -> str:
    try:
        return encoded.decode()
    except UnicodeDecodeError:
        raise MalformedVariant(f"the typed_value is not UTF-8: {encoded!r}", part="typed_value") from None


def _unscaled(number: Any) -> int:
    return unscaled_and_scale(number)[0]


def _typed_column(rows: list[Any], node: Scalar | Object | Array) -> pa.Array:
    type_: pa.DataType = typed_value_type(node)
    match node:
        case Scalar(VariantType.UUID):
            return pa.ExtensionArray.from_storage(type_, pa.array(rows, type_.storage_type))
        case Scalar(kind) if kind in _COUNTS:
            return pa.array(rows, _COUNTS[kind]).view(type_)
        case Scalar(kind) if kind in DECIMAL_PRECISION:
            return pa.array(
                [None if row is None else python_decimal((row, node.scale or 0)) for row in rows], type_
            )
        case Scalar():
            return pa.array(rows, type_)
        case Object(fields):
            groups = [
                group_of(*from_shredded([MISSING if row is None else row[name] for row in rows], child))
                for name, child in fields
            ]
            nulls = pa.array([row is None for row in rows], pa.bool_())
            return pa.StructArray.from_arrays(groups, fields=list(type_), mask=nulls)
        case Array(element):
            elements = [element for row in rows for element in row or ()]
            ends = [0]
            for row in rows:
                ends.append(ends[-1] + len(row or ()))
            nulls = pa.array([row is None for row in rows], pa.bool_())
            group = group_of(*from_shredded(elements, element))
            return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), group, type=type_, mask=nulls)
