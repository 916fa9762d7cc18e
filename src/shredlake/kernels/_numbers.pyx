"""The table behind _numbers.pxd: the first 128 bits of 5^q for every q that a double can need."""

from libc.stdint cimport int64_t, uint64_t

cdef uint64_t POWERS[2 * (308 + 342 + 1)]


cdef const uint64_t* powers_of_five() noexcept nogil:
    return POWERS


def _leading_bits(q):
    """5^q scaled by a power of two to [2^127, 2^128), truncated.

    For -27 <= q < 0, where products of w can be exact ties, the reciprocal is rounded up instead, so that
    w x 10^q comes out exact whenever it is.
    """
    if q >= 0:
        power = 5**q
        surplus = power.bit_length() - 128
        return power >> surplus if surplus > 0 else power << -surplus
    power = 5**-q
    return (1 << (power.bit_length() + 127)) // power + (q >= -27)


cdef void _fill():
    for index in range(308 + 342 + 1):
        bits = _leading_bits(index - 342)
        POWERS[2 * index] = <uint64_t> (bits >> 64)
        POWERS[2 * index + 1] = <uint64_t> (bits & 0xFFFFFFFFFFFFFFFF)


_fill()


def nearest_double(uint64_t w, int64_t q):
    """w x 10^q as a double, for tests against Python's own conversion."""
    return double_of(POWERS, w, q)
