"""Writes Variant values from shredded columns: scalars, arrays, objects, and the groups that hold them.

An object is written before its head is known: room is left for a head of the same size as that of the node's last
object, the fields follow, and they move only if the guess was wrong.

    ┌ head: guessed room ┬ field ┬ field ┬ ...       ids, offsets ─▶ on a stack until the head is written
    └────────────────────┴───────┴───────┴──

Fields are sorted by name. Those of the columns are sorted once, with the schema; those of a residual object are sorted
already, so the two are merged.
"""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.stdlib cimport qsort, realloc
from libc.string cimport memcmp, memcpy, memmove

from shredlake.kernels.compiled.buffers cimport NO_MEMORY, OK, Bytes, append, append_byte, bit_at, make_stack_room, reserve
from shredlake.kernels.compiled.decimals cimport digits_fit
from shredlake.kernels.compiled.names cimport Shape, schema_name
from shredlake.kernels.compiled.shredded cimport ELEMENTS, FIELDS, LARGEST, MICROS_PER_DAY, SCALAR, TOO_LARGE, extent
from shredlake.kernels.compiled.unshred_columns cimport (
    Entry,
    Node,
    Part,
    Rest,
    Unshredding,
    bytes_at,
    has_typed,
    has_value,
    is_there,
    look_ahead,
    value_at,
)
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

cdef enum Place:
    COLUMN = 0
    ELEMENT = 1
    FIELD = 2

cdef enum Outcome:
    MISSING = 0
    WRITTEN = 1
    CONFLICT = -20          # value and typed_value contradict each other
    NAMELESS = -21          # a field whose name is not in the metadata
# ---------------------------------------------------------------- stacks

cdef inline int make_entry_room(Unshredding* work, int64_t count) noexcept nogil:
    return make_stack_room(<void**> &work.entries, &work.entry_room, work.entries_used + count, sizeof(Entry))


cdef inline int make_rest_room(Unshredding* work, int64_t count) noexcept nogil:
    return make_stack_room(<void**> &work.rest, &work.rest_room, work.rest_used + count, sizeof(Rest))

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

cdef inline int close_gap(Bytes* out, int64_t data_at, int64_t wanted_at) noexcept nogil:
    """Moves the bytes written from data_at on to the actual end of the head."""
    if reserve(out, wanted_at - data_at if wanted_at > data_at else 0) != OK:
        return NO_MEMORY
    memmove(out.data + wanted_at, out.data + data_at, <size_t> (out.size - data_at))
    out.size += wanted_at - data_at
    return OK


cdef inline void write_ends(uint8_t* out, const Entry* entries, int64_t count, int size) noexcept nogil:
    """Writes the list of offsets: 0, then the end of each value. One loop per width, so that the compiler can optimise
    it.
    """
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


cdef inline int put_array(Unshredding* work, Node* node, int64_t row) noexcept nogil:
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
            # Missing where a value is required: becomes Variant null.
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

cdef inline int by_name(const void* a, const void* b) noexcept nogil:
    cdef const Slice* left = &(<const Rest*> a).name
    cdef const Slice* right = &(<const Rest*> b).name
    return compare_names(left.data, left.size, right.data, right.size)


cdef inline int32_t place_of(const Unshredding* work, const Node* node, const Slice* name) noexcept nogil:
    """The place of a residual field among the shredded ones; see Rest."""
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


cdef inline int find_places(Unshredding* work, const Node* node, const ObjectView* view, Shape* shape) noexcept nogil:
    """Finds the places of a residual object's fields by their names, and caches them for objects with the same fields.
    Unsorted fields are sorted, and not cached.
    """
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


cdef inline int read_rest(Unshredding* work, const Node* node, const Slice* residual) noexcept nogil:
    """Pushes the fields of a residual object on the stack, in byte order of their names."""
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


cdef inline int list_fields(
    Unshredding* work, const Node* node, int64_t row, int64_t rest_at, int64_t* listed
) noexcept nogil:
    """Pushes the fields of the object on the stack of entries, in order: OK, CONFLICT or NAMELESS."""
    cdef const int32_t* ids = work.lookups.last.id_of_name
    cdef const Rest* rest = work.rest + rest_at
    cdef Entry* entry = work.entries + work.entries_used
    cdef int64_t rest_count = work.rest_used - rest_at, next = 0
    cdef int32_t field
    cdef int bit = row & 63
    for field in range(node.first_field, node.first_field + node.field_count):
        while next < rest_count and rest[next].place <= 2 * (field - node.first_field) + 1:
            if rest[next].place & 1:
                # A shredded field in `value`: the columns take precedence, even if the field is missing there.
                if work.reject_conflicts:
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


cdef inline int put_object(Unshredding* work, Node* node, int64_t row, const Slice* residual) noexcept nogil:
    """Writes the object of the shredded fields and, if there is one, of a residual object's fields."""
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
    if work.reject_conflicts:
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

cdef inline int put_group(Unshredding* work, int index, int64_t row, int place) noexcept nogil:
    """Appends the value of the column itself or of an element: WRITTEN, MISSING or a fault."""
    cdef Node* node = &work.nodes[index]
    if not is_there(node, row):
        return MISSING
    return put_present(work, index, row, place, has_value(node, row), has_typed(node, row))


cdef inline int put_present(
    Unshredding* work, int index, int64_t row, int place, bint value_there, bint typed_there
) noexcept nogil:
    """Appends the value of a group with the given parts. See shredding/null_table.py for the table."""
    cdef Node* node = &work.nodes[index]
    cdef Slice value
    cdef const Slice* residual = NULL
    cdef int basic
    if value_there:
        if value_at(&node.value, row, &value) != OK:
            return MALFORMED
        basic = value.data[0] & 3
        if not typed_there:
            if work.reject_conflicts and (
                (node.kind == FIELDS and basic == OBJECT) or (node.kind == ELEMENTS and basic == VARIANT_ARRAY)
            ):
                return CONFLICT
            if append(&work.out, value.data, value.size) != OK:
                return NO_MEMORY
            return WRITTEN
        if node.kind == FIELDS and basic == OBJECT:
            residual = &value
        elif work.reject_conflicts or place != FIELD:
            return CONFLICT
    elif not typed_there:
        return MISSING
    if node.kind == FIELDS:
        return put_object(work, node, row, residual)
    if node.kind == ELEMENTS:
        return put_array(work, node, row)
    return put_scalar(work, node, row)
