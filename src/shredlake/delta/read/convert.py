"""Lossless conversions of rows that are written to a table.

Every value is converted and then converted back; a value that changes on the way raises an error. Conversions
that are not in the table below are refused for whole columns, because the user has to decide something first:
how to parse a string, or which time zone a timestamp is in.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.errors import CastError, InvalidSchema

_KINDS: list[tuple[Callable[[pa.DataType], bool], str]] = [
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_integer, "integer"),
    (pa.types.is_floating, "float"),
    (pa.types.is_decimal, "decimal"),
    (pa.types.is_string, "text"),
    (pa.types.is_large_string, "text"),
    (pa.types.is_string_view, "text"),
    (pa.types.is_binary, "binary"),
    (pa.types.is_large_binary, "binary"),
    (pa.types.is_binary_view, "binary"),
    (pa.types.is_fixed_size_binary, "binary"),
    (pa.types.is_date, "date"),
    (lambda kind: pa.types.is_timestamp(kind) and kind.tz is None, "local time"),
    (pa.types.is_timestamp, "instant"),
]

# Pairs of source and target. Each value is converted back and compared with the original.
ALLOWED: frozenset[tuple[str, str]] = frozenset(
    {
        ("boolean", "boolean"),
        ("integer", "integer"),
        ("integer", "float"),
        ("integer", "decimal"),
        ("float", "float"),
        ("float", "integer"),
        ("float", "decimal"),
        ("decimal", "decimal"),
        ("decimal", "integer"),
        ("decimal", "float"),
        ("text", "text"),
        ("text", "binary"),
        ("binary", "binary"),
        ("binary", "text"),
        ("date", "date"),
        ("date", "local time"),
        ("local time", "date"),
        ("local time", "local time"),
        ("instant", "instant"),
    }
)

_HINTS: dict[tuple[str, str], str] = {
    ("local time", "instant"): "the times have no zone; set one with pyarrow.compute.assume_timezone",
    ("instant", "local time"): "the times have a zone; drop it with pyarrow.compute.local_timestamp",
}

# Integers are cast to this type before any other decimal: Arrow checks a decimal's precision, not its values.
_WIDEST_INTEGER = pa.decimal128(20, 0)


def kind_of(kind: pa.DataType) -> str:
    """Returns the family of a type, as the table of conversions names it.

    >>> kind_of(pa.int8()), kind_of(pa.large_string()), kind_of(pa.time64("us"))
    ('integer', 'text', 'time64[us]')
    """
    return next((name for test, name in _KINDS if test(kind)), str(kind))


def convert(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Converts plain values to another type.

    Raise `CastError` if a value would change, and `InvalidSchema` if the types can't be converted at all.

    >>> convert(pa.array([1, 2]), pa.int8()).type
    DataType(int8)
    >>> convert(pa.array([1e300]), pa.float32())
    Traceback (most recent call last):
    ...
    shredlake.errors.CastError: 1e+300 can't be stored as float without a change
    """
    pair = (kind_of(array.type), kind_of(target))
    if pair not in ALLOWED:
        hint = _HINTS.get(pair, "convert the column first")
        raise InvalidSchema(f"{pair[0]} is not converted to {pair[1]}; {hint}")
    if pa.types.is_float16(array.type):
        array = array.cast(pa.float32())  # exact; Arrow can't compare float16
    found = _converted(array, target)
    if found is None:
        raise CastError(f"{_first_changed(array, target)} can't be stored as {target} without a change")
    return found


def _converted(array: pa.Array, target: pa.DataType) -> pa.Array | None:
    """The values as another type; None if one would change, which Arrow finds out only as it casts."""
    try:
        found = _cast(array, target)
        return found if _unchanged(array, found) else None
    except pa.ArrowInvalid:
        return None


def _cast(array: pa.Array, target: pa.DataType) -> pa.Array:
    if pa.types.is_integer(array.type) and pa.types.is_decimal(target):
        array = array.cast(_WIDEST_INTEGER)
    return array.cast(target)


def _unchanged(array: pa.Array, found: pa.Array) -> bool:
    """Whether the values survive a round trip. Arrow itself checks integers, strings and decimals."""
    if kind_of(array.type) == kind_of(found.type) and not pa.types.is_floating(found.type):
        return True
    back = _cast(found, array.type)
    same = pc.equal(array, back)
    if pa.types.is_floating(array.type):
        same = pc.or_(same, pc.and_(pc.is_nan(array), pc.is_nan(back)))
    return bool(pc.all(pc.fill_null(same, True)).as_py()) if len(array) else True


def _first_changed(array: pa.Array, target: pa.DataType) -> str:
    value = array[first_failing(array, lambda part: _converted(part, target) is not None)]
    try:
        return repr(value.as_py())
    except (ValueError, OverflowError):
        return str(value)


def first_failing(array: pa.Array, holds: Callable[[pa.Array], bool]) -> int:
    """Finds by bisection the first row for which `holds` is false. It must be false for the whole array.

    >>> first_failing(pa.array([1, 2, 7, 3, 9]), lambda part: pc.max(part).as_py() < 5)
    2
    """
    start, stop = 0, len(array)
    while stop - start > 1:
        middle = (start + stop) // 2
        if holds(array.slice(start, middle - start)):
            start = middle
        else:
            stop = middle
    return start
