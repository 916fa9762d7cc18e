"""Converts the raw content of a walk to Python objects, and to a form that compares by meaning."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from shredlake.errors import MalformedVariant
from shredlake.variant.scalars import (
    Date,
    Decimal4,
    Decimal8,
    Decimal16,
    Float32,
    Int8,
    Int16,
    Int32,
    Int64,
    Timestamp,
    TimestampNanos,
    TimestampNtz,
    TimestampNtzNanos,
)
from shredlake.variant.types import VariantType
from shredlake.variant.walk import Event, Walk

_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_LAST_DAY: Final = date.max.toordinal()
_EPOCH: Final = datetime(1970, 1, 1)


def python_decimal(raw: tuple[int, int]) -> Decimal:
    """(unscaled, scale) as a Decimal, exactly.

    >>> python_decimal((110, 2))
    Decimal('1.10')
    """
    unscaled, scale = raw
    return Decimal(f"{unscaled}E-{scale}")


def python_date(days: int) -> date | Date:
    """Days since 1970-01-01 as a date; a Date if Python can't represent it.

    >>> python_date(0), python_date(1 << 30)
    (datetime.date(1970, 1, 1), Date(since_epoch=1073741824))
    """
    ordinal = days + _EPOCH_DAY
    return date.fromordinal(ordinal) if 1 <= ordinal <= _LAST_DAY else Date(days)


def python_time(micros: int) -> time:
    """Microseconds since midnight as a time.

    >>> python_time(1)
    datetime.time(0, 0, 0, 1)
    """
    return (_EPOCH + timedelta(microseconds=micros)).time()


def python_timestamp(micros: int) -> datetime | Timestamp:
    """Microseconds since 1970-01-01 UTC as a datetime in UTC; a Timestamp if Python can't represent it.

    >>> python_timestamp(0)
    datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)
    """
    try:
        return (_EPOCH + timedelta(microseconds=micros)).replace(tzinfo=UTC)
    except OverflowError:
        return Timestamp(micros)


def python_timestamp_ntz(micros: int) -> datetime | TimestampNtz:
    """Microseconds since 1970-01-01 without a zone as a datetime; a TimestampNtz if Python can't represent
    it.

    >>> python_timestamp_ntz(0)
    datetime.datetime(1970, 1, 1, 0, 0)
    """
    try:
        return _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return TimestampNtz(micros)


def _uuid(raw: bytes) -> UUID:
    return UUID(bytes=raw)


PLAIN: Final[dict[VariantType, Callable[[Any], Any]]] = {
    VariantType.DECIMAL4: python_decimal,
    VariantType.DECIMAL8: python_decimal,
    VariantType.DECIMAL16: python_decimal,
    VariantType.DATE: python_date,
    VariantType.TIME: python_time,
    VariantType.TIMESTAMP: python_timestamp,
    VariantType.TIMESTAMP_NTZ: python_timestamp_ntz,
    VariantType.TIMESTAMP_NANOS: TimestampNanos,
    VariantType.TIMESTAMP_NTZ_NANOS: TimestampNtzNanos,
    VariantType.UUID: _uuid,
}
"""Converters from raw content to Python objects; raw content of other types is used unchanged."""

EXACT: Final[dict[VariantType, Callable[[Any], Any]]] = PLAIN | {
    VariantType.INT8: Int8,
    VariantType.INT16: Int16,
    VariantType.INT32: Int32,
    VariantType.INT64: Int64,
    VariantType.FLOAT: Float32,
    VariantType.DECIMAL4: lambda raw: Decimal4(python_decimal(raw)),
    VariantType.DECIMAL8: lambda raw: Decimal8(python_decimal(raw)),
    VariantType.DECIMAL16: lambda raw: Decimal16(python_decimal(raw)),
}
"""Converters to objects that keep the physical type."""


def python_value(walk: Walk, *, exact: bool = False) -> Any:
    """The walk's value as Python objects; raises MalformedVariant if two fields have one name.

    >>> from shredlake.variant.value import Variant
    >>> python_value(Variant.of({"a": [1]}).walk())
    {'a': [1]}
    """
    convert = EXACT if exact else PLAIN
    root: list[Any] = []
    target: list[Any] | dict[str, Any] = root
    outer: list[tuple[list[Any] | dict[str, Any], str]] = []
    name = ""
    for event, detail in walk:
        if event is Event.KEY:
            name = walk.dictionary.name(detail)
            if name in target:
                raise MalformedVariant(f"there are two fields named {name!r}", path=walk.path().normalized())
            continue
        if event is Event.END:
            target, name = outer.pop()
            continue
        if event is Event.SCALAR:
            type_, raw = detail
            converter = convert.get(type_)
            item = raw if converter is None else converter(raw)
        else:
            item = {} if event is Event.OBJECT else []
        if isinstance(target, dict):
            target[name] = item
        else:
            target.append(item)
        if event is not Event.SCALAR:
            outer.append((target, name))
            target = item
    return root[0]


# Equivalence classes: an int8 is a decimal of scale 0, a microsecond is a thousand nanoseconds.


def _exact_number(raw: int | tuple[int, int]) -> tuple[int, int]:
    unscaled, scale = (raw, 0) if isinstance(raw, int) else raw
    while scale and unscaled % 10 == 0:
        unscaled, scale = unscaled // 10, scale - 1
    return unscaled, scale


def _ieee(raw: float) -> object:
    return "NaN" if raw != raw else raw


def _as_nanos(micros: int) -> int:
    return micros * 1000


def _same(raw: Any) -> Any:
    return raw


_CLASSES: Final[dict[VariantType, tuple[str, Callable[[Any], Any]]]] = {
    VariantType.DOUBLE: ("double", _ieee),
    VariantType.FLOAT: ("float", _ieee),
    VariantType.TIMESTAMP: ("timestamp", _as_nanos),
    VariantType.TIMESTAMP_NANOS: ("timestamp", _same),
    VariantType.TIMESTAMP_NTZ: ("timestamp_ntz", _as_nanos),
    VariantType.TIMESTAMP_NTZ_NANOS: ("timestamp_ntz", _same),
} | {type_: ("exact", _exact_number) for type_ in VariantType if type_.is_exact_number}


def meaning(walk: Walk, names: dict[str, str]) -> list[object]:
    """A flat list that is equal for values with the same meaning; takes a walk by name.

    NaN equals NaN and -0.0 equals 0.0, as in Spark. Through `names`, both sides of a comparison use the same
    str object for a name, so long names are compared only once per dictionary.

    >>> from shredlake.variant.value import Variant
    >>> meaning(Variant.of(1).walk(by_name=True), {})
    [('exact', (1, 0))]
    """
    tokens: list[object] = []
    for event, detail in walk:
        if event is Event.SCALAR:
            type_, raw = detail
            kind, convert = _CLASSES.get(type_, (type_.value, _same))
            tokens.append((kind, convert(raw)))
        elif event is Event.KEY:
            name = walk.dictionary.name(detail)
            tokens.append(names.setdefault(name, name))
        elif event is not Event.END:
            tokens.append((event.value, detail))
    return tokens
