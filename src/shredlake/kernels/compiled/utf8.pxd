"""Checks that bytes are UTF-8, which an Arrow string column requires."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from *:
    """
    #define SHREDLAKE_HIGH_BITS 0x8080808080808080ULL
    """
    const uint64_t HIGH_BITS "SHREDLAKE_HIGH_BITS"


cdef inline bint is_ascii(const uint8_t* p, int64_t size) noexcept nogil:
    """Checks whole words; the last one may overlap the one before."""
    cdef uint64_t word, all = 0
    cdef uint32_t first, last
    cdef int64_t at = 0
    if size >= 8:
        while at <= size - 8:
            memcpy(&word, p + at, 8)
            all |= word
            at += 8
        memcpy(&word, p + size - 8, 8)
        return (all | word) & HIGH_BITS == 0
    if size >= 4:
        memcpy(&first, p, 4)
        memcpy(&last, p + size - 4, 4)
        return (first | last) & <uint32_t> HIGH_BITS == 0
    if size == 0:
        return True
    return (p[0] | p[size >> 1] | p[size - 1]) & 0x80 == 0


cdef inline bint is_utf8(const uint8_t* p, int64_t size) noexcept nogil:
    """Most text is ASCII; the rest is checked character by character."""
    return is_ascii(p, size) or is_wider_utf8(p, size)


cdef inline bint is_wider_utf8(const uint8_t* p, int64_t size) noexcept nogil:
    """
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
