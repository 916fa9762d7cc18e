"""Finds the positions of the parts of a Parquet footer in one pass over Thrift's compact protocol.

    struct   field*  00
    field    dddd tttt [zigzag id, if dddd = 0]  payload     dddd: step from the last field's number
    list     nnnn tttt [varint n, if nnnn = 15]  element*

A wide file's footer has megabytes; scanning it takes milliseconds here and seconds in Python.
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
    """Skips a value; a boolean field has none, because its header holds the value."""
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
    """The positions of a row group's column chunks."""
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

    None if the bytes are not a footer.
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


# Field numbers of ColumnChunk, ColumnMetaData, Statistics, PageEncodingStats and SizeStatistics, and the index of each
# in the result of `chunk_numbers`.
cdef enum:
    CHUNK_META = 3
    CHUNK_OFFSET_INDEX_OFFSET = 4
    CHUNK_COLUMN_INDEX_LENGTH = 7
    META_NUM_VALUES = 5
    META_DICTIONARY_PAGE_OFFSET = 11
    META_STATISTICS = 12
    META_ENCODING_STATS = 13
    META_SIZE_STATISTICS = 16
    STATISTICS_NULL_COUNT = 3
    UNENCODED_BYTES = 1

    AT_META = 0           # META_NUM_VALUES to META_DICTIONARY_PAGE_OFFSET: seven numbers
    AT_INDEX = 7          # offset and length of the offset index, then of the column index
    AT_NULL_COUNT = 11
    AT_DATA_PAGES = 12
    AT_UNENCODED = 13
    NUMBERS = 14


cdef void read_pages(Cursor* at, int64_t* found) noexcept nogil:
    """Counts the data pages (types 0 and 3) in a list of PageEncodingStats."""
    cdef int kind = 0, inner = 0
    cdef uint64_t count = list_header(at, &kind)
    cdef int64_t number, page_type, pages, total = 0
    while count > 0 and not at.broken:
        number = 0
        page_type = pages = -1
        while next_field(at, &number, &inner):
            if number == 1 and inner == I32:
                page_type = zigzag(at)
            elif number == 3 and inner == I32:
                pages = zigzag(at)
            elif inner != TRUE and inner != FALSE:
                skip(at, inner, 4)
            if at.broken:
                return
        if (page_type == 0 or page_type == 3) and pages > 0:
            total += pages
        count -= 1
    if total > 0:
        found[AT_DATA_PAGES] = total


cdef void read_one(Cursor* at, int64_t wanted, int64_t* found) noexcept nogil:
    """Reads one integer field of a struct."""
    cdef int64_t number = 0
    cdef int kind = 0
    while next_field(at, &number, &kind):
        if number == wanted and kind == I64:
            found[0] = zigzag(at)
        elif kind != TRUE and kind != FALSE:
            skip(at, kind, 4)
        if at.broken:
            return


cdef void read_meta(Cursor* at, int64_t* found) noexcept nogil:
    cdef int64_t number = 0
    cdef int kind = 0
    while next_field(at, &number, &kind):
        if META_NUM_VALUES <= number <= META_DICTIONARY_PAGE_OFFSET and kind == I64:
            found[AT_META + number - META_NUM_VALUES] = zigzag(at)
        elif number == META_STATISTICS and kind == STRUCT:
            read_one(at, STATISTICS_NULL_COUNT, &found[AT_NULL_COUNT])
        elif number == META_ENCODING_STATS and kind == LIST:
            read_pages(at, found)
        elif number == META_SIZE_STATISTICS and kind == STRUCT:
            read_one(at, UNENCODED_BYTES, &found[AT_UNENCODED])
        elif kind != TRUE and kind != FALSE:
            skip(at, kind, 3)
        if at.broken:
            return


def chunk_numbers(bytes raw, int64_t position):
    """The numbers of the column chunk at a position, -1 if absent; None if the chunk is malformed.

    (values, uncompressed size, compressed size, -, data page offset, index page offset, dictionary page
    offset, offset index: offset, length, column index: offset, length, null count, data pages, unencoded
    bytes)
    """
    cdef Cursor at
    cdef int64_t[NUMBERS] found
    cdef int64_t number = 0
    cdef int kind = 0, n
    for n in range(NUMBERS):
        found[n] = -1
    at.data = raw
    at.size = len(raw)
    at.position = position
    at.broken = not 0 <= position <= at.size
    while not at.broken and next_field(&at, &number, &kind):
        if number == CHUNK_META and kind == STRUCT:
            read_meta(&at, found)
        elif CHUNK_OFFSET_INDEX_OFFSET <= number <= CHUNK_COLUMN_INDEX_LENGTH and (kind == I64 or kind == I32):
            found[AT_INDEX + number - CHUNK_OFFSET_INDEX_OFFSET] = zigzag(&at)
        elif kind != TRUE and kind != FALSE:
            skip(&at, kind, 2)
    return None if at.broken else tuple([found[n] for n in range(NUMBERS)])
