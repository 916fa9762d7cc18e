"""Puts shredded Variants together again: from the buffers of the columns straight to value bytes.

An object is written before its head is known: room is left for the head that the last object of the same
node had, the fields follow, and only where the guess was wrong do they move.

    ┌ head: guessed room ┬ field ┬ field ┬ ...       ids, offsets ─▶ on a stack until the head is written
    └────────────────────┴───────┴───────┴──

Fields stand in the order of their names. Those of the columns are sorted once, with the schema; those of a
residual object are sorted already, so the two are merged.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free, malloc, qsort, realloc
from libc.string cimport memcpy, memmove, memset

from shredlake.kernels._buffers cimport NO_MEMORY, OK, Bytes, append, append_byte, bit_at, release, reserve, to_arrow
from shredlake.kernels._decimals cimport digits_fit
from shredlake.kernels._names cimport (
    LookupCache,
    Names,
    build_names,
    look_up,
    release_cache,
    release_names,
    schema_name,
    start_cache,
)
from shredlake.kernels._shredded cimport ELEMENTS, FIELDS, LARGEST, MICROS_PER_DAY, SCALAR, TOO_LARGE, extent
from shredlake.kernels._utf8 cimport is_utf8
from shredlake.kernels._variant cimport (
    AFTER,
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
from shredlake.kernels._variant cimport ARRAY as VARIANT_ARRAY

import pyarrow as pa

from shredlake.kernels.columns import address, column_of, metadata_of, validity_of
from shredlake.kernels.explain import explain_reconstruction
from shredlake.kernels.sources import bytes_part, extend_metadata, gather, largest_array

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
    bint there
    const uint8_t* valid
    int64_t start
    const int32_t* offsets
    const uint8_t* data
    int64_t size            # of the data in bytes; of a list, the rows of its elements

cdef struct Node:
    int kind
    int type
    int width
    int precision
    int scale
    int element
    int32_t name            # of a field
    int32_t first_field     # in Unshredding.fields, sorted by name
    int32_t field_count
    int offset_size         # of the last object or array written here: the guess for the next
    bint optional           # a group that can be null itself
    Part group
    Part value
    Part typed
    uint8_t padding[64]

# A field of the object being written: its id, and where its value ends, counted from the first value.
cdef struct Entry:
    int64_t id
    int64_t end

# A field of a residual object.
cdef struct Rest:
    Slice name
    const uint8_t* data
    int64_t size
    int64_t id

cdef struct Unshredding:
    Node* nodes
    int32_t* fields
    int count
    bint strict
    Names names
    LookupCache lookups
    Bytes out
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

cdef inline bint has(const Part* part, int64_t row) noexcept nogil:
    return part.there and bit_at(part.valid, part.start + row)


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

cdef int put_scalar(Unshredding* work, const Node* node, int64_t row) noexcept nogil:
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
        node.offset_size = offset_size
        if close_gap(out, data_at, head_at + array_head_size(count, offset_size)) != OK:
            return NO_MEMORY
    end = write_array_header(out.data + head_at, count, offset_size)
    end = write_uint(end, 0, offset_size)
    for element in range(count):
        end = write_uint(end, <uint64_t> work.entries[base + element].end, offset_size)
    work.entries_used = base
    return WRITTEN

# ---------------------------------------------------------------- objects

cdef int by_name(const void* a, const void* b) noexcept nogil:
    cdef const Slice* left = &(<const Rest*> a).name
    cdef const Slice* right = &(<const Rest*> b).name
    return compare_names(left.data, left.size, right.data, right.size)


cdef int read_rest(Unshredding* work, const uint8_t* p, const uint8_t* end) noexcept nogil:
    """Puts the fields of a residual object on the stack, in byte order of their names."""
    cdef ObjectView view
    cdef int64_t index, total = 0
    cdef bint ordered = True
    cdef Rest* rest
    if parse_object(p, end, &view) != 0:
        return MALFORMED
    if make_rest_room(work, view.count) != OK:
        return NO_MEMORY
    rest = work.rest + work.rest_used
    for index in range(view.count):
        rest[index].id = id_at(&view, index)
        if (
            field_at(&view, index, &rest[index].data) != 0
            or name_at(&work.lookups.last.dictionary, rest[index].id, &rest[index].name) != 0
        ):
            return MALFORMED
        rest[index].size = value_size(rest[index].data, view.end)
        if rest[index].size == UNKNOWN_TYPE:
            rest[index].size = extent(&view, rest[index].data)
        if rest[index].size < 0:
            return MALFORMED
        total += rest[index].size
        if index and by_name(&rest[index - 1], &rest[index]) != BEFORE:
            ordered = False
    if total > view.end - view.data:
        return MALFORMED    # fields that overlap
    if not ordered:
        # Java sorts names by UTF-16, which differs from byte order beyond U+FFFF.
        qsort(rest, <size_t> view.count, sizeof(Rest), by_name)
        for index in range(1, view.count):
            if by_name(&rest[index - 1], &rest[index]) == EQUAL:
                return MALFORMED
    work.rest_used += view.count
    return OK


cdef inline int present(const Unshredding* work, const Node* node, int64_t row) noexcept nogil:
    """1 if the field has a value; 0 if it is missing; CONFLICT if its group is null where it can't be."""
    if node.optional and not bit_at(node.group.valid, node.group.start + row):
        return CONFLICT if work.strict else 0
    return has(&node.typed, row) or has(&node.value, row)


cdef int put_object(Unshredding* work, Node* node, int64_t row, const Slice* residual) noexcept nogil:
    """The object of the shredded fields and, if there is one, of a residual object's fields."""
    cdef Bytes* out = &work.out
    cdef int64_t base = work.entries_used, rest_base = work.rest_used, rest_count = 0, rest_index = 0
    cdef int64_t head_at = out.size, data_at, count = 0, index, total, largest = 0, head, id
    cdef int32_t field = 0
    cdef int code, order, id_size, offset_size
    cdef Node* child = NULL
    cdef Slice name
    cdef Rest* rest
    cdef Entry* entry
    cdef uint8_t* end
    if residual != NULL:
        code = read_rest(work, residual.data, residual.data + residual.size)
        if code != OK:
            return code
        rest_count = work.rest_used - rest_base
    if make_entry_room(work, node.field_count + rest_count) != OK:
        return NO_MEMORY
    work.entries_used += node.field_count + rest_count
    # All ids of small dictionaries take one byte; the head is guessed for all fields and set right below.
    data_at = head_at + object_head_size(
        node.field_count + rest_count, uint_size(<uint64_t> work.lookups.last.dictionary.count), node.offset_size
    )
    if reserve(out, data_at - head_at) != OK:
        return NO_MEMORY
    out.size = data_at
    while field < node.field_count or rest_index < rest_count:
        order = BEFORE      # of the next shredded field, against the next residual one
        if field == node.field_count:
            order = AFTER
        else:
            child = &work.nodes[work.fields[node.first_field + field]]
            if rest_index < rest_count:
                name = schema_name(&work.names, child.name)
                rest = &work.rest[rest_base + rest_index]
                order = compare_names(name.data, name.size, rest.name.data, rest.name.size)
        if order == EQUAL:
            # A shredded field in `value`: the columns count, also when they say that it is missing.
            if work.strict:
                return CONFLICT
            rest_index += 1
        if order == AFTER:
            rest = &work.rest[rest_base + rest_index]
            rest_index += 1
            id = rest.id
            if append(out, rest.data, rest.size) != OK:
                return NO_MEMORY
        else:
            code = present(work, child, row)
            if code == 1:
                id = work.lookups.last.id_of_name[child.name]
                if id < 0:
                    return NAMELESS
                code = put_group(work, work.fields[node.first_field + field], row, FIELD)
            field += 1
            if code < 0:
                return code
            if code == MISSING:
                continue
        entry = &work.entries[base + count]
        entry.id = id
        entry.end = out.size - data_at
        if id > largest:
            largest = id
        count += 1
    total = out.size - data_at
    if total > LARGEST:
        return TOO_LARGE
    id_size = uint_size(<uint64_t> largest)
    offset_size = uint_size(<uint64_t> total)
    node.offset_size = offset_size
    head = object_head_size(count, id_size, offset_size)
    if head != data_at - head_at and close_gap(out, data_at, head_at + head) != OK:
        return NO_MEMORY
    end = write_object_header(out.data + head_at, count, id_size, offset_size)
    entry = work.entries + base
    for index in range(count):
        end = write_uint(end, <uint64_t> entry[index].id, id_size)
    end = write_uint(end, 0, offset_size)
    for index in range(count):
        end = write_uint(end, <uint64_t> entry[index].end, offset_size)
    work.entries_used = base
    work.rest_used = rest_base
    return WRITTEN

# ---------------------------------------------------------------- groups

cdef int put_group(Unshredding* work, int index, int64_t row, int place) noexcept nogil:
    """Appends the value of a group: WRITTEN, MISSING or a fault. See shredding/nulls.py for the table."""
    cdef Node* node = &work.nodes[index]
    cdef Slice value
    cdef const Slice* residual = NULL
    cdef int basic
    if node.optional and not bit_at(node.group.valid, node.group.start + row):
        return CONFLICT if work.strict and place == FIELD else MISSING
    if has(&node.value, row):
        if value_at(&node.value, row, &value) != OK:
            return MALFORMED
        basic = value.data[0] & 3
        if not has(&node.typed, row):
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
    elif not has(&node.typed, row):
        return MISSING
    if node.kind == FIELDS:
        return put_object(work, node, row, residual)
    if node.kind == ELEMENTS:
        return put_array(work, node, row)
    return put_scalar(work, node, row)

# ---------------------------------------------------------------- columns

cdef void read_part(Part* part, object fields) except *:
    """(validity, offset, offsets, data, size), or None for a column that is not there."""
    if fields is None:
        return
    part.there = True
    part.valid = <const uint8_t*> <uintptr_t> fields[0]
    part.start = fields[1]
    part.offsets = <const int32_t*> <uintptr_t> fields[2]
    part.data = <const uint8_t*> <uintptr_t> fields[3]
    part.size = fields[4]


cdef class Unshredder:
    """The state of putting one contiguous column together."""

    cdef Unshredding work

    def __cinit__(self, list nodes, list fields, bytes names, list name_starts, bint strict):
        """nodes: (kind, type, width, precision, scale, element, name, first field, fields, group, value, typed);
        fields: nodes of all objects' fields, each object's in order of their names."""
        cdef int64_t* starts
        cdef int index, code
        cdef Node* node
        memset(&self.work, 0, sizeof(Unshredding))
        self.work.strict = strict
        self.work.count = <int> len(nodes)
        self.work.nodes = <Node*> calloc(<size_t> len(nodes), sizeof(Node))
        self.work.fields = <int32_t*> malloc((len(fields) + 1) * sizeof(int32_t))
        starts = <int64_t*> malloc(len(name_starts) * sizeof(int64_t))
        if (
            self.work.nodes == NULL
            or self.work.fields == NULL
            or starts == NULL
            or start_cache(&self.work.lookups, 0) != OK
        ):
            free(starts)
            raise MemoryError
        for index in range(len(name_starts)):
            starts[index] = name_starts[index]
        code = build_names(&self.work.names, <const uint8_t*> <const char*> names, starts, len(name_starts) - 1)
        free(starts)
        if code != OK:
            raise MemoryError
        for index in range(len(fields)):
            self.work.fields[index] = fields[index]
        for index, fields_of_node in enumerate(nodes):
            node = &self.work.nodes[index]
            (
                node.kind, node.type, node.width, node.precision, node.scale, node.element, node.name,
                node.first_field, node.field_count, group, value, typed,
            ) = fields_of_node
            node.offset_size = 1
            node.optional = group is not None
            read_part(&node.group, group)
            read_part(&node.value, value)
            read_part(&node.typed, typed)

    def __dealloc__(self):
        free(self.work.nodes)
        free(self.work.fields)
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
        read_part(&names, metadata)
        if reserve(&offsets, 4 * (rows - first_row + 1)) != OK:
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
    metadata = metadata_of(piece)
    nodes, fields, alive = gather(piece, plan)
    valid = (0, 0) if validity is None else (address(validity.buffers()[1]), validity.offset)
    arrays, row, extended = [], 0, False
    while row < len(piece) or not arrays:
        unshredder = Unshredder(nodes, fields, b"".join(plan.names), plan.name_starts, strict)
        code, stop, offsets, data = unshredder.run(valid, bytes_part(metadata), row, len(piece), largest_array())
        if code == NO_MEMORY:
            raise MemoryError
        if code == NAMELESS and not strict and not extended:
            metadata = extend_metadata(metadata, plan.names)
            arrays, row, extended = [], 0, True
            continue
        if code != OK:
            explain_reconstruction(piece.slice(stop, 1), plan.root, strict, first_row + stop)
        rows = stop - row
        bits = validity_of(piece.slice(row, rows))
        bitmap = None if bits is None else bits.buffers()[1]
        value = pa.Array.from_buffers(pa.binary(), rows, [bitmap, offsets, data])
        arrays.append(column_of(metadata.slice(row, rows), value, None, bits))
        row = stop
    del alive
    return arrays
