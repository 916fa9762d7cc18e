"""Whether bytes are UTF-8: a string column of Arrow may hold nothing else."""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

cdef extern from *:
    """
    #define SHREDLAKE_HIGH_BITS 0x8080808080808080ULL
    """
    const uint64_t HIGH_BITS "SHREDLAKE_HIGH_BITS"


cdef inline bint is_utf8(const uint8_t* p, int64_t size) noexcept nogil:
    """Eight ASCII bytes at a step; other characters one by one.

        0xxxxxxx                               one byte
        110xxxxx 10......                      from 80, so the first is C2 or more
        1110xxxx 10...... 10......             from 800, and no surrogates (ED A0 to ED BF)
        11110xxx 10...... 10...... 10......    from 10000 to 10FFFF
    """
    cdef const uint8_t* end = p + size
    cdef uint64_t word
    cdef uint8_t first, second
    while p < end:
        if end - p >= 8:
            memcpy(&word, p, 8)
            if word & HIGH_BITS == 0:
                p += 8
                continue
        first = p[0]
        if first < 0x80:
            p += 1
            continue
        if first < 0xC2 or end - p < 2:
            return False
        second = p[1]
        if second & 0xC0 != 0x80:
            return False
        if first < 0xE0:
            p += 2
            continue
        if end - p < 3 or p[2] & 0xC0 != 0x80:
            return False
        if first < 0xF0:
            if (first == 0xE0 and second < 0xA0) or (first == 0xED and second >= 0xA0):
                return False
            p += 3
            continue
        if end - p < 4 or p[3] & 0xC0 != 0x80 or first > 0xF4:
            return False
        if (first == 0xF0 and second < 0x90) or (first == 0xF4 and second >= 0x90):
            return False
        p += 4
    return True
