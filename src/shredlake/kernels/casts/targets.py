"""Cast targets: the Arrow types that a Variant can be cast to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from shredlake.errors import CastError, WrongType
from shredlake.kernels.arrow.types import SCALARS_OF_ARROW, is_list_like, is_variant
from shredlake.shredding.schema import Scalar, decimal, node_ddl
from shredlake.variant.types import MAX_DECIMAL_DIGITS, VariantType


@dataclass(frozen=True)
class AnyVariant:
    """The value unchanged."""


@dataclass(frozen=True)
class ListOf:
    """An array, each element cast."""

    element: Target


@dataclass(frozen=True)
class MapOf:
    """An object as a map from names to values, each value cast."""

    value: Target


@dataclass(frozen=True)
class StructOf:
    """An object's named fields, each cast; other fields are dropped."""

    fields: tuple[tuple[str, Target], ...]


Target: TypeAlias = Scalar | AnyVariant | ListOf | MapOf | StructOf


def target_name(target: Target) -> str:
    """The target's Spark SQL name, for messages.

    >>> target_name(ListOf(decimal(9, 2)))
    'array<decimal(9,2)>'
    """
    match target:
        case AnyVariant():
            return "variant"
        case ListOf(element):
            return f"array<{target_name(element)}>"
        case MapOf(value):
            return f"map<string,{target_name(value)}>"
        case StructOf(fields):
            return f"struct<{','.join(f'{name}:{target_name(field)}' for name, field in fields)}>"
        case _:
            return node_ddl(target)


def scalar_of(arrow: pa.DataType) -> Scalar | None:
    """The scalar type of an Arrow type; None if Variants have no such scalar.

    >>> scalar_of(pa.decimal128(9, 2)), scalar_of(pa.large_string()), scalar_of(pa.uint8())
    (Scalar(decimal(9,2)), Scalar(string), None)
    """
    if pa.types.is_decimal(arrow):
        fits = arrow.precision <= MAX_DECIMAL_DIGITS and 0 <= arrow.scale <= arrow.precision
        return decimal(arrow.precision, arrow.scale) if fits else None
    if pa.types.is_timestamp(arrow) and arrow.tz is not None and arrow.unit in ("us", "ns"):
        return Scalar(VariantType.TIMESTAMP if arrow.unit == "us" else VariantType.TIMESTAMP_NANOS)
    kind = SCALARS_OF_ARROW.get(arrow)
    return None if kind is None else Scalar(kind)


def target_of(arrow: pa.DataType) -> Target:
    """The cast target for an Arrow type.

    >>> target_of(pa.list_(pa.int64()))
    ListOf(element=Scalar(bigint))
    >>> target_of(pa.uint8())
    Traceback (most recent call last):
    ...
    shredlake.errors.CastError: a Variant can't be cast to uint8: ...
    """
    if not isinstance(arrow, pa.DataType):
        raise WrongType(f"type must be an Arrow type such as pa.int64() or pa.string(), not {arrow!r}")
    scalar = scalar_of(arrow)
    if scalar is not None:
        return scalar
    if is_variant(arrow) and arrow.get_field_index("typed_value") < 0:
        return AnyVariant()
    if is_list_like(arrow):
        return ListOf(target_of(arrow.value_type))
    if pa.types.is_map(arrow) and scalar_of(arrow.key_type) == Scalar(VariantType.STRING):
        return MapOf(target_of(arrow.item_type))
    if pa.types.is_struct(arrow) and len({field.name for field in arrow}) == arrow.num_fields > 0:
        return StructOf(tuple((field.name, target_of(field.type)) for field in arrow))
    raise CastError(
        f"a Variant can't be cast to {arrow}: use bool, a signed integer, float32, float64, decimal128, "
        "string, binary, date32, time64('us'), timestamp('us' or 'ns'), uuid, structs, lists, maps of these"
    )
