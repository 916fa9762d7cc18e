"""Growable output buffers for kernels, in C memory, handed to Arrow without a copy.

    Bytes   data ─▶ ┌────────────── size ──────────────┬──── free ────┐
                    └──────────────────────────── capacity ───────────┘
    Bits    the same, filled bit by bit, lowest bit first: Arrow's validity bitmap

A kernel reserves room once per row (`reserve`), then writes through plain pointers. Functions do not raise: those that
can run out of memory return OK or NO_MEMORY, and the Python layer raises a MemoryError. `to_arrow` transfers the
memory to a pa.Buffer that frees it; the struct is empty afterwards. A buffer that is not transferred must be released
(`release` is safe to call twice).

Growing keeps every byte of the old room, not only the first `size`, because kernels also use buffers as stacks and as
columns written by position, with `size` left at 0. They reserve their total size with `reserve_total`.

Blocks that are no longer needed are kept for the next kernel (`resize`, `give_block`; at most KEPT_BYTES in total),
because the operating system must clear fresh memory page by page, which takes longer than filling it. A worker that
processes many batches thus reuses the same memory, from all of its threads.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy, memset

cdef enum Status:
    OK = 0
    NO_MEMORY = -1

cdef enum:
    SLACK = 1 << 12         # added to estimates of an output's size
    KEPT_BYTES = 128 << 20
    APART = 128             # two threads must not write to the same or adjacent cache lines: Python places
                            # small objects next to each other, so those that hold a kernel's state are padded

cdef struct Bytes:
    uint8_t* data
    int64_t size
    int64_t capacity

cdef struct Bits:
    Bytes bytes
    int64_t length      # bits written
    int64_t unset       # the number of 0 bits: Arrow's null count

# ---------------------------------------------------------------- large blocks (in buffers.pyx)

cdef void give_block(uint8_t* block, int64_t capacity) noexcept nogil
cdef int resize(Bytes* buffer, int64_t wanted) noexcept nogil

# ---------------------------------------------------------------- bytes

cdef inline void start(Bytes* buffer) noexcept nogil:
    buffer.data = NULL
    buffer.size = 0
    buffer.capacity = 0


cdef inline void release(Bytes* buffer) noexcept nogil:
    give_block(buffer.data, buffer.capacity)
    start(buffer)


cdef inline int grow(Bytes* buffer, int64_t extra) noexcept nogil:
    """The slow path of reserve: at least doubles the capacity, so that appending stays linear overall."""
    cdef int64_t wanted = buffer.size + extra
    if wanted < 2 * buffer.capacity:
        wanted = 2 * buffer.capacity
    if wanted < 64:
        wanted = 64
    return resize(buffer, wanted)


cdef inline int reserve(Bytes* buffer, int64_t extra) noexcept nogil:
    """Reserves room for `extra` more bytes; pointers into the buffer may move."""
    if buffer.capacity - buffer.size >= extra:
        return OK
    return grow(buffer, extra)


cdef inline int reserve_total(Bytes* buffer, int64_t wanted) noexcept nogil:
    """Reserves room for `wanted` bytes in total, independent of `size`; pointers into the buffer may move."""
    if buffer.capacity >= wanted:
        return OK
    return resize(buffer, wanted if wanted > 2 * buffer.capacity else 2 * buffer.capacity)


cdef inline int make_stack_room(void** items, int64_t* room, int64_t wanted, size_t width) noexcept nogil:
    """Grows a stack of items of `width` bytes to room for `wanted` of them, at least to twice its room."""
    cdef int64_t grown = 2 * room[0]
    cdef void* moved
    if room[0] >= wanted:
        return OK
    if grown < wanted:
        grown = wanted
    moved = realloc(items[0], <size_t> grown * width)
    if moved == NULL:
        return NO_MEMORY
    items[0] = moved
    room[0] = grown
    return OK


cdef inline int append(Bytes* buffer, const void* source, int64_t size) noexcept nogil:
    if reserve(buffer, size) != OK:
        return NO_MEMORY
    if size:
        memcpy(buffer.data + buffer.size, source, <size_t> size)
        buffer.size += size
    return OK


cdef inline int append_byte(Bytes* buffer, uint8_t byte) noexcept nogil:
    if reserve(buffer, 1) != OK:
        return NO_MEMORY
    buffer.data[buffer.size] = byte
    buffer.size += 1
    return OK


cdef inline int append_int32(Bytes* buffer, int32_t number) noexcept nogil:
    """For offsets of binary, string and list arrays."""
    if reserve(buffer, 4) != OK:
        return NO_MEMORY
    memcpy(buffer.data + buffer.size, &number, 4)
    buffer.size += 4
    return OK


cdef inline int append_int64(Bytes* buffer, int64_t number) noexcept nogil:
    if reserve(buffer, 8) != OK:
        return NO_MEMORY
    memcpy(buffer.data + buffer.size, &number, 8)
    buffer.size += 8
    return OK


cdef inline int append_zeros(Bytes* buffer, int64_t size) noexcept nogil:
    if reserve(buffer, size) != OK:
        return NO_MEMORY
    if size:
        memset(buffer.data + buffer.size, 0, <size_t> size)
        buffer.size += size
    return OK

# ---------------------------------------------------------------- bitmaps

cdef inline void start_bits(Bits* bits) noexcept nogil:
    start(&bits.bytes)
    bits.length = 0
    bits.unset = 0


cdef inline void release_bits(Bits* bits) noexcept nogil:
    release(&bits.bytes)
    bits.length = 0
    bits.unset = 0


cdef inline int append_bit(Bits* bits, bint set) noexcept nogil:
    if bits.length & 7 == 0:
        if append_byte(&bits.bytes, 0) != OK:
            return NO_MEMORY
    if set:
        bits.bytes.data[bits.length >> 3] |= <uint8_t> (1 << (bits.length & 7))
    else:
        bits.unset += 1
    bits.length += 1
    return OK


cdef inline bint bit_at(const uint8_t* bitmap, int64_t index) noexcept nogil:
    """One bit of an Arrow bitmap; without a bitmap (NULL), every bit is set."""
    return bitmap == NULL or (bitmap[index >> 3] >> (index & 7)) & 1

# ---------------------------------------------------------------- to Arrow (in buffers.pyx, with the GIL)

cdef object to_arrow(Bytes* buffer)

cdef object bits_to_arrow(Bits* bits)
