"""Numbers between text and binary, exactly.

Text to double: decimal digits and a power of ten, w x 10^q, to the nearest double (ties to even). Two ways that
need no big numbers, then Python's own:

    w <= 2^53 and |q| <= 22     one multiplication or division of exact doubles
    w < 2^64                    w times the first 64 or 128 bits of 5^q; enough bits to round in all cases
    more than 19 digits         the same for w and w + 1; if they round apart, PyOS_string_to_double decides

The table of powers of five is computed at import (`_numbers.pyx`).
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t

cdef extern from *:
    """
    #include <string.h>
    #include <stdint.h>

    typedef unsigned __int128 shredlake_uint128;

    static inline uint64_t shredlake_multiply(uint64_t a, uint64_t b, uint64_t* high) {
        shredlake_uint128 product = (shredlake_uint128) a * b;
        *high = (uint64_t) (product >> 64);
        return (uint64_t) product;
    }

    static inline double shredlake_double_of_bits(uint64_t bits) {
        double number;
        memcpy(&number, &bits, 8);
        return number;
    }

    static const double shredlake_exact_tens[] = {
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22
    };

    #define SHREDLAKE_LARGEST_EXACT 9007199254740992ULL    /* 2^53 */
    #define SHREDLAKE_HIDDEN_BIT 4503599627370496ULL       /* 2^52 */
    #define SHREDLAKE_INFINITY 0x7FF0000000000000ULL
    """
    ctypedef unsigned long long uint128_t "shredlake_uint128"
    uint64_t multiply "shredlake_multiply"(uint64_t a, uint64_t b, uint64_t* high) noexcept nogil
    double double_of_bits "shredlake_double_of_bits"(uint64_t bits) noexcept nogil
    int clz "__builtin_clzll"(uint64_t number) noexcept nogil
    int ctz "__builtin_ctzll"(uint64_t number) noexcept nogil
    const double* EXACT_TENS "shredlake_exact_tens"
    const uint64_t LARGEST_EXACT "SHREDLAKE_LARGEST_EXACT"
    const uint64_t HIDDEN_BIT "SHREDLAKE_HIDDEN_BIT"
    const uint64_t INFINITY_BITS "SHREDLAKE_INFINITY"

cdef enum:
    SMALLEST_POWER = -342   # w x 10^q is below half the smallest double from here on, for any 64-bit w
    LARGEST_POWER = 308
    EXACT_POWER = 22        # 10^22 is the largest power of ten that a double holds exactly

cdef const uint64_t* powers_of_five() noexcept nogil


cdef inline double double_of(const uint64_t* powers, uint64_t w, int64_t q) noexcept nogil:
    """w x 10^q, rounded to nearest even; infinity where it is too large."""
    if w <= LARGEST_EXACT and -EXACT_POWER <= q <= EXACT_POWER:
        if q < 0:
            return <double> w / EXACT_TENS[-q]
        return <double> w * EXACT_TENS[q]
    return double_of_bits(double_bits(powers, w, q))


cdef inline uint64_t double_bits(const uint64_t* powers, uint64_t w, int64_t q) noexcept nogil:
    """The bits of w x 10^q by one or two 64-bit multiplications with the leading bits of 5^q."""
    cdef uint64_t high, low, second_high, mantissa
    cdef int zeros, upper, shift
    cdef int64_t exponent
    cdef const uint64_t* power
    if w == 0 or q < SMALLEST_POWER:
        return 0
    if q > LARGEST_POWER:
        return INFINITY_BITS
    zeros = clz(w)
    w <<= zeros
    power = powers + 2 * (q - SMALLEST_POWER)
    low = multiply(w, power[0], &high)
    if high & 0x1FF == 0x1FF:
        # The bits below the rounding bit are all ones: the missing half of the product may carry into them.
        multiply(w, power[1], &second_high)
        low += second_high
        if low < second_high:
            high += 1
    upper = <int> (high >> 63)
    shift = upper + 9                       # leaves 52 + 2 bits: the mantissa with its hidden bit, and one to round
    mantissa = high >> shift
    exponent = ((217706 * q) >> 16) + 63 + upper - zeros + 1023
    if exponent <= 0:
        # Subnormal: fewer bits of mantissa are left.
        if exponent <= -63:
            return 0
        mantissa >>= 1 - exponent
        mantissa = (mantissa + (mantissa & 1)) >> 1
        return mantissa                     # rounding up to the hidden bit makes exponent 1 by itself
    if low <= 1 and -4 <= q <= 23 and mantissa & 3 == 1 and (mantissa << shift) == high:
        mantissa -= 1                       # exactly half way: to even
    mantissa = (mantissa + (mantissa & 1)) >> 1
    if mantissa >= 2 * HIDDEN_BIT:
        mantissa = HIDDEN_BIT
        exponent += 1
    if exponent >= 0x7FF:
        return INFINITY_BITS
    return (mantissa - HIDDEN_BIT) | (<uint64_t> exponent << 52)
