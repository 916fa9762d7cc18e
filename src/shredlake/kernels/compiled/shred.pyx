"""Shreds a column of Variants: every row is traversed once, straight into the buffers of the output columns.

A schema arrives flattened, parents before children; each node owns the buffers of its two columns:

    node ─┬─ value        offsets, data, validity      values that the type can't represent
          └─ typed_value  data or offsets, validity

Rows are addressed, not appended: a column's buffers are zeroed block by block, which is Arrow's null, and a value is
written at its row. Missing fields cost nothing, however many the schema has. Gaps are filled when the next value, or
the end, comes: the offsets of skipped rows, and the validity bits of runs of present rows. A column without gaps never
touches its bitmap.

    rows        0    1    2    3    4    5
    present     x    x              x           filled: 5, after the last row written
    offsets   0    3    5    5    5    8    .   `finish` writes the dot
    validity    1    1    0    0    .    .      run: 4, the start of the run of rows without bits

A node below an array counts its own rows: the concatenated elements of the array.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

from shredlake.kernels.compiled.buffers cimport APART, NO_MEMORY, OK, bit_at, make_stack_room, release, reserve

from shredlake.kernels.compiled.names cimport (
    HASH_PRIME,
    LookupCache,
    Names,
    Shape,
    build_names,
    look_up,
    release_cache,
    release_names,
    start_cache,
)
from shredlake.kernels.compiled.shred_columns cimport (
    ARRAYS,
    BUFFERS,
    WIDTH_NONE,
    WIDTH_OFFSETS,
    ArrowArray,
    Exported,
    Node,
    catch_up,
    export_group,
    fill_offsets,
    make_room,
    most_zeros,
    release_column,
    release_exported,
    release_tree,
)
from shredlake.kernels.compiled.shred_scalars cimport (
    RESIDUAL,
    TYPED,
    begin_bytes,
    end_bytes,
    put_bytes,
    reach,
    shred_scalar,
)
from shredlake.kernels.compiled.shredded cimport ELEMENTS, FIELDS, LARGEST, SCALAR, TOO_LARGE, extent

from shredlake.kernels.compiled.variant cimport (
    ARRAY,
    MALFORMED,
    OBJECT,
    PRIMITIVE,
    PRIMITIVES,
    UNKNOWN_TYPE,
    ArrayView,
    ObjectView,
    Slice,
    element_at,
    field_at,
    id_at,
    object_head_size,
    parse_array,
    parse_object,
    uint_size,
    value_size,
    write_object_header,
    write_uint,
)

import pyarrow as pa

from shredlake.kernels.arrow.buffers import address, size_of
from shredlake.kernels.fallback.shred import shred as shred_slowly
from shredlake.kernels.row_errors import explain_shredding

# Arrow accepts trees of 64 nested arrays; a level of a schema is two of them.
DEEPEST = 30

cdef extern from "<stdlib.h>" nogil:
    void* aligned_alloc(size_t alignment, size_t size)

# A field that remains in `value`.
cdef struct Rest:
    const uint8_t* data
    int64_t size
    int64_t id

cdef struct Shredding:
    Node* nodes
    int count
    bint exact_types
    Names names
    LookupCache lookups
    uint64_t* field_keys    # hash table (object node, schema name) ─▶ node of the field
    int32_t* field_nodes
    uint64_t field_mask
    Rest* rest              # stack of the fields that remain in `value`, of all open objects
    int64_t rest_room
    int64_t rest_used

# ---------------------------------------------------------------- objects and arrays

cdef inline int32_t field_node(const Shredding* work, int object_node, int32_t name) noexcept nogil:
    """The node of an object's field, or -1 if that field is not shredded."""
    cdef uint64_t key = (<uint64_t> (object_node + 1) << 32) | <uint32_t> name
    cdef uint64_t slot = ((key * HASH_PRIME) >> 32) & work.field_mask
    while work.field_keys[slot]:
        if work.field_keys[slot] == key:
            return work.field_nodes[slot]
        slot = (slot + 1) & work.field_mask
    return -1


cdef int nodes_of_fields(Shredding* work, int index, const ObjectView* view, const int32_t** nodes) noexcept nogil:
    """The node of each field, or -1 if it is not shredded. A list is valid until the next one of the same node and
    metadata, and no object contains itself: OK, MALFORMED or NO_MEMORY.
    """
    cdef Shape* shape = &work.lookups.last.shapes[work.nodes[index].shape]
    cdef int64_t field, id, size = view.count * view.id_size
    cdef int32_t* moved
    cdef int32_t name
    if (
        shape.ids != NULL
        and shape.count == view.count
        and shape.size == size
        and memcmp(shape.ids, view.ids, <size_t> size) == 0
    ):
        nodes[0] = shape.nodes
        return OK
    shape.ids = NULL
    if shape.room < view.count or shape.nodes == NULL:
        moved = <int32_t*> realloc(shape.nodes, <size_t> (view.count + 1) * sizeof(int32_t))
        if moved == NULL:
            return NO_MEMORY
        shape.nodes = moved
        shape.room = view.count
    for field in range(view.count):
        id = id_at(view, field)
        if id >= work.lookups.last.dictionary.count:
            return MALFORMED
        name = work.lookups.last.name_of_id[id]
        shape.nodes[field] = field_node(work, index, name) if name >= 0 else -1
    shape.ids = view.ids
    shape.size = size
    shape.count = view.count
    nodes[0] = shape.nodes
    return OK


cdef int put_rest(Shredding* work, Node* node, int64_t row, int64_t first) noexcept nogil:
    """Writes the object of the remaining fields: work.rest from `first` on, already sorted by name."""
    cdef int64_t count = work.rest_used - first, index, total = 0, largest_id = 0, head, offset = 0
    cdef Rest* rest = work.rest + first
    cdef int id_size, offset_size
    cdef uint8_t* out
    for index in range(count):
        total += rest[index].size
        if rest[index].id > largest_id:
            largest_id = rest[index].id
    if total > LARGEST:
        return TOO_LARGE
    id_size = uint_size(<uint64_t> largest_id)
    offset_size = uint_size(<uint64_t> total)
    head = object_head_size(count, id_size, offset_size)
    if begin_bytes(node, &node.value, row) != OK or reserve(&node.value.data, head + total) != OK:
        return NO_MEMORY
    out = write_object_header(node.value.data.data + node.value.data.size, count, id_size, offset_size)
    for index in range(count):
        out = write_uint(out, <uint64_t> rest[index].id, id_size)
    for index in range(count):
        out = write_uint(out, <uint64_t> offset, offset_size)
        offset += rest[index].size
    out = write_uint(out, <uint64_t> offset, offset_size)
    for index in range(count):
        memcpy(out, rest[index].data, <size_t> rest[index].size)
        out += rest[index].size
    node.value.data.size += head + total
    return end_bytes(&node.value, row)


cdef int shred_object(Shredding* work, int index, int64_t row, const uint8_t* p, const uint8_t* end) noexcept nogil:
    cdef Node* node = &work.nodes[index]
    cdef ObjectView view
    cdef int64_t first = work.rest_used, field, size, stays = 0
    cdef const uint8_t* value
    cdef const int32_t* nodes
    cdef int32_t child
    cdef Rest* rest
    cdef int code
    if parse_object(p, end, &view) != 0:
        return MALFORMED
    if reach(node, &node.typed, row, WIDTH_NONE) != OK:
        return NO_MEMORY
    if make_stack_room(<void**> &work.rest, &work.rest_room, first + view.count, sizeof(Rest)) != OK:
        return NO_MEMORY
    code = nodes_of_fields(work, index, &view, &nodes)
    if code != OK:
        return code
    for field in range(view.count):
        if field_at(&view, field, &value) != 0:
            return MALFORMED
        child = nodes[field]
        if child >= 0:
            size = -1
            if value[0] & 3 == PRIMITIVE and value[0] >> 2 >= PRIMITIVES:
                size = extent(&view, value)
            code = shred_group(work, child, row, value, view.end if size < 0 else value + size)
            if code < 0:
                return code
            continue
        size = value_size(value, view.end)
        if size == UNKNOWN_TYPE:
            size = extent(&view, value)
        if size < 0:
            return MALFORMED
        stays += size
        # Fields of nested objects were pushed and popped since the last iteration; the stack may have moved.
        rest = &work.rest[work.rest_used]
        rest.data = value
        rest.size = size
        rest.id = id_at(&view, field)
        work.rest_used += 1
    if stays > view.end - view.data:
        return MALFORMED    # fields that overlap
    node.typed.filled = row + 1
    code = OK
    if work.rest_used - first == view.count and view.count:
        code = put_bytes(node, &node.value, row, p, view.end - p)
    elif work.rest_used > first:
        code = put_rest(work, node, row, first)
    work.rest_used = first
    return code if code < 0 else TYPED


cdef int shred_array(Shredding* work, int index, int64_t row, const uint8_t* p, const uint8_t* end) noexcept nogil:
    cdef Node* node = &work.nodes[index]
    cdef ArrayView view
    cdef Slice value
    cdef int64_t element
    cdef int code
    if parse_array(p, end, &view) != 0:
        return MALFORMED
    if row >= node.typed.room and make_room(node, &node.typed, row, WIDTH_OFFSETS) != OK:
        return NO_MEMORY
    if row != node.typed.filled:
        fill_offsets(&node.typed, row, node.elements)
        if catch_up(&node.typed, row) != OK:
            return NO_MEMORY
    if node.elements + view.count > LARGEST:
        return TOO_LARGE
    for element in range(view.count):
        if element_at(&view, element, &value) != 0:
            return MALFORMED
        code = shred_group(work, node.element, node.elements, value.data, value.data + value.size)
        if code < 0:
            return code
        node.elements += 1
    (<int32_t*> node.typed.offsets.data)[row + 1] = <int32_t> node.elements
    node.typed.filled = row + 1
    return TYPED


cdef int shred_group(Shredding* work, int index, int64_t row, const uint8_t* p, const uint8_t* end) noexcept nogil:
    """Writes the value at p to the two columns of a node; the schema bounds the recursion."""
    cdef Node* node = &work.nodes[index]
    cdef int64_t size
    cdef int code = RESIDUAL
    if p >= end or row < node.typed.filled or row < node.value.filled:
        return MALFORMED    # no bytes, or a repeated field
    if node.kind == SCALAR:
        code = shred_scalar(node, row, p, end, work.exact_types)
    elif node.kind == FIELDS and p[0] & 3 == OBJECT:
        code = shred_object(work, index, row, p, end)
    elif node.kind == ELEMENTS and p[0] & 3 == ARRAY:
        code = shred_array(work, index, row, p, end)
    if code != RESIDUAL:
        return code
    size = value_size(p, end)
    if size == UNKNOWN_TYPE:
        size = end - p
    if size < 0:
        return MALFORMED
    return put_bytes(node, &node.value, row, p, size)

# ---------------------------------------------------------------- columns

cdef class Shredder:
    """The state of shredding one contiguous column by one schema: `run`, then `export`."""

    cdef uint8_t before[APART]
    cdef Shredding work
    cdef int64_t rows
    cdef uint8_t behind[APART]

    def __cinit__(self, plan, int64_t rows, bint exact_types):
        cdef list nodes = plan.shapes, fields = plan.fields, name_starts = plan.name_starts
        cdef bytes names = plan.all_names
        cdef int64_t* starts
        cdef uint64_t slots = 16, slot, key
        cdef int index, field, code, shapes = 0, kind, first, count
        memset(&self.work, 0, sizeof(Shredding))
        self.rows = rows
        self.work.exact_types = exact_types
        self.work.count = <int> len(nodes)
        self.work.nodes = <Node*> aligned_alloc(64, <size_t> len(nodes) * sizeof(Node))
        if self.work.nodes != NULL:
            memset(self.work.nodes, 0, <size_t> len(nodes) * sizeof(Node))
        while slots < 2 * <uint64_t> len(fields):
            slots *= 2
        self.work.field_mask = slots - 1
        self.work.field_keys = <uint64_t*> calloc(<size_t> slots, sizeof(uint64_t))
        self.work.field_nodes = <int32_t*> calloc(<size_t> slots, sizeof(int32_t))
        starts = <int64_t*> malloc(len(name_starts) * sizeof(int64_t))
        for node in nodes:
            shapes += node[0] == FIELDS
        if (
            self.work.nodes == NULL
            or self.work.field_keys == NULL
            or self.work.field_nodes == NULL
            or starts == NULL
            or start_cache(&self.work.lookups, shapes) != OK
        ):
            free(starts)
            raise MemoryError
        for index in range(len(name_starts)):
            starts[index] = name_starts[index]
        code = build_names(&self.work.names, <const uint8_t*> <const char*> names, starts, len(name_starts) - 1)
        free(starts)
        if code != OK:
            raise MemoryError
        shapes = 0
        for index, (kind, type, width, precision, scale, element, first, count, below_array) in enumerate(nodes):
            self.work.nodes[index].kind = kind
            self.work.nodes[index].type = type
            self.work.nodes[index].width = width
            self.work.nodes[index].precision = precision
            self.work.nodes[index].scale = scale
            self.work.nodes[index].element = element
            self.work.nodes[index].expected = 0 if below_array else rows
            self.work.nodes[index].shape = shapes
            shapes += kind == FIELDS
            for field in range(first, first + count):
                name, child = fields[field]
                key = (<uint64_t> (index + 1) << 32) | <uint32_t> <int> name
                slot = ((key * HASH_PRIME) >> 32) & self.work.field_mask
                while self.work.field_keys[slot]:
                    slot = (slot + 1) & self.work.field_mask
                self.work.field_keys[slot] = key
                self.work.field_nodes[slot] = child

    def __dealloc__(self):
        cdef int index
        cdef Node* node
        if self.work.nodes != NULL:
            for index in range(self.work.count):
                node = &self.work.nodes[index]
                release_column(&node.typed)
                release_column(&node.value)
        free(self.work.nodes)
        free(self.work.field_keys)
        free(self.work.field_nodes)
        free(self.work.rest)
        release_cache(&self.work.lookups)
        release_names(&self.work.names)

    def run(self, column, metadata, value):
        """Shreds the rows of (address, bit offset), (offsets, first, data, size), the same of value plus (validity,
        bit offset). Returns 0 or a fault, and its row.
        """
        cdef const uint8_t* valid = <const uint8_t*> <uintptr_t> column[0]
        cdef int64_t valid_from = column[1]
        cdef const int32_t* metadata_offsets = <const int32_t*> <uintptr_t> metadata[0] + <int64_t> metadata[1]
        cdef const uint8_t* metadata_data = <const uint8_t*> <uintptr_t> metadata[2]
        cdef int64_t metadata_size = metadata[3]
        cdef const int32_t* value_offsets = <const int32_t*> <uintptr_t> value[0] + <int64_t> value[1]
        cdef const uint8_t* value_data = <const uint8_t*> <uintptr_t> value[2]
        cdef int64_t data_size = value[3]
        cdef const uint8_t* value_valid = <const uint8_t*> <uintptr_t> value[4]
        cdef int64_t value_valid_from = value[5]
        cdef int64_t row = 0, first, last
        cdef uint8_t null_value = 0
        cdef int code = OK
        with nogil:
            while row < self.rows:
                if not bit_at(valid, valid_from + row):
                    row += 1
                    continue
                if not bit_at(value_valid, value_valid_from + row):
                    # Missing where a value is required: becomes Variant null.
                    code = put_bytes(&self.work.nodes[0], &self.work.nodes[0].value, row, &null_value, 1)
                    if code < 0:
                        break
                    row += 1
                    continue
                first = metadata_offsets[row]
                last = metadata_offsets[row + 1]
                if first < 0 or last < first or last > metadata_size:
                    code = MALFORMED
                    break
                code = look_up(&self.work.lookups, &self.work.names, metadata_data + first, last - first)
                if code != OK:
                    break
                first = value_offsets[row]
                last = value_offsets[row + 1]
                if first < 0 or last < first or last > data_size:
                    code = MALFORMED
                    break
                code = shred_group(&self.work, 0, row, value_data + first, value_data + last)
                if code < 0:
                    break
                row += 1
        return (code if code < 0 else 0), row

    def export(self, list children, list first_children, type):
        """Exports the root's group of `value` and `typed_value` as an Arrow array of this type; empties this object.

        children: of all objects, those of a node side by side from its number in first_children on."""
        cdef int32_t* fields = <int32_t*> malloc((len(children) + 1) * sizeof(int32_t))
        cdef int32_t* starts = <int32_t*> malloc(len(first_children) * sizeof(int32_t))
        cdef Exported* tree = <Exported*> calloc(1, sizeof(Exported))
        cdef size_t count = <size_t> self.work.count
        cdef ArrowArray** free_child
        cdef int index, code = NO_MEMORY
        if tree != NULL:
            tree.count = self.work.count
            tree.nodes = self.work.nodes
            self.work.nodes = NULL
            tree.arrays = <ArrowArray*> calloc(ARRAYS * count, sizeof(ArrowArray))
            tree.buffers = <const void**> calloc(BUFFERS * count, sizeof(void*))
            tree.children = <ArrowArray**> calloc(ARRAYS * count, sizeof(ArrowArray*))
            tree.zeros = <uint8_t*> calloc(<size_t> most_zeros(tree, self.rows), 1)
        if (
            fields != NULL and starts != NULL and tree != NULL and tree.arrays != NULL
            and tree.buffers != NULL and tree.children != NULL and tree.zeros != NULL
        ):
            for index in range(len(children)):
                fields[index] = children[index]
            for index in range(len(first_children)):
                starts[index] = first_children[index]
            free_child = tree.children
            with nogil:
                code = export_group(tree, fields, starts, 0, self.rows, &free_child)
        free(fields)
        free(starts)
        if code != OK:
            release_exported(tree)
            raise MemoryError
        tree.arrays[0].release = release_tree
        tree.arrays[0].private_data = tree
        return pa.Array._import_from_c(<uintptr_t> &tree.arrays[0], type)


def shred(metadata, value, validity, plan, bint exact_types, int64_t first_row):
    """Shreds a column of Variants, given as its parts, into `value` and `typed_value` arrays."""
    if plan.depth > DEEPEST:
        return shred_slowly(metadata, value, validity, plan, exact_types, first_row)
    shredder = Shredder(plan, len(metadata), exact_types)
    metadata_valid, metadata_offsets, metadata_data = metadata.buffers()
    value_valid, value_offsets, value_data = value.buffers()
    code, row = shredder.run(
        (0, 0) if validity is None else (address(validity.buffers()[1]), validity.offset),
        (address(metadata_offsets), metadata.offset, address(metadata_data), size_of(metadata_data)),
        (
            address(value_offsets), value.offset, address(value_data), size_of(value_data),
            address(value_valid), value.offset,
        ),
    )
    if code == NO_MEMORY:
        raise MemoryError
    if code != OK:
        explain_shredding(metadata[row].as_py(), value[row].as_py(), plan.root, first_row + row)
    group = shredder.export(plan.children, plan.first_children, plan.nodes[0].group_type)
    return group.field(0), group.field(1) if group.type.num_fields > 1 else None
