"""The string form of every value that casts to a string, for compiled code.

The form is that of JSON (`json_print.pxd`), without quotes around scalars; decimals lose trailing zeros; a timestamp
has no offset unless it is inside an object or array. Left to the table: timestamps in a zone other than UTC, and, if
the digits of Java before 19 are requested, floats and doubles whose digits differ there.
"""

from libc.math cimport fabs, isfinite
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memmove

from shredlake.kernels.compiled.buffers cimport NO_MEMORY, OK, Bytes, append, append_byte, reserve
from shredlake.kernels.compiled.cast cimport CAST, DEFERRED
from shredlake.kernels.compiled.decimals cimport exact_number
from shredlake.kernels.compiled.json_print cimport (
    SCALAR_ROOM,
    binary_room,
    print_base64,
    print_primitive,
    print_string,
    string_room,
)
from shredlake.kernels.compiled.variant cimport (
    MALFORMED,
    P_BINARY,
    P_DECIMAL16,
    P_DECIMAL4,
    P_DOUBLE,
    P_FLOAT,
    P_STRING,
    P_TIMESTAMP,
    P_TIMESTAMP_NANOS,
    PRIMITIVE,
    Dictionary,
    Slice,
    int128_t,
    is_out_of_order,
    name_at,
    read_double,
    read_float,
    string_at,
)
from shredlake.kernels.compiled.walk cimport (
    CLOSE_ARRAY,
    CLOSE_OBJECT,
    OPEN_OBJECT,
    SCALAR,
    Frame,
    Walk,
    first_event,
    next_event,
)

cdef inline int append_digits(Bytes* out, int128_t number, int scale) noexcept nogil:
    """Prints a number in plain digits, without trailing zeros after the decimal point."""
    cdef uint8_t[48] text
    cdef int at = 48, place = 0, digit
    cdef bint negative = number < 0, started = scale == 0
    while place <= scale or number != 0:
        digit = <int> (number % 10)
        number = number / 10
        if place == scale and scale and started:
            at -= 1
            text[at] = 46
        if place >= scale or digit != 0:
            started = True
        if started:
            at -= 1
            text[at] = <uint8_t> (48 + (-digit if digit < 0 else digit))
        place += 1
    if negative:
        at -= 1
        text[at] = 45
    return append(out, &text[at], 48 - at)


cdef inline bint prints_alike(const uint8_t* p) noexcept nogil:
    """Whether every Java version prints the number with the same digits (see variant/json/java_digits.py); true for
    non-floats.
    """
    cdef double number, many
    if p[0] >> 2 == P_DOUBLE:
        number, many = fabs(read_double(p + 1)), 9007199254740992.0     # 2 ** 53
    elif p[0] >> 2 == P_FLOAT:
        number, many = fabs(<double> read_float(p + 1)), 16777216.0     # 2 ** 24
    else:
        return True
    return 1e-3 <= number < many or number == 0 or not isfinite(number)


cdef inline int append_scalar(
    Bytes* out,
    const uint8_t* p,
    const uint8_t* end,
    const uint64_t* powers,
    bint utc,
    bint old_java,
    bint inside,
) noexcept nogil:
    """Prints a scalar other than a string or binary: plain, or as JSON inside a container. CAST, or a status below.
    """
    cdef int id = p[0] >> 2, scale
    cdef int128_t number
    cdef uint8_t* first
    cdef uint8_t* last
    cdef bint zoned = id == P_TIMESTAMP or id == P_TIMESTAMP_NANOS
    if P_DECIMAL4 <= id <= P_DECIMAL16:
        if exact_number(p, end, &number, &scale) != 1:
            return MALFORMED
        return append_digits(out, number, scale)
    if (zoned and not utc) or (old_java and not prints_alike(p)):
        return DEFERRED
    if reserve(out, SCALAR_ROOM) != OK:
        return NO_MEMORY
    first = out.data + out.size
    last = print_primitive(first, p, powers)
    if last == NULL:
        return MALFORMED
    if not inside and first[0] == 34:
        last -= 2 + (6 if zoned else 0)         # both quotes, and +00:00
        memmove(first, first + 1, <size_t> (last - first))
    out.size = last - out.data
    return CAST


cdef inline int append_json_scalar(
    Bytes* out, const uint8_t* p, int64_t size, const uint64_t* powers, bint utc, bint old_java
) noexcept nogil:
    cdef uint8_t* last
    cdef Slice text
    if p[0] & 3 == PRIMITIVE and p[0] >> 2 != P_STRING and p[0] >> 2 != P_BINARY:
        return append_scalar(out, p, p + size, powers, utc, old_java, True)
    if string_at(p, p + size, &text) != 0:
        return MALFORMED
    if reserve(out, string_room(text.size) + binary_room(text.size)) != OK:
        return NO_MEMORY
    last = out.data + out.size
    if p[0] == P_BINARY << 2:
        last = print_base64(last, text.data, text.size)
    else:
        last = print_string(last, text.data, text.size, text.data + text.size)
    if last == NULL:
        return MALFORMED
    out.size = last - out.data
    return CAST


cdef inline int append_key(Bytes* out, const Dictionary* dictionary, int64_t id) noexcept nogil:
    cdef Slice name
    cdef uint8_t* last
    if name_at(dictionary, id, &name) != 0:
        return MALFORMED
    if reserve(out, string_room(name.size) + 1) != OK:
        return NO_MEMORY
    last = print_string(out.data + out.size, name.data, name.size, name.data + name.size)
    if last == NULL:
        return MALFORMED
    last[0] = 58
    out.size = last + 1 - out.data
    return CAST


cdef inline int append_container(
    Bytes* out,
    Walk* walk,
    const Dictionary* dictionary,
    const uint8_t* p,
    int64_t size,
    const uint64_t* powers,
    bint utc,
    bint old_java,
) noexcept nogil:
    """Prints an object or array as JSON. CAST, DEFERRED, MALFORMED or NO_MEMORY; output may be partial.
    """
    cdef int event = first_event(walk, p, size), status = CAST
    cdef Frame* frame
    cdef int64_t depth
    while event > 0:
        if event == CLOSE_OBJECT or event == CLOSE_ARRAY:
            status = append_byte(out, 125 if event == CLOSE_OBJECT else 93)
        else:
            # An opened container is already the innermost frame; its own position is in the frame below.
            depth = walk.depth - (event != SCALAR)
            if depth:
                frame = <Frame*> walk.frames.data + (depth - 1)
                if frame.index > 1 and append_byte(out, 44) != OK:
                    return NO_MEMORY
                if frame.is_object:
                    if is_out_of_order(dictionary, &frame.view, frame.index - 1):
                        return DEFERRED
                    status = append_key(out, dictionary, walk.id)
                    if status != CAST:
                        return status
            if event == SCALAR:
                status = append_json_scalar(out, walk.at, walk.size, powers, utc, old_java)
            else:
                status = append_byte(out, 123 if event == OPEN_OBJECT else 91)
        if status != CAST:
            return status
        event = next_event(walk)
    return event
