"""A checksum of Variants by meaning: equal values have equal sums, however they are encoded.

    scalar   mix(class, its bytes)              numbers without trailing zeros, so that 1, 1.0 and 1.00 agree
    array    h = mix(h, element), in order
    object   sum of mix(name, field): order and dictionary do not matter
    column   sum over the rows: order does not matter

Sums are modulo 2^64 and protect against accidents, not against an adversary.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from shredlake.kernels.compiled.arrow cimport VariantColumn, bytes_at, is_null_at, variant_column
from shredlake.kernels.compiled.buffers cimport OK, bit_at
from shredlake.kernels.compiled.decimals cimport exact_number
from shredlake.kernels.compiled.variant cimport (
    ARRAY,
    MALFORMED,
    OBJECT,
    P_BINARY,
    PRIMITIVE,
    ArrayView,
    Dictionary,
    ObjectView,
    Slice,
    element_at,
    field_at,
    id_at,
    int128_t,
    is_string,
    name_at,
    parse_array,
    parse_metadata,
    parse_object,
    string_at,
    value_size,
)

cdef extern from *:
    """
    #define SHREDLAKE_PRIME 0x100000001b3ULL
    #define SHREDLAKE_BASIS 0xcbf29ce484222325ULL
    #define SHREDLAKE_MIX_A 0xbf58476d1ce4e5b9ULL
    #define SHREDLAKE_MIX_B 0x94d049bb133111ebULL
    """
    const uint64_t PRIME "SHREDLAKE_PRIME"
    const uint64_t BASIS "SHREDLAKE_BASIS"
    const uint64_t MIX_A "SHREDLAKE_MIX_A"
    const uint64_t MIX_B "SHREDLAKE_MIX_B"

cdef enum:
    NUMBER = 101
    STRING = 102
    ELEMENTS = 103
    FIELDS = 104
    DEEPEST = 5000          # levels; deeper values are hashed by their bytes


cdef inline uint64_t mix(uint64_t h, uint64_t more) noexcept nogil:
    h = (h ^ more) * PRIME
    h = (h ^ (h >> 30)) * MIX_A
    h = (h ^ (h >> 27)) * MIX_B
    return h ^ (h >> 31)


cdef inline uint64_t hash_bytes(uint64_t kind, const uint8_t* data, int64_t size) noexcept nogil:
    cdef uint64_t h = BASIS ^ kind
    cdef int64_t i
    for i in range(size):
        h = (h ^ data[i]) * PRIME
    return mix(h, <uint64_t> size)


cdef int hash_value(
    const Dictionary* names, const uint8_t* p, const uint8_t* end, int depth, int64_t* budget, uint64_t* out
) noexcept nogil:
    cdef int64_t size = value_size(p, end), i
    cdef int status, scale, kind
    cdef int128_t unscaled
    cdef uint64_t h, one
    cdef Slice text, name
    cdef ObjectView object_view
    cdef ArrayView array_view
    cdef const uint8_t* field
    # Every value takes a byte, so a traversal longer than the bytes means overlapping values, and might never end.
    budget[0] -= 1
    if size < 0 or budget[0] < 0:
        return MALFORMED
    kind = p[0] & 3
    if kind == PRIMITIVE or is_string(p[0]) or depth > DEEPEST:
        status = exact_number(p, end, &unscaled, &scale)
        if status < 0:
            return MALFORMED
        if status == 1 and depth <= DEEPEST:
            while scale > 0 and unscaled % 10 == 0:
                unscaled = unscaled // 10
                scale -= 1
            h = mix(NUMBER, <uint64_t> unscaled)
            out[0] = mix(mix(h, <uint64_t> (unscaled >> 64)), <uint64_t> scale)
            return OK
        if is_string(p[0]) or p[0] >> 2 == P_BINARY:
            if string_at(p, end, &text) != OK:
                return MALFORMED
            out[0] = hash_bytes(STRING if is_string(p[0]) else P_BINARY, text.data, text.size)
            return OK
        out[0] = hash_bytes(0, p, size)
        return OK
    if kind == OBJECT:
        if parse_object(p, end, &object_view) != OK:
            return MALFORMED
        h = 0
        for i in range(object_view.count):
            if name_at(names, id_at(&object_view, i), &name) != OK or field_at(&object_view, i, &field) != OK:
                return MALFORMED
            if hash_value(names, field, object_view.end, depth + 1, budget, &one) != OK:
                return MALFORMED
            h += mix(hash_bytes(FIELDS, name.data, name.size), one)
        out[0] = mix(FIELDS, h)
        return OK
    if parse_array(p, end, &array_view) != OK:
        return MALFORMED
    h = ELEMENTS
    for i in range(array_view.count):
        if element_at(&array_view, i, &text) != OK:
            return MALFORMED
        if hash_value(names, text.data, text.data + text.size, depth + 1, budget, &one) != OK:
            return MALFORMED
        h = mix(h, one)
    out[0] = h
    return OK


def checksum(metadata, value, validity):
    """Returns (sum over the rows, the first malformed row or the number of rows); NULL rows add 0."""
    cdef VariantColumn column = variant_column(metadata, value, validity)
    cdef int64_t row = 0, rows = column.value.length, budget
    cdef uint64_t total = 0, one = 0
    cdef Dictionary names
    cdef Slice encoded
    with nogil:
        while row < rows:
            if bit_at(column.valid, row) and not is_null_at(&column.value, row):
                encoded = bytes_at(&column.metadata, row)
                if parse_metadata(encoded.data, encoded.size, &names) != OK:
                    break
                encoded = bytes_at(&column.value, row)
                budget = encoded.size
                if hash_value(&names, encoded.data, encoded.data + encoded.size, 0, &budget, &one) != OK:
                    break
                total += mix(one, 1)
            row += 1
    return total, row
