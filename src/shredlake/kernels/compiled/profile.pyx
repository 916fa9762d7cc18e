"""Profiles the paths of a Variant column in one pass with bounded memory; the results are bytes that can be merged.

Each row is traversed from its root. The child for the next field is guessed before it is looked up: rows resemble each
other, so the field that followed last time mostly follows again, and one comparison of names confirms it. The table of
paths is in profile_paths.pxd, its bytes in profile_bytes.pxd; the reference is in
shredding/inference/profile_reference.py.
"""

from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcmp, memcpy, memset

from shredlake.kernels.compiled.buffers cimport NO_MEMORY, OK, Bytes, bit_at, release, start
from shredlake.kernels.compiled.profile_bytes cimport add_sketch, compare_keys, put_sketch
from shredlake.kernels.compiled.profile_paths cimport (
    LONGEST_NAME, NUMBER_KEY, PREFIX, REGISTERS, T_ARRAY, T_BINARY, T_OBJECT, T_STRING, TEXT_KEY, Key, Node, Sketch, Tables,
    add_node, count_shape, digits_of, find_node, has_name, hash_bytes, power_of_ten, prefetch, prune, release_sketch, remember,
    slot_of, start_sketch, tables_of, wide_digits_of,
)
from shredlake.kernels.compiled.variant cimport (
    MALFORMED, OBJECT, P_BINARY, P_DATE, P_DECIMAL4, P_DECIMAL8, P_DECIMAL16, P_DOUBLE, P_FALSE, P_FLOAT, P_INT8,
    P_INT16, P_INT32, P_INT64, P_NULL, P_STRING, P_TRUE, P_UUID, PRIMITIVE_WIDTHS, PRIMITIVES, SHORT_STRING,
    UNKNOWN_TYPE,
    ArrayView, Dictionary, ObjectView, Slice, element_at, field_at, id_at, int128_t, name_at, parse_array,
    parse_metadata, parse_object, read_double, read_float, read_int16, read_int32, read_int64, read_int128,
    string_at, value_size,
)

cdef enum:
    STRIDE = 64             # every 64th value of a path is compared with the one 64 before
    PATIENCE = 4            # wrong guesses after which an object's other fields are looked up
    BATCH = 16              # in batches of this size

cdef enum Look:
    EMPTY = 0
    DATE = 1
    TIMESTAMP = 2
    UUID = 3
    NUMBER = 4

# ---------------------------------------------------------------- one scalar

cdef inline int observe_order(Node* node, uint8_t kind, double number, const uint8_t* text,
                              int64_t size) noexcept nogil:
    cdef Key key
    cdef Tables* tables
    node.ordered += 1
    if (node.ordered - 1) % STRIDE:
        return OK
    key.kind = kind
    key.number = number
    key.size = <uint8_t> (size if size < PREFIX else PREFIX)
    if key.size:
        memcpy(key.text, text, key.size)
    if node.ordered == 1:
        node.first_key = key
        return OK
    tables = tables_of(node)
    if tables == NULL:
        return NO_MEMORY
    compare_keys(tables, &tables.last_key if tables.last_key.kind else &node.first_key, &key)
    tables.last_key = key
    return OK


cdef inline int observe_number(Node* node, double number) noexcept nogil:
    if isnan(number):
        return OK
    if node.ranged == 0:
        node.low = node.high = number
    elif number < node.low:
        node.low = number
    elif number > node.high:
        node.high = number
    node.ranged += 1
    return observe_order(node, NUMBER_KEY, number, NULL, 0)


cdef inline int observe_int(Node* node, int kind, int64_t number) noexcept nogil:
    if count_shape(node, kind, 0, digits_of(number)) != OK:
        return NO_MEMORY
    if observe_number(node, <double> number) != OK:
        return NO_MEMORY
    return remember(&node.values, hash_bytes(1, <const uint8_t*> &number, 8))


cdef inline int observe_decimal(Node* node, int kind, int64_t unscaled, int scale) noexcept nogil:
    """Profiles a decimal of up to 64 bits, of any width."""
    cdef uint64_t hash = hash_bytes(2 | <uint64_t> scale << 8, <const uint8_t*> &unscaled, 8)
    prefetch(node.values.all + (hash & (REGISTERS - 1)))  # far from the node in memory
    if count_shape(node, kind, scale, digits_of(unscaled)) != OK:
        return NO_MEMORY
    if observe_number(node, <double> unscaled / power_of_ten(scale)) != OK:
        return NO_MEMORY
    return remember(&node.values, hash)


cdef inline int observe_wide_decimal(Node* node, int kind, int128_t unscaled, int scale) noexcept nogil:
    cdef uint64_t seed = 2 | <uint64_t> scale << 8
    if unscaled == <int64_t> unscaled:
        return observe_decimal(node, kind, <int64_t> unscaled, scale)
    if count_shape(node, kind, scale, wide_digits_of(unscaled)) != OK:
        return NO_MEMORY
    if observe_number(node, <double> unscaled / power_of_ten(scale)) != OK:
        return NO_MEMORY
    return remember(&node.values, hash_bytes(seed, <const uint8_t*> &unscaled, 16))


cdef inline bint digits_at(const uint8_t* p, int count) noexcept nogil:
    cdef int i
    for i in range(count):
        if p[i] < 48 or p[i] > 57:
            return False
    return True


cdef inline int look_of(const uint8_t* p, int64_t size) noexcept nogil:
    """The shape of a string, or -1. Only the shape counts: 2024-99-99 looks like a date."""
    cdef int64_t i
    cdef int points = 0
    if size == 0:
        return EMPTY
    if size >= 10 and p[4] == 45 and p[7] == 45:
        if not (digits_at(p, 4) and digits_at(p + 5, 2) and digits_at(p + 8, 2)):
            return -1
        if size == 10:
            return DATE
        if size >= 16 and (p[10] == 84 or p[10] == 32) and digits_at(p + 11, 2) and p[13] == 58 and digits_at(p + 14, 2):
            return TIMESTAMP
        return -1
    if size == 36 and p[8] == 45 and p[13] == 45 and p[18] == 45 and p[23] == 45:
        for i in range(36):
            if not (48 <= p[i] <= 57 or 97 <= p[i] <= 102 or 65 <= p[i] <= 70
                    or (p[i] == 45 and (i == 8 or i == 13 or i == 18 or i == 23))):
                return -1
        return UUID
    i = 1 if p[0] == 45 else 0
    if size > 38 or i == size or p[i] < 48 or p[i] > 57 or p[size - 1] < 48:
        return -1
    for i in range(i, size):
        if p[i] == 46:
            points += 1
        elif p[i] < 48 or p[i] > 57:
            return -1
    return NUMBER if points < 2 else -1


cdef inline int observe_text(Node* node, const Slice* text, bint is_string) noexcept nogil:
    cdef Tables* tables = tables_of(node)
    cdef int look
    if tables == NULL or count_shape(node, T_STRING if is_string else T_BINARY, 0, 0) != OK:
        return NO_MEMORY
    tables.text_bytes += text.size
    if text.size > tables.longest_text:
        tables.longest_text = text.size
    if is_string:
        look = look_of(text.data, text.size)
        if look >= 0:
            tables.looks[look] += 1
    if observe_order(node, TEXT_KEY, 0, text.data, text.size) != OK:
        return NO_MEMORY
    return remember(&node.values, hash_bytes(T_STRING if is_string else 16 + P_BINARY, text.data, text.size))


cdef inline int observe_exact(Node* node, int id, int kind, const uint8_t* p) noexcept nogil:
    if id == P_INT8:
        return observe_int(node, kind, <signed char> p[1])
    if id == P_INT16:
        return observe_int(node, kind, read_int16(p + 1))
    if id == P_INT32:
        return observe_int(node, kind, read_int32(p + 1))
    if id == P_INT64:
        return observe_int(node, kind, read_int64(p + 1))
    if id == P_DECIMAL4:
        return observe_decimal(node, kind, read_int32(p + 2), p[1])
    if id == P_DECIMAL8:
        return observe_decimal(node, kind, read_int64(p + 2), p[1])
    return observe_wide_decimal(node, kind, read_int128(p + 2), p[1])


cdef inline int64_t observe_scalar(Node* node, const uint8_t* p, const uint8_t* end) noexcept nogil:
    """The size of the scalar at p, MALFORMED or NO_MEMORY. An unknown type counts as one byte without a type."""
    cdef Slice text
    cdef int id, kind, width, status
    cdef uint8_t truth
    if p[0] & 3 == SHORT_STRING or p[0] == P_STRING << 2 or p[0] == P_BINARY << 2:
        if string_at(p, end, &text) != 0:
            return MALFORMED
        status = observe_text(node, &text, p[0] != P_BINARY << 2)
        return text.data + text.size - p if status == OK else NO_MEMORY
    id = p[0] >> 2
    if id >= PRIMITIVES:
        return 1
    width = PRIMITIVE_WIDTHS[id]
    if end - p < 1 + width:
        return MALFORMED
    kind = id - 1 if id >= P_INT8 else id == P_TRUE or id == P_FALSE
    if P_INT8 <= id <= P_INT64 or P_DECIMAL4 <= id <= P_DECIMAL16:
        status = observe_exact(node, id, kind, p)
        return 1 + width if status == OK else NO_MEMORY
    if count_shape(node, kind, 0, 0) != OK:
        return NO_MEMORY
    if id == P_NULL:
        return 1
    if id < P_INT8:
        truth = id == P_TRUE
        status = remember(&node.values, hash_bytes(16 + P_TRUE, &truth, 1))
        return 1 if status == OK else NO_MEMORY
    if id == P_DOUBLE:
        status = observe_number(node, read_double(p + 1))
    elif id == P_FLOAT:
        status = observe_number(node, read_float(p + 1))
    elif id == P_DATE:
        status = observe_number(node, read_int32(p + 1))
    elif id == P_UUID:
        status = observe_order(node, TEXT_KEY, 0, p + 1, width)
    else:                                   # times and timestamps: 8 bytes, signed
        status = observe_number(node, <double> read_int64(p + 1))
    if status == OK:
        status = remember(&node.values, hash_bytes(16 + id, p + 1, width))
    return 1 + width if status == OK else NO_MEMORY

# ---------------------------------------------------------------- one value

cdef inline int count_value(Sketch* sketch, Node* node) noexcept nogil:
    """OK, or MALFORMED: values that share bytes could make a small row endless, so a row has at most as many values as
    bytes.
    """
    if sketch.budget <= 0:
        return MALFORMED
    sketch.budget -= 1
    node.count += 1
    if node.last_row != <int32_t> sketch.rows:
        node.last_row = <int32_t> sketch.rows
        node.rows += 1
    return OK


cdef inline int64_t visit_scalar(Sketch* sketch, Node* node, const uint8_t* p, const uint8_t* end) noexcept nogil:
    """The size of the scalar at p < end, or MALFORMED, or NO_MEMORY."""
    cdef int64_t size
    if count_value(sketch, node) != OK:
        return MALFORMED
    size = observe_scalar(node, p, end)
    if size > 0:
        node.bytes += size
    return size


cdef int64_t visit(Sketch* sketch, int32_t at, const uint8_t* p, const uint8_t* end,
                   const Dictionary* names, int depth) noexcept nogil:
    """The size of the value at p, or MALFORMED, or NO_MEMORY. Nodes may move, so never keep one across a call."""
    cdef Node* node = &sketch.nodes[at]
    cdef Tables* tables
    cdef ObjectView object_view
    cdef ArrayView array_view
    cdef int64_t size
    if p >= end:
        return MALFORMED
    if p[0] & 2 == 0:
        return visit_scalar(sketch, node, p, end)
    if count_value(sketch, node) != OK:
        return MALFORMED
    if p[0] & 3 == OBJECT:
        if parse_object(p, end, &object_view) != 0:
            return MALFORMED
        if count_shape(node, T_OBJECT, 0, 0) != OK:
            return NO_MEMORY
        size = object_view.end - p
        node.bytes += size
        return size if depth == 0 else visit_fields(sketch, at, &object_view, names, depth, size)
    if parse_array(p, end, &array_view) != 0:
        return MALFORMED
    tables = tables_of(node)
    if tables == NULL:
        return NO_MEMORY
    # Arrays are counted at once, not in runs: the first one sets the shortest length.
    if tables.types[T_ARRAY] == 0 or array_view.count < tables.shortest:
        tables.shortest = array_view.count
    if array_view.count > tables.longest:
        tables.longest = array_view.count
    tables.types[T_ARRAY] += 1
    tables.elements += array_view.count
    size = array_view.end - p
    node.bytes += size
    return size if depth == 0 else visit_elements(sketch, at, &array_view, names, depth, size)


cdef int64_t visit_fields(Sketch* sketch, int32_t at, const ObjectView* view, const Dictionary* names,
                          int depth, int64_t size) noexcept nogil:
    cdef int64_t index, visited
    cdef int32_t child, previous = -1, guess = sketch.nodes[at].first
    cdef int wrong = 0
    cdef const uint8_t* field
    cdef Slice name
    for index in range(view.count):
        if wrong == PATIENCE:
            visited = visit_many(sketch, at, view, names, depth, index)
            return size if visited >= 0 else visited
        if name_at(names, id_at(view, index), &name) != 0 or field_at(view, index, &field) != 0:
            return MALFORMED
        child = guess
        if child < 0 or not has_name(sketch, child, at, name.data, name.size):
            child = field_node(sketch, at, &name, hash_bytes(0, name.data, name.size))
            if child == NO_MEMORY:
                return NO_MEMORY
            wrong += 1
            if child >= 0:
                if previous < 0:
                    sketch.nodes[at].first = child
                else:
                    sketch.nodes[previous].follower = child
        visited = visit_field(sketch, at, child, field, view.end, names, depth)
        if visited < 0:
            return visited
        if child >= 0:
            previous = child
            guess = sketch.nodes[child].follower
    return size


cdef int64_t visit_many(Sketch* sketch, int32_t at, const ObjectView* view, const Dictionary* names,
                        int depth, int64_t index) noexcept nogil:
    """Profiles the fields from `index` on of an object whose fields can't be guessed, probably a map with many paths.

    Looking up one of many paths waits for memory twice, for its slot and for its node. So all slots of a batch are
    prefetched first, then all nodes, before they are used.
    """
    cdef Slice batch[BATCH]
    cdef uint64_t hashes[BATCH]
    cdef int64_t visited = 0
    cdef int i, size
    cdef int32_t child
    cdef const uint8_t* field
    while index < view.count:
        size = <int> (view.count - index if view.count - index < BATCH else BATCH)
        for i in range(size):
            if name_at(names, id_at(view, index + i), &batch[i]) != 0:
                return MALFORMED
            hashes[i] = hash_bytes(0, batch[i].data, batch[i].size)
            prefetch(slot_of(sketch, at, <uint32_t> hashes[i]))
        for i in range(size):
            child = slot_of(sketch, at, <uint32_t> hashes[i]).node
            if child >= 0:
                prefetch(&sketch.nodes[child])
                prefetch(<const char*> &sketch.nodes[child] + 64)
        for i in range(size):
            child = field_node(sketch, at, &batch[i], hashes[i])
            if child == NO_MEMORY:
                return NO_MEMORY
            if field_at(view, index + i, &field) != 0:
                return MALFORMED
            visited = visit_field(sketch, at, child, field, view.end, names, depth)
            if visited < 0:
                return visited
        index += size
    return 0


cdef inline int64_t visit_field(Sketch* sketch, int32_t at, int32_t child, const uint8_t* field, const uint8_t* end,
                                const Dictionary* names, int depth) noexcept nogil:
    """The size of a field's value, counted in its own node or, without one, in its parent; or a fault."""
    cdef int64_t size
    if child >= 0:
        # Most fields are scalars and take most of the time, so they are handled without a call.
        if field[0] & 2:
            return visit(sketch, child, field, end, names, depth - 1)
        return visit_scalar(sketch, &sketch.nodes[child], field, end)
    size = value_size(field, end)
    if size == UNKNOWN_TYPE:
        size = 1
    if size >= 0:
        sketch.nodes[at].tables.other_count += 1
        sketch.nodes[at].tables.other_bytes += size
    return size


cdef int32_t field_node(Sketch* sketch, int32_t at, const Slice* name, uint64_t hash) noexcept nogil:
    """The child with this name, created if needed; -2 if there is no room for it; NO_MEMORY."""
    cdef int32_t child = find_node(sketch, at, name.data, name.size, <uint32_t> hash)
    cdef Tables* tables
    if child >= 0:
        return child
    tables = tables_of(&sketch.nodes[at])
    if tables == NULL or remember(&tables.keys, hash) != OK:
        return NO_MEMORY
    if sketch.size >= 4 * sketch.max_paths or name.size > LONGEST_NAME:
        return -2
    return add_node(sketch, at, name.data, <int32_t> name.size, <uint32_t> hash)


cdef int64_t visit_elements(Sketch* sketch, int32_t at, const ArrayView* view, const Dictionary* names,
                            int depth, int64_t size) noexcept nogil:
    cdef int64_t index, visited
    cdef int32_t child = sketch.nodes[at].element
    cdef Slice element
    if view.count == 0:
        return size
    if child < 0:
        if sketch.size >= 4 * sketch.max_paths:
            return size
        child = add_node(sketch, at, NULL, -1, 0)
        if child < 0:
            return NO_MEMORY
        sketch.nodes[at].element = child
    for index in range(view.count):
        if element_at(view, index, &element) != 0:
            return MALFORMED
        visited = visit(sketch, child, element.data, element.data + element.size, names, depth - 1)
        if visited < 0:
            return visited
    return size

# ---------------------------------------------------------------- rows

# A binary column in Arrow's layout. The bitmap's first bit is number `offset`; `ends` starts at the first row.
cdef struct Binaries:
    const uint8_t* valid
    int64_t offset
    const int32_t* ends
    const uint8_t* data
    int64_t size


cdef inline int row_at(const Binaries* column, int64_t row, Slice* out) noexcept nogil:
    """0 and the row's bytes, or MALFORMED if its offsets are out of bounds."""
    cdef int64_t first = column.ends[row], last = column.ends[row + 1]
    if first < 0 or first > last or last > column.size:
        return MALFORMED
    out.data = column.data + first
    out.size = last - first
    return 0


cdef int64_t observe_rows(Sketch* sketch, int64_t length, const uint8_t* valid, int64_t offset,
                          const Binaries* metadata, const Binaries* value, int64_t* fault) noexcept nogil:
    """0, or MALFORMED or NO_MEMORY with the number of the row in `fault`."""
    cdef int64_t row, status
    cdef Slice dictionary, document
    cdef Dictionary names
    for row in range(length):
        fault[0] = row
        if not (bit_at(valid, offset + row) and bit_at(value.valid, value.offset + row)
                and bit_at(metadata.valid, metadata.offset + row)):
            sketch.rows += 1
            sketch.nulls += 1
            continue
        if row_at(metadata, row, &dictionary) != 0 or row_at(value, row, &document) != 0:
            return MALFORMED
        if parse_metadata(dictionary.data, dictionary.size, &names) != 0:
            return MALFORMED
        sketch.metadata_bytes += dictionary.size
        sketch.budget = document.size
        status = visit(sketch, 0, document.data, document.data + document.size, &names, sketch.max_depth)
        if status < 0:
            return status
        sketch.rows += 1
        if sketch.size > 3 * sketch.max_paths:
            status = prune(sketch)
            if status != OK:
                return status
    return OK

# ---------------------------------------------------------------- from Python

cdef bytes take(Bytes* out):
    try:
        return (<char*> out.data)[:out.size]
    finally:
        release(out)


cdef uintptr_t address_of(buffer):
    return 0 if buffer is None else buffer.address


cdef Binaries binaries(array):
    """The buffers of a pa.BinaryArray; the caller keeps the array alive."""
    valid, ends, data = array.buffers()
    cdef Binaries column
    column.offset = array.offset
    column.valid = <const uint8_t*> address_of(valid)
    column.ends = <const int32_t*> address_of(ends) + column.offset
    column.data = <const uint8_t*> address_of(data)
    column.size = 0 if data is None else data.size
    return column


def summarize(metadata, value, validity, int32_t max_paths, int32_t max_depth):
    """Returns the profile as bytes, or the number of the first malformed row.

    `metadata` and `value` are pa.BinaryArrays; `validity`, a pa.BooleanArray or None, marks the rows that are not
    null.
    """
    cdef Binaries metadata_column = binaries(metadata), value_column = binaries(value)
    cdef const uint8_t* valid = NULL
    cdef int64_t length = len(metadata), offset = 0, status, fault = 0
    cdef Sketch sketch
    if validity is not None:
        valid = <const uint8_t*> address_of(validity.buffers()[1])
        offset = validity.offset
    with nogil:
        status = start_sketch(&sketch, max_paths, max_depth)
        if status == OK:
            status = observe_rows(&sketch, length, valid, offset, &metadata_column, &value_column, &fault)
    if status == MALFORMED:
        release_sketch(&sketch)
        return fault
    return _finished(&sketch, max_paths, status)


def merge(parts, int32_t max_paths):
    """Merges profiles of consecutive parts; all are bytes."""
    cdef Sketch sketch
    cdef const uint8_t* data
    cdef int64_t size
    cdef int status
    status = start_sketch(&sketch, max_paths, 1)
    for part in parts:
        if status != OK:
            break
        data = <const uint8_t*> <const char*> part
        size = len(part)
        with nogil:
            status = add_sketch(&sketch, data, size)
    if status == MALFORMED:
        release_sketch(&sketch)
        raise ValueError("these bytes are not a profile: they come from another version or are truncated")
    return _finished(&sketch, max_paths, status)


cdef bytes _finished(Sketch* sketch, int32_t max_paths, int status):
    """The sketch as bytes; gives its memory back, also if memory ran out."""
    cdef Bytes out
    start(&out)
    with nogil:
        if status == OK and sketch.size > max_paths:
            status = prune(sketch)
        if status == OK:
            status = put_sketch(&out, sketch)
        release_sketch(sketch)
    if status != OK:
        release(&out)
        raise MemoryError
    return take(&out)
