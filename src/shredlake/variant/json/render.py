"""Renders a Variant as JSON text: valid JSON, each type as in Spark's to_json, and no number changed.

| type | text |
|---|---|
| int8 to int64 | all digits |
| decimals | plain digits, without trailing zeros: 1.10 is 1.1, 87.00 is 87, as in Spark |
| double, float | the shortest digits that parse to the same number, in Java's format: 1.0E10 |
| NaN, Infinity, -Infinity | the same words, as strings: JSON has no such numbers |
| date | "2025-04-16" |
| timestamp | "2025-04-16 16:34:56.78+00:00", in UTC; timestamp_ntz the same without offset |
| time | "12:33:54.123456" |
| binary | base64 |
| uuid | "f24f9b64-81fa-49d1-b74e-8c09a6e31c56" |
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from shredlake.errors import InvalidValue
from shredlake.variant.types import VariantType
from shredlake.variant.walk import Event

if TYPE_CHECKING:
    from shredlake.variant.value import Variant

_ESCAPES: Final = str.maketrans(
    {chr(code): f"\\u{code:04X}" for code in range(32)}
    | {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
)
_FLOAT: Final = struct.Struct("<f")
MAX_LENGTH: Final = 1 << 30
_INDENT: Final = "  "


def render(variant: Variant, *, pretty: bool = False, max_length: int = MAX_LENGTH) -> str:
    """Renders the value as JSON text, on one line or indented.

    A name is stored once and printed at each use, so a small hostile value may have a huge text: more than
    `max_length` characters raise an InvalidValue.

    >>> from shredlake import Variant
    >>> print(render(Variant.of({"b": [1, 2.5], "a": None})))
    {"a":null,"b":[1,2.5]}
    >>> print(render(Variant.of({"b": [1]}), pretty=True))
    {
      "b": [
        1
      ]
    }
    """
    text = _text_up_to(variant, max_length, pretty=pretty)
    if len(text) > max_length:
        raise InvalidValue(f"the text exceeds {max_length} characters (see max_length)")
    return text


def beginning(variant: Variant, length: int) -> str:
    """The first `length` characters of the text; renders no more than that.

    >>> from shredlake import Variant
    >>> beginning(Variant.of([1] * 1000), 9)
    '[1,1,1...'
    """
    text = _text_up_to(variant, length, pretty=False)
    return text if len(text) <= length else text[: length - 3] + "..."


def _text_up_to(variant: Variant, length: int, *, pretty: bool) -> str:
    """The text; one longer than `length` stops with the piece that makes it so."""
    parts: list[str] = []
    size = 0
    for piece in _pieces(variant, pretty=pretty):
        parts.append(piece)
        size += len(piece)
        if size > length:
            break
    return "".join(parts)


def _pieces(variant: Variant, *, pretty: bool) -> Iterator[str]:
    depth = 0
    first = True  # in its container, or the document itself
    after_key = False
    newline, colon = ("\n", ": ") if pretty else ("", ":")
    indent = _INDENT if pretty else ""
    dictionary = variant.dictionary
    keys: dict[int, str] = {}
    for event, detail in variant.walk(by_name=True):
        if event is Event.END:
            depth -= 1
            if not first:
                yield newline + indent * depth
            yield "}" if detail else "]"
            first = False
            continue
        if depth and not after_key:
            yield ("" if first else ",") + newline + indent * depth
        after_key = event is Event.KEY
        if event is Event.KEY:
            if detail not in keys:
                keys[detail] = quoted(dictionary.name(detail)) + colon
            yield keys[detail]
        elif event is Event.SCALAR:
            type_, raw = detail
            yield TEXT[type_](raw)
            first = False
        else:
            yield "{" if event is Event.OBJECT else "["
            depth += 1
            first = True


def quoted(text: str) -> str:
    """A JSON string; only characters that must be escaped are escaped.

    >>> print(quoted('say "hi"\\n'))
    "say \\"hi\\"\\n"
    """
    return f'"{text.translate(_ESCAPES)}"'


def decimal_text(raw: tuple[int, int]) -> str:
    """Plain digits, never an exponent, without trailing zeros after the decimal point.

    >>> decimal_text((-5, 3)), decimal_text((110, 2)), decimal_text((8700, 2)), decimal_text((70, 0))
    ('-0.005', '1.1', '87', '70')
    """
    unscaled, scale = raw
    if scale == 0:
        return str(unscaled)
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    return f"{'-' if unscaled < 0 else ''}{digits[:-scale]}.{digits[-scale:]}".rstrip("0").rstrip(".")


def double_text(number: float) -> str:
    """The shortest digits that parse to the same double, in Java's format.

    >>> [double_text(n) for n in (100.0, 0.001, 1e7, 1.5e-10, -0.0)]
    ['100.0', '0.001', '1.0E7', '1.5E-10', '-0.0']
    """
    return _java_layout(number, _shortest(number, repr(number)))


def float_text(number: float) -> str:
    """The shortest digits that parse to the same 32-bit float, in Java's format.

    >>> float_text(0.10000000149011612)
    '0.1'
    """
    if number - number != 0:  # infinite or not a number
        return _java_layout(number, "")
    for digits in range(9):
        candidate = f"{number:.{digits}e}"
        if _same_float(float(candidate), number):
            break
    return _java_layout(number, _shortest(number, candidate))


def _same_float(candidate: float, number: float) -> bool:
    try:
        return bool(_FLOAT.unpack(_FLOAT.pack(candidate))[0] == number)
    except OverflowError:
        return False


def _shortest(number: float, text: str) -> str:
    """Java prints at least two digits; if one is enough, the closest two: 4.9E-324, not 5.0E-324."""
    mantissa = text.partition("e")[0].lstrip("-").replace(".", "").strip("0")
    return f"{number:.1e}" if len(mantissa) == 1 else text


def _java_layout(number: float, text: str) -> str:
    """Converts digits and exponent of Python's text to the format of Double.toString."""
    mantissa, _, exponent = text.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = int(exponent or 0) + len(whole) - (len(whole + fraction) - len(digits))
    return in_java_layout(number, digits.rstrip("0"), point)


def in_java_layout(number: float, digits: str, point: int) -> str:
    """The digits of a number, `point` of them before the decimal point: plain from 1E-3 to below 1E7.

    >>> in_java_layout(-12.5, "125", 2), in_java_layout(1.25e9, "125", 10)
    ('-12.5', '1.25E9')
    """
    if number != number:
        return '"NaN"'
    if number - number != 0:
        return '"Infinity"' if number > 0 else '"-Infinity"'
    if number == 0:
        return "-0.0" if str(number).startswith("-") else "0.0"
    sign = "-" if number < 0 else ""
    if -3 < point <= 7:
        if point <= 0:
            return f"{sign}0.{'0' * -point}{digits}"
        return f"{sign}{digits[:point].ljust(point, '0')}.{digits[point:] or '0'}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{point - 1}"


def date_text(days: int) -> str:
    """ISO 8601 for any year: years beyond 9999 and before 0 have a sign.

    >>> date_text(0), date_text(3_000_000), date_text(-800_000)
    ('1970-01-01', '+10183-09-21', '-0221-09-04')
    """
    year, month, day = _civil(days)
    return f"{_year_text(year)}-{month:02}-{day:02}"


def _year_text(year: int) -> str:
    if year > 9999:
        return f"+{year}"
    return f"{year:04}" if year >= 0 else f"-{-year:04}"


def _civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of the proleptic Gregorian calendar, in which a year starts in March."""
    days += 719_468  # since 0000-03-01
    era, day_of_era = divmod(days, 146_097)  # 400 years
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153  # months since March
    day = day_of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year_of_era + era * 400 + (month <= 2), month, day


def time_text(units: int, per_second: int) -> str:
    """Hours, minutes, seconds and as many decimals as needed.

    >>> time_text(45_296_780_000, 1_000_000)
    '12:34:56.78'
    """
    seconds, rest = divmod(units, per_second)
    minutes, second = divmod(seconds, 60)
    text = f"{minutes // 60:02}:{minutes % 60:02}:{second:02}"
    return f"{text}.{str(per_second + rest)[1:].rstrip('0')}" if rest else text


def timestamp_text(units: int, per_second: int) -> str:
    """Date and time, separated by a space as in Spark.

    >>> timestamp_text(-1, 1_000_000_000)
    '1969-12-31 23:59:59.999999999'
    """
    days, rest = divmod(units, 86_400 * per_second)
    return f"{date_text(days)} {time_text(rest, per_second)}"


_MICROS: Final = 1_000_000
_NANOS: Final = 1_000_000_000

TEXT: Final[dict[VariantType, Callable[[Any], str]]] = {
    VariantType.NULL: lambda _: "null",
    VariantType.BOOLEAN: lambda raw: "true" if raw else "false",
    VariantType.INT8: str,
    VariantType.INT16: str,
    VariantType.INT32: str,
    VariantType.INT64: str,
    VariantType.DOUBLE: double_text,
    VariantType.FLOAT: float_text,
    VariantType.DECIMAL4: decimal_text,
    VariantType.DECIMAL8: decimal_text,
    VariantType.DECIMAL16: decimal_text,
    VariantType.STRING: quoted,
    VariantType.BINARY: lambda raw: f'"{base64.b64encode(raw).decode()}"',
    VariantType.UUID: lambda raw: f'"{UUID(bytes=raw)}"',
    VariantType.DATE: lambda raw: f'"{date_text(raw)}"',
    VariantType.TIME: lambda raw: f'"{time_text(raw, _MICROS)}"',
    VariantType.TIMESTAMP: lambda raw: f'"{timestamp_text(raw, _MICROS)}+00:00"',
    VariantType.TIMESTAMP_NTZ: lambda raw: f'"{timestamp_text(raw, _MICROS)}"',
    VariantType.TIMESTAMP_NANOS: lambda raw: f'"{timestamp_text(raw, _NANOS)}+00:00"',
    VariantType.TIMESTAMP_NTZ_NANOS: lambda raw: f'"{timestamp_text(raw, _NANOS)}"',
}
"""The text of each scalar, from its raw content (see variant/layout.py)."""
