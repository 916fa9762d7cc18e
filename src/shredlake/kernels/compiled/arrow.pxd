"""Arrow arrays as plain pointers. Keep the array alive while its pointers are in use."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uintptr_t

from shredlake.kernels.compiled.buffers cimport bit_at
from shredlake.kernels.compiled.variant cimport Slice

cdef extern from *:
    """
    #ifndef ARROW_C_DATA_INTERFACE
    #define ARROW_C_DATA_INTERFACE
    struct ArrowArray {
        int64_t length;
        int64_t null_count;
        int64_t offset;
        int64_t n_buffers;
        int64_t n_children;
        const void** buffers;
        struct ArrowArray** children;
        struct ArrowArray* dictionary;
        void (*release)(struct ArrowArray*);
        void* private_data;
    };
    #endif
    """
    # Arrow's C struct for arrays that cross libraries: a whole tree of columns in one call.
    cdef struct ArrowArray:
        int64_t length
        int64_t null_count      # -1: not counted
        int64_t offset          # of a child: in addition to its parent's
        int64_t n_buffers
        int64_t n_children
        const void** buffers
        ArrowArray** children
        void (*release)(ArrowArray*) noexcept nogil
        void* private_data

cdef struct BinaryColumn:
    const uint8_t* valid    # NULL: no nulls
    const int32_t* offsets  # of row 0
    const uint8_t* data
    const uint8_t* end      # of the data buffer: the read limit
    int64_t start           # Arrow's offset: row 0 is bit `start` of `valid`
    int64_t length

# The rows of a Variant column.
cdef struct VariantColumn:
    BinaryColumn metadata
    BinaryColumn value
    const uint8_t* valid    # of the rows, from bit 0


cdef inline BinaryColumn binary_column(array) except *:
    """The pointers of an array of type binary or string."""
    cdef BinaryColumn column
    cdef int64_t skipped = array.offset
    valid, offsets, data = array.buffers()
    column.start = skipped
    column.length = len(array)
    column.valid = <const uint8_t*> address_of(valid)
    column.offsets = <const int32_t*> address_of(offsets)
    if column.offsets != NULL:
        column.offsets += skipped
    column.data = <const uint8_t*> address_of(data)
    column.end = column.data + (0 if data is None else <int64_t> data.size)
    return column


cdef inline VariantColumn variant_column(metadata, value, validity) except *:
    """The pointers of a column of Variants, given as its parts; `validity` comes from validity_of()."""
    cdef VariantColumn column
    column.metadata = binary_column(metadata)
    column.value = binary_column(value)
    column.valid = <const uint8_t*> address_of(None if validity is None else validity.buffers()[1])
    return column


cdef inline uintptr_t address_of(buffer) except? 0:
    return 0 if buffer is None else <uintptr_t> buffer.address


cdef inline Slice bytes_at(const BinaryColumn* column, int64_t row) noexcept nogil:
    cdef Slice found
    found.data = column.data + column.offsets[row]
    found.size = column.offsets[row + 1] - column.offsets[row]
    return found


cdef inline bint is_null_at(const BinaryColumn* column, int64_t row) noexcept nogil:
    return not bit_at(column.valid, column.start + row)
