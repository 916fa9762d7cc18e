"""One multiplication that mixes two words well enough for hash tables and sums of hashes."""

from libc.stdint cimport uint64_t

cdef extern from *:
    """
    #include <stdint.h>

    static inline uint64_t shredlake_mix(uint64_t a, uint64_t b) {
        unsigned __int128 product =
            (unsigned __int128) (a ^ 0x9E3779B97F4A7C15ULL) * (b ^ 0xD6E8FEB86659FD93ULL);
        return (uint64_t) product ^ (uint64_t) (product >> 64);
    }
    """
    uint64_t mix "shredlake_mix"(uint64_t a, uint64_t b) noexcept nogil
