"""Prints floats and doubles like Java before 19, with sometimes too many digits or not the closest ones.

Newer Java prints the shortest digits that parse to the same number, and so does `render.py`. Spark prints
like the Java it runs on. A number is `b / s` times a power of ten; half the distance to its neighbours is `m
/ s`. Each step multiplies by ten and extracts a digit, until the digits so far, or these with the last digit
increased by one, are within that distance:

```
digit = b / s     b = 10 (b mod s)     low:   b < m           the digits are close enough
                  m = 10 m             high:  b + m > 10 s    the last digit plus one is close enough
```

In exact arithmetic, which is used if words are too short, `high` also holds if both sides are equal.

Java's errors are reproduced. The arithmetic uses words of 32 or 64 bits if `b` and `10 s` fit, and then `m`
and `b + m` may overflow. Whole numbers above 2 ** 53 (floats: 2 ** 24) lose trailing digits. And digits
exactly between two numbers are often not assigned to the number that they parse to.

This matters only below 1E-3 and from 2 ** 53 (floats: 2 ** 24). In between, the digits are the shortest:
nothing overflows (computed for all exponents and all numbers of bits), whole numbers keep all digits, and a
value exactly between two numbers has more digits than either.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Final

from shredlake.variant.json.render import in_java_layout

FRACTION_BITS: Final = 52
LARGEST_EXPONENT: Final = 62
"""Whole numbers with at most this many bits plus one are printed in full."""


@dataclass(frozen=True)
class _Format:
    """The bit layout of a floating-point number."""

    code: str
    bits: str
    fraction: int
    bias: int


_DOUBLE: Final = _Format("<d", "<Q", 52, 1023)
_FLOAT: Final = _Format("<f", "<I", 23, 127)


def double_text(number: float) -> str:
    """Prints a double like Java before 19.

    >>> double_text(2e22), double_text(5.27e21), double_text(0.1), double_text(float("nan"))
    ('2.0E22', '5.270000000000001E21', '0.1', '"NaN"')
    """
    return _text(number, _DOUBLE)


def float_text(number: float) -> str:
    """Prints a 32-bit float like Java before 19.

    >>> float_text(2147483648.0), float_text(0.10000000149011612)
    ('2.14748365E9', '0.1')
    """
    return _text(number, _FLOAT)


def _text(number: float, form: _Format) -> str:
    if number == 0 or not math.isfinite(number):
        return in_java_layout(number, "", 0)
    return in_java_layout(number, *_digits(abs(number), form))


def _digits(number: float, form: _Format) -> tuple[str, int]:
    """The digits, and the number of digits before the decimal point."""
    [bits] = struct.unpack(form.bits, struct.pack(form.code, number))
    fraction, exponent = bits & ((1 << form.fraction) - 1), bits >> form.fraction
    if exponent:
        fraction |= 1 << form.fraction
    significant = fraction.bit_length()
    exponent = max(exponent, 1) - form.bias - form.fraction + significant - 1
    # From here on: fraction * 2 ** (exponent - 52), and the fraction has 53 bits.
    fraction <<= FRACTION_BITS + 1 - significant
    odd = fraction // (fraction & -fraction)
    behind_point = max(0, odd.bit_length() - exponent - 1)
    if behind_point == 0 and exponent <= LARGEST_EXPONENT:
        cut = max(0, exponent - significant - 1)
        return _whole_number(odd << (exponent + 1 - odd.bit_length()), int(cut * math.log10(2)))
    return _Division.of(fraction, odd, exponent, behind_point, significant).digits()


def _whole_number(number: int, cut: int) -> tuple[str, int]:
    """All digits except the last few, rounded half up, without trailing zeros."""
    unit = 10**cut
    kept = str((number + unit // 2) // unit if cut else number)
    return kept.rstrip("0"), len(kept) + cut


def _estimate(fraction: int, exponent: int) -> int:
    """The decimal exponent, or one more, by a tangent of the logarithm."""
    mantissa = fraction / (1 << FRACTION_BITS)
    return math.floor((mantissa - 1.5) * 0.289529654 + 0.176091259 + exponent * 0.301029995663981)


def _bits_of_power(power: int) -> int:
    """The number of bits of a power of five as in Java's table; an upper bound beyond it."""
    return 0 if power == 0 else (5**power).bit_length() if power < 27 else 3 * power


@dataclass
class _Division:
    """The state of the digit generation."""

    b: int
    s: int
    m: int
    ten_s: int
    exponent: int
    word: int
    """The word size of the arithmetic in bits; 0 if it is exact."""

    @classmethod
    def of(cls, fraction: int, odd: int, exponent: int, behind_point: int, significant: int) -> _Division:
        decimal = _estimate(fraction, exponent)
        fives_b, fives_s = max(0, -decimal), max(0, decimal)
        bits = odd.bit_length()
        twos_s = fives_s + behind_point
        twos_b = fives_b + behind_point + exponent
        twos_m = twos_b - significant
        twos_b -= bits - 1
        common = min(twos_b, twos_s)
        twos_b, twos_s, twos_m = twos_b - common, twos_s - common, twos_m - common
        if bits == 1:  # a power of two: its lower neighbour is closer
            twos_m -= 1
        if twos_m < 0:
            twos_b, twos_s, twos_m = twos_b - twos_m, twos_s - twos_m, 0
        needed = max(bits + twos_b + _bits_of_power(fives_b), twos_s + 1 + _bits_of_power(fives_s + 1))
        word = 32 if needed < 32 else 64 if needed < 64 else 0
        s = 5**fives_s << twos_s
        return cls(odd * 5**fives_b << twos_b, s, 5**fives_b << twos_m, 10 * s, decimal, word)

    def digits(self) -> tuple[str, int]:
        digit = self._step()
        low, high = self._is_low(), self._is_high()
        found = []
        if digit == 0 and not high:
            self.exponent -= 1
        else:
            found.append(digit)
        if not -3 <= self.exponent < 8:  # at least two digits if there will be an exponent
            low = high = False
        while not (low or high):
            found.append(self._step())
            low, high = self._is_low(), self._is_high()
        if high and not (low and self._is_closer(found[-1])):
            found = self._one_more(found)
        return "".join(map(str, found)), self.exponent + 1

    def _step(self) -> int:
        digit, rest = divmod(self.b, self.s)
        self.b = 10 * rest
        self.m = self._wrapped(10 * self.m)
        return digit

    def _is_low(self) -> bool:
        return self.b < self.m or (self.word > 0 and self.m <= 0)

    def _is_high(self) -> bool:
        if self.word == 0:
            return self.b + self.m >= self.ten_s
        return self._wrapped(self.b + self.m) > self.ten_s or self.m <= 0

    def _is_closer(self, last: int) -> bool:
        """Whether the digits are closer than those with the last plus one; a tie goes to even digits."""
        difference = 2 * self.b - self.ten_s
        return difference < 0 or (difference == 0 and last % 2 == 0)

    def _one_more(self, digits: list[int]) -> list[int]:
        nines = next((n for n, digit in enumerate(reversed(digits)) if digit != 9), len(digits))
        if nines == len(digits):
            self.exponent += 1
            return [1] + [0] * (nines - 1)
        kept = digits[: len(digits) - nines]
        return [*kept[:-1], kept[-1] + 1, *[0] * nines]

    def _wrapped(self, number: int) -> int:
        """Wraps like a signed word, if the arithmetic uses words."""
        if self.word == 0:
            return number
        half = 1 << (self.word - 1)
        return (number + half) % (2 * half) - half
