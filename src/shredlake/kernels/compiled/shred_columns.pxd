"""The columns that shredding fills, and their export to Arrow as one tree of arrays in one call.

Arrow's C data interface takes a tree of structs. Building it here, without Python, lets threads run in parallel
however many columns a schema has. All columns of a piece are freed together.

    group ─┬─ value                              each group, value and typed_value is an ArrowArray;
           └─ typed_value ─┬─ group ─ ...        a column without a value has zeros for buffers, shared by all
                           └─ group ─ ...
"""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from shredlake.kernels.compiled.arrow cimport ArrowArray
from shredlake.kernels.compiled.buffers cimport NO_MEMORY, OK, Bytes, release, resize
from shredlake.kernels.compiled.shredded cimport ELEMENTS, SCALAR, UNTYPED
from shredlake.kernels.compiled.variant cimport P_BINARY, P_STRING

cdef enum:
    WIDTH_NONE = 0
    WIDTH_BITS = -1
    WIDTH_OFFSETS = -2
    BLOCK = 64

cdef struct Column:
    int64_t room        # rows whose offsets or data are ready to be written
    int64_t filled
    int64_t run
    Bytes data
    Bytes offsets
    Bytes valid
    int64_t count       # bits set in the validity so far

# Four cache lines, the first of which is all that a number needs: schemas have thousands of nodes, caches few lines.
# Aligned, so that no two threads share a line.
cdef struct Node:
    int8_t kind
    int8_t type         # primitive id of a scalar; that of true for booleans
    int8_t width        # bytes per row of a scalar; 0: variable or bits
    int8_t precision
    int8_t scale
    int32_t element     # node of an array's elements
    int32_t shape       # number of an object among the objects
    Column typed
    int64_t elements    # an array's elements so far: rows of its element node
    Column value
    int64_t expected    # rows, if known in advance
    int64_t padding[2]

# ---------------------------------------------------------------- buffers addressed by row

cdef inline int grow_zeroed(Bytes* buffer, int64_t wanted) noexcept nogil:
    """Reserves `wanted` bytes; the bytes after those written are zero."""
    cdef int64_t known = buffer.capacity
    if wanted <= known:
        return OK
    if resize(buffer, wanted) != OK:
        return NO_MEMORY
    memset(buffer.data + known, 0, <size_t> (buffer.capacity - known))
    return OK


cdef inline int64_t bytes_of(int64_t rows, int64_t width) noexcept nogil:
    """The size of so many rows: `width` bytes each, or bits, or offsets. Whole blocks have whole bytes of bits."""
    if width == WIDTH_OFFSETS:
        return 4 * (rows + 1) if rows else 0
    return (rows + 7) >> 3 if width == WIDTH_BITS else rows * width


cdef inline int clear_until(const Node* node, Column* column, int64_t rows, int64_t width) noexcept nogil:
    """Prepares further rows; if the column's length is known, reserves memory for all of them."""
    cdef Bytes* buffer = &column.offsets if width == WIDTH_OFFSETS else &column.data
    cdef int64_t known = bytes_of(column.room, width), wanted = bytes_of(rows, width), most
    if rows <= column.room:
        return OK
    if wanted > buffer.capacity:
        most = 2 * column.room
        if most < node.expected:
            most = node.expected
        if most < rows:
            most = rows
        if resize(buffer, bytes_of(most, width)) != OK:
            return NO_MEMORY
    if wanted > known:
        memset(buffer.data + known, 0, <size_t> (wanted - known))
    column.room = rows
    return OK


cdef inline int make_room(const Node* node, Column* column, int64_t row, int64_t width) noexcept nogil:
    """Prepares a row and the rest of its block: `width` bytes per row of data, or one of the widths above.

    Preparing block by block keeps the cleared memory in the cache until it is written."""
    return clear_until(node, column, (row | (BLOCK - 1)) + 1, width)


cdef inline int catch_up(Column* column, int64_t row) noexcept nogil:
    """Sets the validity bits of the run that has ended; the next run starts at `row`."""
    cdef int64_t index = column.run, needed = (column.filled >> 3) + 1
    if needed > column.valid.capacity and grow_zeroed(&column.valid, needed + column.valid.capacity) != OK:
        return NO_MEMORY
    while index < column.filled and index & 7:
        set_bit(&column.valid, index)
        index += 1
    if index + 8 <= column.filled:
        memset(column.valid.data + (index >> 3), 0xFF, <size_t> ((column.filled - index) >> 3))
        index += (column.filled - index) & ~7
    while index < column.filled:
        set_bit(&column.valid, index)
        index += 1
    column.count += column.filled - column.run
    column.run = row
    return OK


cdef inline void set_bit(Bytes* bits, int64_t index) noexcept nogil:
    bits.data[index >> 3] |= <uint8_t> (1 << (index & 7))


cdef inline void fill_offsets(Column* column, int64_t row, int64_t end) noexcept nogil:
    """Marks the rows from the last one written up to `row` as empty: they end where the data ends."""
    cdef int32_t* offsets = <int32_t*> column.offsets.data
    cdef int64_t filled = column.filled
    while filled < row:
        filled += 1
        offsets[filled] = <int32_t> end


cdef inline void release_column(Column* column) noexcept nogil:
    release(&column.data)
    release(&column.offsets)
    release(&column.valid)

# ---------------------------------------------------------------- to Arrow

cdef enum:
    ARRAYS = 3              # of a node: its group, value and typed_value
    BUFFERS = 7             # of those: 1, 3 and up to 3

# The memory owned by a tree of arrays.
cdef struct Exported:
    Node* nodes
    int count
    ArrowArray* arrays
    const void** buffers
    ArrowArray** children
    uint8_t* zeros


cdef inline void release_exported(Exported* tree) noexcept nogil:
    cdef int index
    if tree == NULL:
        return
    if tree.nodes != NULL:
        for index in range(tree.count):
            release_column(&tree.nodes[index].typed)
            release_column(&tree.nodes[index].value)
    free(tree.nodes)
    free(tree.arrays)
    free(tree.buffers)
    free(tree.children)
    free(tree.zeros)
    free(tree)


cdef inline void release_tree(ArrowArray* root) noexcept nogil:
    """The release callback that Arrow calls, on any thread."""
    root.release = NULL
    release_exported(<Exported*> root.private_data)


cdef inline void release_child(ArrowArray* child) noexcept nogil:
    child.release = NULL    # the root owns its memory


cdef inline int finish(const Node* node, Column* column, int64_t rows, int64_t width, int64_t end) noexcept nogil:
    """Fills a column with values up to the last row."""
    if clear_until(node, column, rows, width) != OK:
        return NO_MEMORY
    if width == WIDTH_OFFSETS:
        fill_offsets(column, rows, end)
    if nulls_of(column, rows):
        if catch_up(column, column.filled) != OK:
            return NO_MEMORY
        return grow_zeroed(&column.valid, (rows >> 3) + 1)
    return OK


cdef inline int64_t nulls_of(const Column* column, int64_t rows) noexcept nogil:
    return rows - column.count - (column.filled - column.run)


cdef inline int64_t most_zeros(const Exported* tree, int64_t rows) noexcept nogil:
    """A number of zero bytes that is enough for any buffer of any column without values."""
    cdef int64_t most = rows, width = 4
    cdef int index
    for index in range(tree.count):
        if tree.nodes[index].elements > most:
            most = tree.nodes[index].elements
        if tree.nodes[index].width > width:
            width = tree.nodes[index].width
    return (most + 1) * width


cdef inline ArrowArray* set_array(
    Exported* tree, int index, int part, int64_t rows, const Column* column, bint has_offsets, bint has_data
) noexcept nogil:
    """An array over a column, or over zeros: part 0 is the group, 1 value, 2 typed_value."""
    cdef ArrowArray* array = &tree.arrays[ARRAYS * index + part]
    cdef const void** buffers = tree.buffers + BUFFERS * index + (0 if part == 0 else 1 if part == 1 else 4)
    cdef bint filled = column != NULL and column.filled
    cdef int used = 1
    array.length = rows
    array.null_count = 0 if column == NULL else nulls_of(column, rows) if filled else rows
    array.buffers = buffers
    array.release = release_child
    buffers[0] = NULL if not array.null_count else <const void*> (column.valid.data if filled else tree.zeros)
    if has_offsets:
        buffers[used] = <const void*> (column.offsets.data if filled and column.offsets.data != NULL else tree.zeros)
        used += 1
    if has_data:
        buffers[used] = <const void*> (column.data.data if filled and column.data.data != NULL else tree.zeros)
        used += 1
    array.n_buffers = used
    return array


cdef inline int export_group(
    Exported* tree, const int32_t* fields, const int32_t* first_fields, int index, int64_t rows, ArrowArray*** free_child
) noexcept nogil:
    """Builds the arrays of a node and of all nodes below it; `free_child` is the next slot for a child pointer."""
    cdef Node* node = &tree.nodes[index]
    cdef ArrowArray* group = set_array(tree, index, 0, rows, NULL, False, False)
    cdef ArrowArray* typed
    cdef bint is_bytes = node.type == P_STRING or node.type == P_BINARY
    cdef int64_t width = WIDTH_NONE, end = node.typed.data.size
    cdef int field, child
    if node.value.filled and finish(node, &node.value, rows, WIDTH_OFFSETS, node.value.data.size) != OK:
        return NO_MEMORY
    if node.kind == ELEMENTS:
        width, end = WIDTH_OFFSETS, node.elements
    elif node.kind == SCALAR:
        width = WIDTH_OFFSETS if is_bytes else node.width if node.width else WIDTH_BITS
    if node.typed.filled and finish(node, &node.typed, rows, width, end) != OK:
        return NO_MEMORY
    group.children = free_child[0]
    group.n_children = 1 if node.kind == UNTYPED else 2
    free_child[0] += group.n_children
    group.children[0] = set_array(tree, index, 1, rows, &node.value, True, True)
    if node.kind == UNTYPED:
        return OK
    typed = set_array(
        tree, index, 2, rows, &node.typed, node.kind == ELEMENTS or (node.kind == SCALAR and is_bytes), node.kind == SCALAR
    )
    group.children[1] = typed
    if node.kind == SCALAR:
        return OK
    typed.children = free_child[0]
    typed.n_children = 1 if node.kind == ELEMENTS else first_fields[index + 1] - first_fields[index]
    free_child[0] += typed.n_children
    for field in range(typed.n_children):
        child = node.element if node.kind == ELEMENTS else fields[first_fields[index] + field]
        typed.children[field] = &tree.arrays[ARRAYS * child]
        if export_group(tree, fields, first_fields, child, node.elements if node.kind == ELEMENTS else rows, free_child) != OK:
            return NO_MEMORY
    return OK
