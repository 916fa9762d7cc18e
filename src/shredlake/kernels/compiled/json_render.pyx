"""Converts Variants to JSON text. The rendered names of a dictionary are cached while rows share it, so that most keys
are one copy of `"name":`.
"""

import os

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy

from shredlake.kernels.compiled.arrow cimport VariantColumn, bytes_at, is_null_at, variant_column
from shredlake.kernels.compiled.buffers cimport (
    SLACK,
    NO_MEMORY,
    OK,
    Bytes,
    append,
    append_int32,
    bit_at,
    release,
    reserve,
    reserve_total,
    start,
    to_arrow,
)
from shredlake.kernels.compiled.json_print cimport (
    SCALAR_ROOM,
    print_base64,
    print_primitive,
    print_string,
    string_room,
)
from shredlake.kernels.compiled.numbers cimport powers_of_ten
from shredlake.kernels.compiled.variant cimport (
    MALFORMED,
    P_BINARY,
    P_STRING,
    SHORT_STRING,
    Dictionary,
    Slice,
    is_out_of_order,
    name_at,
    parse_metadata,
    string_at,
)
from shredlake.kernels.compiled.walk cimport (
    CLOSE_ARRAY,
    CLOSE_OBJECT,
    OPEN_OBJECT,
    SCALAR,
    Frame,
    Walk,
    close_walk,
    first_event,
    next_event,
    open_walk,
)

import pyarrow as pa

cdef enum:
    LARGEST_TEXT = 1 << 30          # of one row, as in variant/json/render.py
    LARGEST_BUFFER = 0x7FFFFFFF
    TOO_LARGE = -5
    OUT_OF_ORDER = -6

# The text of a name, with quotes and colon, in Renderer.names; size 0 if it is not rendered yet.
cdef struct Rendered:
    int64_t start
    int64_t size

cdef struct Renderer:
    Walk walk
    Dictionary dictionary
    const uint8_t* metadata
    int64_t metadata_size
    const uint8_t* metadata_end     # of the whole column's buffer
    const uint8_t* value_end
    Bytes names
    Bytes rendered                  # Rendered[], one per id
    Bytes out
    const uint64_t* powers


cdef int use_metadata(Renderer* r, const uint8_t* metadata, int64_t size) noexcept nogil:
    """Reads the row's dictionary, unless it is the last row's."""
    cdef int64_t i
    cdef Rendered* rendered
    if size == r.metadata_size and r.metadata != NULL and memcmp(metadata, r.metadata, <size_t> size) == 0:
        return OK
    r.metadata = NULL
    if parse_metadata(metadata, size, &r.dictionary) != 0 or r.dictionary.end != metadata + size:
        return MALFORMED
    r.names.size = 0
    if reserve_total(&r.rendered, r.dictionary.count * <int64_t> sizeof(Rendered)) != OK:
        return NO_MEMORY
    rendered = <Rendered*> r.rendered.data
    for i in range(r.dictionary.count):
        rendered[i].size = 0
    r.metadata = metadata
    r.metadata_size = size
    return OK


cdef int render_name(Renderer* r, int64_t id) noexcept nogil:
    cdef Slice name
    cdef uint8_t* out
    cdef Rendered* rendered = <Rendered*> r.rendered.data + id
    if name_at(&r.dictionary, id, &name) != 0:
        return MALFORMED
    if reserve(&r.names, string_room(name.size) + 16) != OK:
        return NO_MEMORY
    out = print_string(r.names.data + r.names.size, name.data, name.size, r.metadata_end)
    if out == NULL:
        return MALFORMED
    out[0] = 58
    rendered.start = r.names.size
    rendered.size = out + 1 - r.names.data - r.names.size
    r.names.size += rendered.size
    return OK


cdef inline void copy_in_steps(uint8_t* out, const uint8_t* source, int64_t size) noexcept nogil:
    """Copies 16 bytes at a time, up to 15 too many, which is faster for short names than an exact copy."""
    cdef int64_t copied = 0
    while copied < size:
        memcpy(out + copied, source + copied, 16)
        copied += 16


cdef inline int put_key(Renderer* r, int64_t id) noexcept nogil:
    cdef Rendered* rendered
    cdef int status
    if id >= r.dictionary.count:
        return MALFORMED
    rendered = <Rendered*> r.rendered.data + id
    if rendered.size == 0:
        status = render_name(r, id)
        if status != OK:
            return status
    if reserve(&r.out, rendered.size + 16) != OK:
        return NO_MEMORY
    copy_in_steps(r.out.data + r.out.size, r.names.data + rendered.start, rendered.size)
    r.out.size += rendered.size
    return OK


cdef inline int put_scalar(Renderer* r) noexcept nogil:
    cdef const uint8_t* p = r.walk.at
    cdef uint8_t* out
    cdef Slice text
    if p[0] & 3 == SHORT_STRING or p[0] >> 2 == P_STRING or p[0] >> 2 == P_BINARY:
        string_at(p, p + r.walk.size, &text)
        if reserve(&r.out, string_room(text.size)) != OK:
            return NO_MEMORY
        out = r.out.data + r.out.size
        if p[0] == P_BINARY << 2:
            out = print_base64(out, text.data, text.size)
        else:
            out = print_string(out, text.data, text.size, r.value_end)
    else:
        if reserve(&r.out, SCALAR_ROOM) != OK:
            return NO_MEMORY
        out = print_primitive(r.out.data + r.out.size, p, r.powers)
    if out == NULL:
        return MALFORMED
    r.out.size = out - r.out.data
    return OK


cdef int render_row(Renderer* r, const uint8_t* value, int64_t size) noexcept nogil:
    """Appends the text of one value; OK, MALFORMED, OUT_OF_ORDER, TOO_LARGE or NO_MEMORY."""
    cdef int64_t first = r.out.size
    cdef int event = first_event(&r.walk, value, size), status
    cdef Frame* frame
    cdef int64_t depth
    while event > 0:
        if event == CLOSE_OBJECT or event == CLOSE_ARRAY:
            if reserve(&r.out, 1) != OK:
                return NO_MEMORY
            r.out.data[r.out.size] = 125 if event == CLOSE_OBJECT else 93
            r.out.size += 1
            event = next_event(&r.walk)
            continue
        if reserve(&r.out, 2) != OK:
            return NO_MEMORY
        # An opened container is already the innermost frame; its own position is in the frame below.
        depth = r.walk.depth - (event != SCALAR)
        if depth:
            frame = <Frame*> r.walk.frames.data + (depth - 1)
            if frame.index > 1:
                r.out.data[r.out.size] = 44
                r.out.size += 1
            if frame.is_object:
                if is_out_of_order(&r.dictionary, &frame.view, frame.index - 1):
                    return OUT_OF_ORDER
                status = put_key(r, r.walk.id)
                if status != OK:
                    return status
        if event == SCALAR:
            status = put_scalar(r)
            if status != OK:
                return status
        else:
            if reserve(&r.out, 1) != OK:
                return NO_MEMORY
            r.out.data[r.out.size] = 123 if event == OPEN_OBJECT else 91
            r.out.size += 1
        if r.out.size - first > LARGEST_TEXT:
            return TOO_LARGE
        event = next_event(&r.walk)
    return event


cdef uint64_t SEED = <uint64_t> int.from_bytes(os.urandom(8), "little")


cdef from_bit_0(booleans):
    """Returns the same booleans in a bitmap that starts at bit 0."""
    return pa.array(booleans.to_pylist(), pa.bool_()) if booleans.offset else booleans


def render(metadata, value, validity, int64_t from_row):
    """(texts, row, full) of two binary arrays: a string array of the rows from `from_row` to before `row`.

    If rows are left, the next one would exceed 2 GiB (`full`), or can't be rendered: it is malformed, or its object
    fields are not sorted by name.
    """
    cdef VariantColumn column = variant_column(metadata, value, validity)
    cdef int64_t length = column.value.length, row = from_row, before
    cdef Slice bytes
    cdef Bytes offsets
    cdef Renderer r
    cdef int status = OK
    if length == 0:
        return pa.array([], pa.string()), 0, False
    start(&offsets)
    start(&r.names)
    start(&r.rendered)
    start(&r.out)
    open_walk(&r.walk, SEED)
    r.metadata = NULL
    r.metadata_size = 0
    r.metadata_end = column.metadata.end
    r.value_end = column.value.end
    r.powers = powers_of_ten()
    with nogil:
        status = reserve(&offsets, 4 * (length - from_row + 1))
        if status == OK:
            status = reserve(&r.out, 2 * (column.value.offsets[length] - column.value.offsets[from_row]) + SLACK)
        if status == OK:
            append_int32(&offsets, 0)
            while row < length:
                before = r.out.size
                if bit_at(column.valid, row):
                    if is_null_at(&column.value, row):
                        status = append(&r.out, <const char*> b"null", 4)
                    else:
                        bytes = bytes_at(&column.metadata, row)
                        status = use_metadata(&r, bytes.data, bytes.size)
                        if status == OK:
                            bytes = bytes_at(&column.value, row)
                            status = render_row(&r, bytes.data, bytes.size)
                    if status != OK or r.out.size > LARGEST_BUFFER:
                        r.out.size = before
                        break
                append_int32(&offsets, <int32_t> r.out.size)
                row += 1
    try:
        if status == NO_MEMORY:
            raise MemoryError("out of memory while rendering JSON")
        count = row - from_row
        bitmap = None if validity is None else from_bit_0(validity.slice(from_row, count)).buffers()[1]
        texts = pa.Array.from_buffers(pa.string(), count, [bitmap, to_arrow(&offsets), to_arrow(&r.out)])
        return texts, row, row < length and status == OK
    finally:
        close_walk(&r.walk)
        release(&offsets)
        release(&r.names)
        release(&r.rendered)
        release(&r.out)
