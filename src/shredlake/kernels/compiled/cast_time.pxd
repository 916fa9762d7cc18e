"""Casts to dates and timestamps, for compiled code; outcomes as in `cast.pxd`.

Strings are parsed in their most common forms, yyyy-mm-dd and yyyy-mm-dd hh:mm:ss.digits with Z or an offset; other
forms, and local times in a zone other than UTC, are left to the table.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from shredlake.kernels.compiled.cast cimport (
    CAST,
    DAY,
    DEFERRED,
    FAILED,
    MICROS,
    digit,
    floor_divide,
    is_nanos,
    kind_of,
    other,
    times_micros,
    trim,
    whole,
)
from shredlake.kernels.compiled.decimals cimport exact_number, fits_int
from shredlake.kernels.compiled.variant cimport (
    MALFORMED,
    P_DATE,
    P_DECIMAL4,
    P_DOUBLE,
    P_FLOAT,
    P_INT64,
    P_INT8,
    P_STRING,
    P_TIMESTAMP,
    P_TIMESTAMP_NTZ,
    Slice,
    int128_t,
    read_double,
    read_float,
    read_int32,
    read_int64,
    string_at,
)

cdef inline int64_t days_from_civil(int64_t year, int64_t month, int64_t day) noexcept nogil:
    """Days since 1970-01-01, for years from 0; the year starts in March here."""
    cdef int64_t shifted = year - (month <= 2), era, year_of_era, day_of_year
    era = floor_divide(shifted, 400)
    year_of_era = shifted - era * 400
    day_of_year = (153 * (month + (9 if month <= 2 else -3)) + 2) / 5 + day - 1
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468


cdef inline int two_digits(const uint8_t* p) noexcept nogil:
    """The number, or -1."""
    return (p[0] - 48) * 10 + (p[1] - 48) if digit(p[0]) and digit(p[1]) else -1


cdef inline int iso_date(Slice text, int64_t* days) noexcept nogil:
    """Parses yyyy-mm-dd at the start of a trimmed string; DEFERRED for years of other lengths and single digits."""
    cdef const uint8_t* p = text.data
    cdef int year, century, month, day, longest
    if text.size == 0:
        return FAILED
    if text.size < 10 or p[4] != 45 or p[7] != 45:
        return DEFERRED if digit(p[0]) or p[0] == 43 or p[0] == 45 or p[0] == 84 else FAILED
    century = two_digits(p)
    year = two_digits(p + 2)
    month = two_digits(p + 5)
    day = two_digits(p + 8)
    if century < 0 or year < 0 or month < 0 or day < 0:
        return DEFERRED
    year += 100 * century
    longest = 30 + ((month + (month >> 3)) & 1)
    if month == 2:
        longest = 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    if month < 1 or month > 12 or day < 1 or day > longest:
        return FAILED
    days[0] = days_from_civil(year, month, day)
    return CAST


cdef inline int iso_zone(const uint8_t* p, int64_t size, int64_t* offset) noexcept nogil:
    """Parses Z or +hh:mm at the end, as seconds; DEFERRED for every other zone."""
    cdef int hours, minutes
    offset[0] = 0
    if size == 1 and p[0] == 90:
        return CAST
    if size != 6 or (p[0] != 43 and p[0] != 45) or p[3] != 58:
        return DEFERRED
    hours = two_digits(p + 1)
    minutes = two_digits(p + 4)
    if hours < 0 or minutes < 0 or minutes > 59 or hours > 17:
        return DEFERRED
    offset[0] = hours * 3600 + minutes * 60
    if p[0] == 45:
        offset[0] = -offset[0]
    return CAST


cdef inline int iso_timestamp(Slice text, bint zoned, bint utc, int64_t* micros) noexcept nogil:
    """yyyy-mm-dd[ hh:mm[:ss[.digits][zone]]], microseconds. A zone counts only if the target has one."""
    cdef int64_t days = 0, at = 16, fraction = 0, offset = 0
    cdef int hour, minute, second = 0, digits = 0, outcome
    cdef bint local = True
    cdef const uint8_t* p
    trim(&text, 127)
    outcome = iso_date(text, &days)
    if outcome != CAST:
        return outcome
    p = text.data
    if text.size == 10:
        micros[0] = days * DAY
        return DEFERRED if zoned and not utc else CAST
    if p[10] != 32 and p[10] != 84:
        return FAILED
    if text.size < 16 or p[13] != 58:
        return DEFERRED
    hour = two_digits(p + 11)
    minute = two_digits(p + 14)
    if hour < 0 or minute < 0:
        return DEFERRED
    if text.size > 16:
        if text.size < 19 or p[16] != 58:
            return DEFERRED
        second = two_digits(p + 17)
        at = 19
        if second < 0:
            return DEFERRED
        if text.size > 19 and p[19] == 46:
            at = 20
            while at < text.size and digit(p[at]):
                if digits < 6:
                    fraction = fraction * 10 + (p[at] - 48)
                    digits += 1
                at += 1
            while digits < 6:
                fraction *= 10
                digits += 1
        if at < text.size:
            if digit(p[at]) or iso_zone(p + at, text.size - at, &offset) != CAST:
                return DEFERRED
            local = False
    if hour > 23 or minute > 59 or second > 59:
        return FAILED
    if local and zoned and not utc:
        return DEFERRED
    micros[0] = days * DAY + ((hour * 60 + minute) * 60 + second) * MICROS + fraction
    if zoned:
        micros[0] -= offset * MICROS
    return CAST


cdef inline int to_date(const uint8_t* p, const uint8_t* end, bint utc, int32_t* out) noexcept nogil:
    cdef int kind = kind_of(p, end), outcome
    cdef Slice text
    cdef int64_t days = 0
    if kind == P_DATE:
        out[0] = read_int32(p + 1)
        return CAST
    if kind == P_STRING:
        if string_at(p, end, &text) != 0:
            return MALFORMED
        trim(&text, 127)
        outcome = iso_date(text, &days)
        if outcome == CAST and text.size > 10 and text.data[10] != 32 and text.data[10] != 84:
            outcome = FAILED
        out[0] = <int32_t> days
        return outcome
    if kind == P_TIMESTAMP_NTZ or (kind == P_TIMESTAMP and utc):
        out[0] = <int32_t> floor_divide(read_int64(p + 1), DAY)
        return CAST
    return DEFERRED if kind == P_TIMESTAMP or is_nanos(kind) else other(kind)


cdef inline int to_timestamp(
    const uint8_t* p, const uint8_t* end, bint zoned, bint utc, int64_t* out
) noexcept nogil:
    """Microseconds, with a zone or without."""
    cdef int kind = kind_of(p, end), scale
    cdef int128_t number
    cdef Slice text
    if kind == (P_TIMESTAMP if zoned else P_TIMESTAMP_NTZ):
        out[0] = read_int64(p + 1)
        return CAST
    if kind == P_STRING:
        if string_at(p, end, &text) != 0:
            return MALFORMED
        return iso_timestamp(text, zoned, utc, out)
    if kind == P_DATE and (utc or not zoned):
        number = <int128_t> read_int32(p + 1) * DAY
        out[0] = <int64_t> number
        return CAST if fits_int(number, 8) else FAILED
    if (kind == P_TIMESTAMP or kind == P_TIMESTAMP_NTZ) and utc:
        out[0] = read_int64(p + 1)
        return CAST
    if zoned and P_INT8 <= kind <= P_INT64:
        if exact_number(p, end, &number, &scale) != 1:
            return MALFORMED
        return FAILED if times_micros(<int64_t> number, out) else CAST
    if zoned and kind == P_DOUBLE:
        return whole(read_double(p + 1) * 1e6, 8, out)
    if zoned and kind == P_FLOAT:
        return whole(<double> read_float(p + 1) * 1e6, 8, out)
    if P_DECIMAL4 <= kind <= P_TIMESTAMP_NTZ or is_nanos(kind):
        return DEFERRED     # decimals, other clocks, nanoseconds; the table also knows what never casts
    return other(kind)
