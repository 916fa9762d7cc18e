"""Converts numbers between text and binary exactly.

Text to double: decimal digits and a power of ten, w x 10^q, to the nearest double (ties to even). Two methods without
big numbers, then Python's own:

    w <= 2^53 and |q| <= 22     one multiplication or division of exact doubles
    w < 2^64                    w times the first 64 or 128 bits of 5^q; enough bits to round in all cases
    more than 19 digits         the same for w and w + 1; if they round apart, PyOS_string_to_double decides

Double to text: the fewest digits that parse to the same double, and of those the closest. All decimals that round to v
= c x 2^q are between the points half way to its neighbours. Scaled by 10^-k, chosen so that this interval is 2 to 20
units wide, they are the integers s and s + 1 or, one digit shorter, the adjacent tens:

    ────┬───────────┬─────────────┬──────────────┬────
       low          s      v    s + 1           high         low, v, high to two bits below the unit

10^-k comes from a table of 126-bit powers; its truncation never changes a comparison (Giulietti's proof).

Both tables are computed at import (`numbers.pyx`).
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

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
    #define SHREDLAKE_LOW_63 0x7FFFFFFFFFFFFFFFULL

    static const char shredlake_digit_pairs[] =
        "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748"
        "49505152535455565758596061626364656667686970717273747576777879808182838485868788899091929394959697"
        "9899";

    /* floor(log10(2^e)), floor(log10(3/4 x 2^e)) and floor(log2(10^e)), for all e of a double. */
    #define SHREDLAKE_LOG10_POW2(e) ((int64_t) (e) * 661971961083LL >> 41)
    #define SHREDLAKE_LOG10_POW2_BELOW(e) (((int64_t) (e) * 661971961083LL - 274743187321LL) >> 41)
    #define SHREDLAKE_LOG2_POW10(e) ((int64_t) (e) * 913124641741LL >> 38)
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
    const uint64_t LOW_63 "SHREDLAKE_LOW_63"
    const char* DIGIT_PAIRS "shredlake_digit_pairs"
    int64_t log10_pow2 "SHREDLAKE_LOG10_POW2"(int64_t e) noexcept nogil
    int64_t log10_pow2_below "SHREDLAKE_LOG10_POW2_BELOW"(int64_t e) noexcept nogil
    int64_t log2_pow10 "SHREDLAKE_LOG2_POW10"(int64_t e) noexcept nogil

cdef enum:
    SMALLEST_POWER = -342   # w x 10^q is below half the smallest double from here on, for any 64-bit w
    LARGEST_POWER = 308
    EXACT_POWER = 22        # 10^22 is the largest power of ten that a double holds exactly
    SMALLEST_SCALE = -324   # k of the largest double, and of the smallest
    LARGEST_SCALE = 292

cdef const uint64_t* powers_of_five() noexcept nogil    # for double_of
cdef const uint64_t* powers_of_ten() noexcept nogil     # for shortest_digits


cdef inline double double_of(const uint64_t* powers, uint64_t w, int64_t q) noexcept nogil:
    """w x 10^q, rounded to nearest even; infinity if it is too large."""
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
        # The bits below the rounding bit are all ones, so the missing half of the product may carry into them.
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
        return mantissa                     # rounding up to the hidden bit gives exponent 1
    if low <= 1 and -4 <= q <= 23 and mantissa & 3 == 1 and (mantissa << shift) == high:
        mantissa -= 1                       # exactly half way: round to even
    mantissa = (mantissa + (mantissa & 1)) >> 1
    if mantissa >= 2 * HIDDEN_BIT:
        mantissa = HIDDEN_BIT
        exponent += 1
    if exponent >= 0x7FF:
        return INFINITY_BITS
    return (mantissa - HIDDEN_BIT) | (<uint64_t> exponent << 52)

# ---------------------------------------------------------------- to text

cdef inline uint64_t scaled(const uint64_t* power, uint64_t number) noexcept nogil:
    """number x power / 2^127, with the lowest bit set if any bit was truncated."""
    cdef uint64_t low_high, high, middle, sum_
    multiply(power[1], number, &low_high)
    middle = multiply(power[0], number, &high)
    sum_ = (middle >> 1) + low_high
    return (high + (sum_ >> 63)) | ((sum_ & LOW_63) != 0)


cdef inline uint64_t shortest_digits(
    const uint64_t* powers, uint64_t c, int64_t q, bint lower_is_closer, int64_t* exponent
) noexcept nogil:
    """Digits f and their exponent, f x 10^exponent, for c x 2^q; f may end in zeros.

    `lower_is_closer`: c is the smallest of its binade, so the neighbour below is only half as far away.
    """
    cdef uint64_t odd = c & 1, middle = c << 2, low, high, v, s, tens
    cdef int64_t k, shift
    cdef const uint64_t* power
    cdef bint below, above
    cdef int64_t order
    k = log10_pow2_below(q) if lower_is_closer else log10_pow2(q)
    shift = q + log2_pow10(-k) + 2
    power = powers + 2 * (k - SMALLEST_SCALE)
    v = scaled(power, middle << shift)
    low = scaled(power, (middle - (1 if lower_is_closer else 2)) << shift)
    high = scaled(power, (middle + 2) << shift)
    exponent[0] = k
    s = v >> 2
    if s >= 10:
        tens = s // 10 * 10
        below = low + odd <= tens << 2
        above = ((tens + 10) << 2) + odd <= high
        if below != above:
            return tens if below else tens + 10
    below = low + odd <= s << 2
    above = ((s + 1) << 2) + odd <= high
    if below != above:
        return s if below else s + 1
    order = <int64_t> (v - ((2 * s + 1) << 1))
    return s if order < 0 or (order == 0 and s & 1 == 0) else s + 1


cdef inline uint64_t double_digits(const uint64_t* powers, uint64_t bits, int64_t* exponent) noexcept nogil:
    """shortest_digits of a double that is neither zero, infinite nor NaN; the sign is ignored."""
    cdef uint64_t fraction = bits & (HIDDEN_BIT - 1)
    cdef int64_t biased = <int64_t> (bits >> 52) & 0x7FF
    if biased == 0:
        return shortest_digits(powers, fraction, -1074, False, exponent)
    return shortest_digits(powers, fraction | HIDDEN_BIT, biased - 1075, fraction == 0 and biased > 1, exponent)


cdef inline uint64_t float_digits(const uint64_t* powers, uint32_t bits, int64_t* exponent) noexcept nogil:
    """shortest_digits of a float: 24 bits instead of 53."""
    cdef uint64_t fraction = bits & 0x7FFFFF
    cdef int64_t biased = (bits >> 23) & 0xFF
    if biased == 0:
        return shortest_digits(powers, fraction, -149, False, exponent)
    return shortest_digits(powers, fraction | 0x800000, biased - 150, fraction == 0 and biased > 1, exponent)


cdef inline int digit_count(uint64_t number) noexcept nogil:
    cdef int count = 1
    while number >= 10000:
        number //= 10000
        count += 4
    if number >= 100:
        return count + 2 if number < 1000 else count + 3
    return count if number < 10 else count + 1


cdef inline void write_digits(uint8_t* out, uint64_t number, int count) noexcept nogil:
    """Prints exactly `count` digits, with leading zeros."""
    while count >= 2:
        count -= 2
        memcpy(out + count, DIGIT_PAIRS + 2 * (number % 100), 2)
        number //= 100
    if count:
        out[0] = <uint8_t> (48 + number % 10)


cdef inline uint8_t* write_number(uint8_t* out, uint64_t number) noexcept nogil:
    """At most 20 bytes."""
    cdef int count = digit_count(number)
    write_digits(out, number, count)
    return out + count
