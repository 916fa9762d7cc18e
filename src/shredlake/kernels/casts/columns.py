"""Casts of typed Arrow columns, by the same table as casts of Variants.

Arrow runs the casts in which it agrees with Spark. For the other casts, the column is converted to Variants
and cast from them, so that every cast has one implementation.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.errors import CastError
from shredlake.kernels.arrow.normalize import checked, unencoded
from shredlake.kernels.arrow.types import typed_value_type
from shredlake.kernels.cast_options import DEFAULT, CastOptions
from shredlake.kernels.casts.extract import CastContext, extract
from shredlake.kernels.casts.invalid_utf8 import decoded
from shredlake.kernels.casts.targets import scalar_of
from shredlake.kernels.from_arrow import from_arrow
from shredlake.shredding.schema import Scalar
from shredlake.variant.types import VariantType as V

# Casts that never fail and round as in Spark.
_WIDENING = {
    *((V.INT8, to) for to in (V.INT16, V.INT32, V.INT64)),
    *((V.INT16, to) for to in (V.INT32, V.INT64)),
    (V.INT32, V.INT64),
    *((V[f"INT{bits}"], V.DOUBLE) for bits in (8, 16, 32, 64)),
    (V.FLOAT, V.DOUBLE),
    (V.STRING, V.BINARY),
}


def cast_typed(typed: pa.Array, source: Scalar, target: Scalar, context: CastContext) -> pa.Array:
    """Casts a column of one scalar type to another; a value that can't be cast gives null or a CastError."""
    wanted = typed_value_type(target)
    if typed.type == wanted:
        return typed
    typed = unencoded(checked(typed))
    if typed.type == wanted:
        return typed
    pair = source.type, target.type
    if (
        source == target
        or pair in _WIDENING
        or (context.options.dialect.any_bytes and pair == (V.BINARY, V.STRING))
    ):
        return typed.cast(wanted, safe=False)
    if source.type.is_integer and target.type.is_integer and not context.options.raises:
        return _narrowed(typed, wanted)
    variants = from_arrow(typed, threads=1)
    validity = pc.is_valid(typed) if typed.null_count else None
    return extract(variants.field("metadata"), variants.field("value"), validity, (), target, context)


def _narrowed(typed: pa.Array, wanted: pa.DataType) -> pa.Array:
    most = (1 << wanted.bit_width - 1) - 1
    low, high = pa.scalar(-most - 1, typed.type), pa.scalar(most, typed.type)
    fits = pc.and_(pc.greater_equal(typed, low), pc.less_equal(typed, high))
    return pc.if_else(fits, typed, pa.scalar(None, typed.type)).cast(wanted)


def cast_column(array: pa.Array, type: pa.DataType, options: CastOptions = DEFAULT) -> pa.Array:
    """Casts a plain column to another type as in Spark.

    >>> cast_column(pa.array(["1", "x"]), pa.int64()).to_pylist()
    [1, None]
    """
    source, target = scalar_of(array.type), scalar_of(type)
    if source is None or target is None:
        raise CastError(f"{array.type} can't be cast to {type}")
    if source.type.is_decimal and target.type is V.STRING:
        return array.cast(type)  # a decimal loses its trailing zeros only when it comes from a Variant
    if source.type is V.STRING and target.type not in (V.STRING, V.BINARY):
        array = decoded(array)
    options.check()
    return cast_typed(array, source, target, CastContext(options, "value"))
