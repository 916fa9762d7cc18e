"""The bytes of a Variant, for compiled code: checked reading, and writing in the smallest form.

metadata, the dictionary of names (n of them, w = offset width, 1 to 4 bytes, little-endian):

    ┌────────┬───────┬──────────────────────┬───────────────────┐
    │ header │ n (w) │ n + 1 offsets (w)    │ names, UTF-8      │
    └────────┴───────┴──────────────────────┴───────────────────┘
     bits 7 6: w - 1   5: reserved   4: sorted   3-0: version, 1

value, one byte of type, then data; the two low bits are the basic type:

    00 primitive     ┌ id     00 ┐ ┌ 0 to 16 bytes, or length (4) + bytes for binary and string ┐
    01 short string  ┌ length 01 ┐ ┌ length bytes of UTF-8 ┐
    10 object        ┌ .Liiww 10 ┐ ┌ n (1, large: 4) ┬ n ids (i) ┬ n + 1 offsets (w) ┬ values ┐
    11 array         ┌ ...Lww 11 ┐ ┌ n (1, large: 4) ┬             n + 1 offsets (w) ┬ values ┐

    ids index the dictionary and are sorted by their names; offsets count from the first value, and the last one is the
    length of all values. An object's values may be in any order.

Reading. `const uint8_t* p, const uint8_t* end` is always a value that starts at p inside a buffer that stops at end; p
< end need not hold. Every function checks before it reads, and returns MALFORMED instead of reading outside. A view
(`ObjectView`, `ArrayView`, `Dictionary`) has had its header, counts and lists checked against the end of the buffer,
so ids and offsets may be read without further checks; the values they refer to are checked on access (`name_at`,
`field_at`, `element_at`).

Writing. `write_*` functions take a pointer into room that the caller has reserved and return the pointer after the
written bytes; each states how many bytes it may need.
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

cdef extern from *:
    """
    typedef __int128 shredlake_int128;
    """
    ctypedef long long int128_t "shredlake_int128"

cdef enum Fault:
    MALFORMED = -2
    UNKNOWN_TYPE = -3       # a primitive id from a newer specification: extent only known to its parent
    NOT_FOUND = -4

cdef enum BasicType:
    PRIMITIVE = 0
    SHORT_STRING = 1
    OBJECT = 2
    ARRAY = 3

cdef enum Primitive:
    P_NULL = 0
    P_TRUE = 1
    P_FALSE = 2
    P_INT8 = 3
    P_INT16 = 4
    P_INT32 = 5
    P_INT64 = 6
    P_DOUBLE = 7
    P_DECIMAL4 = 8
    P_DECIMAL8 = 9
    P_DECIMAL16 = 10
    P_DATE = 11
    P_TIMESTAMP = 12
    P_TIMESTAMP_NTZ = 13
    P_FLOAT = 14
    P_BINARY = 15
    P_STRING = 16
    P_TIME = 17
    P_TIMESTAMP_NANOS = 18
    P_TIMESTAMP_NTZ_NANOS = 19
    P_UUID = 20
    PRIMITIVES = 21         # the number of primitive types

cdef struct Dictionary:
    const uint8_t* offsets
    const uint8_t* names
    const uint8_t* end      # after the last name
    int64_t count
    int offset_size
    bint sorted             # according to the writer

cdef struct ObjectView:
    const uint8_t* ids
    const uint8_t* offsets
    const uint8_t* data     # the first value
    const uint8_t* end      # after the last value
    int64_t count
    int id_size
    int offset_size

cdef struct ArrayView:
    const uint8_t* offsets
    const uint8_t* data
    const uint8_t* end
    int64_t count
    int offset_size

# A part of a buffer: a name, a string, a binary, a nested value.
cdef struct Slice:
    const uint8_t* data
    int64_t size

# ---------------------------------------------------------------- little-endian integers (no checks: see callers)

cdef inline uint32_t read_uint(const uint8_t* p, int size) noexcept nogil:
    """An unsigned integer of 1 to 4 bytes."""
    cdef uint16_t two
    cdef uint32_t four
    if size == 1:
        return p[0]
    if size == 2:
        memcpy(&two, p, 2)
        return two
    if size == 3:
        return p[0] | (<uint32_t> p[1] << 8) | (<uint32_t> p[2] << 16)
    memcpy(&four, p, 4)
    return four


cdef inline int16_t read_int16(const uint8_t* p) noexcept nogil:
    cdef int16_t number
    memcpy(&number, p, 2)
    return number


cdef inline int32_t read_int32(const uint8_t* p) noexcept nogil:
    cdef int32_t number
    memcpy(&number, p, 4)
    return number


cdef inline int64_t read_int64(const uint8_t* p) noexcept nogil:
    cdef int64_t number
    memcpy(&number, p, 8)
    return number


cdef inline uint64_t read_uint64(const uint8_t* p) noexcept nogil:
    cdef uint64_t number
    memcpy(&number, p, 8)
    return number


cdef inline int128_t read_int128(const uint8_t* p) noexcept nogil:
    cdef int128_t number
    memcpy(&number, p, 16)
    return number


cdef inline double read_double(const uint8_t* p) noexcept nogil:
    cdef double number
    memcpy(&number, p, 8)
    return number


cdef inline float read_float(const uint8_t* p) noexcept nogil:
    cdef float number
    memcpy(&number, p, 4)
    return number

# ---------------------------------------------------------------- metadata

cdef inline int parse_metadata(const uint8_t* p, int64_t size, Dictionary* out) noexcept nogil:
    """0, or MALFORMED. Checks the version, the count, and that the offset list and the last name are in bounds."""
    cdef int width
    cdef int64_t count, last, names_at
    if size < 3 or p[0] & 0x0F != 1:
        return MALFORMED
    width = (p[0] >> 6) + 1
    if size < 1 + 2 * width:
        return MALFORMED
    count = read_uint(p + 1, width)
    names_at = 1 + width + (count + 1) * width
    if names_at > size:
        return MALFORMED
    last = read_uint(p + names_at - width, width)
    if last > size - names_at:
        return MALFORMED
    out.offsets = p + 1 + width
    out.names = p + names_at
    out.end = out.names + last
    out.count = count
    out.offset_size = width
    out.sorted = (p[0] >> 4) & 1
    return 0


cdef inline int name_at(const Dictionary* dictionary, int64_t id, Slice* out) noexcept nogil:
    """0 and the name's bytes, or MALFORMED if the id or its offsets are out of bounds."""
    cdef int64_t first, last
    cdef const uint8_t* entry
    if id < 0 or id >= dictionary.count:
        return MALFORMED
    entry = dictionary.offsets + id * dictionary.offset_size
    first = read_uint(entry, dictionary.offset_size)
    last = read_uint(entry + dictionary.offset_size, dictionary.offset_size)
    if first > last or last > dictionary.end - dictionary.names:
        return MALFORMED
    out.data = dictionary.names + first
    out.size = last - first
    return 0


cdef inline bint same_bytes(const Slice* a, const uint8_t* data, int64_t size) noexcept nogil:
    return a.size == size and memcmp(a.data, data, <size_t> size) == 0


cdef inline bint same_dictionary(const Dictionary* a, const Dictionary* b) noexcept nogil:
    """Whether both have the same names in the same order, byte by byte."""
    cdef int64_t size = a.end - a.offsets
    if a.count != b.count or a.offset_size != b.offset_size or size != b.end - b.offsets:
        return False
    return a.offsets == b.offsets or memcmp(a.offsets, b.offsets, <size_t> size) == 0


cdef inline bint names_may_hold(
    const Dictionary* dictionary, const uint8_t* name, int64_t size, int width
) noexcept nogil:
    """See `may_hold_name`; `width` is a constant at each call, so that reading an offset is one load."""
    cdef int64_t id, last, first = read_uint(dictionary.offsets, width)
    for id in range(1, dictionary.count + 1):
        last = read_uint(dictionary.offsets + id * width, width)
        if first > last or last > dictionary.end - dictionary.names:
            return True
        if last - first == size and memcmp(dictionary.names + first, name, <size_t> size) == 0:
            return True
        first = last
    return False


cdef inline bint may_hold_name(const Dictionary* dictionary, const uint8_t* name, int64_t size) noexcept nogil:
    """False if no id has this name; True also if the offsets are damaged."""
    if dictionary.offset_size == 1:
        return names_may_hold(dictionary, name, size, 1)
    if dictionary.offset_size == 2:
        return names_may_hold(dictionary, name, size, 2)
    return names_may_hold(dictionary, name, size, dictionary.offset_size)


cdef inline int64_t id_of_name(
    const Dictionary* dictionary, const uint8_t* name, int64_t size, int64_t guess
) noexcept nogil:
    """The first id with this name, NOT_FOUND, or MALFORMED. Tries `guess` first, since rows resemble each other."""
    cdef Slice entry
    cdef int64_t id
    if 0 <= guess < dictionary.count:
        if name_at(dictionary, guess, &entry) != 0:
            return MALFORMED
        if same_bytes(&entry, name, size):
            return guess
    for id in range(dictionary.count):
        if name_at(dictionary, id, &entry) != 0:
            return MALFORMED
        if same_bytes(&entry, name, size):
            return id
    return NOT_FOUND

# ---------------------------------------------------------------- values

cdef inline int basic_type(uint8_t header) noexcept nogil:
    return header & 3


cdef inline int primitive_id(uint8_t header) noexcept nogil:
    return header >> 2


cdef inline int primitive_width(int id) noexcept nogil:
    """The size after the header; for binary and string only that of the length field; UNKNOWN_TYPE over 20."""
    if id >= PRIMITIVES:
        return UNKNOWN_TYPE
    return PRIMITIVE_WIDTHS[id]

cdef extern from *:
    """
    static const signed char shredlake_primitive_widths[21] = {
        0, 0, 0, 1, 2, 4, 8, 8, 5, 9, 17, 4, 8, 8, 4, 4, 4, 8, 8, 8, 16
    };
    """
    const signed char* PRIMITIVE_WIDTHS "shredlake_primitive_widths"


cdef inline int parse_object(const uint8_t* p, const uint8_t* end, ObjectView* out) noexcept nogil:
    """0, or MALFORMED. p must be at an object's header. Checks that ids, offsets and all values are in bounds."""
    cdef uint8_t header
    cdef int count_size
    cdef int64_t room = end - p, before_values, total
    if room < 2:
        return MALFORMED
    header = p[0] >> 2
    out.offset_size = (header & 3) + 1
    out.id_size = ((header >> 2) & 3) + 1
    count_size = 4 if header & 0x10 else 1
    if room < 1 + count_size:
        return MALFORMED
    out.count = read_uint(p + 1, count_size)
    before_values = 1 + count_size + out.count * out.id_size + (out.count + 1) * out.offset_size
    if before_values > room:
        return MALFORMED
    total = read_uint(p + before_values - out.offset_size, out.offset_size)
    if total > room - before_values:
        return MALFORMED
    out.ids = p + 1 + count_size
    out.offsets = out.ids + out.count * out.id_size
    out.data = p + before_values
    out.end = out.data + total
    return 0


cdef inline int parse_array(const uint8_t* p, const uint8_t* end, ArrayView* out) noexcept nogil:
    """0, or MALFORMED. p must be at an array's header. Checks that the offsets and all values are in bounds."""
    cdef uint8_t header
    cdef int count_size
    cdef int64_t room = end - p, before_values, total
    if room < 2:
        return MALFORMED
    header = p[0] >> 2
    out.offset_size = (header & 3) + 1
    count_size = 4 if header & 4 else 1
    if room < 1 + count_size:
        return MALFORMED
    out.count = read_uint(p + 1, count_size)
    before_values = 1 + count_size + (out.count + 1) * out.offset_size
    if before_values > room:
        return MALFORMED
    total = read_uint(p + before_values - out.offset_size, out.offset_size)
    if total > room - before_values:
        return MALFORMED
    out.offsets = p + 1 + count_size
    out.data = p + before_values
    out.end = out.data + total
    return 0


cdef inline int64_t value_size(const uint8_t* p, const uint8_t* end) noexcept nogil:
    """The size of the value at p, with its header, all in bounds; or MALFORMED, or UNKNOWN_TYPE."""
    cdef int64_t size, room = end - p
    cdef int id, width
    cdef ObjectView object_view
    cdef ArrayView array_view
    if room < 1:
        return MALFORMED
    cdef int basic = p[0] & 3
    if basic == SHORT_STRING:
        size = 1 + (p[0] >> 2)
    elif basic == PRIMITIVE:
        id = p[0] >> 2
        if id >= PRIMITIVES:
            return UNKNOWN_TYPE
        width = PRIMITIVE_WIDTHS[id]
        size = 1 + width
        if id == P_BINARY or id == P_STRING:
            if room < 5:
                return MALFORMED
            size += read_uint(p + 1, 4)
    elif basic == OBJECT:
        if parse_object(p, end, &object_view) != 0:
            return MALFORMED
        return object_view.end - p
    else:
        if parse_array(p, end, &array_view) != 0:
            return MALFORMED
        return array_view.end - p
    return size if size <= room else MALFORMED


cdef inline bint is_null_value(const uint8_t* p, const uint8_t* end) noexcept nogil:
    return p < end and p[0] == 0


cdef inline bint is_string(uint8_t header) noexcept nogil:
    return header & 3 == SHORT_STRING or header == P_STRING << 2


cdef inline int string_at(const uint8_t* p, const uint8_t* end, Slice* out) noexcept nogil:
    """0 and the bytes of a short string, a string or a binary; MALFORMED if they are out of bounds."""
    cdef int64_t head = 1
    if p >= end:
        return MALFORMED
    if p[0] & 3 == SHORT_STRING:
        out.size = p[0] >> 2
    else:
        if end - p < 5:
            return MALFORMED
        out.size = read_uint(p + 1, 4)
        head = 5
    out.data = p + head
    if out.size > end - out.data:
        return MALFORMED
    return 0


cdef inline int64_t id_at(const ObjectView* view, int64_t index) noexcept nogil:
    return read_uint(view.ids + index * view.id_size, view.id_size)


cdef inline bint same_ids(const ObjectView* a, const ObjectView* b) noexcept nogil:
    """Whether two objects list the same fields, provided that their dictionaries are the same."""
    if a.count != b.count or a.id_size != b.id_size:
        return False
    return memcmp(a.ids, b.ids, <size_t> (a.count * a.id_size)) == 0


cdef inline int field_at(const ObjectView* view, int64_t index, const uint8_t** p) noexcept nogil:
    """0 and the start of the field's value (it ends before view.end: see value_size); or MALFORMED."""
    cdef int64_t offset = read_uint(view.offsets + index * view.offset_size, view.offset_size)
    p[0] = view.data + offset
    return 0 if offset < view.end - view.data else MALFORMED


cdef inline int element_at(const ArrayView* view, int64_t index, Slice* out) noexcept nogil:
    """0 and the bytes of the element; MALFORMED if its offsets do not increase or are out of bounds."""
    cdef const uint8_t* entry = view.offsets + index * view.offset_size
    cdef int64_t first = read_uint(entry, view.offset_size)
    cdef int64_t last = read_uint(entry + view.offset_size, view.offset_size)
    out.data = view.data + first
    out.size = last - first
    return 0 if first < last and last <= view.end - view.data else MALFORMED

# ---------------------------------------------------------------- finding a field

cdef enum Order:
    BEFORE = -1
    EQUAL = 0
    AFTER = 1


cdef inline int compare_names(const uint8_t* a, int64_t a_size, const uint8_t* b, int64_t b_size) noexcept nogil:
    """Compares unsigned bytes, the order of names in the specification."""
    cdef int64_t shorter = a_size if a_size < b_size else b_size
    cdef int order = memcmp(a, b, <size_t> shorter)
    if order:
        return BEFORE if order < 0 else AFTER
    return EQUAL if a_size == b_size else (BEFORE if a_size < b_size else AFTER)


cdef inline bint is_out_of_order(const Dictionary* dictionary, const ObjectView* view, int64_t index) noexcept nogil:
    """Whether the name of a field precedes that of the field listed before it."""
    cdef Slice before, after
    if index == 0 or name_at(dictionary, id_at(view, index - 1), &before) != 0:
        return False
    if name_at(dictionary, id_at(view, index), &after) != 0:
        return False
    if before.size and after.size and before.data[0] != after.data[0]:
        return before.data[0] > after.data[0]   # mostly decides, and costs less than memcmp
    return compare_names(before.data, before.size, after.data, after.size) == AFTER


cdef inline int64_t scan_for_field(
    const Dictionary* dictionary, const ObjectView* view, const uint8_t* name, int64_t size
) noexcept nogil:
    """The index of the field by linear search, NOT_FOUND, or MALFORMED."""
    cdef Slice entry
    cdef int64_t index
    for index in range(view.count):
        if name_at(dictionary, id_at(view, index), &entry) != 0:
            return MALFORMED
        if same_bytes(&entry, name, size):
            return index
    return NOT_FOUND


cdef inline int64_t search_for_field(
    const Dictionary* dictionary, const ObjectView* view, const uint8_t* name, int64_t size
) noexcept nogil:
    """The index of the field by binary search in the order of the specification, NOT_FOUND, or MALFORMED.

    Some writers sort by UTF-16 (Spark), and some do not sort (DuckDB), so a field that is not found this way may still
    exist if the dictionary may hold its name.
    """
    cdef int64_t low = 0, high = view.count, middle
    cdef Slice entry
    cdef int order
    while low < high:
        middle = (low + high) >> 1
        if name_at(dictionary, id_at(view, middle), &entry) != 0:
            return MALFORMED
        order = compare_names(name, size, entry.data, entry.size)
        if order == EQUAL:
            return middle
        if order == BEFORE:
            high = middle
        else:
            low = middle + 1
    return NOT_FOUND

# ---------------------------------------------------------------- writing (into reserved room)

cdef inline int uint_size(uint64_t number) noexcept nogil:
    """The fewest bytes that hold the number, 1 to 4."""
    if number < 0x100:
        return 1
    if number < 0x10000:
        return 2
    return 3 if number < 0x1000000 else 4


cdef inline uint8_t* write_uint(uint8_t* out, uint64_t number, int size) noexcept nogil:
    """Exactly `size` bytes, 1 to 4."""
    if size == 1:
        out[0] = <uint8_t> number
    elif size == 2:
        memcpy(out, &number, 2)
    elif size == 3:
        out[0] = <uint8_t> number
        out[1] = <uint8_t> (number >> 8)
        out[2] = <uint8_t> (number >> 16)
    else:
        memcpy(out, &number, 4)
    return out + size


cdef inline uint8_t* write_primitive(uint8_t* out, int id, const void* data, int width) noexcept nogil:
    """Writes a header and `width` raw bytes: 1 + width bytes."""
    out[0] = <uint8_t> (id << 2)
    memcpy(out + 1, data, <size_t> width)
    return out + 1 + width


cdef inline uint8_t* write_int(uint8_t* out, int64_t number) noexcept nogil:
    """Writes the smallest of int8 to int64: at most 9 bytes."""
    if number == <int8_t> number:
        return write_primitive(out, P_INT8, &number, 1)
    if number == <int16_t> number:
        return write_primitive(out, P_INT16, &number, 2)
    if number == <int32_t> number:
        return write_primitive(out, P_INT32, &number, 4)
    return write_primitive(out, P_INT64, &number, 8)


cdef inline uint8_t* write_decimal(uint8_t* out, int128_t unscaled, int scale) noexcept nogil:
    """Writes the smallest of decimal4 to decimal16 that holds the digits and the scale: at most 18 bytes."""
    cdef int id, width
    if scale <= 9 and -999999999 <= unscaled <= 999999999:
        id = P_DECIMAL4
        width = 4
    elif scale <= 18 and -EIGHTEEN_NINES <= unscaled <= EIGHTEEN_NINES:
        id = P_DECIMAL8
        width = 8
    else:
        id = P_DECIMAL16
        width = 16
    out[0] = <uint8_t> (id << 2)
    out[1] = <uint8_t> scale
    memcpy(out + 2, &unscaled, <size_t> width)
    return out + 2 + width


cdef inline uint8_t* write_small_decimal(uint8_t* out, int64_t unscaled, int scale) noexcept nogil:
    """As write_decimal, for up to 18 digits and a scale of up to 18: writes 10 bytes, of which 6 may count.
    """
    cdef bint narrow = scale <= 9 and -999999999 <= unscaled <= 999999999
    out[0] = (P_DECIMAL4 if narrow else P_DECIMAL8) << 2
    out[1] = <uint8_t> scale
    memcpy(out + 2, &unscaled, 8)
    return out + (6 if narrow else 10)

cdef extern from *:
    """
    #define SHREDLAKE_EIGHTEEN_NINES 999999999999999999LL
    """
    const int64_t EIGHTEEN_NINES "SHREDLAKE_EIGHTEEN_NINES"


cdef inline uint8_t* write_string_header(uint8_t* out, int64_t size) noexcept nogil:
    """1 byte for up to 63 bytes of text, else 5."""
    if size < 64:
        out[0] = <uint8_t> ((size << 2) | SHORT_STRING)
        return out + 1
    out[0] = P_STRING << 2
    return write_uint(out + 1, <uint64_t> size, 4)


cdef inline uint8_t* write_string(uint8_t* out, const uint8_t* data, int64_t size) noexcept nogil:
    """At most 5 + size bytes."""
    out = write_string_header(out, size)
    memcpy(out, data, <size_t> size)
    return out + size


cdef inline uint8_t* write_binary(uint8_t* out, const uint8_t* data, int64_t size) noexcept nogil:
    """5 + size bytes."""
    out[0] = P_BINARY << 2
    out = write_uint(out + 1, <uint64_t> size, 4)
    memcpy(out, data, <size_t> size)
    return out + size


cdef inline int64_t object_head_size(int64_t count, int id_size, int offset_size) noexcept nogil:
    """Header, count, ids and offsets of an object of `count` fields."""
    return 1 + (4 if count > 255 else 1) + count * id_size + (count + 1) * offset_size


cdef inline uint8_t* write_object_header(uint8_t* out, int64_t count, int id_size, int offset_size) noexcept nogil:
    """Header and count, at most 5 bytes; ids and offsets follow."""
    cdef int large = count > 255
    out[0] = <uint8_t> ((large << 6) | ((id_size - 1) << 4) | ((offset_size - 1) << 2) | OBJECT)
    return write_uint(out + 1, <uint64_t> count, 4 if large else 1)


cdef inline int64_t array_head_size(int64_t count, int offset_size) noexcept nogil:
    """Header, count and offsets of an array of `count` elements."""
    return 1 + (4 if count > 255 else 1) + (count + 1) * offset_size


cdef inline uint8_t* write_array_header(uint8_t* out, int64_t count, int offset_size) noexcept nogil:
    """Header and count, at most 5 bytes; offsets follow."""
    cdef int large = count > 255
    out[0] = <uint8_t> ((large << 4) | ((offset_size - 1) << 2) | ARRAY)
    return write_uint(out + 1, <uint64_t> count, 4 if large else 1)
