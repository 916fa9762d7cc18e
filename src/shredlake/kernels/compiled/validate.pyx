"""Full validation of whole columns: the checks of variant/validate.py, row by row.

The kernel only finds the rows that fail; the reference explains what is wrong with them.
"""

import os

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcmp

from shredlake.kernels.compiled.arrow cimport VariantColumn, bytes_at, is_null_at, variant_column
from shredlake.kernels.compiled.buffers cimport NO_MEMORY, OK, Bytes, append_int64, bit_at, release, reserve_total, start
from shredlake.kernels.compiled.decimals cimport exact_number
from shredlake.kernels.compiled.utf8 cimport is_utf8
from shredlake.kernels.compiled.variant cimport (
    BEFORE,
    MALFORMED,
    P_DECIMAL16,
    P_DECIMAL4,
    P_STRING,
    P_TIME,
    SHORT_STRING,
    Dictionary,
    Slice,
    compare_names,
    int128_t,
    name_at,
    parse_metadata,
    read_int64,
    read_uint,
    string_at,
)
from shredlake.kernels.compiled.walk cimport CLOSE_ARRAY, CLOSE_OBJECT, SCALAR, Frame, Walk, close_walk, first_event
from shredlake.kernels.compiled.walk cimport next_event, open_walk

cdef extern from *:
    """
    #define SHREDLAKE_MICROS_PER_DAY 86400000000LL
    """
    const int64_t MICROS_PER_DAY "SHREDLAKE_MICROS_PER_DAY"

cdef enum:
    # The bytes per row that comparing names may cost before sorting them into ranks pays off.
    CHEAP_COMPARISONS = 1 << 20

cdef struct Ranked:
    Slice name
    int64_t id

cdef struct Validator:
    Walk walk
    Dictionary dictionary
    Slice metadata          # the last valid one
    Bytes ranked            # Ranked[], scratch
    Bytes ranks             # int64_t[] by id; empty until needed
    int64_t compared        # bytes of names compared so far


cdef inline bint is_ascending(Validator* v, int64_t before, int64_t after) noexcept nogil:
    """Whether the names of two ids are in order and differ. The dictionary has been checked."""
    cdef Slice a, b
    cdef const int64_t* ranks
    if v.ranks.size:
        ranks = <const int64_t*> v.ranks.data
        return ranks[before] < ranks[after]
    name_at(&v.dictionary, before, &a)
    name_at(&v.dictionary, after, &b)
    v.compared += a.size if a.size < b.size else b.size
    return compare_names(a.data, a.size, b.data, b.size) == BEFORE


cdef int by_name(const void* a, const void* b) noexcept nogil:
    return compare_names(
        (<const Ranked*> a).name.data, (<const Ranked*> a).name.size,
        (<const Ranked*> b).name.data, (<const Ranked*> b).name.size,
    )


cdef int rank_names(Validator* v) noexcept nogil:
    """Ranks the names by their order, so that long similar names are compared only once."""
    cdef int64_t count = v.dictionary.count, i, rank = 0
    cdef Ranked* ranked
    cdef int64_t* ranks
    if (
        reserve_total(&v.ranked, count * <int64_t> sizeof(Ranked)) != OK
        or reserve_total(&v.ranks, 8 * count) != OK
    ):
        return NO_MEMORY
    ranked = <Ranked*> v.ranked.data
    ranks = <int64_t*> v.ranks.data
    for i in range(count):
        name_at(&v.dictionary, i, &ranked[i].name)
        ranked[i].id = i
    qsort(ranked, <size_t> count, sizeof(Ranked), by_name)
    for i in range(count):
        if i and by_name(&ranked[i - 1], &ranked[i]) != 0:
            rank += 1
        ranks[ranked[i].id] = rank
    v.ranks.size = 8 * count
    return OK


cdef int check_metadata(Validator* v, Slice metadata) noexcept nogil:
    """Checks every offset, every name, and their order if the header promises it; nothing if it is the last row's."""
    cdef int64_t i
    cdef Slice name, previous
    if (
        metadata.size == v.metadata.size
        and v.metadata.data != NULL
        and memcmp(metadata.data, v.metadata.data, <size_t> metadata.size) == 0
    ):
        return OK
    v.metadata.data = NULL
    v.ranks.size = 0
    v.compared = 0
    if parse_metadata(metadata.data, metadata.size, &v.dictionary) != 0:
        return MALFORMED
    if v.dictionary.end != metadata.data + metadata.size:
        return MALFORMED
    if read_uint(v.dictionary.offsets, v.dictionary.offset_size) != 0:
        return MALFORMED
    for i in range(v.dictionary.count):
        if name_at(&v.dictionary, i, &name) != 0 or not is_utf8(name.data, name.size):
            return MALFORMED
        if i and v.dictionary.sorted and compare_names(previous.data, previous.size, name.data, name.size) != BEFORE:
            return MALFORMED
        previous = name
    v.metadata = metadata
    return OK


cdef inline bint is_valid_scalar(const uint8_t* p, int64_t size) noexcept nogil:
    """Checks a scalar whose type and extent are known to be valid."""
    cdef int id = p[0] >> 2
    cdef Slice text
    cdef int128_t unscaled
    cdef int scale
    if p[0] & 3 == SHORT_STRING or id == P_STRING:
        string_at(p, p + size, &text)
        return is_utf8(text.data, text.size)
    if P_DECIMAL4 <= id <= P_DECIMAL16:
        return exact_number(p, p + size, &unscaled, &scale) == 1
    if id == P_TIME:
        return 0 <= read_int64(p + 1) < MICROS_PER_DAY
    return True


cdef int check_value(Validator* v, Slice value) noexcept nogil:
    """OK, MALFORMED or NO_MEMORY."""
    cdef int event = first_event(&v.walk, value.data, value.size)
    cdef Frame* frame
    cdef int64_t depth, previous
    while event > 0:
        if event != CLOSE_OBJECT and event != CLOSE_ARRAY:
            # An opened container is already the innermost frame; its own position is in the frame below.
            depth = v.walk.depth - (event != SCALAR)
            if depth:
                frame = <Frame*> v.walk.frames.data + (depth - 1)
                if frame.is_object:
                    if v.walk.id >= v.dictionary.count:
                        return MALFORMED
                    if frame.index > 1:
                        previous = read_uint(
                            frame.view.ids + (frame.index - 2) * frame.view.id_size, frame.view.id_size
                        )
                        if v.compared > CHEAP_COMPARISONS and v.ranks.size == 0 and rank_names(v) != OK:
                            return NO_MEMORY
                        if not is_ascending(v, previous, v.walk.id):
                            return MALFORMED
            if event == SCALAR and not is_valid_scalar(v.walk.at, v.walk.size):
                return MALFORMED
        event = next_event(&v.walk)
    return event


cdef uint64_t SEED = <uint64_t> int.from_bytes(os.urandom(8), "little")


def invalid_rows(metadata, value, validity):
    """The numbers of the rows that are not valid Variants."""
    cdef VariantColumn column = variant_column(metadata, value, validity)
    cdef int64_t row, i
    cdef int status = OK
    cdef Validator v
    cdef Bytes found
    start(&found)
    start(&v.ranked)
    start(&v.ranks)
    open_walk(&v.walk, SEED)
    v.metadata.data = NULL
    v.metadata.size = 0
    v.compared = 0
    with nogil:
        for row in range(column.value.length):
            if not bit_at(column.valid, row) or is_null_at(&column.value, row):
                continue
            status = check_metadata(&v, bytes_at(&column.metadata, row))
            if status == OK:
                status = check_value(&v, bytes_at(&column.value, row))
            if status == MALFORMED:
                status = append_int64(&found, row)
            if status == NO_MEMORY:
                break
    try:
        if status == NO_MEMORY:
            raise MemoryError("out of memory while validating")
        return [(<const int64_t*> found.data)[i] for i in range(found.size // 8)]
    finally:
        close_walk(&v.walk)
        release(&found)
        release(&v.ranked)
        release(&v.ranks)
