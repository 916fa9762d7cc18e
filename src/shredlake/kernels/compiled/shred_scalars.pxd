"""Writes scalars into the columns of a node by row, with lossless casts between exact numbers."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from shredlake.kernels.compiled.buffers cimport NO_MEMORY, OK, append
from shredlake.kernels.compiled.decimals cimport digits_fit, exact_number, fits_int, rescale
from shredlake.kernels.compiled.shred_columns cimport (
    WIDTH_BITS,
    WIDTH_OFFSETS,
    Column,
    Node,
    catch_up,
    fill_offsets,
    make_room,
    set_bit,
)
from shredlake.kernels.compiled.shredded cimport LARGEST, MICROS_PER_DAY, TOO_LARGE
from shredlake.kernels.compiled.utf8 cimport is_utf8
from shredlake.kernels.compiled.variant cimport (
    MALFORMED,
    P_BINARY,
    P_DECIMAL16,
    P_DECIMAL4,
    P_FALSE,
    P_INT16,
    P_INT32,
    P_INT64,
    P_INT8,
    P_STRING,
    P_TIME,
    P_TRUE,
    PRIMITIVE,
    PRIMITIVE_WIDTHS,
    PRIMITIVES,
    Slice,
    int128_t,
    is_string,
    read_int16,
    read_int32,
    read_int64,
    string_at,
)

cdef enum Outcome:
    RESIDUAL = 0        # the type can't represent the value, which goes to `value`
    TYPED = 1

# ---------------------------------------------------------------- values by row

cdef inline int reach(const Node* node, Column* column, int64_t row, int64_t width) noexcept nogil:
    """Prepares `row` as the next to be written."""
    if row >= column.room and make_room(node, column, row, width) != OK:
        return NO_MEMORY
    if row != column.filled:
        return catch_up(column, row)
    return OK


cdef inline int begin_bytes(const Node* node, Column* column, int64_t row) noexcept nogil:
    cdef int64_t filled = column.filled
    if row >= column.room and make_room(node, column, row, WIDTH_OFFSETS) != OK:
        return NO_MEMORY
    if row != filled:
        fill_offsets(column, row, column.data.size)
        return catch_up(column, row)
    return OK


cdef inline int end_bytes(Column* column, int64_t row) noexcept nogil:
    if column.data.size > LARGEST:
        return TOO_LARGE
    (<int32_t*> column.offsets.data)[row + 1] = <int32_t> column.data.size
    column.filled = row + 1
    return TYPED


cdef inline int put_bytes(
    const Node* node, Column* column, int64_t row, const uint8_t* data, int64_t size
) noexcept nogil:
    if begin_bytes(node, column, row) != OK or append(&column.data, data, size) != OK:
        return NO_MEMORY
    return end_bytes(column, row)


cdef inline int put_fixed(Node* node, int64_t row, const void* data, int width) noexcept nogil:
    """`width` is the node's; if the caller passes a constant, the compiler can use it."""
    cdef Column* column = &node.typed
    cdef uint8_t* at
    if reach(node, column, row, width) != OK:
        return NO_MEMORY
    at = column.data.data + row * width
    if width == 8:
        memcpy(at, data, 8)
    elif width == 16:
        memcpy(at, data, 16)
    elif width == 4:
        memcpy(at, data, 4)
    else:
        memcpy(at, data, <size_t> width)
    column.filled = row + 1
    return TYPED


cdef inline int put_boolean(Node* node, int64_t row, bint true) noexcept nogil:
    if reach(node, &node.typed, row, WIDTH_BITS) != OK:
        return NO_MEMORY
    if true:
        set_bit(&node.typed.data, row)
    node.typed.filled = row + 1
    return TYPED

# ---------------------------------------------------------------- scalars

cdef inline int shred_number(
    Node* node, int64_t row, const uint8_t* p, const uint8_t* end, bint exact_types
) noexcept nogil:
    """Casts exact numbers between exact types if no digit is lost."""
    cdef int128_t number
    cdef int scale, code, id = p[0] >> 2
    code = exact_number(p, end, &number, &scale)
    if code != TYPED:
        return code
    if exact_types and (id != node.type or (id >= P_DECIMAL4 and scale != node.scale)):
        return RESIDUAL
    if not rescale(&number, scale, node.scale):
        return RESIDUAL
    if node.type >= P_DECIMAL4:
        return put_fixed(node, row, &number, 16) if digits_fit(number, node.precision) else RESIDUAL
    return put_fixed(node, row, &number, node.width) if fits_int(number, node.width) else RESIDUAL


cdef inline int shred_scalar(
    Node* node, int64_t row, const uint8_t* p, const uint8_t* end, bint exact_types
) noexcept nogil:
    """TYPED, RESIDUAL or a fault. p < end."""
    cdef uint8_t header = p[0]
    cdef int id = header >> 2, type = node.type
    cdef int64_t number
    cdef Slice bytes
    if type == P_STRING:
        if not is_string(header):
            return RESIDUAL
        if string_at(p, end, &bytes) != 0 or not is_utf8(bytes.data, bytes.size):
            return MALFORMED
        return put_bytes(node, &node.typed, row, bytes.data, bytes.size)
    if header & 3 != PRIMITIVE or id >= PRIMITIVES:
        return RESIDUAL
    if end - p < 1 + PRIMITIVE_WIDTHS[id]:
        return MALFORMED
    if P_INT8 <= type <= P_INT64 or P_DECIMAL4 <= type <= P_DECIMAL16:
        if not (P_INT8 <= id <= P_INT64 or P_DECIMAL4 <= id <= P_DECIMAL16):
            return RESIDUAL
        if type != P_INT64 or id > P_INT64 or exact_types:
            return shred_number(node, row, p, end, exact_types)
        # Any integer fits bigint, the most common column type.
        if id == P_INT8:
            number = <int8_t> p[1]
        elif id == P_INT16:
            number = read_int16(p + 1)
        elif id == P_INT32:
            number = read_int32(p + 1)
        else:
            number = read_int64(p + 1)
        return put_fixed(node, row, &number, 8)
    if type == P_TRUE:
        return put_boolean(node, row, id == P_TRUE) if id == P_TRUE or id == P_FALSE else RESIDUAL
    if id != type:
        return RESIDUAL
    if type == P_BINARY:
        if string_at(p, end, &bytes) != 0:
            return MALFORMED
        return put_bytes(node, &node.typed, row, bytes.data, bytes.size)
    if type == P_TIME:
        number = read_int64(p + 1)
        if number < 0 or number >= MICROS_PER_DAY:
            return MALFORMED
    return put_fixed(node, row, p + 1, node.width)
