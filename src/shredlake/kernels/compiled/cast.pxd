"""Casts one value of a Variant in compiled code, for the frequent pairs of casts/table.py.

Each function casts the value at p and returns one of:

    CAST      it is written to `out`
    NOTHING   a Variant null
    FAILED    the value does not cast: null, or an error if the caller is strict
    DEFERRED  only casts/table.py can cast the value
    MALFORMED the bytes end too early

The semantics are those of the table; a test compares both for every pair.
"""

from libc.math cimport ceil, floor
from libc.stdint cimport int64_t, uint8_t

from shredlake.kernels.compiled.decimals cimport POWERS, digits_fit, exact_number, fits_int
from shredlake.kernels.compiled.numbers cimport EXACT_TENS
from shredlake.kernels.compiled.variant cimport (
    ARRAY,
    MALFORMED,
    OBJECT,
    P_DECIMAL16,
    P_DOUBLE,
    P_FALSE,
    P_FLOAT,
    P_INT64,
    P_INT8,
    P_NULL,
    P_STRING,
    P_TIME,
    P_TIMESTAMP,
    P_TIMESTAMP_NANOS,
    P_TIMESTAMP_NTZ_NANOS,
    P_TRUE,
    PRIMITIVE,
    PRIMITIVES,
    PRIMITIVE_WIDTHS,
    Slice,
    int128_t,
    read_double,
    read_float,
    read_int64,
    string_at,
)

cdef extern from *:
    """
    #define SHREDLAKE_CAST_MICROS 1000000LL
    #define SHREDLAKE_CAST_DAY 86400000000LL
    #define SHREDLAKE_CAST_TWO63 9223372036854775808.0
    #define SHREDLAKE_CAST_INT64_MAX 9223372036854775807LL
    #define SHREDLAKE_CAST_EXACT_INT 9007199254740992LL
    static inline int shredlake_times_micros(int64_t number, int64_t* out) {
        return __builtin_mul_overflow(number, SHREDLAKE_CAST_MICROS, out);
    }
    """
    const int64_t MICROS "SHREDLAKE_CAST_MICROS"
    const int64_t DAY "SHREDLAKE_CAST_DAY"
    const double TWO63 "SHREDLAKE_CAST_TWO63"
    const int64_t INT64_MAX "SHREDLAKE_CAST_INT64_MAX"
    const int64_t EXACT_INT "SHREDLAKE_CAST_EXACT_INT"
    bint times_micros "shredlake_times_micros"(int64_t number, int64_t* out) noexcept nogil

cdef enum Outcome:
    CAST = 0
    NOTHING = 1
    FAILED = 2
    DEFERRED = 3

cdef enum:
    K_OBJECT = 30           # kinds in addition to the primitive ids
    K_ARRAY = 31

# ---------------------------------------------------------------- the kind of the value at p

cdef inline int kind_of(const uint8_t* p, const uint8_t* end) noexcept nogil:
    """A primitive's id (true for both booleans, string for short ones), K_OBJECT, K_ARRAY, or MALFORMED.

    A fixed-width scalar is entirely before end; unknown primitives are MALFORMED.
    """
    if p >= end:
        return MALFORMED
    cdef int basic = p[0] & 3, id = p[0] >> 2
    if basic == PRIMITIVE:
        if id >= PRIMITIVES or end - p < 1 + PRIMITIVE_WIDTHS[id]:
            return MALFORMED
        return P_TRUE if id == P_FALSE else id
    if basic == OBJECT:
        return K_OBJECT
    return K_ARRAY if basic == ARRAY else P_STRING


cdef inline bint is_nanos(int kind) noexcept nogil:
    return kind == P_TIMESTAMP_NANOS or kind == P_TIMESTAMP_NTZ_NANOS


cdef inline bint is_number(int kind) noexcept nogil:
    return P_INT8 <= kind <= P_DECIMAL16 or kind == P_FLOAT


cdef inline void trim(Slice* text, int delete) noexcept nogil:
    """Trims blanks and control characters; Java's own trim, used for floats, does not trim DEL."""
    while text.size and (text.data[0] <= 32 or text.data[0] == delete):
        text.data += 1
        text.size -= 1
    while text.size and (text.data[text.size - 1] <= 32 or text.data[text.size - 1] == delete):
        text.size -= 1


cdef inline bint digit(uint8_t c) noexcept nogil:
    return <uint8_t> (c - 48) <= 9

# ---------------------------------------------------------------- numbers

cdef inline int whole(double number, int width, int64_t* out) noexcept nogil:
    """Truncates towards zero; like Java, converts 2^63 to the largest long."""
    cdef double limit = TWO63 if width == 8 else 2147483648.0
    cdef double most = TWO63 if width == 8 else 2147483647.0
    if not (floor(number) <= most and ceil(number) >= -limit):
        return FAILED
    out[0] = INT64_MAX if number >= TWO63 else <int64_t> number
    return CAST if fits_int(out[0], width) else FAILED


cdef inline int text_to_int(Slice text, int width, int64_t* out) noexcept nogil:
    cdef bint negative = False
    cdef int128_t number = 0
    cdef int64_t i = 0
    trim(&text, 127)
    if text.size and (text.data[0] == 45 or text.data[0] == 43):
        negative = text.data[0] == 45
        i = 1
    if i == text.size:
        return FAILED
    while i < text.size:
        if not digit(text.data[i]) or not digits_fit(number, 30):
            return FAILED
        number = number * 10 + (text.data[i] - 48)
        i += 1
    if negative:
        number = -number
    if not fits_int(number, width):
        return FAILED
    out[0] = <int64_t> number
    return CAST


cdef inline int to_int(const uint8_t* p, const uint8_t* end, int width, int64_t* out) noexcept nogil:
    """Casts to an integer of `width` bytes."""
    cdef int kind = kind_of(p, end), scale
    cdef int128_t number
    cdef Slice text
    if P_INT8 <= kind <= P_DECIMAL16 and kind != P_DOUBLE:
        if exact_number(p, end, &number, &scale) != 1:
            return MALFORMED
        if scale:
            # Spark converts via a double unless the target is a bigint; below 2^53 that makes no difference.
            if width < 8 and not -EXACT_INT < number < EXACT_INT:
                return DEFERRED
            number = number / POWERS[scale]
        if not fits_int(number, width):
            return FAILED
        out[0] = <int64_t> number
        return CAST
    if kind == P_STRING:
        if string_at(p, end, &text) != 0:
            return MALFORMED
        return text_to_int(text, width, out)
    if kind == P_DOUBLE:
        return whole(read_double(p + 1), width, out)
    if kind == P_FLOAT:
        return whole(read_float(p + 1), width, out)
    if kind == P_TRUE:
        out[0] = p[0] >> 2 == P_TRUE
        return CAST
    if kind == P_TIMESTAMP:
        out[0] = floor_divide(read_int64(p + 1), MICROS)
        return CAST if fits_int(out[0], width) else FAILED
    if kind == P_TIMESTAMP_NANOS or kind == P_TIME:
        return DEFERRED
    return other(kind)


cdef inline int64_t floor_divide(int64_t a, int64_t b) noexcept nogil:
    """Rounds down, for b > 0."""
    cdef int64_t quotient = a / b
    return quotient - 1 if quotient * b > a else quotient


cdef inline int other(int kind) noexcept nogil:
    """The outcome for a kind that never casts."""
    if kind < 0:
        return MALFORMED
    return NOTHING if kind == P_NULL else FAILED


cdef inline int plain_number(Slice text, int128_t* number, int* scale) noexcept nogil:
    """Parses [sign] digits [. digits] of at most 38 digits; FAILED if the text is not a number in any form."""
    cdef bint negative = False
    cdef int64_t i = 0, digits = 0
    cdef bint point = False
    cdef uint8_t c
    number[0] = 0
    scale[0] = 0
    trim(&text, 32)
    if text.size == 0:
        return FAILED
    c = text.data[0]
    if c == 45 or c == 43:
        negative = c == 45
        i = 1
    elif not digit(c) and c != 46:
        # NaN, Infinity and digits of other scripts are left to the table.
        return DEFERRED if c >= 128 or c | 32 == 110 or c | 32 == 105 else FAILED
    while i < text.size:
        c = text.data[i]
        i += 1
        if digit(c):
            number[0] = number[0] * 10 + (c - 48)
            digits += 1
            scale[0] += point
        elif c == 46 and not point:
            point = True
        else:
            return DEFERRED
        if digits > 38:
            return DEFERRED
    if digits == 0:
        return DEFERRED
    if negative:
        number[0] = -number[0]
    return CAST if number[0] != 0 or not negative else DEFERRED     # -0.0 has a sign


cdef inline int exact_to_double(int128_t number, int scale, double* out) noexcept nogil:
    """One correctly rounded division; numbers that doubles can't hold exactly are left to the table."""
    if not -EXACT_INT <= number <= EXACT_INT or scale > 22:
        return DEFERRED
    out[0] = <double> <int64_t> number / EXACT_TENS[scale]
    return CAST


cdef inline int to_double(const uint8_t* p, const uint8_t* end, double* out) noexcept nogil:
    cdef int kind = kind_of(p, end), scale, outcome
    cdef int128_t number
    cdef Slice text
    if kind == P_DOUBLE:
        out[0] = read_double(p + 1)
        return CAST
    if P_INT8 <= kind <= P_DECIMAL16:
        if exact_number(p, end, &number, &scale) != 1:
            return MALFORMED
        if kind <= P_INT64:
            out[0] = <double> <int64_t> number
            return CAST
        return exact_to_double(number, scale, out)
    if kind == P_STRING:
        if string_at(p, end, &text) != 0:
            return MALFORMED
        outcome = plain_number(text, &number, &scale)
        return exact_to_double(number, scale, out) if outcome == CAST else outcome
    if kind == P_FLOAT:
        out[0] = read_float(p + 1)
        return CAST
    if kind == P_TRUE:
        out[0] = p[0] >> 2 == P_TRUE
        return CAST
    if kind == P_TIMESTAMP:
        out[0] = <double> read_int64(p + 1) / 1e6
        return CAST
    return DEFERRED if kind == P_TIMESTAMP_NANOS else other(kind)


cdef inline int to_float(const uint8_t* p, const uint8_t* end, float* out) noexcept nogil:
    """Decimals and strings are left to the table, because they must be rounded only once."""
    cdef int kind = kind_of(p, end), scale
    cdef int128_t number
    if kind == P_FLOAT:
        out[0] = read_float(p + 1)
    elif kind == P_DOUBLE:
        out[0] = <float> read_double(p + 1)
    elif P_INT8 <= kind <= P_INT64:
        if exact_number(p, end, &number, &scale) != 1:
            return MALFORMED
        out[0] = <float> <int64_t> number
    elif kind == P_TRUE:
        out[0] = p[0] >> 2 == P_TRUE
    elif kind == P_TIMESTAMP:
        out[0] = <float> (<double> read_int64(p + 1) / 1e6)
    elif is_number(kind) or kind == P_STRING or kind == P_TIMESTAMP_NANOS:
        return DEFERRED
    else:
        return other(kind)
    return CAST


cdef inline int rounded(int128_t number, int scale, int precision, int to_scale, int128_t* out) noexcept nogil:
    """Rescales the decimal, half away from zero."""
    cdef int shift = to_scale - scale
    cdef int128_t unit, rest
    if shift >= 0:
        if number != 0 and (shift > 38 or not digits_fit(number, 38 - shift)):
            return FAILED
        out[0] = number * POWERS[shift] if number != 0 else 0
    else:
        unit = POWERS[-shift]
        out[0] = number / unit
        rest = number - out[0] * unit
        if rest >= unit - rest:
            out[0] += 1
        elif -rest >= unit + rest:
            out[0] -= 1
    return CAST if digits_fit(out[0], precision) else FAILED


cdef inline int to_decimal(
    const uint8_t* p, const uint8_t* end, int precision, int scale, int128_t* out
) noexcept nogil:
    cdef int kind = kind_of(p, end), own_scale, outcome
    cdef int128_t number
    cdef Slice text
    if kind == P_DOUBLE or kind == P_FLOAT or kind == P_TIMESTAMP_NANOS or kind == P_TIME:
        return DEFERRED
    if P_INT8 <= kind <= P_DECIMAL16:
        if exact_number(p, end, &number, &own_scale) != 1:
            return MALFORMED
        return rounded(number, own_scale, precision, scale, out)
    if kind == P_STRING:
        if string_at(p, end, &text) != 0:
            return MALFORMED
        outcome = plain_number(text, &number, &own_scale)
        return rounded(number, own_scale, precision, scale, out) if outcome == CAST else outcome
    if kind == P_TRUE:
        return rounded(p[0] >> 2 == P_TRUE, 0, precision, scale, out)
    if kind == P_TIMESTAMP:
        return rounded(read_int64(p + 1), 6, precision, scale, out)
    return other(kind)

# ---------------------------------------------------------------- booleans

cdef inline bint is_word(Slice text, const char* word, int64_t size) noexcept nogil:
    cdef int64_t i
    if text.size != size:
        return False
    for i in range(size):
        if text.data[i] | 32 != <uint8_t> word[i]:
            return False
    return True


cdef inline int text_to_bool(Slice text, bint* out) noexcept nogil:
    trim(&text, 127)
    if text.size == 1 and (text.data[0] == 48 or text.data[0] == 49):
        out[0] = text.data[0] == 49
        return CAST
    if is_word(text, "true", 4) or is_word(text, "t", 1) or is_word(text, "yes", 3) or is_word(text, "y", 1):
        out[0] = True
        return CAST
    if is_word(text, "false", 5) or is_word(text, "f", 1) or is_word(text, "no", 2) or is_word(text, "n", 1):
        out[0] = False
        return CAST
    return FAILED


cdef inline int to_bool(const uint8_t* p, const uint8_t* end, bint* out) noexcept nogil:
    cdef int kind = kind_of(p, end), scale
    cdef int128_t number
    cdef Slice text
    if kind == P_TRUE:
        out[0] = p[0] >> 2 == P_TRUE
        return CAST
    if kind == P_DOUBLE:
        out[0] = read_double(p + 1) != 0
        return CAST
    if kind == P_FLOAT:
        out[0] = read_float(p + 1) != 0
        return CAST
    if P_INT8 <= kind <= P_DECIMAL16:
        if exact_number(p, end, &number, &scale) != 1:
            return MALFORMED
        out[0] = number != 0
        return CAST
    if kind == P_STRING:
        if string_at(p, end, &text) != 0:
            return MALFORMED
        return text_to_bool(text, out)
    return other(kind)
