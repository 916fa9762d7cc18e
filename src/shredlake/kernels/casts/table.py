"""Casts of a single value from a Variant, as in Spark's variant_get: the table and the reference.

Casts take raw content (from `variant.layout.scalar_at`) and return raw content of the target type, or None if
the value can't be cast. A pair that is not in the table never casts. `docs/casts.md` shows the table; the
compiled kernel implements the frequent pairs and leaves the others to this module.

Spark's Variant has no time, uuid or nanoseconds. Our rules: a uuid casts to string (as in Spark) and uuid; a
time to string, time, and as seconds to integers and decimals; nanosecond types behave like their microsecond
equivalents, with three more digits if the target has room for them.
"""

from __future__ import annotations

import datetime as dt
import math
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Any, Final

from shredlake.errors import CastError
from shredlake.kernels.cast_options import DEFAULT, CastOptions
from shredlake.kernels.casts.containers import container_text
from shredlake.kernels.casts.datetimes import (
    BLANKS,
    DAY,
    SECOND,
    parse_date,
    parse_time,
    parse_timestamp,
    parse_timestamp_ntz,
    to_instant,
    to_local,
)
from shredlake.kernels.casts.numbers import (
    float32,
    nearest_single,
    parse_decimal,
    parse_float,
    parse_integer,
)
from shredlake.kernels.casts.targets import AnyVariant, ListOf, MapOf, StructOf, Target, target_name
from shredlake.shredding.schema import Scalar
from shredlake.variant import Variant
from shredlake.variant.json import java_digits as old_java
from shredlake.variant.json.render import (
    beginning,
    date_text,
    decimal_text,
    double_text,
    float_text,
    time_text,
    timestamp_text,
)
from shredlake.variant.layout import scalar_at
from shredlake.variant.types import INTEGER_WIDTHS
from shredlake.variant.types import VariantType as V

Raw = Any
Cast = Callable[[Raw, Scalar, dt.tzinfo], Raw | None]

_EXACT: Final = Context(prec=200, rounding=ROUND_HALF_UP)
_INT32: Final = 1 << 31
_INT64: Final = 1 << 63
ADVICE: Final = "without strict=True it is null"
_TRUE: Final = frozenset({"t", "true", "y", "yes", "1"})
_FALSE: Final = frozenset({"f", "false", "n", "no", "0"})


@dataclass(frozen=True)
class Instant:
    """The unit of a timestamp type: nanoseconds per unit, and whether it has a zone."""

    unit: int
    zoned: bool


INSTANTS: Final = {
    V.TIMESTAMP: Instant(1000, True),
    V.TIMESTAMP_NTZ: Instant(1000, False),
    V.TIMESTAMP_NANOS: Instant(1, True),
    V.TIMESTAMP_NTZ_NANOS: Instant(1, False),
}


def cast_scalar(source: V, raw: Raw, target: Scalar, options: CastOptions = DEFAULT) -> Raw | None:
    """Casts raw content of one type to another; None if it can't be cast.

    >>> from shredlake.shredding.schema import Scalar
    >>> cast_scalar(V.STRING, " 12 ", Scalar(V.INT32))
    12
    >>> cast_scalar(V.DECIMAL4, (1250, 2), Scalar(V.STRING))
    '12.5'
    >>> cast_scalar(V.STRING, "n/a", Scalar(V.INT32)) is None
    True
    """
    pair = _family(source), _family(target.type)
    dialect = options.dialect
    cast = (
        (ANY_BYTES.get(pair) if dialect.any_bytes else None)
        or (OLD_JAVA.get(pair) if dialect.old_java else None)
        or CASTS.get(pair)
    )
    return None if cast is None else cast(raw, target, options.zone)


def cast_value(variant: Variant, target: Target, options: CastOptions = DEFAULT, path: str = "$") -> Raw:
    """Casts a Variant, also to nested targets: the row-at-a-time reference.

    A Variant null gives None. So does every value, nested or not, that can't be cast, unless the options
    request a CastError with the path. In a dialect that allows any bytes in a string, a string cast from a
    binary is returned as bytes.

    >>> from shredlake.kernels.casts.targets import ListOf
    >>> cast_value(Variant.of([1, "2", None, "x"]), ListOf(Scalar(V.INT64)))
    [1, 2, None, None]
    """
    return _Caster(options).cast(variant, target, path)


@dataclass(frozen=True)
class _Caster:
    options: CastOptions

    def cast(self, variant: Variant, target: Target, path: str) -> Raw:
        if isinstance(target, AnyVariant):
            return variant
        kind = variant.type
        if kind is V.NULL:
            return None

        def inner(item: Variant, wanted: Target, step: str | int) -> Raw:
            return self.cast(item, wanted, f"{path}[{step!r}]")

        match target:
            case Scalar() if kind not in (V.OBJECT, V.ARRAY):
                return self.scalar(variant, target, path)
            case Scalar() if target.type is V.STRING:
                return container_text(variant, self.options)
            case ListOf(element) if kind is V.ARRAY:
                return [inner(item, element, index) for index, item in enumerate(variant)]
            case MapOf(value) if kind is V.OBJECT:
                return {name: inner(item, value, name) for name, item in variant.items()}
            case StructOf(fields) if kind is V.OBJECT:
                items = dict(variant.items())
                return {name: inner(items[name], to, name) if name in items else None for name, to in fields}
            case _:
                return self.failure(variant, target, path)

    def scalar(self, variant: Variant, target: Scalar, path: str) -> Raw:
        kind, raw = scalar_at(variant.value, 0, len(variant.value))
        cast = cast_scalar(kind, raw, target, self.options)
        return self.failure(variant, target, path) if cast is None else cast

    def failure(self, variant: Variant, target: Target, path: str) -> None:
        """Returns None for a value that can't be cast, or raises a CastError."""
        if self.options.raises:
            found = f"{beginning(variant, 60)} ({variant.type.value})"
            raise CastError(f"{path}: {found} can't be cast to {target_name(target)}; {ADVICE}")


def casts(source: V, target: V) -> bool:
    """Whether any value of one type can cast to the other.

    >>> casts(V.INT8, V.STRING), casts(V.BOOLEAN, V.DATE)
    (True, False)
    """
    return (_family(source), _family(target)) in CASTS


def _family(kind: V) -> V:
    return V.INT64 if kind.is_integer else V.DECIMAL16 if kind.is_decimal else kind


# ---------------------------------------------------------------- to boolean and numbers


def _string_to_boolean(raw: Raw, target: Scalar, zone: dt.tzinfo) -> bool | None:
    word = raw.strip(BLANKS).lower()
    return True if word in _TRUE else False if word in _FALSE else None


def _fit(number: int | None, target: Scalar) -> int | None:
    """The number if the target's width can hold it."""
    if number is None:
        return None
    bits = 8 * INTEGER_WIDTHS[target.type] - 1
    return number if -(1 << bits) <= number < 1 << bits else None


def _whole(number: float, limit: int) -> int | None:
    """Truncates towards zero within Java's limits: 2**63 passes and becomes the largest long."""
    if math.isnan(number) or math.isinf(number):
        return None
    inside = math.floor(number) <= (limit - 1 if limit == _INT32 else limit) and math.ceil(number) >= -limit
    return min(math.trunc(number), limit - 1) if inside else None


def _float_to_integer(raw: Raw, target: Scalar, zone: dt.tzinfo) -> int | None:
    return _fit(_whole(raw, _INT64 if target.type is V.INT64 else _INT32), target)


def _decimal_to_integer(raw: Raw, target: Scalar, zone: dt.tzinfo) -> int | None:
    exact = _fraction(raw)
    if target.type is V.INT64:
        return _fit(math.trunc(exact), target)
    return _fit(_whole(float(exact), _INT32), target)  # Spark converts via a double here


def _fraction(raw: tuple[int, int]) -> Fraction:
    return Fraction(raw[0], 10 ** raw[1])


def _rescale(number: Decimal, target: Scalar) -> tuple[int, int] | None:
    """Rescales a decimal to the target's scale, half up; None if it has too many digits."""
    assert target.precision is not None
    assert target.scale is not None
    if number.adjusted() > 40:
        return None
    unscaled = int(number.scaleb(target.scale, _EXACT).to_integral_value(ROUND_HALF_UP, _EXACT))
    return (unscaled, target.scale) if abs(unscaled) < 10**target.precision else None


def _integer_to_decimal(raw: Raw, target: Scalar, zone: dt.tzinfo) -> tuple[int, int] | None:
    return _rescale(Decimal(int(raw)), target)


def _decimal_to_decimal(raw: Raw, target: Scalar, zone: dt.tzinfo) -> tuple[int, int] | None:
    return _rescale(Decimal(raw[0]).scaleb(-raw[1], _EXACT), target)


def _float_to_decimal(raw: Raw, target: Scalar, zone: dt.tzinfo) -> tuple[int, int] | None:
    return None if math.isnan(raw) or math.isinf(raw) else _rescale(Decimal(repr(raw)), target)


def _old_float_to_decimal(raw: Raw, target: Scalar, zone: dt.tzinfo) -> tuple[int, int] | None:
    """Converts via text, as Spark does; a float becomes a double first."""
    return _rescale(Decimal(old_java.double_text(raw)), target) if math.isfinite(raw) else None


def _string_to_decimal(raw: Raw, target: Scalar, zone: dt.tzinfo) -> tuple[int, int] | None:
    number = parse_decimal(raw)
    return None if number is None else _rescale(number, target)


# ---------------------------------------------------------------- timestamps


def _nanos(raw: int, source: V) -> int:
    return raw * INSTANTS[source].unit


def _count(nanos: int | None, target: Scalar) -> int | None:
    """Nanoseconds in the target's unit, rounded down; None beyond 64 bits."""
    if nanos is None:
        return None
    count = nanos // INSTANTS[target.type].unit
    return count if -_INT64 <= count < _INT64 else None


def _seconds_to_instant(raw: Raw, target: Scalar, zone: dt.tzinfo) -> int | None:
    return _count(int(raw) * SECOND, target)


def _decimal_to_instant(raw: Raw, target: Scalar, zone: dt.tzinfo) -> int | None:
    unit = INSTANTS[target.type].unit
    count = math.trunc(_fraction(raw) * (SECOND // unit))
    return count if -_INT64 <= count < _INT64 else None


def _float_to_instant(raw: Raw, target: Scalar, zone: dt.tzinfo) -> int | None:
    return _whole(raw * (SECOND // INSTANTS[target.type].unit), _INT64)


def _instant_to_instant(source: V) -> Cast:
    def cast(raw: Raw, target: Scalar, zone: dt.tzinfo) -> int | None:
        nanos = _nanos(raw, source)
        if INSTANTS[source].zoned != INSTANTS[target.type].zoned:
            nanos = to_local(nanos, zone) if INSTANTS[source].zoned else to_instant(nanos, zone)
        return _count(nanos, target)

    return cast


def _date_to_instant(raw: Raw, target: Scalar, zone: dt.tzinfo) -> int | None:
    local = raw * DAY
    return _count(to_instant(local, zone) if INSTANTS[target.type].zoned else local, target)


def _string_to_instant(raw: Raw, target: Scalar, zone: dt.tzinfo) -> int | None:
    if INSTANTS[target.type].zoned:
        return _count(parse_timestamp(raw, zone), target)
    return _count(parse_timestamp_ntz(raw), target)


def _local(source: V) -> Callable[[Raw, dt.tzinfo], int]:
    """Nanoseconds in local time."""
    if INSTANTS[source].zoned:
        return lambda raw, zone: to_local(_nanos(raw, source), zone)
    return lambda raw, zone: _nanos(raw, source)


def _instant_casts(source: V) -> dict[V, Cast]:
    """The casts of a timestamp; to numbers only from an instant, not from a local time."""
    local = _local(source)
    rows: dict[V, Cast] = {
        V.STRING: lambda raw, target, zone: timestamp_text(local(raw, zone), SECOND),
        V.DATE: lambda raw, target, zone: local(raw, zone) // DAY,
        V.TIME: lambda raw, target, zone: local(raw, zone) % DAY // 1000,
        **dict.fromkeys(INSTANTS, _instant_to_instant(source)),
    }
    if INSTANTS[source].zoned:
        per_second = SECOND // INSTANTS[source].unit
        digits = len(str(per_second)) - 1
        rows |= {
            V.INT64: lambda raw, target, zone: _fit(raw // per_second, target),
            V.DOUBLE: lambda raw, target, zone: float(raw) / per_second,
            V.FLOAT: lambda raw, target, zone: nearest_single(float(raw) / per_second),
            V.DECIMAL16: lambda raw, target, zone: _decimal_to_decimal((raw, digits), target, zone),
        }
    return rows


# ---------------------------------------------------------------- text and bytes


def _binary_to_string(raw: Raw, target: Scalar, zone: dt.tzinfo) -> str | None:
    try:
        return str(raw, "utf-8")
    except UnicodeDecodeError:
        return None


def _string_to_uuid(raw: Raw, target: Scalar, zone: dt.tzinfo) -> bytes | None:
    text = raw.strip(BLANKS).lower()
    try:
        parsed = uuid.UUID(text)
    except ValueError:
        return None
    return parsed.bytes if str(parsed) == text else None


def _divided(count: int | None, unit: int) -> int | None:
    return None if count is None else count // unit


def _same(raw: Raw, target: Scalar, zone: dt.tzinfo) -> Raw:
    return raw


# ---------------------------------------------------------------- the table

_ROWS: Final[dict[V, dict[V, Cast]]] = {
    V.BOOLEAN: {
        V.BOOLEAN: _same,
        V.INT64: lambda raw, target, zone: int(raw),
        V.FLOAT: lambda raw, target, zone: float(raw),
        V.DOUBLE: lambda raw, target, zone: float(raw),
        V.DECIMAL16: _integer_to_decimal,
        V.STRING: lambda raw, target, zone: "true" if raw else "false",
    },
    V.INT64: {
        V.BOOLEAN: lambda raw, target, zone: raw != 0,
        V.INT64: lambda raw, target, zone: _fit(raw, target),
        V.FLOAT: lambda raw, target, zone: float32(raw),
        V.DOUBLE: lambda raw, target, zone: float(raw),
        V.DECIMAL16: _integer_to_decimal,
        V.STRING: lambda raw, target, zone: str(raw),
        V.TIMESTAMP: _seconds_to_instant,
        V.TIMESTAMP_NANOS: _seconds_to_instant,
    },
    V.DECIMAL16: {
        V.BOOLEAN: lambda raw, target, zone: raw[0] != 0,
        V.INT64: _decimal_to_integer,
        V.FLOAT: lambda raw, target, zone: float32(_fraction(raw)),
        V.DOUBLE: lambda raw, target, zone: float(_fraction(raw)),
        V.DECIMAL16: _decimal_to_decimal,
        V.STRING: lambda raw, target, zone: decimal_text(raw),
        V.TIMESTAMP: _decimal_to_instant,
        V.TIMESTAMP_NANOS: _decimal_to_instant,
    },
    V.FLOAT: {
        V.BOOLEAN: lambda raw, target, zone: raw != 0,
        V.INT64: _float_to_integer,
        V.FLOAT: _same,
        V.DOUBLE: _same,
        V.DECIMAL16: _float_to_decimal,
        V.STRING: lambda raw, target, zone: float_text(raw).strip('"'),
        V.TIMESTAMP: _float_to_instant,
        V.TIMESTAMP_NANOS: _float_to_instant,
    },
    V.DOUBLE: {
        V.BOOLEAN: lambda raw, target, zone: raw != 0,
        V.INT64: _float_to_integer,
        V.FLOAT: lambda raw, target, zone: nearest_single(raw),
        V.DOUBLE: _same,
        V.DECIMAL16: _float_to_decimal,
        V.STRING: lambda raw, target, zone: double_text(raw).strip('"'),
        V.TIMESTAMP: _float_to_instant,
        V.TIMESTAMP_NANOS: _float_to_instant,
    },
    V.STRING: {
        V.BOOLEAN: _string_to_boolean,
        V.INT64: lambda raw, target, zone: _fit(parse_integer(raw), target),
        V.FLOAT: lambda raw, target, zone: parse_float(raw, single=True),
        V.DOUBLE: lambda raw, target, zone: parse_float(raw),
        V.DECIMAL16: _string_to_decimal,
        V.STRING: _same,
        V.BINARY: lambda raw, target, zone: raw.encode(),
        V.DATE: lambda raw, target, zone: parse_date(raw),
        V.TIME: lambda raw, target, zone: _divided(parse_time(raw), 1000),
        **dict.fromkeys(INSTANTS, _string_to_instant),
        V.UUID: _string_to_uuid,
    },
    V.BINARY: {V.BINARY: _same, V.STRING: _binary_to_string},
    V.DATE: {
        V.DATE: _same,
        V.STRING: lambda raw, target, zone: date_text(raw),
        **dict.fromkeys(INSTANTS, _date_to_instant),
    },
    **{source: _instant_casts(source) for source in INSTANTS},
    V.TIME: {
        V.TIME: _same,
        V.STRING: lambda raw, target, zone: time_text(raw, 1_000_000),
        V.INT64: lambda raw, target, zone: _fit(raw // 1_000_000, target),
        V.DECIMAL16: lambda raw, target, zone: _decimal_to_decimal((raw, 6), target, zone),
    },
    V.UUID: {V.UUID: _same, V.STRING: lambda raw, target, zone: str(uuid.UUID(bytes=raw))},
}

CASTS: Final[dict[tuple[V, V], Cast]] = {
    (source, target): cast for source, row in _ROWS.items() for target, cast in row.items()
}
"""Every pair that can cast; INT64 stands for all integer widths, DECIMAL16 for all decimals."""

ANY_BYTES: Final[dict[tuple[V, V], Cast]] = {(V.BINARY, V.STRING): _same}
"""The casts that differ if strings may hold any bytes; the raw content of such strings is bytes."""

OLD_JAVA: Final[dict[tuple[V, V], Cast]] = {
    (V.FLOAT, V.STRING): lambda raw, target, zone: old_java.float_text(raw).strip('"'),
    (V.DOUBLE, V.STRING): lambda raw, target, zone: old_java.double_text(raw).strip('"'),
    (V.FLOAT, V.DECIMAL16): _old_float_to_decimal,
    (V.DOUBLE, V.DECIMAL16): _old_float_to_decimal,
}
"""The casts that differ on Java before 19."""
