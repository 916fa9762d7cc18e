"""Converts raw content (see variant/layout.py) to Arrow arrays and back, and combines arrays by row."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.kernels.arrow.types import typed_value_type, variant
from shredlake.kernels.casts.targets import AnyVariant, ListOf, MapOf, StructOf, Target
from shredlake.shredding.schema import Scalar

_DIGITS = Context(prec=100)
_TEXT = pa.string()


def _storage(array: pa.Array) -> pa.Array:
    return array.storage if isinstance(array, pa.ExtensionArray) else array


def _restored(array: pa.Array, type_: pa.DataType) -> pa.Array:
    return pa.ExtensionArray.from_storage(type_, array) if isinstance(type_, pa.BaseExtensionType) else array


def choose(condition: pa.Array, a: pa.Array, b: pa.Array) -> pa.Array:
    """Rows of `a` where the condition is true, else of `b`; both have one type, which may be uuid."""
    return _restored(pc.if_else(condition, _storage(a), _storage(b)), a.type)


def patched(array: pa.Array, rows: pa.Array, patch: pa.Array) -> pa.Array:
    """Replaces the given rows of the array by the values of `patch`."""
    if len(rows) == len(array):
        return patch
    numbers = pc.subtract(pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), len(array))), 1)
    mask = pc.is_in(numbers, value_set=rows)
    return _restored(pc.replace_with_mask(_storage(array), mask, _storage(patch)), array.type)


def scalars(raws: list[Any], target: Scalar) -> pa.Array:
    """Converts raw content to an Arrow array of the target's type; strings may be unchecked bytes."""
    type_ = typed_value_type(target)
    if pa.types.is_string(type_):
        return nested(raws, target)
    storage = type_.storage_type if isinstance(type_, pa.BaseExtensionType) else type_
    return _restored(pa.array([plain(raw, target) for raw in raws], storage), type_)


def nested(items: list[Any], target: Target) -> pa.Array:
    """Converts the results of `plain` to an Arrow array; strings may be unchecked bytes."""
    return pa.array(items, arrow_type(target, text=pa.binary())).cast(arrow_type(target), safe=False)


def plain(raw: Any, target: Target) -> Any:
    """Converts raw content to a form that pyarrow accepts."""
    if raw is None:
        return None
    match target:
        case Scalar() if target.type.is_decimal:
            return Decimal(raw[0]).scaleb(-raw[1], _DIGITS)
        case AnyVariant():
            return {"metadata": raw.metadata, "value": raw.value}
        case ListOf(element):
            return [plain(item, element) for item in raw]
        case MapOf(value):
            return [(name, plain(item, value)) for name, item in raw.items()]
        case StructOf(fields):
            return {name: plain(raw[name], field) for name, field in fields}
        case _:
            return raw


def arrow_type(target: Target, text: pa.DataType = _TEXT) -> pa.DataType:
    """The Arrow type of a cast target, with `text` as the type of strings."""
    match target:
        case ListOf(element):
            return pa.list_(pa.field("element", arrow_type(element, text)))
        case MapOf(value):
            return pa.map_(pa.string(), arrow_type(value, text))
        case StructOf(fields):
            return pa.struct([(name, arrow_type(field, text)) for name, field in fields])
        case AnyVariant():
            return variant()
        case _:
            found = typed_value_type(target)
            return text if found == _TEXT else found
