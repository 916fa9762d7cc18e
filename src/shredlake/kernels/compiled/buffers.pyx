"""Transfers C memory to Arrow buffers, and keeps free blocks for reuse; the rest is in buffers.pxd."""

from libc.stdint cimport uintptr_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

import pyarrow as pa

cdef extern from *:
    """
    static char shredlake_blocks_busy;

    /* False if another thread holds the lock for long, because it may have been preempted. */
    static inline int shredlake_lock_blocks(void) {
        int tries = 1000;
        while (__atomic_test_and_set(&shredlake_blocks_busy, __ATOMIC_ACQUIRE)) {
            if (--tries == 0) return 0;
        }
        return 1;
    }
    static inline void shredlake_unlock_blocks(void) {
        __atomic_clear(&shredlake_blocks_busy, __ATOMIC_RELEASE);
    }
    static inline int shredlake_bits(uint64_t number) { return 64 - __builtin_clzll(number); }
    """
    bint lock_blocks "shredlake_lock_blocks"() noexcept nogil
    void unlock_blocks "shredlake_unlock_blocks"() noexcept nogil
    int bits_of "shredlake_bits"(uint64_t number) noexcept nogil

cdef enum:
    SMALLEST_KEPT = 4096
    SIZES = 128

# Blocks come in four sizes per power of two (4096, 5120, 6144, 7168, 8192, ...). The free blocks of one size are a
# linked list: each begins with the address of the next.
cdef struct Kept:
    uint8_t* first
    int64_t bytes
    bint asked              # since the last sweep

cdef Kept kept[SIZES]
cdef int64_t kept_bytes = 0
cdef int hand = 0


cdef inline int64_t rounded(int64_t wanted, int* which) noexcept nogil:
    """The block size for so many bytes, and its number; small sizes have no number, -1."""
    cdef int power
    cdef int64_t step
    which[0] = -1
    if wanted < SMALLEST_KEPT:
        return wanted
    power = bits_of(<uint64_t> wanted - 1) - 1      # 2**power < wanted <= 2**(power + 1)
    step = <int64_t> 1 << (power - 2)
    wanted = (wanted + step - 1) & ~(step - 1)
    which[0] = 4 * (power - 11) + <int> (wanted // step) - 5
    if which[0] >= SIZES:
        which[0] = -1
    return wanted


cdef int resize(Bytes* buffer, int64_t wanted) noexcept nogil:
    """Reserves at least `wanted` bytes, in a kept block or in a new one; never shrinks.

    All of the old room is kept, as realloc() does, because stacks and columns that are written by position do not
    count their content in `size`.
    """
    global kept_bytes
    cdef int which
    cdef int64_t size = rounded(wanted if wanted > buffer.capacity else buffer.capacity, &which)
    cdef uint8_t* old = buffer.data
    cdef uint8_t* found = NULL
    if which >= 0 and lock_blocks():
        kept[which].asked = True
        found = kept[which].first
        if found != NULL:
            kept[which].first = (<uint8_t**> found)[0]
            kept[which].bytes -= size
            kept_bytes -= size
        unlock_blocks()
    if found == NULL:
        found = <uint8_t*> realloc(old, <size_t> size)
        if found == NULL:
            return NO_MEMORY
    else:
        # Copying the old room is cheaper than the fresh pages that realloc would need.
        if old != NULL:
            memcpy(found, old, <size_t> buffer.capacity)
        give_block(old, buffer.capacity)
    buffer.data = found
    buffer.capacity = size
    return OK


cdef void give_block(uint8_t* block, int64_t capacity) noexcept nogil:
    """Keeps a block for reuse if it is large and there is room for it; otherwise frees it."""
    global kept_bytes
    cdef int which
    cdef bint keep = False
    cdef uint8_t* unneeded = NULL
    cdef uint8_t* next
    if rounded(capacity, &which) == capacity and which >= 0 and lock_blocks():
        if kept_bytes + capacity > KEPT_BYTES:
            unneeded = drop_size(which)
        keep = kept_bytes + capacity <= KEPT_BYTES
        if keep:
            (<uint8_t**> block)[0] = kept[which].first
            kept[which].first = block
            kept[which].bytes += capacity
            kept_bytes += capacity
        unlock_blocks()
    if not keep:
        free(block)
    while unneeded != NULL:
        next = (<uint8_t**> unneeded)[0]
        free(unneeded)
        unneeded = next


cdef uint8_t* drop_size(int spared) noexcept nogil:
    """The blocks of one size that were not requested since the last sweep, or none."""
    global hand, kept_bytes
    cdef uint8_t* found = NULL
    cdef int step
    for step in range(SIZES):
        hand = (hand + 1) % SIZES
        if kept[hand].first == NULL or hand == spared:
            continue
        if not kept[hand].asked:
            found = kept[hand].first
            kept_bytes -= kept[hand].bytes
            kept[hand].first = NULL
            kept[hand].bytes = 0
            break
        kept[hand].asked = False
    return found


cdef class Memory:
    """Owns one block; Arrow keeps it alive as the base of a foreign buffer."""

    cdef Bytes block

    def __cinit__(self):
        start(&self.block)

    def __dealloc__(self):
        release(&self.block)


cdef object to_arrow(Bytes* buffer):
    """Transfers the memory to a pa.Buffer; the struct is empty afterwards."""
    cdef Memory owner = Memory()
    cdef int64_t size = buffer.size, enough
    cdef uint8_t* trimmed
    cdef int which
    if size == 0:
        release(buffer)
        return pa.py_buffer(b"")
    # Arrow may read whole words past the end, so up to 64 bytes of zeroed padding follow.
    if reserve(buffer, 64) != OK:
        raise MemoryError
    memset(buffer.data + size, 0, 64)
    enough = rounded(size + 64, &which)
    if enough < buffer.capacity // 2:
        trimmed = <uint8_t*> realloc(buffer.data, <size_t> enough)
        if trimmed != NULL:
            buffer.data = trimmed
            buffer.capacity = enough
    owner.block = buffer[0]
    start(buffer)
    return pa.foreign_buffer(<uintptr_t> owner.block.data, size, owner)


cdef object bits_to_arrow(Bits* bits):
    """The bitmap as a pa.Buffer, or None if no bit is unset, which in Arrow means that there are no nulls."""
    if bits.unset == 0:
        release_bits(bits)
        return None
    bits.length = 0
    bits.unset = 0
    return to_arrow(&bits.bytes)
