"""Where things are in a Parquet footer: one walk over Thrift's compact protocol, nothing kept.

    struct   field*  00
    field    dddd tttt [zigzag id, if dddd = 0]  payload     dddd: step from the last field's number
    list     nnnn tttt [varint n, if nnnn = 15]  element*

A wide file's footer has megabytes; walking it takes milliseconds here and seconds in Python.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t

cdef enum:
    TRUE = 1
    FALSE = 2
    I8 = 3
    I16 = 4
    I32 = 5
    I64 = 6
    DOUBLE = 7
    BINARY = 8
    LIST = 9
    SET = 10
    MAP = 11
    STRUCT = 12
    UUID = 13

    MAX_DEPTH = 64
    FILE_ROW_GROUPS = 4
    ROW_GROUP_COLUMNS = 1
    ROW_GROUP_NUM_ROWS = 3


cdef struct Cursor:
    const uint8_t* data
    int64_t size
    int64_t position
    bint broken


cdef inline uint8_t take(Cursor* at) noexcept nogil:
    if at.position >= at.size:
        at.broken = True
        return 0
    at.position += 1
    return at.data[at.position - 1]


cdef inline uint64_t varint(Cursor* at) noexcept nogil:
    cdef uint64_t result = 0
    cdef int shift = 0
    cdef uint8_t byte
    while shift < 64:
        byte = take(at)
        result |= (<uint64_t> (byte & 0x7F)) << shift
        if byte < 0x80:
            return result
        shift += 7
    at.broken = True
    return 0


cdef inline int64_t zigzag(Cursor* at) noexcept nogil:
    cdef uint64_t number = varint(at)
    return <int64_t> (number >> 1) ^ -<int64_t> (number & 1)


cdef inline void pass_over(Cursor* at, uint64_t count) noexcept nogil:
    if count > <uint64_t> (at.size - at.position):
        at.broken = True
    else:
        at.position += <int64_t> count


cdef inline bint next_field(Cursor* at, int64_t* number, int* kind) noexcept nogil:
    """Reads a field's header; False at the end of the struct."""
    cdef uint8_t header = take(at)
    if header == 0:
        return False
    kind[0] = header & 0x0F
    number[0] = number[0] + (header >> 4) if header >> 4 else zigzag(at)
    return not at.broken


cdef inline uint64_t list_header(Cursor* at, int* kind) noexcept nogil:
    cdef uint8_t header = take(at)
    kind[0] = header & 0x0F
    return varint(at) if header >> 4 == 15 else header >> 4


cdef void skip(Cursor* at, int kind, int depth) noexcept nogil:
    """Passes over a value; a boolean field has none, its header says it all."""
    cdef int64_t number = 0
    cdef int inner = 0, other = 0
    cdef uint64_t count
    if at.broken or depth > MAX_DEPTH:
        at.broken = True
    elif kind == I16 or kind == I32 or kind == I64:
        varint(at)
    elif kind == BINARY:
        pass_over(at, varint(at))
    elif kind == STRUCT:
        while next_field(at, &number, &inner):
            if inner != TRUE and inner != FALSE:
                skip(at, inner, depth + 1)
            if at.broken:
                return
    elif kind == LIST or kind == SET:
        count = list_header(at, &inner)
        while count > 0 and not at.broken:
            skip(at, inner, depth + 1)
            count -= 1
    elif kind == MAP:
        count = varint(at)
        if count > 0:
            inner = take(at)
            other = inner & 0x0F
            inner = inner >> 4
        while count > 0 and not at.broken:
            skip(at, inner, depth + 1)
            skip(at, other, depth + 1)
            count -= 1
    elif kind == TRUE or kind == FALSE or kind == I8:
        pass_over(at, 1)
    elif kind == DOUBLE:
        pass_over(at, 8)
    elif kind == UUID:
        pass_over(at, 16)
    else:
        at.broken = True


cdef object columns(Cursor* at):
    """The places of a row group's column chunks."""
    cdef int kind = 0
    cdef uint64_t count = list_header(at, &kind)
    cdef list places = []
    if kind != STRUCT:
        at.broken = True
    while count > 0 and not at.broken:
        places.append(at.position)
        skip(at, STRUCT, 2)
        count -= 1
    return places


def footer_places(bytes raw):
    """(position of each field's value, rows of each row group, positions of each row group's column chunks).

    None where the bytes are no footer.
    """
    cdef Cursor at
    cdef int64_t number = 0, inner_number, rows
    cdef int kind = 0, inner = 0
    cdef uint64_t count
    cdef list row_counts = [], places = []
    cdef dict fields = {}
    at.data = raw
    at.size = len(raw)
    at.position = 0
    at.broken = False
    while next_field(&at, &number, &kind):
        fields[number] = at.position
        if number != FILE_ROW_GROUPS or kind != LIST:
            if kind != TRUE and kind != FALSE:
                skip(&at, kind, 0)
            continue
        count = list_header(&at, &kind)
        while count > 0 and not at.broken:
            inner_number = rows = 0
            found = []
            while next_field(&at, &inner_number, &inner):
                if inner_number == ROW_GROUP_COLUMNS and inner == LIST:
                    found = columns(&at)
                elif inner_number == ROW_GROUP_NUM_ROWS and inner == I64:
                    rows = zigzag(&at)
                elif inner != TRUE and inner != FALSE:
                    skip(&at, inner, 1)
            row_counts.append(rows)
            places.append(found)
            count -= 1
    return None if at.broken else (fields, row_counts, places)
