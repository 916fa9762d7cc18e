"""Strings and numbers of JSON text, read from a zero-terminated copy of the row.

The text is followed by at least PADDING zero bytes. JSON does not allow a zero byte anywhere, so loops stop there, and
whole words may be read without checking the length.

All functions return the position after the text they read, or NULL after setting `failure`. Output goes to room that
the caller has reserved: no function writes more than it reads, plus PADDING.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from shredlake.kernels.compiled.numbers cimport ctz, double_of, uint128_t
from shredlake.kernels.compiled.variant cimport P_DOUBLE, int128_t, write_decimal, write_int, write_primitive, write_small_decimal

cdef extern from "Python.h":
    double PyOS_string_to_double(const char* text, char** end, void* overflow) except? -1.0

cdef enum:
    PADDING = 32

# The possible failures; their wording is in variant/json/problems.py.
cdef enum Problem:
    FINE = 0
    EXPECTED_VALUE = 1
    EXPECTED_KEY = 2
    EXPECTED_COLON = 3
    EXPECTED_COMMA_OR_BRACE = 4
    EXPECTED_COMMA_OR_BRACKET = 5
    TRAILING = 6
    UNCLOSED = 7
    CONTROL = 8
    BAD_ESCAPE = 9
    BAD_HEX = 10
    LONE_SURROGATE = 11
    NOT_UTF8 = 12
    NO_DIGITS = 13
    BAD_NUMBER = 14
    DUPLICATE_KEY = 15
    TOO_DEEP = 16
    TOO_LARGE = 17

cdef struct Failure:
    int problem
    const uint8_t* at
    const uint8_t* opening  # the opening quote of the string with the problem

cdef extern from *:
    """
    #define SHREDLAKE_ONES  0x0101010101010101ULL
    #define SHREDLAKE_HIGHS 0x8080808080808080ULL

    /* A bit in the high bit of every byte that ends a run of plain text: quote, backslash, control, not ASCII.
       Borrows may flag bytes above a flagged one, never below: only the lowest flag is reliable. */
    static inline uint64_t shredlake_special(uint64_t word) {
        uint64_t quote = word ^ (SHREDLAKE_ONES * '"');
        uint64_t slash = word ^ (SHREDLAKE_ONES * '\\\\');
        return (((quote - SHREDLAKE_ONES) & ~quote)
              | ((slash - SHREDLAKE_ONES) & ~slash)
              | ((word - SHREDLAKE_ONES * 0x20) & ~word)
              | word) & SHREDLAKE_HIGHS;
    }

    /* The number of leading digits among the eight bytes. A carry out of a byte that is not a
       digit may flag bytes above it, never below. */
    static inline int shredlake_leading_digits(uint64_t word) {
        uint64_t digit = word ^ (SHREDLAKE_ONES * '0');
        uint64_t other = ((digit + SHREDLAKE_ONES * 0x76) | digit) & SHREDLAKE_HIGHS;
        return other ? __builtin_ctzll(other) >> 3 : 8;
    }
    /* The number of the first `count` digits, 1 to 8: neighbours are combined to 2, 4 and 8 digits. */
    static inline uint64_t shredlake_number_of(uint64_t word, int count) {
        word <<= 64 - 8 * count;
        word = (word & 0x0F0F0F0F0F0F0F0FULL) * 2561 >> 8;
        word = (word & 0x00FF00FF00FF00FFULL) * 6553601 >> 16;
        return (word & 0x0000FFFF0000FFFFULL) * 42949672960001ULL >> 32;
    }
    static const uint64_t shredlake_small_tens[9] = {
        1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000
    };

    #define SHREDLAKE_LARGEST_INT64 9223372036854775807ULL
    """
    uint64_t special "shredlake_special"(uint64_t word) noexcept nogil
    int leading_digits "shredlake_leading_digits"(uint64_t word) noexcept nogil
    uint64_t number_of "shredlake_number_of"(uint64_t word, int count) noexcept nogil
    const uint64_t* SMALL_TENS "shredlake_small_tens"
    const uint64_t LARGEST_INT64 "SHREDLAKE_LARGEST_INT64"


cdef inline const uint8_t* fail(Failure* failure, int problem, const uint8_t* at) noexcept nogil:
    failure.problem = problem
    failure.at = at
    return NULL


cdef inline uint64_t word_at(const uint8_t* p) noexcept nogil:
    cdef uint64_t word
    memcpy(&word, p, 8)
    return word


cdef inline bint is_digit(uint8_t c) noexcept nogil:
    return <uint8_t> (c - 48) < 10


cdef inline const uint8_t* skip_space(const uint8_t* p) noexcept nogil:
    while p[0] <= 32 and (p[0] == 32 or p[0] == 10 or p[0] == 13 or p[0] == 9):
        p += 1
    return p

# ---------------------------------------------------------------- strings

cdef inline int utf8_length(const uint8_t* p) noexcept nogil:
    """The length of the well-formed character at p (not ASCII), or 0: overlong, surrogate, too high, truncated."""
    cdef uint8_t a = p[0], b = p[1]
    if a < 0xE0:
        return 2 if a >= 0xC2 and b & 0xC0 == 0x80 else 0
    if b & 0xC0 != 0x80 or p[2] & 0xC0 != 0x80:
        return 0
    if a < 0xF0:
        if (a == 0xE0 and b < 0xA0) or (a == 0xED and b >= 0xA0):
            return 0
        return 3
    if p[3] & 0xC0 != 0x80 or a > 0xF4 or (a == 0xF0 and b < 0x90) or (a == 0xF4 and b >= 0x90):
        return 0
    return 4


cdef inline int64_t first_not_utf8(const uint8_t* text, int64_t size) noexcept nogil:
    """The position of the first ill-formed character, or -1."""
    cdef int64_t at = 0
    cdef int length
    while at < size:
        length = 1 if text[at] < 0x80 else utf8_length(text + at)
        if length == 0:
            return at
        at += length
    return -1


cdef inline int hex_digit(uint8_t c) noexcept nogil:
    if is_digit(c):
        return c - 48
    c |= 32
    return c - 87 if 97 <= c <= 102 else -1


cdef inline int64_t hex4(const uint8_t* p) noexcept nogil:
    """Parses four hexadecimal digits, or returns -1."""
    cdef int64_t code = 0
    cdef int i, digit
    for i in range(4):
        digit = hex_digit(p[i])
        if digit < 0:
            return -1
        code = (code << 4) | digit
    return code


cdef inline uint8_t* write_utf8(uint8_t* out, int64_t code) noexcept nogil:
    if code < 0x80:
        out[0] = <uint8_t> code
        return out + 1
    if code < 0x800:
        out[0] = <uint8_t> (0xC0 | (code >> 6))
        out[1] = <uint8_t> (0x80 | (code & 0x3F))
        return out + 2
    if code < 0x10000:
        out[0] = <uint8_t> (0xE0 | (code >> 12))
        out[1] = <uint8_t> (0x80 | ((code >> 6) & 0x3F))
        out[2] = <uint8_t> (0x80 | (code & 0x3F))
        return out + 3
    out[0] = <uint8_t> (0xF0 | (code >> 18))
    out[1] = <uint8_t> (0x80 | ((code >> 12) & 0x3F))
    out[2] = <uint8_t> (0x80 | ((code >> 6) & 0x3F))
    out[3] = <uint8_t> (0x80 | (code & 0x3F))
    return out + 4


cdef inline uint8_t plain_escape(uint8_t c) noexcept nogil:
    """The character of a one-letter escape, or 0."""
    if c == 110:                        # n
        return 10
    if c == 34 or c == 92 or c == 47:   # quote, backslash, slash
        return c
    if c == 116:                        # t
        return 9
    if c == 114:                        # r
        return 13
    if c == 98:                         # b
        return 8
    if c == 102:                        # f
        return 12
    return 0


cdef inline const uint8_t* copy_escape(const uint8_t* p, uint8_t** out, Failure* failure) noexcept nogil:
    """Reads one escape sequence; p is at its backslash."""
    cdef uint8_t c = p[1]
    cdef int64_t code, low
    cdef uint8_t plain = plain_escape(c)
    if plain:
        out[0][0] = plain
        out[0] += 1
        return p + 2
    if c != 117:                        # u
        return fail(failure, BAD_ESCAPE, p)
    code = hex4(p + 2)
    if code < 0:
        return fail(failure, BAD_HEX, p)
    if 0xD800 <= code < 0xE000:
        low = 0
        if code < 0xDC00 and p[6] == 92 and p[7] == 117:
            low = hex4(p + 8)
            if low < 0:
                return fail(failure, BAD_HEX, p + 6)
        if not 0xDC00 <= low < 0xE000:
            return fail(failure, LONE_SURROGATE, p)
        out[0] = write_utf8(out[0], 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00))
        return p + 12
    out[0] = write_utf8(out[0], code)
    return p + 6


cdef inline const uint8_t* copy_string(const uint8_t* p, uint8_t** end_of_copy, Failure* failure) noexcept nogil:
    """Unescapes a string; p is after the opening quote, the result after the closing one."""
    cdef uint8_t* out = end_of_copy[0]
    cdef uint64_t word, stop
    cdef int skip, length
    while True:
        word = word_at(p)
        memcpy(out, &word, 8)
        stop = special(word)
        if stop == 0:
            p += 8
            out += 8
            continue
        skip = ctz(stop) >> 3
        p += skip
        out += skip
        if p[0] == 34:
            end_of_copy[0] = out
            return p + 1
        if p[0] >= 0x80:
            while True:
                length = utf8_length(p)
                if length == 0:
                    return fail(failure, NOT_UTF8, p)
                memcpy(out, p, 4)
                p += length
                out += length
                if p[0] < 0x80:
                    break
        elif p[0] == 92:
            p = copy_escape(p, &out, failure)
            if p == NULL:
                return NULL
        else:
            return fail(failure, CONTROL, p)

# ---------------------------------------------------------------- numbers

cdef inline const uint8_t* copy_number(
    const uint8_t* p, uint8_t** out, const uint64_t* powers, Failure* failure
) noexcept nogil:
    """Reads a number as the smallest integer, else a decimal, else a double; at most 18 bytes.

    Up to 18 digits without an exponent, by far the most common case, are handled here; the rest by copy_long_number.
    """
    cdef const uint8_t* first = p
    cdef bint negative = p[0] == 45
    cdef const uint8_t* digits
    cdef const uint8_t* point
    cdef uint64_t number = 0
    p += negative
    digits = p
    p = add_digits(p, &number)
    if p == digits:
        return fail(failure, NO_DIGITS, first)
    if digits[0] == 48 and p != digits + 1:
        return fail(failure, BAD_NUMBER, digits + 1)
    if p[0] == 46 and p - digits <= 18:
        point = p
        p = add_digits(p + 1, &number)
        if p - point > 1 and p - digits <= 19 and p[0] | 32 != 101:
            out[0] = write_small_decimal(
                out[0], -<int64_t> number if negative else <int64_t> number, <int> (p - point - 1)
            )
            return p
        return copy_long_number(first, out, powers, failure)
    if p[0] == 46 or p[0] | 32 == 101 or p - digits > 18:
        return copy_long_number(first, out, powers, failure)
    out[0] = write_int(out[0], -<int64_t> number if negative else <int64_t> number)
    return p


cdef inline const uint8_t* add_digits(const uint8_t* p, uint64_t* number) noexcept nogil:
    """Appends the digits from p on to the number, modulo 2^64; returns the position after them."""
    cdef uint64_t word
    cdef int count
    while True:
        word = word_at(p)
        count = leading_digits(word)
        if count:
            number[0] = number[0] * SMALL_TENS[count] + number_of(word, count)
        p += count
        if count < 8:
            return p


cdef inline const uint8_t* copy_long_number(
    const uint8_t* first, uint8_t** out, const uint64_t* powers, Failure* failure
) noexcept nogil:
    """As copy_number, for numbers with a point, an exponent or many digits. The integer part is well-formed."""
    cdef const uint8_t* p = first + (first[0] == 45)
    cdef bint negative = first[0] == 45
    cdef bint has_exponent = False, negative_exponent, signed_exponent
    cdef uint128_t unscaled = 0
    cdef uint64_t leading = 0       # the first 19 significant digits
    cdef int64_t digits = 0         # the number of significant digits
    cdef int64_t scale = 0, dropped = 0, exponent = 0
    cdef bint after_point = False
    cdef double number
    while True:
        if is_digit(p[0]):
            if digits or p[0] != 48:
                digits += 1
                if digits <= 38:
                    unscaled = unscaled * 10 + (p[0] - 48)
                if digits <= 19:
                    leading = leading * 10 + (p[0] - 48)
                else:
                    dropped += 1
            scale += after_point
        elif p[0] == 46 and not after_point:
            after_point = True
            if not is_digit(p[1]):
                return fail(failure, BAD_NUMBER, p)
        else:
            break
        p += 1
    if p[0] | 32 == 101:
        has_exponent = True
        negative_exponent = p[1] == 45
        signed_exponent = negative_exponent or p[1] == 43
        if not is_digit(p[1 + signed_exponent]):
            return fail(failure, BAD_NUMBER, p)
        p += 1 + signed_exponent
        while is_digit(p[0]):
            if exponent < 100000000:
                exponent = exponent * 10 + (p[0] - 48)
            p += 1
        if negative_exponent:
            exponent = -exponent
    if not has_exponent and digits <= 38 and scale <= 38:
        if not after_point and digits <= 19 and leading <= LARGEST_INT64 + negative:
            out[0] = write_int(out[0], <int64_t> (0 - leading) if negative else <int64_t> leading)
        else:
            out[0] = write_decimal(out[0], -<int128_t> unscaled if negative else <int128_t> unscaled, <int> scale)
        return p
    exponent += dropped - scale
    number = double_of(powers, leading, exponent)
    if dropped and number != double_of(powers, leading + 1, exponent):
        number = python_double(first + negative)
    if negative:
        number = -number
    out[0] = write_primitive(out[0], P_DOUBLE, &number, 8)
    return p


cdef inline double python_double(const uint8_t* text) noexcept nogil:
    """Uses Python's conversion, for the rare number that 19 digits do not determine."""
    cdef char* end
    with gil:
        return PyOS_string_to_double(<const char*> text, &end, NULL)
