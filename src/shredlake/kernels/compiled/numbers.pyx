"""The tables for numbers.pxd: the leading bits of all powers that doubles need."""

from libc.stdint cimport int64_t, uint64_t

cdef uint64_t FIVES[2 * (308 + 342 + 1)]
cdef uint64_t TENS[2 * (292 + 324 + 1)]


cdef const uint64_t* powers_of_five() noexcept nogil:
    return FIVES


cdef const uint64_t* powers_of_ten() noexcept nogil:
    return TENS


def _leading_bits(q):
    """5^q scaled by a power of two to [2^127, 2^128), truncated.

    For -27 <= q < 0, where products of w can be exact ties, the reciprocal is rounded up instead, so that w x 10^q is
    exact whenever it can be.
    """
    if q >= 0:
        power = 5**q
        surplus = power.bit_length() - 128
        return power >> surplus if surplus > 0 else power << -surplus
    power = 5**-q
    return (1 << (power.bit_length() + 127)) // power + (q >= -27)


def _power_of_ten(exponent):
    """10^exponent scaled by a power of two to [2^125, 2^126), rounded up."""
    numerator, denominator = (10**exponent, 1) if exponent >= 0 else (1, 10**-exponent)
    shift = 126 - numerator.bit_length() + denominator.bit_length()
    bits = (numerator << shift) // denominator if shift >= 0 else numerator // (denominator << -shift)
    return (bits >> (bits.bit_length() - 126)) + 1


cdef void _fill():
    for index in range(308 + 342 + 1):
        bits = _leading_bits(index - 342)
        FIVES[2 * index] = <uint64_t> (bits >> 64)
        FIVES[2 * index + 1] = <uint64_t> (bits & 0xFFFFFFFFFFFFFFFF)
    for index in range(292 + 324 + 1):
        bits = _power_of_ten(-(index - 324))
        TENS[2 * index] = <uint64_t> (bits >> 63)
        TENS[2 * index + 1] = <uint64_t> (bits & 0x7FFFFFFFFFFFFFFF)


_fill()


def nearest_double(uint64_t w, int64_t q):
    """w x 10^q as a double, for tests against Python's own conversion."""
    return double_of(FIVES, w, q)


def shortest(double number):
    """(digits, exponent) of a positive double, for tests against Python's own conversion."""
    cdef uint64_t bits
    cdef int64_t exponent
    memcpy(&bits, &number, 8)
    digits = double_digits(TENS, bits, &exponent)
    return digits, exponent
