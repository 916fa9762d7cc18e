"""Converts Arrow columns to Variants by the tree of arrow/nodes.py (assemble.pxd writes the bytes)."""

import os

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from shredlake.kernels.compiled.arrow cimport VariantColumn, address_of, bytes_at, is_null_at, variant_column
from shredlake.kernels.compiled.assemble cimport (
    KEY_REPEATED,
    Assembler,
    Frame,
    add_key,
    close_array,
    close_assembler,
    close_object,
    make_entry_room,
    make_room,
    open_container,
    push_offset,
    start_row,
    write_metadata,
)
from shredlake.kernels.compiled.buffers cimport (
    NO_MEMORY,
    OK,
    Bits,
    Bytes,
    append_bit,
    append_int32,
    bit_at,
    bits_to_arrow,
    release,
    release_bits,
    reserve_total,
    start,
    start_bits,
    to_arrow,
)
from shredlake.kernels.compiled.decimals cimport digits_fit
from shredlake.kernels.compiled.json_keys cimport (
    NOWHERE,
    add_place,
    find_place,
    intern_name,
    open_keys,
    place_count,
)
from shredlake.kernels.compiled.shredded cimport MICROS_PER_DAY
from shredlake.kernels.compiled.utf8 cimport is_utf8
from shredlake.kernels.compiled.variant cimport (
    MALFORMED,
    P_BINARY,
    P_FALSE,
    P_INT64,
    P_NULL,
    P_STRING,
    P_TIME,
    P_TRUE,
    Dictionary,
    Slice,
    int128_t,
    name_at,
    parse_metadata,
    read_int64,
    write_binary,
    write_decimal,
    write_primitive,
    write_string,
)
from shredlake.kernels.compiled.walk cimport (
    CLOSE_ARRAY,
    CLOSE_OBJECT,
    OPEN_OBJECT,
    SCALAR,
    Walk,
    close_walk,
    first_event,
    next_event,
    open_walk,
)
from shredlake.kernels.compiled.walk cimport Frame as WalkFrame

import pyarrow as pa

from shredlake.kernels.arrow.normalize import as_binary
from shredlake.kernels.arrow.nodes import primitive_header
from shredlake.kernels.arrow.buffers import part

cdef enum Kind:
    NULLS = 0
    BOOLEAN = 1
    FIXED = 2
    UNSIGNED = 3
    DECIMAL = 4
    TEXT_OR_BINARY = 5
    STRUCT = 6
    LIST = 7
    MAP = 8
    VARIANT = 9

cdef enum:
    LARGEST_BUFFER = 0x7FFFFFFF
    KEY_PADDING = 8
    REFUSED = -10           # the row can't be a Variant; the reference explains why

cdef struct Node:
    Kind kind
    uint8_t header          # the first byte of a fixed value, a string or a binary
    int width
    int scale
    const uint8_t* valid
    int64_t start           # Arrow's offset: row 0 is bit or entry `start`
    const uint8_t* data     # of row 0; for booleans, of bit 0
    const int64_t* starts   # of row 0: the start and end of bytes, elements or entries
    const int64_t* ends
    VariantColumn variants
    int first_child
    int child_count
    Slice name              # of a struct's field
    uint32_t place          # of the value itself, as the parent of others
    uint32_t key            # of a struct's field, under its struct

cdef struct Writer:
    Assembler to
    Node* nodes
    int count
    Bytes scratch           # a key, padded
    Walk walk

# ---------------------------------------------------------------- keys

cdef uint32_t key_place(Writer* w, uint32_t parent, Slice text) noexcept nogil:
    """The place of a key under a parent, or NOWHERE if out of memory."""
    cdef uint32_t name
    if reserve_total(&w.scratch, text.size + KEY_PADDING) != OK:
        return NOWHERE
    memcpy(w.scratch.data, text.data, <size_t> text.size)
    memset(w.scratch.data + text.size, 0, KEY_PADDING)
    name = intern_name(&w.to.keys, w.scratch.data, text.size, True)
    return find_place(&w.to.keys, parent, name) if name != NOWHERE else NOWHERE


cdef int find_places(Writer* w) noexcept nogil:
    """Assigns a place to every node, and to every struct field its key's place; repeated if tables were emptied."""
    cdef int i, j
    cdef Node* child
    for i in range(w.count):
        w.nodes[i].place = <uint32_t> place_count(&w.to.keys)
        if add_place(&w.to.keys, NOWHERE, NOWHERE) != OK:
            return NO_MEMORY
        if w.nodes[i].kind == STRUCT:
            for j in range(w.nodes[i].child_count):
                child = &w.nodes[w.nodes[i].first_child + j]
                child.key = key_place(w, w.nodes[i].place, child.name)
                if child.key == NOWHERE:
                    return NO_MEMORY
    return OK


cdef inline Frame* frame_at(Writer* w, int64_t depth) noexcept nogil:
    return <Frame*> w.to.frames.data + depth


cdef int open_at(Writer* w, int64_t depth, uint32_t place, bint is_object) noexcept nogil:
    if reserve_total(&w.to.frames, (depth + 1) * <int64_t> sizeof(Frame)) != OK:
        return NO_MEMORY
    open_container(&w.to, depth, place, is_object)
    return OK


cdef int start_child(Writer* w, int64_t depth, uint32_t key) noexcept nogil:
    """Called before a value in the container at `depth`; `key` is NOWHERE in arrays."""
    if make_entry_room(&w.to) != OK:
        return NO_MEMORY
    if key != NOWHERE and add_key(&w.to, frame_at(w, depth), key) == KEY_REPEATED:
        return REFUSED
    if w.to.out - w.to.value.data > LARGEST_BUFFER:
        return REFUSED
    push_offset(&w.to, frame_at(w, depth))
    return OK


cdef int close_at(Writer* w, int64_t depth) noexcept nogil:
    cdef Frame* frame = frame_at(w, depth)
    if make_room(&w.to, 9 + 8 * (w.to.top - frame.base + 1)) != OK:
        return NO_MEMORY
    if frame.is_object:
        return close_object(&w.to, frame)
    close_array(&w.to, frame)
    return OK

# ---------------------------------------------------------------- values

cdef int put(Writer* w, const Node* node, int64_t row, int64_t depth) noexcept nogil:
    """Writes one value; OK, NO_MEMORY or REFUSED."""
    cdef uint64_t number
    cdef int64_t small
    cdef int128_t unscaled
    cdef Slice text
    if make_room(&w.to, 32) != OK:
        return NO_MEMORY
    if node.kind == NULLS or not bit_at(node.valid, node.start + row):
        w.to.out[0] = P_NULL << 2
        w.to.out += 1
    elif node.kind == FIXED:
        if node.header == P_TIME << 2 and not 0 <= read_int64(node.data + row * node.width) < MICROS_PER_DAY:
            return REFUSED
        w.to.out[0] = node.header
        memcpy(w.to.out + 1, node.data + row * node.width, <size_t> node.width)
        w.to.out += 1 + node.width
    elif node.kind == TEXT_OR_BINARY:
        text.data = node.data + node.starts[row]
        text.size = node.ends[row] - node.starts[row]
        return put_bytes(w, text, node.header)
    elif node.kind == BOOLEAN:
        w.to.out[0] = (P_TRUE if bit_at(node.data, node.start + row) else P_FALSE) << 2
        w.to.out += 1
    elif node.kind == UNSIGNED:
        memcpy(&number, node.data + 8 * row, 8)
        if number >> 63:
            w.to.out = write_decimal(w.to.out, <int128_t> number, 0)
        else:
            small = <int64_t> number
            w.to.out = write_primitive(w.to.out, P_INT64, &small, 8)
    elif node.kind == DECIMAL:
        memcpy(&unscaled, node.data + 16 * row, 16)
        if not digits_fit(unscaled, 38):
            return REFUSED
        w.to.out = write_decimal(w.to.out, unscaled, node.scale)
    elif node.kind == STRUCT:
        return put_struct(w, node, row, depth)
    elif node.kind == VARIANT:
        return put_variant(w, node, row, depth)
    else:
        return put_elements(w, node, row, depth)
    return OK


cdef int put_bytes(Writer* w, Slice text, uint8_t header) noexcept nogil:
    if text.size > LARGEST_BUFFER or (header == P_STRING << 2 and not is_utf8(text.data, text.size)):
        return REFUSED
    if make_room(&w.to, 5 + text.size) != OK:
        return NO_MEMORY
    if header == P_STRING << 2:
        w.to.out = write_string(w.to.out, text.data, text.size)
    else:
        w.to.out = write_binary(w.to.out, text.data, text.size)
    return OK


cdef int put_struct(Writer* w, const Node* node, int64_t row, int64_t depth) noexcept nogil:
    cdef int i, status
    cdef const Node* child
    if open_at(w, depth, node.place, True) != OK:
        return NO_MEMORY
    for i in range(node.child_count):
        child = &w.nodes[node.first_child + i]
        status = start_child(w, depth, child.key)
        if status == OK:
            status = put(w, child, row, depth + 1)
        if status != OK:
            return status
    return close_at(w, depth)


cdef int put_elements(Writer* w, const Node* node, int64_t row, int64_t depth) noexcept nogil:
    """Writes a list or a map: the children are its elements, or its keys and its values."""
    cdef bint is_map = node.kind == MAP
    cdef const Node* keys = &w.nodes[node.first_child]
    cdef const Node* values = keys + is_map
    cdef int64_t i
    cdef int status
    cdef uint32_t key = NOWHERE
    cdef Slice text
    if open_at(w, depth, node.place, is_map) != OK:
        return NO_MEMORY
    for i in range(node.starts[row], node.ends[row]):
        if is_map:
            text.data = keys.data + keys.starts[i]
            text.size = keys.ends[i] - keys.starts[i]
            if not bit_at(keys.valid, keys.start + i) or not is_utf8(text.data, text.size):
                return REFUSED
            key = key_place(w, node.place, text)
            if key == NOWHERE:
                return NO_MEMORY
        status = start_child(w, depth, key)
        if status == OK:
            status = put(w, values, i, depth + 1)
        if status != OK:
            return status
    return close_at(w, depth)


cdef int put_variant(Writer* w, const Node* node, int64_t row, int64_t depth) noexcept nogil:
    """Writes a Variant within the Variant: the same scalars, under the new dictionary."""
    cdef const VariantColumn* column = &node.variants
    cdef Dictionary dictionary
    cdef Slice bytes, name
    cdef int event, status
    cdef uint32_t place, key
    cdef int64_t level = depth      # of the container of the event, plus one
    if is_null_at(&column.value, row):
        w.to.out[0] = P_NULL << 2
        w.to.out += 1
        return OK
    if is_null_at(&column.metadata, row):
        return REFUSED
    bytes = bytes_at(&column.metadata, row)
    if parse_metadata(bytes.data, bytes.size, &dictionary) != 0 or dictionary.end != bytes.data + bytes.size:
        return REFUSED
    bytes = bytes_at(&column.value, row)
    event = first_event(&w.walk, bytes.data, bytes.size)
    while event > 0:
        if event == CLOSE_OBJECT or event == CLOSE_ARRAY:
            level -= 1
            status = close_at(w, level)
            if status != OK:
                return status
            event = next_event(&w.walk)
            continue
        place = node.place
        if level > depth:
            place = frame_at(w, level - 1).place
            key = NOWHERE
            if frame_at(w, level - 1).is_object:
                if name_at(&dictionary, w.walk.id, &name) != 0 or not is_utf8(name.data, name.size):
                    return REFUSED
                key = place = key_place(w, place, name)
                if key == NOWHERE:
                    return NO_MEMORY
            status = start_child(w, level - 1, key)
            if status != OK:
                return status
        if event == SCALAR:
            if make_room(&w.to, w.walk.size) != OK:
                return NO_MEMORY
            memcpy(w.to.out, w.walk.at, <size_t> w.walk.size)
            w.to.out += w.walk.size
        else:
            if open_at(w, level, place, event == OPEN_OBJECT) != OK:
                return NO_MEMORY
            level += 1
        event = next_event(&w.walk)
    return REFUSED if event == MALFORMED else event

# ---------------------------------------------------------------- columns

cdef int count_nodes(node) except -1:
    return 1 + sum(count_nodes(child) for child in node.children)


cdef const int64_t* int64_pointer(array) except? NULL:
    """The numbers of an int64 array, from row 0."""
    return <const int64_t*> address_of(array.buffers()[1]) + <int64_t> array.offset


cdef int fill_node(Writer* w, int index, int next_free, node, list kept) except -1:
    """Fills nodes[index] and its children, which are contiguous from `next_free`; returns the next free index."""
    cdef Node* out = &w.nodes[index]
    cdef int i
    array = node.array
    out.kind = <Kind> <int> node.kind
    out.header = <uint8_t> <int> primitive_header(node)
    out.width = node.width
    out.scale = node.scale
    out.start = array.offset
    out.first_child = next_free
    out.child_count = <int> len(node.children)
    buffers = array.buffers()
    kept.append(buffers)
    out.valid = <const uint8_t*> address_of(buffers[0] if buffers and array.null_count else None)
    if out.kind == VARIANT:
        metadata, value = as_binary(part(array, "metadata")), as_binary(part(array, "value"))
        kept += [metadata, value]
        out.variants = variant_column(metadata, value, None)
    elif out.kind == TEXT_OR_BINARY:
        out.starts = <const int64_t*> address_of(buffers[1]) + out.start
        out.ends = out.starts + 1
        out.data = <const uint8_t*> address_of(buffers[2])
    elif out.kind == LIST or out.kind == MAP:
        out.starts = int64_pointer(node.starts)
        out.ends = int64_pointer(node.ends)
    elif out.kind == BOOLEAN:
        out.data = <const uint8_t*> address_of(buffers[1])
    elif out.kind != STRUCT and out.kind != NULLS:
        width = {FIXED: node.width, UNSIGNED: 8, DECIMAL: 16}[out.kind]
        out.data = <const uint8_t*> address_of(buffers[1]) + out.start * <int64_t> width
    next_free += out.child_count
    for i in range(out.child_count):
        next_free = fill_node(w, out.first_child + i, next_free, node.children[i], kept)
    for i in range(len(node.names)):
        name = node.names[i].encode()
        kept.append(name)
        w.nodes[out.first_child + i].name.data = <const uint8_t*> <const char*> name
        w.nodes[out.first_child + i].name.size = len(name)
    return next_free


cdef uint64_t SEED = <uint64_t> int.from_bytes(os.urandom(8), "little")


cdef int put_row(Writer* w, int64_t row) noexcept nogil:
    """Appends a row's metadata and value; OK, NO_MEMORY or REFUSED (then nothing is appended)."""
    cdef int status = start_row(&w.to)
    cdef int64_t before = w.to.metadata.size
    if status < 0 or (status == 1 and find_places(w) != OK):
        return NO_MEMORY
    w.to.out = w.to.value.data + w.to.value.size
    status = put(w, w.nodes, row, 0)
    if status != OK:
        return status
    if write_metadata(&w.to) != OK:
        return NO_MEMORY
    if w.to.metadata.size > LARGEST_BUFFER or w.to.out - w.to.value.data > LARGEST_BUFFER:
        w.to.metadata.size = before
        w.to.last_metadata_size = 0
        return REFUSED
    w.to.value.size = w.to.out - w.to.value.data
    return OK


def encode(node, int64_t from_row, variant_type):
    """(Variant column, row, full) of a tree: the rows from `from_row` to before `row`.

    If rows are left, the next one would exceed 2 GiB (`full`), or can't be a Variant.
    """
    cdef int64_t length = len(node.array), row = from_row
    cdef Writer w
    cdef Bytes metadata_offsets, value_offsets
    cdef Bits valid
    cdef int status = OK
    cdef list kept = []
    memset(&w, 0, sizeof(Writer))
    start(&metadata_offsets)
    start(&value_offsets)
    start_bits(&valid)
    open_walk(&w.walk, SEED)
    w.count = count_nodes(node)
    w.nodes = <Node*> calloc(<size_t> w.count, sizeof(Node))
    try:
        if w.nodes == NULL:
            raise MemoryError
        fill_node(&w, 0, 1, node, kept)
        with nogil:
            status = open_keys(&w.to.keys, SEED)
            if status == OK:
                status = find_places(&w)
            if status == OK:
                status = append_int32(&metadata_offsets, 0) or append_int32(&value_offsets, 0)
            while status == OK and row < length:
                if w.nodes[0].kind != NULLS and bit_at(w.nodes[0].valid, w.nodes[0].start + row):
                    status = put_row(&w, row)
                    if status != OK:
                        break
                    status = append_bit(&valid, True)
                else:
                    status = append_bit(&valid, False)
                status = status or append_int32(&metadata_offsets, <int32_t> w.to.metadata.size)
                status = status or append_int32(&value_offsets, <int32_t> w.to.value.size)
                row += 1
        if status == NO_MEMORY:
            raise MemoryError("out of memory while encoding Variants")
        nulls = valid.unset
        bitmap = bits_to_arrow(&valid)
        metadata = pa.Array.from_buffers(
            pa.binary(), row - from_row, [None, to_arrow(&metadata_offsets), to_arrow(&w.to.metadata)], null_count=0
        )
        value = pa.Array.from_buffers(
            pa.binary(), row - from_row, [bitmap, to_arrow(&value_offsets), to_arrow(&w.to.value)], null_count=nulls
        )
        column = pa.Array.from_buffers(
            variant_type, row - from_row, [bitmap], null_count=nulls, children=[metadata, value]
        )
        return column, row, row > from_row
    finally:
        close_walk(&w.walk)
        close_assembler(&w.to)
        release(&w.scratch)
        release(&metadata_offsets)
        release(&value_offsets)
        release_bits(&valid)
        free(w.nodes)
