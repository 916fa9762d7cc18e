"""The JSON text of every scalar, as in variant/json/render.py.

All `print_*` functions write into room that the caller has reserved (SCALAR_ROOM bytes, or string_room and binary_room
bytes) and return the position after the text, or NULL if the bytes are not a valid scalar.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from shredlake.kernels.compiled.decimals cimport exact_number
from shredlake.kernels.compiled.json_text cimport SMALL_TENS
from shredlake.kernels.compiled.numbers cimport (
    ctz,
    digit_count,
    double_digits,
    float_digits,
    uint128_t,
    write_digits,
    write_number,
)
from shredlake.kernels.compiled.utf8 cimport is_utf8
from shredlake.kernels.compiled.variant cimport (
    P_DATE,
    P_DECIMAL16,
    P_DECIMAL4,
    P_DOUBLE,
    P_FALSE,
    P_FLOAT,
    P_INT16,
    P_INT32,
    P_INT64,
    P_INT8,
    P_NULL,
    P_TIME,
    P_TIMESTAMP,
    P_TIMESTAMP_NANOS,
    P_TIMESTAMP_NTZ,
    P_TIMESTAMP_NTZ_NANOS,
    P_TRUE,
    P_UUID,
    PRIMITIVE_WIDTHS,
    int128_t,
    read_double,
    read_float,
    read_int16,
    read_int32,
    read_int64,
)

cdef enum:
    SCALAR_ROOM = 64

cdef extern from *:
    """
    /* A bit in the high bit of every byte that JSON escapes: quote, backslash, control. Only the lowest counts. */
    static inline uint64_t shredlake_escaped(uint64_t word) {
        const uint64_t ones = 0x0101010101010101ULL;
        uint64_t quote = word ^ (ones * '"');
        uint64_t slash = word ^ (ones * '\\\\');
        return (((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((word - ones * 0x20) & ~word))
             & 0x8080808080808080ULL;
    }

    static const char shredlake_hex[] = "0123456789abcdef0123456789ABCDEF";
    static const char shredlake_base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    #define SHREDLAKE_BYTES_HIGH 0x8080808080808080ULL
    #define SHREDLAKE_MICROS 1000000LL
    #define SHREDLAKE_NANOS 1000000000LL
    #define SHREDLAKE_DAY 86400LL
    #define SHREDLAKE_TEN_18 1000000000000000000ULL
    """
    uint64_t escaped "shredlake_escaped"(uint64_t word) noexcept nogil
    const char* HEX_DIGITS "shredlake_hex"
    const char* BASE64_DIGITS "shredlake_base64"
    const uint64_t HIGH_BITS "SHREDLAKE_BYTES_HIGH"
    const int64_t MICROS "SHREDLAKE_MICROS"
    const int64_t NANOS "SHREDLAKE_NANOS"
    const int64_t DAY "SHREDLAKE_DAY"
    const uint64_t TEN_18 "SHREDLAKE_TEN_18"
    const int64_t LARGEST_WORD "INT64_MAX"

cdef inline uint8_t* print_word(uint8_t* out, const char* word, int size) noexcept nogil:
    memcpy(out, word, <size_t> size)
    return out + size

# ---------------------------------------------------------------- strings

cdef inline int64_t string_room(int64_t size) noexcept nogil:
    """Quotes, and at most six characters per byte."""
    return 6 * size + 16


cdef inline uint8_t* print_escape(uint8_t* out, uint8_t c) noexcept nogil:
    cdef char letter = 0
    if c == 34 or c == 92:
        letter = <char> c
    elif c == 10:
        letter = b"n"
    elif c == 9:
        letter = b"t"
    elif c == 13:
        letter = b"r"
    elif c == 8:
        letter = b"b"
    elif c == 12:
        letter = b"f"
    out[0] = 92
    if letter:
        out[1] = <uint8_t> letter
        return out + 2
    print_word(out + 1, b"u00", 3)
    out[4] = <uint8_t> HEX_DIGITS[16 + (c >> 4)]
    out[5] = <uint8_t> HEX_DIGITS[16 + (c & 15)]
    return out + 6


cdef inline uint8_t* print_string(
    uint8_t* out, const uint8_t* text, int64_t size, const uint8_t* buffer_end
) noexcept nogil:
    """Prints a quoted string; NULL if it is not UTF-8. `buffer_end` is the read limit after `text`."""
    cdef const uint8_t* p = text
    cdef const uint8_t* end = text + size
    cdef uint64_t word, stop, seen = 0
    cdef int skip
    out[0] = 34
    out += 1
    while end - p >= 8 or (p < end and buffer_end - p >= 8):
        memcpy(&word, p, 8)
        if end - p < 8:
            word &= ((<uint64_t> 1) << (8 * (end - p))) - 1
        seen |= word
        memcpy(out, &word, 8)
        stop = escaped(word)
        if stop == 0:
            p += 8
            out += 8
            continue
        skip = ctz(stop) >> 3
        p += skip
        out += skip
        if p >= end:
            break
        out = print_escape(out, p[0])
        p += 1
    while p < end:
        seen |= <uint64_t> p[0]
        if p[0] < 32 or p[0] == 34 or p[0] == 92:
            out = print_escape(out, p[0])
        else:
            out[0] = p[0]
            out += 1
        p += 1
    if seen & HIGH_BITS and not is_utf8(text, size):
        return NULL
    out[0] = 34
    return out + 1


cdef inline int64_t binary_room(int64_t size) noexcept nogil:
    return (size + 2) // 3 * 4 + 2


cdef inline uint8_t* print_base64(uint8_t* out, const uint8_t* data, int64_t size) noexcept nogil:
    cdef uint32_t group
    cdef int64_t i = 0
    out[0] = 34
    out += 1
    while i < size:
        group = <uint32_t> data[i] << 16
        if i + 1 < size:
            group |= <uint32_t> data[i + 1] << 8
        if i + 2 < size:
            group |= data[i + 2]
        out[0] = <uint8_t> BASE64_DIGITS[group >> 18]
        out[1] = <uint8_t> BASE64_DIGITS[(group >> 12) & 63]
        out[2] = <uint8_t> BASE64_DIGITS[(group >> 6) & 63] if i + 1 < size else 61
        out[3] = <uint8_t> BASE64_DIGITS[group & 63] if i + 2 < size else 61
        out += 4
        i += 3
    out[0] = 34
    return out + 1


cdef inline uint8_t* print_uuid(uint8_t* out, const uint8_t* data) noexcept nogil:
    cdef int i
    out[0] = 34
    out += 1
    for i in range(16):
        if i == 4 or i == 6 or i == 8 or i == 10:
            out[0] = 45
            out += 1
        out[0] = <uint8_t> HEX_DIGITS[data[i] >> 4]
        out[1] = <uint8_t> HEX_DIGITS[data[i] & 15]
        out += 2
    out[0] = 34
    return out + 1

# ---------------------------------------------------------------- numbers

cdef inline uint8_t* print_int(uint8_t* out, int64_t number) noexcept nogil:
    if number < 0:
        out[0] = 45
        return write_number(out + 1, 0 - <uint64_t> number)
    return write_number(out, <uint64_t> number)


cdef inline uint8_t* print_short_decimal(uint8_t* out, uint64_t unscaled, int scale) noexcept nogil:
    """At most 18 digits, 8 of them after the point: both sides of the point are printed as numbers."""
    cdef uint64_t power = SMALL_TENS[scale]
    out = write_number(out, unscaled // power)
    if scale == 0:
        return out
    out[0] = 46
    write_digits(out + 1, unscaled % power, scale)
    return out + 1 + scale


cdef inline void strip_zeros(int128_t* unscaled, int* scale) noexcept nogil:
    """Removes trailing zeros after the decimal point, as Spark prints decimals."""
    cdef int64_t small
    while scale[0] and not -LARGEST_WORD <= unscaled[0] <= LARGEST_WORD and unscaled[0] % 10 == 0:
        unscaled[0] = unscaled[0] / 10
        scale[0] -= 1
    if scale[0] == 0 or not -LARGEST_WORD <= unscaled[0] <= LARGEST_WORD:
        return
    small = <int64_t> unscaled[0]
    while scale[0] and small % 10 == 0:
        small = small / 10
        scale[0] -= 1
    unscaled[0] = small


cdef inline uint8_t* print_decimal(uint8_t* out, int128_t unscaled, int scale) noexcept nogil:
    """Prints plain digits with the full scale; at most 41 bytes."""
    cdef uint128_t rest
    cdef uint8_t digits[40]
    cdef int count
    cdef uint64_t low
    if unscaled < 0:
        out[0] = 45
        out += 1
        rest = <uint128_t> (-unscaled)
    else:
        rest = <uint128_t> unscaled
    if rest < TEN_18:
        if scale <= 8:
            return print_short_decimal(out, <uint64_t> rest, scale)
        count = digit_count(<uint64_t> rest)
        write_digits(digits, <uint64_t> rest, count)
    else:
        low = <uint64_t> (rest % TEN_18)
        rest = rest // TEN_18
        if rest < TEN_18:
            count = digit_count(<uint64_t> rest)
            write_digits(digits, <uint64_t> rest, count)
        else:
            count = digit_count(<uint64_t> (rest // TEN_18))
            write_digits(digits, <uint64_t> (rest // TEN_18), count)
            write_digits(digits + count, <uint64_t> (rest % TEN_18), 18)
            count += 18
        write_digits(digits + count, low, 18)
        count += 18
    if scale == 0:
        memcpy(out, digits, <size_t> count)
        return out + count
    if count > scale:
        memcpy(out, digits, <size_t> (count - scale))
        out += count - scale
        out[0] = 46
        memcpy(out + 1, digits + count - scale, <size_t> scale)
        return out + 1 + scale
    out = print_word(out, b"0.", 2)
    while scale > count:
        out[0] = 48
        out += 1
        scale -= 1
    memcpy(out, digits, <size_t> count)
    return out + count


cdef inline uint8_t* print_digits_as_java(uint8_t* out, uint64_t digits, int64_t exponent) noexcept nogil:
    """Prints digits x 10^exponent like Double.toString: plain from 1E-3 to below 1E7; at most 25 bytes."""
    cdef uint8_t text[20]
    cdef int count
    cdef int64_t point
    while digits % 10 == 0:
        digits //= 10
        exponent += 1
    count = digit_count(digits)
    write_digits(text, digits, count)
    point = count + exponent
    if 0 < point <= 7:
        if count <= point:
            memcpy(out, text, <size_t> count)
            print_word(out + count, b"0000000", 7)
            return print_word(out + point, b".0", 2)
        memcpy(out, text, <size_t> point)
        out += point
        out[0] = 46
        memcpy(out + 1, text + point, <size_t> (count - point))
        return out + 1 + count - point
    if -3 < point <= 0:
        print_word(out, b"0.00", 4)
        out += 2 - point
        memcpy(out, text, <size_t> count)
        return out + count
    out[0] = text[0]
    out[1] = 46
    if count == 1:
        out[2] = 48
        out += 3
    else:
        memcpy(out + 2, text + 1, <size_t> (count - 1))
        out += 1 + count
    out[0] = 69
    return print_int(out + 1, point - 1)


cdef inline uint8_t* print_double(uint8_t* out, double number, const uint64_t* powers) noexcept nogil:
    cdef uint64_t bits, digits
    cdef int64_t exponent
    memcpy(&bits, &number, 8)
    if number != number:
        return print_word(out, b'"NaN"', 5)
    if bits >> 63:
        if (bits >> 52) & 0x7FF == 0x7FF:
            return print_word(out, b'"-Infinity"', 11)
        out[0] = 45
        out += 1
        number = -number
    if (bits >> 52) & 0x7FF == 0x7FF:
        return print_word(out, b'"Infinity"', 10)
    if number < 1e7 and number == <double> <int64_t> number:
        return print_word(write_number(out, <uint64_t> number), b".0", 2)
    if number < 1e-321:
        return print_tiny_double(out, number)
    digits = double_digits(powers, bits, &exponent)
    return print_digits_as_java(out, digits, exponent)


cdef inline uint8_t* print_float(uint8_t* out, float number, const uint64_t* powers) noexcept nogil:
    cdef uint32_t bits
    cdef uint64_t digits
    cdef int64_t exponent
    memcpy(&bits, &number, 4)
    if number != number or (bits >> 23) & 0xFF == 0xFF or number == 0:
        return print_double(out, number, powers)
    if bits >> 31:
        out[0] = 45
        out += 1
    if (bits & 0x7FFFFFFF) < 0x400:
        return print_tiny_float(out, -number if bits >> 31 else number)
    digits = float_digits(powers, bits, &exponent)
    return print_digits_as_java(out, digits, exponent)


cdef inline uint8_t* print_tiny_double(uint8_t* out, double number) noexcept nogil:
    """If one digit would identify the number but Java prints the closest two, the reference decides."""
    with gil:
        from shredlake.variant.json.render import double_text

        return copy_ascii(out, double_text(number))


cdef inline uint8_t* print_tiny_float(uint8_t* out, double number) noexcept nogil:
    with gil:
        from shredlake.variant.json.render import float_text

        return copy_ascii(out, float_text(number))


cdef inline uint8_t* copy_ascii(uint8_t* out, str text):
    cdef bytes encoded = text.encode()
    memcpy(out, <const char*> encoded, len(encoded))
    return out + len(encoded)

# ---------------------------------------------------------------- dates and times

cdef inline int64_t floor_divide(int64_t a, int64_t b) noexcept nogil:
    cdef int64_t quotient = a // b
    return quotient - 1 if a % b < 0 else quotient


cdef inline uint8_t* print_date(uint8_t* out, int64_t days) noexcept nogil:
    """Prints ISO 8601 in the proleptic Gregorian calendar, in which a year starts in March here."""
    cdef int64_t since = days + 719468              # since 0000-03-01
    cdef int64_t era = floor_divide(since, 146097)  # 400 years
    cdef int64_t day = since - era * 146097
    cdef int64_t year = (day - day // 1460 + day // 36524 - day // 146096) // 365
    cdef int64_t month
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153                    # since March
    day -= (153 * month + 2) // 5
    year += era * 400
    month += 3
    if month > 12:
        month -= 12
        year += 1
    if year > 9999 or year < 0:
        out[0] = 43 if year > 0 else 45
        out += 1
        if year < 0:
            year = -year
    if year > 9999:
        out = write_number(out, <uint64_t> year)
    else:
        write_digits(out, <uint64_t> year, 4)
        out += 4
    out[0] = 45
    write_digits(out + 1, <uint64_t> month, 2)
    out[3] = 45
    write_digits(out + 4, <uint64_t> (day + 1), 2)
    return out + 6


cdef inline uint8_t* print_time(uint8_t* out, int64_t units, int64_t per_second, int decimals) noexcept nogil:
    """Hours, minutes, seconds and as many decimals as are needed."""
    cdef int64_t seconds = units // per_second, rest = units % per_second
    write_digits(out, <uint64_t> (seconds // 3600), 2)
    out[2] = 58
    write_digits(out + 3, <uint64_t> (seconds // 60 % 60), 2)
    out[5] = 58
    write_digits(out + 6, <uint64_t> (seconds % 60), 2)
    out += 8
    if rest == 0:
        return out
    while rest % 10 == 0:
        rest //= 10
        decimals -= 1
    out[0] = 46
    write_digits(out + 1, <uint64_t> rest, decimals)
    return out + 1 + decimals


cdef inline uint8_t* print_timestamp(uint8_t* out, int64_t units, int64_t per_second, int decimals) noexcept nogil:
    cdef int64_t days = floor_divide(units, DAY * per_second)
    out = print_date(out, days)
    out[0] = 32
    return print_time(out + 1, units - days * DAY * per_second, per_second, decimals)

# ---------------------------------------------------------------- all scalars

cdef inline uint8_t* print_primitive(uint8_t* out, const uint8_t* p, const uint64_t* powers) noexcept nogil:
    """Prints everything except strings and binaries; p is the header of a value inside its buffer."""
    cdef int id = p[0] >> 2
    cdef int128_t unscaled
    cdef int scale
    cdef int64_t units
    p += 1
    if id == P_INT8:
        return print_int(out, <signed char> p[0])
    if id == P_INT16:
        return print_int(out, read_int16(p))
    if id == P_INT32:
        return print_int(out, read_int32(p))
    if id == P_INT64:
        return print_int(out, read_int64(p))
    if id == P_NULL:
        return print_word(out, b"null", 4)
    if id == P_TRUE:
        return print_word(out, b"true", 4)
    if id == P_FALSE:
        return print_word(out, b"false", 5)
    if P_DECIMAL4 <= id <= P_DECIMAL16:
        if exact_number(p - 1, p + PRIMITIVE_WIDTHS[id], &unscaled, &scale) != 1:
            return NULL
        strip_zeros(&unscaled, &scale)
        return print_decimal(out, unscaled, scale)
    if id == P_DOUBLE:
        return print_double(out, read_double(p), powers)
    if id == P_FLOAT:
        return print_float(out, read_float(p), powers)
    if id == P_UUID:
        return print_uuid(out, p)
    # Dates and times, in quotes.
    out[0] = 34
    out += 1
    if id == P_DATE:
        out = print_date(out, read_int32(p))
    elif id == P_TIME:
        units = read_int64(p)
        if not 0 <= units < DAY * MICROS:
            return NULL
        out = print_time(out, units, MICROS, 6)
    elif id == P_TIMESTAMP or id == P_TIMESTAMP_NTZ:
        out = print_timestamp(out, read_int64(p), MICROS, 6)
    else:
        out = print_timestamp(out, read_int64(p), NANOS, 9)
    if id == P_TIMESTAMP or id == P_TIMESTAMP_NANOS:
        out = print_word(out, b"+00:00", 6)
    out[0] = 34
    return out + 1
