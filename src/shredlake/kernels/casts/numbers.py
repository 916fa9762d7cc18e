"""Parses numbers from text as Spark (and Java) does, and rounds to 32-bit floats."""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Final

from shredlake.kernels.casts.datetimes import BLANKS

_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_DECIMAL = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_FLOAT = re.compile(_DECIMAL, re.ASCII)
_ANY_DIGITS = re.compile(_DECIMAL)  # Java's BigDecimal accepts the digits of every script
_HEX_FLOAT = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+", re.ASCII)
_JAVA_BLANKS: Final = "".join(map(chr, range(33)))
_SPECIAL: Final = {
    "inf": math.inf, "+inf": math.inf, "infinity": math.inf, "+infinity": math.inf,
    "-inf": -math.inf, "-infinity": -math.inf, "nan": math.nan,
}  # fmt: skip
_JAVA_SPECIAL: Final = {
    "NaN": math.nan, "+NaN": math.nan, "-NaN": math.nan, "Infinity": math.inf, "+Infinity": math.inf,
    "-Infinity": -math.inf,
}  # fmt: skip


def parse_integer(text: str) -> int | None:
    """Parses a whole number: a sign and digits only.

    >>> parse_integer(" -12 "), parse_integer("1.0")
    (-12, None)
    """
    trimmed = text.strip(BLANKS)
    return int(trimmed) if _INTEGER.fullmatch(trimmed) and len(trimmed) < 400 else None


def parse_decimal(text: str) -> Decimal | None:
    """Parses a decimal number, with or without an exponent.

    >>> parse_decimal("1.50"), parse_decimal("1e2"), parse_decimal("1 2")
    (Decimal('1.50'), Decimal('1E+2'), None)
    """
    trimmed = text.strip(_JAVA_BLANKS)
    if not _ANY_DIGITS.fullmatch(trimmed):
        return None
    try:
        return Decimal(trimmed)
    except InvalidOperation:
        return None


def parse_float(text: str, single: bool = False) -> float | None:
    """Parses a double, or with `single` the nearest 32-bit float; accepts hexadecimal and suffixes d, f.

    >>> parse_float("1.5e3"), parse_float("2d"), parse_float("-inf"), parse_float("1,5")
    (1500.0, 2.0, -inf, None)
    """
    trimmed = text.strip(_JAVA_BLANKS)
    special = _JAVA_SPECIAL.get(trimmed, _SPECIAL.get(trimmed.lower()))
    if special is not None:
        return special
    number = trimmed[:-1] if trimmed[-1:] in "dDfF" and trimmed else trimmed
    if _FLOAT.fullmatch(number):
        return (
            float32(Fraction(number), number.startswith("-"))
            if single and _sane(number)
            else _single(float(number), single)
        )
    if _HEX_FLOAT.fullmatch(number):
        try:
            return _single(float.fromhex(number), single)
        except OverflowError:
            return -math.inf if number.startswith("-") else math.inf
    return None


def _sane(number: str) -> bool:
    """Whether the exact fraction stays small: exponents beyond any float do not need exact rounding."""
    exact = parse_decimal(number)
    return exact is not None and -60 < exact.adjusted() < 60


def _single(number: float, single: bool) -> float:
    return nearest_single(number) if single else number


def nearest_single(number: float) -> float:
    """The 32-bit float nearest to a double; infinity beyond the largest.

    >>> nearest_single(0.1), nearest_single(1e39)
    (0.10000000149011612, inf)
    """
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)


def float32(exact: Fraction | int, negative: bool = False) -> float:
    """The 32-bit float nearest to an exact number, rounded once (via a double it would be rounded twice).

    >>> float32(2**24 + 1), float32(2**24 + 3)
    (16777216.0, 16777220.0)
    """
    if exact == 0:
        return -0.0 if negative else 0.0
    magnitude = abs(Fraction(exact))
    exponent = max(magnitude.numerator.bit_length() - magnitude.denominator.bit_length() - 1, -126)
    if magnitude >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - 23)
    steps = round(magnitude / unit)  # half to even
    result = nearest_single(float(steps * unit))
    return -result if exact < 0 else result
