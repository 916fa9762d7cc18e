"""Splits text into JSON documents: lines, the elements of one array, or concatenated documents.

Lines are not copied: the array's offsets are the positions after each newline, and the newline at the end of every row
is white space to a JSON parser.

    {"a":1}⏎{"a":2}⏎{"a"         data
    0       8       16           offsets; the rest (from 16) belongs to the next piece

Elements of an array are copied, because commas and white space separate them.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uintptr_t
from libc.string cimport memchr

from shredlake.kernels.compiled.buffers cimport OK, Bytes, append, append_int32, release, start, to_arrow

# Documents that were copied out of a text: their bytes, Arrow's offsets, and where each began as an int64.
cdef struct Rows:
    Bytes data
    Bytes offsets
    Bytes starts
    int64_t count


def line_offsets(buffer, bint final):
    """(offsets as an Arrow buffer of int32, lines, bytes consumed): complete lines, or all if `final`."""
    cdef const uint8_t* data = <const uint8_t*> <uintptr_t> buffer.address
    cdef int64_t size = buffer.size
    cdef const uint8_t* found
    cdef int64_t position = 0, lines = 0
    cdef int status = OK
    cdef Bytes offsets
    start(&offsets)
    with nogil:
        status = append_int32(&offsets, 0)
        while status == OK and position < size:
            found = <const uint8_t*> memchr(data + position, 10, <size_t> (size - position))
            if found == NULL:
                if not final:
                    break
                position = size
            else:
                position = (found - data) + 1
            lines += 1
            status = append_int32(&offsets, <int32_t> position)
    if status != OK:
        release(&offsets)
        raise MemoryError
    return to_arrow(&offsets), lines, position


def array_elements(buffer, bint final, bint first):
    """(data, offsets, element starts as int64 positions, elements, bytes consumed, closed) of a JSON array's inside.

    The text starts after the opening bracket if `first`, else after the comma that follows an element. Only brackets,
    quotes and commas are interpreted: the text between two commas is one element, and the parser checks whether it is
    JSON. `closed` is true if the array's closing bracket was found.
    """
    cdef const uint8_t* text = <const uint8_t*> <uintptr_t> buffer.address
    cdef int64_t size = buffer.size
    cdef int64_t position = 0, begin = 0, taken = 0, depth = 0
    cdef bint in_string = False, closed = False
    cdef uint8_t byte
    cdef Rows rows
    cdef int status = _start_rows(&rows)
    with nogil:
        while status == OK and position < size and not closed:
            byte = text[position]
            if in_string:
                if byte == 92:  # a backslash: the next byte does not end the string
                    position += 1
                elif byte == 34:
                    in_string = False
            elif byte == 34:
                in_string = True
            elif byte == 91 or byte == 123:
                depth += 1
            elif (byte == 93 or byte == 125) and depth > 0:
                depth -= 1
            elif (byte == 44 and depth == 0) or byte == 93:
                closed = byte == 93
                status = _element(text, begin, position, closed and first and rows.count == 0, &rows)
                begin = position + 1
                taken = begin
            position += 1
        if status == OK and final and not closed and begin < size:
            status = _element(text, begin, size, True, &rows)
            taken = size
    return *_take_rows(&rows, status), taken, closed


def json_documents(buffer, bint final):
    """(data, offsets, document starts as int64 positions, documents, bytes consumed) of concatenated documents.

    Only brackets, quotes and white space are interpreted: an object, array or string ends where it is closed, anything
    else at white space or where one of these begins.
    """
    cdef const uint8_t* text = <const uint8_t*> <uintptr_t> buffer.address
    cdef int64_t size = buffer.size
    cdef int64_t position = 0, begin = -1, taken = 0, depth = 0
    cdef bint in_string = False, ended = False
    cdef uint8_t byte
    cdef Rows rows
    cdef int status = _start_rows(&rows)
    with nogil:
        while status == OK and position < size:
            byte = text[position]
            ended = False
            if in_string:
                if byte == 92:
                    position += 1
                elif byte == 34:
                    in_string = False
                    ended = depth == 0
            elif byte <= 32 and depth == 0:
                if begin >= 0:
                    status = _element(text, begin, position, False, &rows)
                    begin = -1
                taken = position + 1
            else:
                if depth == 0 and begin >= 0 and (byte == 34 or byte == 91 or byte == 123):
                    status = _element(text, begin, position, False, &rows)
                    begin = -1
                    taken = position
                if begin < 0:
                    begin = position
                if byte == 34:
                    in_string = True
                elif byte == 91 or byte == 123:
                    depth += 1
                elif (byte == 93 or byte == 125) and depth > 0:
                    depth -= 1
                    ended = depth == 0
            position += 1
            if ended and status == OK:
                status = _element(text, begin, position, False, &rows)
                begin = -1
                taken = position
        if status == OK and final:
            if begin >= 0:
                status = _element(text, begin, size, False, &rows)
            taken = size
    return *_take_rows(&rows, status), taken


cdef int _start_rows(Rows* rows) noexcept nogil:
    start(&rows.data)
    start(&rows.offsets)
    start(&rows.starts)
    rows.count = 0
    return append_int32(&rows.offsets, 0)


cdef tuple _take_rows(Rows* rows, int status):
    """(data, offsets, starts, count), unless memory ran out."""
    if status != OK:
        release(&rows.data)
        release(&rows.offsets)
        release(&rows.starts)
        raise MemoryError
    return to_arrow(&rows.data), to_arrow(&rows.offsets), to_arrow(&rows.starts), rows.count


cdef int _element(const uint8_t* text, int64_t begin, int64_t stop, bint may_be_blank, Rows* rows) noexcept nogil:
    """Copies one element without surrounding white space; `[]` has no elements."""
    cdef int status
    while begin < stop and text[begin] <= 32:
        begin += 1
    while stop > begin and text[stop - 1] <= 32:
        stop -= 1
    if begin == stop and may_be_blank:
        return OK
    status = append(&rows.data, text + begin, stop - begin)
    if status == OK:
        status = append_int32(&rows.offsets, <int32_t> rows.data.size)
    if status == OK:
        status = append(&rows.starts, &begin, 8)
    rows.count += 1
    return status
