"""Small numbers for many rows: parts of moments, and how often combinations of values occur.

One call does all rows without Python's lock. NumPy would take the lock again after each of a dozen steps, and threads
that scan side by side would wait for each other.
"""

import pyarrow as pa

from shredlake.errors import InvalidValue

from libc.stdint cimport INT64_MAX, int8_t, int16_t, int64_t, uint64_t, uintptr_t

cdef enum:
    SECOND = 1_000_000


cdef inline bint fill_parts(
    const int64_t* moments, int8_t* found, int64_t rows, int64_t unit, int64_t cycle
) noexcept nogil:
    """False if a moment is infinite. Inlined with constants, so that the compiler replaces the divisions."""
    cdef int64_t row, moment, units
    cdef bint infinite = False
    for row in range(rows):
        moment = moments[row]
        infinite |= moment == INT64_MAX or moment == -INT64_MAX
        if moment >= 0:
            found[row] = <int8_t> (<uint64_t> moment / <uint64_t> unit % <uint64_t> cycle)
        else:
            units = (moment + 1) / unit - 1
            found[row] = <int8_t> (cycle - 1 + (units + 1) % cycle)
    return not infinite


def time_part(moments, int64_t unit, int64_t cycle):
    """As in the fallback."""
    cdef int64_t rows = len(moments)
    data = moments.buffers()[1]
    buffer = pa.allocate_buffer(rows)
    cdef const int64_t* values = <const int64_t*> <uintptr_t> (0 if data is None else data.address)
    cdef int8_t* found = <int8_t*> <uintptr_t> buffer.address
    cdef bint finite
    values += <int64_t> moments.offset
    with nogil:
        if unit == 3600 * <int64_t> SECOND and cycle == 24:
            finite = fill_parts(values, found, rows, 3600 * <int64_t> SECOND, 24)
        elif unit == 60 * <int64_t> SECOND and cycle == 60:
            finite = fill_parts(values, found, rows, 60 * <int64_t> SECOND, 60)
        elif unit == SECOND and cycle == 60:
            finite = fill_parts(values, found, rows, SECOND, 60)
        else:
            finite = fill_parts(values, found, rows, unit, cycle)
    return pa.Array.from_buffers(pa.int8(), rows, [None, buffer]) if finite else None


def count_codes(codes, int64_t size):
    """As in the fallback."""
    cdef int64_t rows = len(codes), row, code, present = 0
    data = codes.buffers()[1]
    last_rows, counts = pa.allocate_buffer(8 * size), pa.allocate_buffer(8 * size)
    cdef const int16_t* values = <const int16_t*> <uintptr_t> (0 if data is None else data.address)
    cdef int64_t* last = <int64_t*> <uintptr_t> last_rows.address
    cdef int64_t* count = <int64_t*> <uintptr_t> counts.address
    values += <int64_t> codes.offset
    with nogil:
        for code in range(size):
            count[code] = 0
        for row in range(rows):
            code = values[row]
            if <uint64_t> code >= <uint64_t> size:
                break
            count[code] += 1
            last[code] = row
        else:
            row = rows
    if row < rows:
        raise InvalidValue(f"row {row}: the code {code} is not between 0 and {size - 1}")
    with nogil:
        for code in range(size):
            if count[code]:
                last[present], count[present] = last[code], count[code]
                present += 1
    return tuple(pa.Array.from_buffers(pa.int64(), present, [None, found]) for found in (last_rows, counts))
