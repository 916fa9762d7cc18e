"""Exact numbers of any width: (unscaled, scale), rescaled without losing a digit."""

from libc.stdint cimport int8_t, int64_t, uint8_t

from shredlake.kernels.compiled.variant cimport (
    MALFORMED,
    P_DECIMAL16,
    P_DECIMAL4,
    P_DECIMAL8,
    P_INT16,
    P_INT32,
    P_INT64,
    P_INT8,
    PRIMITIVE,
    PRIMITIVE_WIDTHS,
    int128_t,
    read_int128,
    read_int16,
    read_int32,
    read_int64,
)

cdef extern from *:
    """
    #define SHREDLAKE_TEN16 ((shredlake_int128) 10000000000000000LL)
    static const shredlake_int128 shredlake_powers[39] = {
        1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000LL,
        100000000000LL, 1000000000000LL, 10000000000000LL, 100000000000000LL, 1000000000000000LL,
        SHREDLAKE_TEN16, SHREDLAKE_TEN16 * 10, SHREDLAKE_TEN16 * 100, SHREDLAKE_TEN16 * 1000,
        SHREDLAKE_TEN16 * 10000, SHREDLAKE_TEN16 * 100000, SHREDLAKE_TEN16 * 1000000,
        SHREDLAKE_TEN16 * 10000000, SHREDLAKE_TEN16 * 100000000, SHREDLAKE_TEN16 * 1000000000,
        SHREDLAKE_TEN16 * 10000000000LL, SHREDLAKE_TEN16 * 100000000000LL, SHREDLAKE_TEN16 * 1000000000000LL,
        SHREDLAKE_TEN16 * 10000000000000LL, SHREDLAKE_TEN16 * 100000000000000LL,
        SHREDLAKE_TEN16 * 1000000000000000LL, SHREDLAKE_TEN16 * SHREDLAKE_TEN16,
        SHREDLAKE_TEN16 * SHREDLAKE_TEN16 * 10, SHREDLAKE_TEN16 * SHREDLAKE_TEN16 * 100,
        SHREDLAKE_TEN16 * SHREDLAKE_TEN16 * 1000, SHREDLAKE_TEN16 * SHREDLAKE_TEN16 * 10000,
        SHREDLAKE_TEN16 * SHREDLAKE_TEN16 * 100000, SHREDLAKE_TEN16 * SHREDLAKE_TEN16 * 1000000
    };
    """
    const int128_t* POWERS "shredlake_powers"


cdef inline bint digits_fit(int128_t number, int precision) noexcept nogil:
    """Whether the number has at most `precision` digits, 0 to 38; zero has no digits."""
    return -POWERS[precision] < number < POWERS[precision]


cdef inline bint fits_int(int128_t number, int width) noexcept nogil:
    """Whether a signed integer of 1, 2, 4 or 8 bytes can hold the number."""
    cdef int64_t small = <int64_t> number
    if number != small:
        return False
    return width == 8 or small >> (8 * width - 1) == small >> 63


cdef inline int exact_number(const uint8_t* p, const uint8_t* end, int128_t* unscaled, int* scale) noexcept nogil:
    """1 and the number, 0 if it is not an integer or decimal, MALFORMED if it is truncated or has too many digits."""
    cdef int id = p[0] >> 2
    if p[0] & 3 != PRIMITIVE or id > P_DECIMAL16:
        return 0
    if end - p < 1 + PRIMITIVE_WIDTHS[id]:
        return MALFORMED
    scale[0] = 0
    if id == P_INT8:
        unscaled[0] = <int8_t> p[1]
    elif id == P_INT16:
        unscaled[0] = read_int16(p + 1)
    elif id == P_INT32:
        unscaled[0] = read_int32(p + 1)
    elif id == P_INT64:
        unscaled[0] = read_int64(p + 1)
    elif id >= P_DECIMAL4:
        scale[0] = p[1]
        if id == P_DECIMAL4:
            unscaled[0] = read_int32(p + 2)
        elif id == P_DECIMAL8:
            unscaled[0] = read_int64(p + 2)
        else:
            unscaled[0] = read_int128(p + 2)
        if scale[0] > 38 or not digits_fit(unscaled[0], 9 if id == P_DECIMAL4 else 18 if id == P_DECIMAL8 else 38):
            return MALFORMED
    else:
        return 0
    return 1


cdef inline bint rescale(int128_t* unscaled, int scale, int wanted) noexcept nogil:
    """Rescales to `wanted` digits after the point; false if that would lose a digit, or need more than 38."""
    cdef int128_t power
    if scale == wanted:
        return True
    if scale > wanted:
        power = POWERS[scale - wanted]
        if unscaled[0] % power != 0:
            return False
        unscaled[0] = unscaled[0] / power
        return True
    if not digits_fit(unscaled[0], 38 - (wanted - scale)):
        return False
    unscaled[0] = unscaled[0] * POWERS[wanted - scale]
    return True
