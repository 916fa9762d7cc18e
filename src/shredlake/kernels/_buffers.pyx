"""Where C memory becomes an Arrow buffer; the layout and the growing are in _buffers.pxd."""

from libc.stdint cimport uintptr_t

import pyarrow as pa


cdef class Memory:
    """Owns one malloc'ed block; Arrow keeps it alive as the base of a foreign buffer."""

    cdef uint8_t* data

    def __cinit__(self):
        self.data = NULL

    def __dealloc__(self):
        free(self.data)


cdef object to_arrow(Bytes* buffer):
    """Gives the memory to a pa.Buffer, trimmed to its size; the struct is empty afterwards."""
    cdef Memory owner = Memory()
    cdef int64_t size = buffer.size
    cdef uint8_t* trimmed
    if size == 0:
        release(buffer)
        return pa.py_buffer(b"")
    # Arrow may read whole words past the end, so the block keeps up to 64 bytes of zeroed padding.
    if reserve(buffer, 64) != OK:
        raise MemoryError
    memset(buffer.data + size, 0, 64)
    trimmed = <uint8_t*> realloc(buffer.data, <size_t> (size + 64))
    owner.data = buffer.data if trimmed == NULL else trimmed
    start(buffer)
    return pa.foreign_buffer(<uintptr_t> owner.data, size, owner)


cdef object bits_to_arrow(Bits* bits):
    """The bitmap as a pa.Buffer, or None if no bit is unset: Arrow's way to say that nothing is null."""
    if bits.unset == 0:
        release_bits(bits)
        return None
    bits.length = 0
    bits.unset = 0
    return to_arrow(&bits.bytes)
