"""Definitions that shred and unshred share."""

from libc.stdint cimport int64_t, uint8_t

from shredlake.kernels.compiled.variant cimport ObjectView, field_at

# Kinds of nodes, as in arrow/flat_schema.py.
cdef enum Kind:
    UNTYPED = 0
    SCALAR = 1
    FIELDS = 2              # an object
    ELEMENTS = 3            # an array

cdef enum:
    LARGEST = 0x7FFFFFFF    # the limit of Arrow's 32-bit offsets
    TOO_LARGE = -10         # more than that in one column

cdef extern from *:
    """
    #define SHREDLAKE_MICROS_PER_DAY 86400000000LL
    """
    const int64_t MICROS_PER_DAY "SHREDLAKE_MICROS_PER_DAY"


cdef inline int64_t extent(const ObjectView* view, const uint8_t* p) noexcept nogil:
    """The number of bytes up to the next value of the object: the size of a value of an unknown type."""
    cdef const uint8_t* nearest = view.end
    cdef const uint8_t* other
    cdef int64_t index
    for index in range(view.count):
        if field_at(view, index, &other) == 0 and p < other < nearest:
            nearest = other
    return nearest - p
