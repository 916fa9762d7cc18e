"""Where C memory becomes an Arrow buffer, and where it waits for its next use; the rest is in _buffers.pxd."""

from libc.stdint cimport uintptr_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

import pyarrow as pa

cdef extern from *:
    """
    static char shredlake_blocks_busy;

    static inline void shredlake_lock_blocks(void) {
        while (__atomic_test_and_set(&shredlake_blocks_busy, __ATOMIC_ACQUIRE)) { }
    }
    static inline void shredlake_unlock_blocks(void) {
        __atomic_clear(&shredlake_blocks_busy, __ATOMIC_RELEASE);
    }
    """
    void lock_blocks "shredlake_lock_blocks"() noexcept nogil
    void unlock_blocks "shredlake_unlock_blocks"() noexcept nogil

cdef enum:
    KEPT_BLOCKS = 512

cdef struct Block:
    uint8_t* data
    int64_t capacity

cdef Block kept[KEPT_BLOCKS]
cdef int kept_count = 0
cdef int64_t kept_bytes = 0


cdef int resize(Bytes* buffer, int64_t wanted) noexcept nogil:
    """Room for at least `wanted` bytes, in the smallest kept block that is not far too large or in a new one."""
    global kept_count, kept_bytes
    cdef int i, best = -1
    cdef Block found
    cdef uint8_t* old = buffer.data
    cdef uint8_t* moved
    if wanted >= LARGE_BLOCK:
        lock_blocks()
        for i in range(kept_count):
            if wanted <= kept[i].capacity <= 2 * wanted and (best < 0 or kept[i].capacity < kept[best].capacity):
                best = i
        if best >= 0:
            found = kept[best]
            kept_count -= 1
            kept[best] = kept[kept_count]
            kept_bytes -= found.capacity
        unlock_blocks()
    if best < 0:
        moved = <uint8_t*> realloc(old, <size_t> wanted)
        if moved == NULL:
            return NO_MEMORY
        buffer.data = moved
        buffer.capacity = wanted
        return OK
    # Copying what was written is cheaper than the fresh pages that realloc would have to ask for.
    if buffer.size:
        memcpy(found.data, old, <size_t> buffer.size)
    give_block(old, buffer.capacity)
    buffer.data = found.data
    buffer.capacity = found.capacity
    return OK


cdef void give_block(uint8_t* block, int64_t capacity) noexcept nogil:
    """Keeps a large block for later, if not enough are kept; frees any other."""
    global kept_count, kept_bytes
    cdef bint keep = False
    if capacity >= LARGE_BLOCK:
        lock_blocks()
        keep = kept_count < KEPT_BLOCKS and kept_bytes + capacity <= KEPT_BYTES
        if keep:
            kept[kept_count].data = block
            kept[kept_count].capacity = capacity
            kept_count += 1
            kept_bytes += capacity
        unlock_blocks()
    if not keep:
        free(block)


cdef class Memory:
    """Owns one block; Arrow keeps it alive as the base of a foreign buffer."""

    cdef Bytes block

    def __cinit__(self):
        start(&self.block)

    def __dealloc__(self):
        release(&self.block)


cdef object to_arrow(Bytes* buffer):
    """Gives the memory to a pa.Buffer; the struct is empty afterwards."""
    cdef Memory owner = Memory()
    cdef int64_t size = buffer.size
    cdef uint8_t* trimmed
    if size == 0:
        release(buffer)
        return pa.py_buffer(b"")
    # Arrow may read whole words past the end: up to 64 bytes of zeroed padding follow.
    if reserve(buffer, 64) != OK:
        raise MemoryError
    memset(buffer.data + size, 0, 64)
    if size + 64 < buffer.capacity // 2:
        trimmed = <uint8_t*> realloc(buffer.data, <size_t> (size + 64))
        if trimmed != NULL:
            buffer.data = trimmed
            buffer.capacity = size + 64
    owner.block = buffer[0]
    start(buffer)
    return pa.foreign_buffer(<uintptr_t> owner.block.data, size, owner)


cdef object bits_to_arrow(Bits* bits):
    """The bitmap as a pa.Buffer, or None if no bit is unset: Arrow's way to say that nothing is null."""
    if bits.unset == 0:
        release_bits(bits)
        return None
    bits.length = 0
    bits.unset = 0
    return to_arrow(&bits.bytes)
