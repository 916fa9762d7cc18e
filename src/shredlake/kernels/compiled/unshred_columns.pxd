"""The columns of a shredded Variant as `unshred` reads them: their buffers, and the contents of a row.

    Node ─┬─ value        Part: validity, offsets, data
          └─ typed_value  Part: validity, offsets or data

A presence bit per field and row is gathered for 64 rows at a time, so an absent field costs nothing.
"""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from shredlake.kernels.compiled.arrow cimport ArrowArray
from shredlake.kernels.compiled.buffers cimport OK, Bytes, bit_at
from shredlake.kernels.compiled.names cimport LookupCache, Names
from shredlake.kernels.compiled.shredded cimport ELEMENTS, FIELDS
from shredlake.kernels.compiled.variant cimport MALFORMED, P_BINARY, P_STRING, UNKNOWN_TYPE, Slice, value_size

cdef extern from * nogil:
    int ones_in "__builtin_popcountll"(unsigned long long word)

cdef enum:
    FIELD_BYTES = 4         # approximate overhead of a field: id, offset, the value's header

# A column of a node. `start` is the Arrow offset: row 0 is at bit, entry or value `start`.
cdef struct Part:
    const uint8_t* valid
    int64_t start
    const int32_t* offsets
    const uint8_t* data
    int64_t size            # of the data in bytes; of a list, the rows of its elements

# Two cache lines, the first of which is all that a typed value needs.
cdef struct Node:
    int8_t kind
    int8_t type
    int8_t width
    int8_t precision
    int8_t scale
    int8_t has_typed
    int8_t has_value
    int8_t offset_size      # of the last object or array written here: the guess for the next
    int32_t element
    int32_t first_field     # in Unshredding.fields, sorted by name
    int32_t field_count
    int32_t shape           # number of an object among the objects
    Part typed
    Part value
    const uint8_t* group_valid  # of a nullable group
    int64_t group_start
    int64_t rows

# The fields of all objects; those of one object are contiguous and sorted by name. One bit per row tells whether a
# field is present, for 64 rows at a time, so missing fields are skipped without reading their nodes.
cdef struct Fields:
    int32_t* nodes
    int32_t* names
    uint64_t* typed
    uint64_t* value
    int64_t* blocks         # per object: the 64 rows that the bits of its fields describe

# A field of the object being written: its origin (a field, or ~ a residual one), its id, and the end of its value,
# counted from the first value.
cdef struct Entry:
    int64_t end
    int32_t source
    int32_t id

# A field of a residual object; `place` is 2n if it precedes the object's nth shredded field, 2n + 1 if it has the same
# name.
cdef struct Rest:
    Slice name
    const uint8_t* data
    int64_t size
    int32_t id
    int32_t place

cdef struct Unshredding:
    Node* nodes
    int count
    bint reject_conflicts
    Fields fields
    Names names
    LookupCache lookups
    Bytes out
    int64_t expected        # estimated size of `out`
    Entry* entries
    int64_t entry_room
    int64_t entries_used
    Rest* rest
    int64_t rest_room
    int64_t rest_used

# ---------------------------------------------------------------- rows

cdef inline bint has_typed(const Node* node, int64_t row) noexcept nogil:
    return node.has_typed and bit_at(node.typed.valid, node.typed.start + row)


cdef inline bint has_value(const Node* node, int64_t row) noexcept nogil:
    return node.has_value and bit_at(node.value.valid, node.value.start + row)


cdef inline bint is_there(const Node* node, int64_t row) noexcept nogil:
    """Whether the group itself is not null."""
    return bit_at(node.group_valid, node.group_start + row)


cdef inline uint64_t bits_at(const uint8_t* bitmap, int64_t index, int64_t count) noexcept nogil:
    """Reads up to 64 bits of a bitmap, but no byte after the last of them."""
    cdef int64_t byte = index >> 3, shift = index & 7, size = ((index + count + 7) >> 3) - byte
    cdef uint64_t word = 0
    if bitmap == NULL:
        return ~word
    memcpy(&word, bitmap + byte, <size_t> (size if size < 8 else 8))
    word >>= shift
    if size > 8:
        word |= <uint64_t> bitmap[byte + 8] << (64 - shift)
    return word


cdef inline void look_ahead(Unshredding* work, Node* node, int64_t block) noexcept nogil:
    """Gathers which fields are present in the 64 rows of a block."""
    cdef int64_t first = block << 6, count = node.rows - first
    cdef int32_t field
    cdef const Node* child
    cdef uint64_t typed, value, group
    if count > 64:
        count = 64
    for field in range(node.first_field, node.first_field + node.field_count):
        child = &work.nodes[work.fields.nodes[field]]
        typed = bits_at(child.typed.valid, child.typed.start + first, count) if child.has_typed else 0
        value = bits_at(child.value.valid, child.value.start + first, count) if child.has_value else 0
        group = bits_at(child.group_valid, child.group_start + first, count)
        work.fields.typed[field] = typed & group
        work.fields.value[field] = value & group
    work.fields.blocks[node.shape] = block


cdef inline int bytes_at(const Part* part, int64_t row, Slice* out) noexcept nogil:
    cdef int64_t first = part.offsets[part.start + row], last = part.offsets[part.start + row + 1]
    if first < 0 or last < first or last > part.size:
        return MALFORMED
    out.data = part.data + first
    out.size = last - first
    return OK


cdef inline int value_at(const Part* part, int64_t row, Slice* out) noexcept nogil:
    """The bytes of a `value`, cut to the length in its own header."""
    cdef int64_t size
    if bytes_at(part, row, out) != OK:
        return MALFORMED
    size = value_size(out.data, out.data + out.size)
    if size == UNKNOWN_TYPE:
        return OK
    if size < 0:
        return MALFORMED
    out.size = size
    return OK

# ---------------------------------------------------------------- locating the buffers

cdef inline int64_t values_in(const ArrowArray* column, int64_t start, int64_t rows) noexcept nogil:
    """The number of rows with a value; Arrow's null count covers the whole column, not only these rows.
    """
    cdef const uint8_t* valid = <const uint8_t*> column.buffers[0]
    cdef int64_t row = 0, here, found = 0
    if column.null_count == column.length:
        return 0
    if column.null_count == 0 or valid == NULL:
        return rows
    while row < rows:
        here = rows - row if rows - row < 64 else 64
        found += ones_in(bits_at(valid, start + row, here) << (64 - here))
        row += here
    return found


cdef inline bint find_part(
    Unshredding* work, const ArrowArray* column, int64_t start, int64_t rows, Part* part, int width, bint is_bytes
) noexcept nogil:
    """Locates the buffers of a column; false if all rows are null. `start` is its parent's."""
    cdef int64_t count, size
    start += column.offset
    count = values_in(column, start, rows)
    if count == 0:
        return False
    part.valid = <const uint8_t*> column.buffers[0] if count < rows else NULL
    part.start = start
    work.expected += count * (FIELD_BYTES + width)
    if is_bytes:
        part.offsets = <const int32_t*> column.buffers[1]
        part.data = <const uint8_t*> column.buffers[2]
        part.size = part.offsets[column.offset + column.length]  # Arrow has checked that it is inside the data
        size = <int64_t> part.offsets[start + rows] - part.offsets[start]
        if 0 < size <= part.size:
            work.expected += size
    return True


cdef inline void find_columns(
    Unshredding* work, const int32_t* places, int index, const ArrowArray* group, int64_t start, int64_t rows
) noexcept nogil:
    """Locates the columns of a node and of all nodes below it. `start` is the position of row 0 in the group."""
    cdef Node* node = &work.nodes[index]
    cdef const ArrowArray* typed
    cdef int32_t field, child
    node.rows = rows
    node.group_valid = <const uint8_t*> group.buffers[0] if group.null_count else NULL
    node.group_start = start
    if places[3 * index + 1] >= 0:
        node.has_value = find_part(work, group.children[places[3 * index + 1]], start, rows, &node.value, 0, True)
    if places[3 * index + 2] < 0:
        return
    typed = group.children[places[3 * index + 2]]
    node.has_typed = find_part(
        work, typed, start, rows, &node.typed, node.width, node.type == P_STRING or node.type == P_BINARY
    )
    if not node.has_typed:
        return
    if node.kind == FIELDS:
        for field in range(node.first_field, node.first_field + node.field_count):
            child = work.fields.nodes[field]
            group = typed.children[places[3 * child]]
            find_columns(work, places, child, group, node.typed.start + group.offset, rows)
    elif node.kind == ELEMENTS:
        group = typed.children[0]
        node.typed.offsets = <const int32_t*> typed.buffers[1]
        node.typed.size = group.length
        find_columns(work, places, node.element, group, group.offset, group.length)
    elif node.type != P_STRING and node.type != P_BINARY:
        node.typed.data = <const uint8_t*> typed.buffers[1]
