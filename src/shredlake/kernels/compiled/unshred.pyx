"""Puts shredded Variants together again: from the buffers of the columns straight to value bytes.

An object is written before its head is known: room is left for the head that the last object of the same
node had, the fields follow, and only where the guess was wrong do they move.

    ┌ head: guessed room ┬ field ┬ field ┬ ...       ids, offsets ─▶ on a stack until the head is written
    └────────────────────┴───────┴───────┴──

Fields stand in the order of their names. Those of the columns are sorted once, with the schema; those of a
residual object are sorted already, so the two are merged.
"""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc, qsort, realloc
from libc.string cimport memcmp, memcpy, memmove, memset

from shredlake.kernels.compiled.arrow cimport ArrowArray
from shredlake.kernels.compiled.buffers cimport (
    APART,
    NO_MEMORY,
    OK,
    SLACK,
    Bytes,
    append,
    append_byte,
    bit_at,
    release,
    reserve,
    to_arrow,
)
from shredlake.kernels.compiled.decimals cimport digits_fit
from shredlake.kernels.compiled.names cimport (
    LookupCache,
    Names,
    Shape,
    build_names,
    look_up,
    release_cache,
    release_names,
    schema_name,
    start_cache,
)
from shredlake.kernels.compiled.shredded cimport ELEMENTS, FIELDS, LARGEST, MICROS_PER_DAY, SCALAR, TOO_LARGE, extent
from shredlake.kernels.compiled.utf8 cimport is_utf8
from shredlake.kernels.compiled.variant cimport (
    BEFORE,
    EQUAL,
    MALFORMED,
    OBJECT,
    P_BINARY,
    P_DECIMAL16,
    P_DECIMAL4,
    P_DECIMAL8,
    P_FALSE,
    P_STRING,
    P_TIME,
    P_TRUE,
    PRIMITIVE,
    UNKNOWN_TYPE,
    ObjectView,
    Slice,
    array_head_size,
    compare_names,
    field_at,
    id_at,
    int128_t,
    name_at,
    object_head_size,
    parse_object,
    read_int128,
    read_int64,
    uint_size,
    value_size,
    write_array_header,
    write_binary,
    write_object_header,
    write_primitive,
    write_string,
    write_uint,
)
from shredlake.kernels.compiled.variant cimport ARRAY as VARIANT_ARRAY

import pyarrow as pa

from shredlake.kernels.arrow.normalize import checked
from shredlake.kernels.arrow.buffers import address, column_of, metadata_of, validity_of
from shredlake.kernels.row_reasons import explain_reconstruction
from shredlake.kernels.arrow.shredded import bytes_part, columns_in, extend_metadata, largest_array

cdef extern from "<stdlib.h>" nogil:
    void* aligned_alloc(size_t alignment, size_t size)

cdef extern from * nogil:
    int ones_in "__builtin_popcountll"(unsigned long long word)

cdef enum:
    FIELD_BYTES = 4         # what a field takes beside its value, about: id, offset, the value's own header

cdef enum Place:
    COLUMN = 0
    ELEMENT = 1
    FIELD = 2

cdef enum Outcome:
    MISSING = 0
    WRITTEN = 1
    CONFLICT = -20          # value and typed_value contradict each other
    NAMELESS = -21          # a field whose name is not in the metadata

# A column of a node. `start` is the Arrow offset: row 0 is at bit, entry or value `start`.
cdef struct Part:
    const uint8_t* valid
    int64_t start
    const int32_t* offsets
    const uint8_t* data
    int64_t size            # of the data in bytes; of a list, the rows of its elements

# Two cache lines, the first of them all that a typed value needs.
cdef struct Node:
    int8_t kind
    int8_t type
    int8_t width
    int8_t precision
    int8_t scale
    int8_t has_typed
    int8_t has_value
    int8_t offset_size      # of the last object or array written here: the guess for the next
    int32_t element
    int32_t first_field     # in Unshredding.fields, sorted by name
    int32_t field_count
    int32_t shape           # number of an object among the objects
    Part typed
    Part value
    const uint8_t* group_valid  # of a group that can be null itself
    int64_t group_start
    int64_t rows

# The fields of all objects, those of one object side by side and in order of their names. One bit per row says
# whether a field is there, for 64 rows at a time: fields that are missing are passed over without a look at
# their nodes.
cdef struct Fields:
    int32_t* nodes
    int32_t* names
    uint64_t* typed
    uint64_t* value
    int64_t* blocks         # of each object: which 64 rows the bits of its fields are for

# A field of the object being written: where it comes from (a field, or ~ a residual one), its id, and where its
# value ends, counted from the first value.
cdef struct Entry:
    int64_t end
    int32_t source
    int32_t id

# A field of a residual object; `place` is 2n if it stands before the object's nth shredded field, 2n + 1 if it
# has the same name.
cdef struct Rest:
    Slice name
    const uint8_t* data
    int64_t size
    int32_t id
    int32_t place

cdef struct Unshredding:
    Node* nodes
    int count
    bint strict
    Fields fields
    Names names
    LookupCache lookups
    Bytes out
    int64_t expected        # bytes that `out` will about have
    Entry* entries
    int64_t entry_room
    int64_t entries_used
    Rest* rest
    int64_t rest_room
    int64_t rest_used

# ---------------------------------------------------------------- stacks

cdef int make_entry_room(Unshredding* work, int64_t count) noexcept nogil:
    cdef int64_t room = 2 * work.entry_room
    cdef Entry* moved
    if work.entry_room - work.entries_used >= count:
        return OK
    if room < work.entries_used + count:
        room = work.entries_used + count
    moved = <Entry*> realloc(work.entries, <size_t> room * sizeof(Entry))
    if moved == NULL:
        return NO_MEMORY
    work.entries = moved
    work.entry_room = room
    return OK


cdef int make_rest_room(Unshredding* work, int64_t count) noexcept nogil:
    cdef int64_t room = 2 * work.rest_room
    cdef Rest* moved
    if work.rest_room - work.rest_used >= count:
        return OK
    if room < work.rest_used + count:
        room = work.rest_used + count
    moved = <Rest*> realloc(work.rest, <size_t> room * sizeof(Rest))
    if moved == NULL:
        return NO_MEMORY
    work.rest = moved
    work.rest_room = room
    return OK

# ---------------------------------------------------------------- columns

cdef inline bint has_typed(const Node* node, int64_t row) noexcept nogil:
    return node.has_typed and bit_at(node.typed.valid, node.typed.start + row)


cdef inline bint has_value(const Node* node, int64_t row) noexcept nogil:
    return node.has_value and bit_at(node.value.valid, node.value.start + row)


cdef inline bint is_there(const Node* node, int64_t row) noexcept nogil:
    """Whether the group itself is not null."""
    return bit_at(node.group_valid, node.group_start + row)


cdef uint64_t bits_at(const uint8_t* bitmap, int64_t index, int64_t count) noexcept nogil:
    """Up to 64 bits of a bitmap; reads no byte behind the last of them."""
    cdef int64_t byte = index >> 3, shift = index & 7, size = ((index + count + 7) >> 3) - byte
    cdef uint64_t word = 0
    if bitmap == NULL:
        return ~word
    memcpy(&word, bitmap + byte, <size_t> (size if size < 8 else 8))
    word >>= shift
    if size > 8:
        word |= <uint64_t> bitmap[byte + 8] << (64 - shift)
    return word


cdef void look_ahead(Unshredding* work, Node* node, int64_t block) noexcept nogil:
    """Gathers which fields are there in the 64 rows of a block."""
    cdef int64_t first = block << 6, count = node.rows - first
    cdef int32_t field
    cdef const Node* child
    cdef uint64_t typed, value, group
    if count > 64:
        count = 64
    for field in range(node.first_field, node.first_field + node.field_count):
        child = &work.nodes[work.fields.nodes[field]]
        typed = bits_at(child.typed.valid, child.typed.start + first, count) if child.has_typed else 0
        value = bits_at(child.value.valid, child.value.start + first, count) if child.has_value else 0
        group = bits_at(child.group_valid, child.group_start + first, count)
        work.fields.typed[field] = typed & group
        work.fields.value[field] = value & group
    work.fields.blocks[node.shape] = block


cdef inline int bytes_at(const Part* part, int64_t row, Slice* out) noexcept nogil:
    cdef int64_t first = part.offsets[part.start + row], last = part.offsets[part.start + row + 1]
    if first < 0 or last < first or last > part.size:
        return MALFORMED
    out.data = part.data + first
    out.size = last - first
    return OK


cdef inline int value_at(const Part* part, int64_t row, Slice* out) noexcept nogil:
    """The bytes of a `value`, cut to the length that its own header tells."""
    cdef int64_t size
    if bytes_at(part, row, out) != OK:
        return MALFORMED
    size = value_size(out.data, out.data + out.size)
    if size == UNKNOWN_TYPE:
        return OK
    if size < 0:
        return MALFORMED
    out.size = size
    return OK

# ---------------------------------------------------------------- scalars

cdef inline int put_scalar(Unshredding* work, const Node* node, int64_t row) noexcept nogil:
    cdef const Part* part = &node.typed
    cdef Bytes* out = &work.out
    cdef Slice bytes
    cdef int128_t number
    cdef const uint8_t* at
    cdef uint8_t* end
    cdef int width
    if node.type == P_STRING or node.type == P_BINARY:
        if bytes_at(part, row, &bytes) != OK:
            return MALFORMED
        if node.type == P_STRING and not is_utf8(bytes.data, bytes.size):
            return MALFORMED
        if reserve(out, bytes.size + 5) != OK:
            return NO_MEMORY
        end = out.data + out.size
        if node.type == P_STRING:
            end = write_string(end, bytes.data, bytes.size)
        else:
            end = write_binary(end, bytes.data, bytes.size)
        out.size = end - out.data
        return WRITTEN
    if reserve(out, 32) != OK:
        return NO_MEMORY
    end = out.data + out.size
    if node.type == P_TRUE:
        end[0] = (P_TRUE if bit_at(part.data, part.start + row) else P_FALSE) << 2
        out.size += 1
        return WRITTEN
    at = part.data + (part.start + row) * node.width
    if P_DECIMAL4 <= node.type <= P_DECIMAL16:
        number = read_int128(at)
        if not digits_fit(number, node.precision):
            return MALFORMED
        width = 4 if node.type == P_DECIMAL4 else 8 if node.type == P_DECIMAL8 else 16
        end[0] = <uint8_t> (node.type << 2)
        end[1] = <uint8_t> node.scale
        memcpy(end + 2, at, <size_t> width)
        out.size += 2 + width
        return WRITTEN
    if node.type == P_TIME and not 0 <= read_int64(at) < MICROS_PER_DAY:
        return MALFORMED
    if node.width == 8:
        end = write_primitive(end, node.type, at, 8)
    else:
        end = write_primitive(end, node.type, at, node.width)
    out.size = end - out.data
    return WRITTEN

# ---------------------------------------------------------------- arrays

cdef int close_gap(Bytes* out, int64_t data_at, int64_t wanted_at) noexcept nogil:
    """Moves what was written from data_at on to where the head turned out to end."""
    if reserve(out, wanted_at - data_at if wanted_at > data_at else 0) != OK:
        return NO_MEMORY
    memmove(out.data + wanted_at, out.data + data_at, <size_t> (out.size - data_at))
    out.size += wanted_at - data_at
    return OK


cdef inline void write_ends(uint8_t* out, const Entry* entries, int64_t count, int size) noexcept nogil:
    """The list of offsets: 0, then where each value ends. One loop per width, for the compiler's sake."""
    cdef int64_t index
    cdef uint16_t two
    out = write_uint(out, 0, size)
    if size == 1:
        for index in range(count):
            out[index] = <uint8_t> entries[index].end
    elif size == 2:
        for index in range(count):
            two = <uint16_t> entries[index].end
            memcpy(out + 2 * index, &two, 2)
    else:
        for index in range(count):
            out = write_uint(out, <uint64_t> entries[index].end, size)


cdef int put_array(Unshredding* work, Node* node, int64_t row) noexcept nogil:
    cdef const Part* part = &node.typed
    cdef Bytes* out = &work.out
    cdef int64_t first = part.offsets[part.start + row], last = part.offsets[part.start + row + 1]
    cdef int64_t count = last - first, base = work.entries_used, head_at = out.size, data_at, element, total
    cdef int code, offset_size
    cdef uint8_t* end
    if first < 0 or last < first or last > part.size:
        return MALFORMED
    data_at = head_at + array_head_size(count, node.offset_size)
    if make_entry_room(work, count) != OK or reserve(out, data_at - head_at) != OK:
        return NO_MEMORY
    out.size = data_at
    work.entries_used += count
    for element in range(count):
        code = put_group(work, node.element, first + element, ELEMENT)
        if code == MISSING:
            # Missing where a value is required: Variant null.
            code = append_byte(out, 0)
        if code < 0:
            return code
        work.entries[base + element].end = out.size - data_at
    total = out.size - data_at
    if total > LARGEST:
        return TOO_LARGE
    offset_size = uint_size(<uint64_t> total)
    if offset_size != node.offset_size:
        node.offset_size = <int8_t> offset_size
        if close_gap(out, data_at, head_at + array_head_size(count, offset_size)) != OK:
            return NO_MEMORY
    end = write_array_header(out.data + head_at, count, offset_size)
    write_ends(end, work.entries + base, count, offset_size)
    work.entries_used = base
    return WRITTEN

# ---------------------------------------------------------------- objects

cdef int by_name(const void* a, const void* b) noexcept nogil:
    cdef const Slice* left = &(<const Rest*> a).name
    cdef const Slice* right = &(<const Rest*> b).name
    return compare_names(left.data, left.size, right.data, right.size)


cdef int32_t place_of(const Unshredding* work, const Node* node, const Slice* name) noexcept nogil:
    """Where a residual field stands among the shredded ones: see Rest."""
    cdef int32_t low = 0, high = node.field_count, middle
    cdef Slice field
    cdef int order
    while low < high:
        middle = (low + high) >> 1
        field = schema_name(&work.names, work.fields.names[node.first_field + middle])
        order = compare_names(name.data, name.size, field.data, field.size)
        if order == EQUAL:
            return 2 * middle + 1
        if order == BEFORE:
            high = middle
        else:
            low = middle + 1
    return 2 * low


cdef int find_places(Unshredding* work, const Node* node, const ObjectView* view, Shape* shape) noexcept nogil:
    """Finds the places of a residual object's fields by their names, and remembers them for objects that have the
    same ones. Fields that are not in order are put in order, and not remembered."""
    cdef Rest* rest = work.rest + work.rest_used
    cdef int32_t* moved
    cdef int64_t index
    cdef bint ordered = True
    for index in range(view.count):
        if name_at(&work.lookups.last.dictionary, rest[index].id, &rest[index].name) != 0:
            return MALFORMED
        rest[index].place = place_of(work, node, &rest[index].name)
        if index and by_name(&rest[index - 1], &rest[index]) != BEFORE:
            ordered = False
    shape.ids = NULL
    if not ordered:
        # Java sorts names by UTF-16, which differs from byte order beyond U+FFFF.
        qsort(rest, <size_t> view.count, sizeof(Rest), by_name)
        for index in range(1, view.count):
            if by_name(&rest[index - 1], &rest[index]) == EQUAL:
                return MALFORMED
        return OK
    if shape.room < view.count or shape.nodes == NULL:
        moved = <int32_t*> realloc(shape.nodes, <size_t> (view.count + 1) * sizeof(int32_t))
        if moved == NULL:
            return NO_MEMORY
        shape.nodes = moved
        shape.room = view.count
    for index in range(view.count):
        shape.nodes[index] = rest[index].place
    shape.ids = view.ids
    shape.size = view.count * view.id_size
    shape.count = view.count
    return OK


cdef int read_rest(Unshredding* work, const Node* node, const Slice* residual) noexcept nogil:
    """Puts the fields of a residual object on the stack, in byte order of their names."""
    cdef Shape* shape = &work.lookups.last.shapes[node.shape]
    cdef ObjectView view
    cdef int64_t index, size, total = 0
    cdef Rest* rest
    cdef int code
    if parse_object(residual.data, residual.data + residual.size, &view) != 0:
        return MALFORMED
    if make_rest_room(work, view.count) != OK:
        return NO_MEMORY
    rest = work.rest + work.rest_used
    for index in range(view.count):
        rest[index].id = <int32_t> id_at(&view, index)
        if field_at(&view, index, &rest[index].data) != 0:
            return MALFORMED
        size = value_size(rest[index].data, view.end)
        if size == UNKNOWN_TYPE:
            size = extent(&view, rest[index].data)
        if size < 0:
            return MALFORMED
        rest[index].size = size
        total += size
    if total > view.end - view.data:
        return MALFORMED    # fields that overlap
    size = view.count * view.id_size
    if (
        shape.ids != NULL
        and shape.count == view.count
        and shape.size == size
        and memcmp(shape.ids, view.ids, <size_t> size) == 0
    ):
        for index in range(view.count):
            rest[index].place = shape.nodes[index]
    else:
        code = find_places(work, node, &view, shape)
        if code != OK:
            return code
    work.rest_used += view.count
    return OK


cdef int list_fields(
    Unshredding* work, const Node* node, int64_t row, int64_t rest_at, int64_t* listed
) noexcept nogil:
    """Puts the fields that the object has on the stack of entries, in order: OK, CONFLICT or NAMELESS."""
    cdef const int32_t* ids = work.lookups.last.id_of_name
    cdef const Rest* rest = work.rest + rest_at
    cdef Entry* entry = work.entries + work.entries_used
    cdef int64_t rest_count = work.rest_used - rest_at, next = 0
    cdef int32_t field
    cdef int bit = row & 63
    for field in range(node.first_field, node.first_field + node.field_count):
        while next < rest_count and rest[next].place <= 2 * (field - node.first_field) + 1:
            if rest[next].place & 1:
                # A shredded field in `value`: the columns count, also when they say that it is missing.
                if work.strict:
                    return CONFLICT
            else:
                entry.source = ~<int32_t> (rest_at + next)
                entry.id = rest[next].id
                entry += 1
            next += 1
        if ((work.fields.typed[field] | work.fields.value[field]) >> bit) & 1:
            entry.source = field
            entry.id = ids[work.fields.names[field]]
            if entry.id < 0:
                return NAMELESS
            entry += 1
    while next < rest_count:
        entry.source = ~<int32_t> (rest_at + next)
        entry.id = rest[next].id
        entry += 1
        next += 1
    listed[0] = entry - (work.entries + work.entries_used)
    return OK


cdef int put_object(Unshredding* work, Node* node, int64_t row, const Slice* residual) noexcept nogil:
    """The object of the shredded fields and, if there is one, of a residual object's fields."""
    cdef Bytes* out = &work.out
    cdef int64_t base = work.entries_used, rest_at = work.rest_used, count = 0, index, total
    cdef int64_t head_at = out.size, data_at
    cdef int32_t source, field, largest = 0
    cdef int code, id_size, offset_size, bit = row & 63
    cdef const Rest* rest
    cdef Entry* entry
    cdef uint8_t* end
    if row >> 6 != work.fields.blocks[node.shape]:
        look_ahead(work, node, row >> 6)
    if work.strict:
        for field in range(node.first_field, node.first_field + node.field_count):
            if not is_there(&work.nodes[work.fields.nodes[field]], row):
                return CONFLICT
    if residual != NULL:
        code = read_rest(work, node, residual)
        if code != OK:
            return code
    if make_entry_room(work, node.field_count + work.rest_used - rest_at) != OK:
        return NO_MEMORY
    code = list_fields(work, node, row, rest_at, &count)
    if code != OK:
        return code
    work.entries_used += count
    for index in range(count):
        if work.entries[base + index].id > largest:
            largest = work.entries[base + index].id
    id_size = uint_size(<uint64_t> largest)
    data_at = head_at + object_head_size(count, id_size, node.offset_size)
    if reserve(out, data_at - head_at) != OK:
        return NO_MEMORY
    out.size = data_at
    for index in range(count):
        source = work.entries[base + index].source
        if source < 0:
            rest = &work.rest[~source]
            code = append(out, rest.data, rest.size)
        elif work.nodes[work.fields.nodes[source]].kind == SCALAR and not (work.fields.value[source] >> bit) & 1:
            code = put_scalar(work, &work.nodes[work.fields.nodes[source]], row)
        else:
            code = put_present(
                work, work.fields.nodes[source], row, FIELD,
                (work.fields.value[source] >> bit) & 1, (work.fields.typed[source] >> bit) & 1,
            )
        if code < 0:
            return code
        work.entries[base + index].end = out.size - data_at
    total = out.size - data_at
    if total > LARGEST:
        return TOO_LARGE
    offset_size = uint_size(<uint64_t> total)
    if offset_size != node.offset_size:
        node.offset_size = <int8_t> offset_size
        if close_gap(out, data_at, head_at + object_head_size(count, id_size, offset_size)) != OK:
            return NO_MEMORY
    end = write_object_header(out.data + head_at, count, id_size, offset_size)
    entry = work.entries + base
    if id_size == 1:
        for index in range(count):
            end[index] = <uint8_t> entry[index].id
        end += count
    else:
        for index in range(count):
            end = write_uint(end, <uint64_t> entry[index].id, id_size)
    write_ends(end, entry, count, offset_size)
    work.entries_used = base
    work.rest_used = rest_at
    return WRITTEN

# ---------------------------------------------------------------- groups

cdef int put_group(Unshredding* work, int index, int64_t row, int place) noexcept nogil:
    """Appends the value of the column itself or of an element: WRITTEN, MISSING or a fault."""
    cdef Node* node = &work.nodes[index]
    if not is_there(node, row):
        return MISSING
    return put_present(work, index, row, place, has_value(node, row), has_typed(node, row))


cdef int put_present(
    Unshredding* work, int index, int64_t row, int place, bint value_there, bint typed_there
) noexcept nogil:
    """Appends the value of a group whose parts are there as said. See shredding/null_table.py for the table."""
    cdef Node* node = &work.nodes[index]
    cdef Slice value
    cdef const Slice* residual = NULL
    cdef int basic
    if value_there:
        if value_at(&node.value, row, &value) != OK:
            return MALFORMED
        basic = value.data[0] & 3
        if not typed_there:
            if work.strict and (
                (node.kind == FIELDS and basic == OBJECT) or (node.kind == ELEMENTS and basic == VARIANT_ARRAY)
            ):
                return CONFLICT
            if append(&work.out, value.data, value.size) != OK:
                return NO_MEMORY
            return WRITTEN
        if node.kind == FIELDS and basic == OBJECT:
            residual = &value
        elif work.strict or place != FIELD:
            return CONFLICT
    elif not typed_there:
        return MISSING
    if node.kind == FIELDS:
        return put_object(work, node, row, residual)
    if node.kind == ELEMENTS:
        return put_array(work, node, row)
    return put_scalar(work, node, row)

# ---------------------------------------------------------------- columns

cdef int64_t values_in(const ArrowArray* column, int64_t start, int64_t rows) noexcept nogil:
    """How many of so many rows have a value; what Arrow counted is of the whole column, of which this is a part."""
    cdef const uint8_t* valid = <const uint8_t*> column.buffers[0]
    cdef int64_t row = 0, here, found = 0
    if column.null_count == column.length:
        return 0
    if column.null_count == 0 or valid == NULL:
        return rows
    while row < rows:
        here = rows - row if rows - row < 64 else 64
        found += ones_in(bits_at(valid, start + row, here) << (64 - here))
        row += here
    return found


cdef bint find_part(
    Unshredding* work, const ArrowArray* column, int64_t start, int64_t rows, Part* part, int width, bint is_bytes
) noexcept nogil:
    """Where a column lies; false, and nothing, if it holds nothing but nulls. `start` is its parent's."""
    cdef int64_t count, size
    start += column.offset
    count = values_in(column, start, rows)
    if count == 0:
        return False
    part.valid = <const uint8_t*> column.buffers[0] if count < rows else NULL
    part.start = start
    work.expected += count * (FIELD_BYTES + width)
    if is_bytes:
        part.offsets = <const int32_t*> column.buffers[1]
        part.data = <const uint8_t*> column.buffers[2]
        part.size = part.offsets[column.offset + column.length]  # checked by Arrow to lie inside the data
        size = <int64_t> part.offsets[start + rows] - part.offsets[start]
        if 0 < size <= part.size:
            work.expected += size
    return True


cdef void find_columns(
    Unshredding* work, const int32_t* places, int index, const ArrowArray* group, int64_t start, int64_t rows
) noexcept nogil:
    """Where the columns of a node and of all below it lie. `start` is the place of row 0 in the group."""
    cdef Node* node = &work.nodes[index]
    cdef const ArrowArray* typed
    cdef int32_t field, child
    node.rows = rows
    node.group_valid = <const uint8_t*> group.buffers[0] if group.null_count else NULL
    node.group_start = start
    if places[3 * index + 1] >= 0:
        node.has_value = find_part(work, group.children[places[3 * index + 1]], start, rows, &node.value, 0, True)
    if places[3 * index + 2] < 0:
        return
    typed = group.children[places[3 * index + 2]]
    node.has_typed = find_part(
        work, typed, start, rows, &node.typed, node.width, node.type == P_STRING or node.type == P_BINARY
    )
    if not node.has_typed:
        return
    if node.kind == FIELDS:
        for field in range(node.first_field, node.first_field + node.field_count):
            child = work.fields.nodes[field]
            group = typed.children[places[3 * child]]
            find_columns(work, places, child, group, node.typed.start + group.offset, rows)
    elif node.kind == ELEMENTS:
        group = typed.children[0]
        node.typed.offsets = <const int32_t*> typed.buffers[1]
        node.typed.size = group.length
        find_columns(work, places, node.element, group, group.offset, group.length)
    elif node.type != P_STRING and node.type != P_BINARY:
        node.typed.data = <const uint8_t*> typed.buffers[1]


cdef class ColumnTree:
    """A column as Arrow hands it to others, without its type: naming a thousand columns takes longer."""

    cdef ArrowArray array

    def __cinit__(self, column):
        self.array.release = NULL
        column._export_to_c(<uintptr_t> &self.array)

    def __dealloc__(self):
        if self.array.release != NULL:
            self.array.release(&self.array)


cdef class Unshredder:
    """The state of putting one contiguous column together."""

    cdef uint8_t before[APART]
    cdef Unshredding work
    cdef uint8_t behind[APART]

    def __cinit__(self, plan, columns, ColumnTree tree, bint strict):
        cdef list nodes = plan.shapes, fields = plan.fields, name_starts = plan.name_starts
        cdef bytes names = plan.all_names
        cdef const ArrowArray* column = &tree.array
        cdef int64_t* starts
        cdef int32_t* places
        cdef int index, code, shapes = 0
        cdef Fields* all = &self.work.fields
        cdef Node* node
        memset(&self.work, 0, sizeof(Unshredding))
        self.work.strict = strict
        self.work.count = <int> len(nodes)
        self.work.nodes = <Node*> aligned_alloc(64, <size_t> len(nodes) * sizeof(Node))
        if self.work.nodes == NULL:
            raise MemoryError
        memset(self.work.nodes, 0, <size_t> len(nodes) * sizeof(Node))
        all.nodes = <int32_t*> malloc((len(fields) + 1) * sizeof(int32_t))
        all.names = <int32_t*> malloc((len(fields) + 1) * sizeof(int32_t))
        all.typed = <uint64_t*> malloc((len(fields) + 1) * sizeof(uint64_t))
        all.value = <uint64_t*> malloc((len(fields) + 1) * sizeof(uint64_t))
        all.blocks = <int64_t*> malloc((len(nodes) + 1) * sizeof(int64_t))
        starts = <int64_t*> malloc(len(name_starts) * sizeof(int64_t))
        places = <int32_t*> malloc(3 * len(nodes) * sizeof(int32_t))
        try:
            if (
                all.nodes == NULL or all.names == NULL or all.typed == NULL or all.value == NULL
                or all.blocks == NULL or starts == NULL or places == NULL
            ):
                raise MemoryError
            for index, values in enumerate(nodes):
                node = &self.work.nodes[index]
                (
                    node.kind, node.type, node.width, node.precision, node.scale, node.element,
                    node.first_field, node.field_count, _,
                ) = values
                node.offset_size = 1
                all.blocks[shapes] = -1
                node.shape = shapes
                shapes += node.kind == FIELDS
            for index, values in enumerate(columns.places):
                places[3 * index], places[3 * index + 1], places[3 * index + 2] = values
            for index in range(len(fields)):
                all.names[index], all.nodes[index] = fields[index]
            for index in range(len(name_starts)):
                starts[index] = name_starts[index]
            if start_cache(&self.work.lookups, shapes) != OK:
                raise MemoryError
            code = build_names(&self.work.names, <const uint8_t*> <const char*> names, starts, len(name_starts) - 1)
            if code != OK:
                raise MemoryError
            find_columns(&self.work, places, 0, column, column.offset, column.length)
            # Rows that are null themselves are told apart before the columns are looked at.
            self.work.nodes[0].group_valid = NULL
        finally:
            free(starts)
            free(places)

    def __dealloc__(self):
        free(self.work.nodes)
        free(self.work.fields.nodes)
        free(self.work.fields.names)
        free(self.work.fields.typed)
        free(self.work.fields.value)
        free(self.work.fields.blocks)
        free(self.work.entries)
        free(self.work.rest)
        release(&self.work.out)
        release_cache(&self.work.lookups)
        release_names(&self.work.names)

    def run(self, valid, metadata, int64_t first_row, int64_t rows, int64_t largest):
        """Writes rows from first_row on until the end or until `largest` bytes: (fault or 0, the row it stopped
        at, offsets, data). valid: (address, bit offset); metadata: as a part."""
        cdef const uint8_t* bits = <const uint8_t*> <uintptr_t> valid[0]
        cdef int64_t bits_from = valid[1], row = first_row, before
        cdef Part names
        cdef Slice bytes
        cdef Bytes offsets
        cdef int32_t* list
        cdef int code = OK
        memset(&names, 0, sizeof(Part))
        memset(&offsets, 0, sizeof(Bytes))
        names.valid = <const uint8_t*> <uintptr_t> metadata[0]
        names.start = metadata[1]
        names.offsets = <const int32_t*> <uintptr_t> metadata[2]
        names.data = <const uint8_t*> <uintptr_t> metadata[3]
        names.size = metadata[4]
        if self.work.expected > largest:
            self.work.expected = largest
        if (
            reserve(&offsets, 4 * (rows - first_row + 1)) != OK
            or reserve(&self.work.out, self.work.expected + SLACK) != OK
        ):
            release(&offsets)
            raise MemoryError
        list = <int32_t*> offsets.data
        list[0] = 0
        with nogil:
            while row < rows:
                before = self.work.out.size
                if bit_at(bits, bits_from + row):
                    code = bytes_at(&names, row, &bytes)
                    if code == OK:
                        code = look_up(&self.work.lookups, &self.work.names, bytes.data, bytes.size)
                    if code == OK:
                        code = put_group(&self.work, 0, row, COLUMN)
                        if code == MISSING:
                            code = append_byte(&self.work.out, 0)
                    if code < 0:
                        break
                if self.work.out.size > largest:
                    if row == first_row:
                        code = TOO_LARGE
                    self.work.out.size = before
                    break
                row += 1
                list[row - first_row] = <int32_t> self.work.out.size
        if code < 0:
            release(&offsets)
            return code, row, None, None
        offsets.size = 4 * (row - first_row + 1)
        return 0, row, to_arrow(&offsets), to_arrow(&self.work.out)


def unshred(piece, plan, bint strict, int64_t first_row):
    """The unshredded column of a shredded one: several arrays where one would exceed 2 GiB."""
    validity = validity_of(piece)
    metadata = metadata_of(piece, first_row)
    columns = columns_in(piece, plan)
    tree = ColumnTree(columns.piece)
    valid = (0, 0) if validity is None else (address(validity.buffers()[1]), validity.offset)
    arrays, row, extended = [], 0, False
    while row < len(piece) or not arrays:
        unshredder = Unshredder(plan, columns, tree, strict)
        code, stop, offsets, data = unshredder.run(valid, bytes_part(metadata), row, len(piece), largest_array())
        if code == NO_MEMORY:
            raise MemoryError
        if code == NAMELESS and not strict and not extended:
            metadata = extend_metadata(metadata, plan.names)
            arrays, row, extended = [], 0, True
            continue
        if code != OK:
            checked(piece)      # the reference reads with Arrow, which looks at no offset
            explain_reconstruction(piece.slice(stop, 1), plan.root, strict, first_row + stop)
        rows = stop - row
        bits = validity_of(piece.slice(row, rows))
        bitmap = None if bits is None else bits.buffers()[1]
        value = pa.Array.from_buffers(pa.binary(), rows, [bitmap, offsets, data])
        arrays.append(column_of(metadata.slice(row, rows), value, None, bits))
        row = stop
    return arrays
