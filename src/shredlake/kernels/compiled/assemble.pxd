"""Writes objects and arrays of a Variant from the inside out, and the dictionary of their keys.

Children are written first, at the place where their parent will start. When the parent closes, its head (ids and
offsets, whose sizes are known only then) is inserted before them:

    {"b":1,"a":[2,3]}      ..b..a..[..2..3         values are appended in input order
                           ..b..a..[head 2 3]      ] closes: the array's head is inserted
                           [head b a[head 2 3]]    } closes: the object's head is inserted

The bytes equal those of Spark's builder: the dictionary lists keys by first occurrence, objects list their fields by
name (unsigned UTF-8 bytes), and values stay in input order.

Functions here do not reserve room while values are written: a caller either reserves the maximum for a row (`prepare`
in json_encode.pyx), or reserves before each step (`make_room`, `make_entry_room`).
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memmove

from shredlake.kernels.compiled.buffers cimport NO_MEMORY, OK, Bytes, release, reserve, reserve_total
from shredlake.kernels.compiled.hash cimport mix
from shredlake.kernels.compiled.json_keys cimport (
    NOWHERE,
    Keys,
    Name,
    Place,
    Sortable,
    close_keys,
    forget_if_large,
    keep_order,
    known_order,
    name_of,
    open_keys,
    place_of,
    sort_names,
)
from shredlake.kernels.compiled.variant cimport (
    array_head_size,
    object_head_size,
    uint_size,
    write_array_header,
    write_object_header,
    write_uint,
)

cdef struct Frame:          # an open container
    int64_t start           # where its values start in the output
    int64_t base            # its first entry in the stacks below
    int64_t serial          # of objects, to find duplicate keys
    uint64_t hash           # of the places of its keys so far
    uint32_t place          # of the container itself
    uint32_t previous       # the place of its last key
    uint32_t largest_id
    bint is_object
    bint has_duplicates

cdef struct Assembler:
    Keys keys
    uint8_t* out            # position of the next byte of value
    Bytes frames            # Frame[]
    Bytes offsets           # uint32_t[], of all values in open containers,
    Bytes places            # of the places of their keys,
    Bytes ids               # and of the ids of their keys
    Bytes sortables
    Bytes dictionary        # uint32_t[]: the names of this row, in order of first occurrence
    Bytes last_dictionary   # the names of the last row
    Bytes metadata          # of all rows so far
    Bytes value
    int64_t dictionary_bytes
    int64_t last_metadata   # the start of the last row's metadata, and its size
    int64_t last_metadata_size
    int64_t top             # entries in the stacks
    int64_t row
    int64_t serial

cdef enum KeyOutcome:
    KEY_NEW = 0             # in the row's dictionary
    KEY_KNOWN = 1
    KEY_REPEATED = 2        # in its object

# ---------------------------------------------------------------- life and rows

cdef inline void close_assembler(Assembler* to) noexcept nogil:
    close_keys(&to.keys)
    release(&to.frames)
    release(&to.offsets)
    release(&to.places)
    release(&to.ids)
    release(&to.sortables)
    release(&to.dictionary)
    release(&to.last_dictionary)
    release(&to.metadata)
    release(&to.value)


cdef inline int start_row(Assembler* to) noexcept nogil:
    """1 if the key tables were emptied (so earlier places are invalid), 0 if not, or NO_MEMORY."""
    cdef int emptied = 0
    if forget_if_large(&to.keys):
        if open_keys(&to.keys, to.keys.seed) != OK:
            return NO_MEMORY
        to.last_metadata_size = 0       # its names are renumbered
        emptied = 1
    to.dictionary.size = 0
    to.dictionary_bytes = 0
    to.top = 0
    to.row += 1
    return emptied


cdef inline int make_room(Assembler* to, int64_t extra) noexcept nogil:
    """Reserves room for more bytes of value."""
    cdef int64_t used = to.out - to.value.data
    if to.value.capacity - used >= extra:
        return OK
    if reserve_total(&to.value, used + extra) != OK:
        return NO_MEMORY
    to.out = to.value.data + used
    return OK


cdef inline int make_entry_room(Assembler* to) noexcept nogil:
    """Reserves room for one more entry in the stacks, and one more name."""
    cdef int64_t needed = 4 * (to.top + 1)
    if (
        reserve_total(&to.offsets, needed) != OK
        or reserve_total(&to.places, needed) != OK
        or reserve_total(&to.ids, needed) != OK
        or reserve(&to.dictionary, 4) != OK
    ):
        return NO_MEMORY
    return OK

# ---------------------------------------------------------------- metadata

cdef inline int64_t metadata_size(const Assembler* to) noexcept nogil:
    cdef int64_t count = to.dictionary.size >> 2
    return 1 + (count + 2) * offset_size_of_names(to, count) + to.dictionary_bytes


cdef inline int offset_size_of_names(const Assembler* to, int64_t count) noexcept nogil:
    return uint_size(<uint64_t> (count if count > to.dictionary_bytes else to.dictionary_bytes))


cdef inline int write_metadata(Assembler* to) noexcept nogil:
    """Writes the row's dictionary; copies the last row's if they are equal."""
    cdef int64_t count = to.dictionary.size >> 2, at = to.metadata.size, i, offset = 0
    cdef int size
    cdef uint8_t* out
    cdef uint8_t* names
    cdef const uint32_t* indices = <const uint32_t*> to.dictionary.data
    cdef Name* name
    cdef Bytes swap
    if (
        to.last_metadata_size
        and to.dictionary.size == to.last_dictionary.size
        and (
            to.dictionary.size == 0
            or memcmp(to.dictionary.data, to.last_dictionary.data, <size_t> to.dictionary.size) == 0
        )
    ):
        if reserve(&to.metadata, to.last_metadata_size) != OK:
            return NO_MEMORY
        memcpy(to.metadata.data + at, to.metadata.data + to.last_metadata, <size_t> to.last_metadata_size)
        to.metadata.size += to.last_metadata_size
        to.last_metadata = at
        return OK
    size = offset_size_of_names(to, count)
    if reserve(&to.metadata, metadata_size(to)) != OK:
        return NO_MEMORY
    out = to.metadata.data + at
    out[0] = <uint8_t> (1 | ((size - 1) << 6))
    out = write_uint(out + 1, <uint64_t> count, size)
    names = out + (count + 1) * size
    for i in range(count):
        name = name_of(&to.keys, indices[i])
        out = write_uint(out, <uint64_t> offset, size)
        if name.size:  # memcpy must not get a null pointer, not even for 0 bytes
            memcpy(names + offset, to.keys.bytes.data + name.offset, name.size)
        offset += name.size
    write_uint(out, <uint64_t> offset, size)
    to.metadata.size = names + offset - to.metadata.data
    to.last_metadata = at
    to.last_metadata_size = to.metadata.size - at
    swap = to.last_dictionary
    to.last_dictionary = to.dictionary
    to.dictionary = swap
    return OK


# ---------------------------------------------------------------- containers

cdef inline KeyOutcome add_key(Assembler* to, Frame* frame, uint32_t index) noexcept nogil:
    """Makes the place's name the key of the next value. The caller decides whether a repeated key is an error."""
    cdef Place* place = place_of(&to.keys, index)
    cdef Name* name = name_of(&to.keys, place.name)
    cdef KeyOutcome outcome = KEY_KNOWN
    if place.object == frame.serial:
        frame.has_duplicates = True
        outcome = KEY_REPEATED
    place.object = frame.serial
    if name.row != to.row:
        name.row = to.row
        name.id = <uint32_t> (to.dictionary.size >> 2)
        (<uint32_t*> (to.dictionary.data + to.dictionary.size))[0] = place.name
        to.dictionary.size += 4
        to.dictionary_bytes += name.size
        outcome = KEY_NEW
    frame.previous = index
    frame.hash = mix(frame.hash, index)
    if name.id > frame.largest_id:
        frame.largest_id = name.id
    (<uint32_t*> to.places.data)[to.top] = index
    (<uint32_t*> to.ids.data)[to.top] = name.id
    return outcome


cdef inline Frame* open_container(Assembler* to, int64_t depth, uint32_t place, bint is_object) noexcept nogil:
    """The container at `depth`."""
    cdef Frame* frame = <Frame*> to.frames.data + depth
    frame.start = to.out - to.value.data
    frame.base = to.top
    frame.place = place
    frame.is_object = is_object
    if is_object:
        to.serial += 1
        frame.serial = to.serial
        frame.previous = NOWHERE
        frame.largest_id = 0
        frame.has_duplicates = False
        frame.hash = place
    return frame


cdef inline void push_offset(Assembler* to, Frame* frame) noexcept nogil:
    """Called before each value of a container; after its key, if it has one."""
    (<uint32_t*> to.offsets.data)[to.top] = <uint32_t> (to.out - to.value.data - frame.start)
    to.top += 1


cdef inline void close_array(Assembler* to, Frame* frame) noexcept nogil:
    """Closes an array; needs room for the head, at most 9 bytes and 4 per value."""
    cdef uint8_t* first = to.value.data + frame.start
    cdef int64_t size = to.out - first, count = to.top - frame.base, i
    cdef int offset_size = uint_size(<uint64_t> size)
    cdef int64_t head = array_head_size(count, offset_size)
    cdef uint8_t* out
    cdef const uint32_t* offsets = <const uint32_t*> to.offsets.data + frame.base
    memmove(first + head, first, <size_t> size)
    to.out += head
    out = write_array_header(first, count, offset_size)
    if offset_size == 1:
        for i in range(count):
            out[i] = <uint8_t> offsets[i]
        out += count
    else:
        for i in range(count):
            out = write_uint(out, offsets[i], offset_size)
    write_uint(out, <uint64_t> size, offset_size)
    to.top = frame.base


cdef inline int sort_fields(Assembler* to, Frame* frame, int64_t count) noexcept nogil:
    """Fills to.sortables with the fields of the object by name, and caches the order."""
    cdef Sortable* items
    cdef const uint32_t* places = <const uint32_t*> to.places.data + frame.base
    cdef Name* name
    cdef int64_t i
    if reserve_total(&to.sortables, count * <int64_t> sizeof(Sortable)) != OK:
        return NO_MEMORY
    items = <Sortable*> to.sortables.data
    for i in range(count):
        name = name_of(&to.keys, place_of(&to.keys, places[i]).name)
        items[i].rank = name.rank
        items[i].name = to.keys.bytes.data + name.offset
        items[i].size = name.size
        items[i].position = <uint32_t> i
    sort_names(items, count)
    if frame.has_duplicates:
        return OK
    return keep_order(&to.keys, frame.hash, places, items, count)


cdef inline int64_t drop_duplicates(Assembler* to, Frame* frame, int64_t count) noexcept nogil:
    """Keeps only the last of several fields with one name, and removes the others' values. Returns the number of
    fields left.
    """
    cdef Sortable* items = <Sortable*> to.sortables.data
    cdef uint32_t* offsets = <uint32_t*> to.offsets.data + frame.base
    cdef uint32_t* ids = <uint32_t*> to.ids.data + frame.base
    cdef uint8_t* first = to.value.data + frame.start
    cdef int64_t size = to.out - first, i, kept = 0, old, length, moved = 0
    cdef uint32_t* places = <uint32_t*> to.places.data + frame.base
    # Sorted by name, then position: a field is dropped if the next one has the same name. Its place marks it.
    for i in range(count - 1):
        if ids[items[i].position] == ids[items[i + 1].position]:
            places[items[i].position] = NOWHERE
    for i in range(count):
        old = offsets[i]
        length = (offsets[i + 1] if i + 1 < count else size) - old
        if places[i] != NOWHERE:
            memmove(first + moved, first + old, <size_t> length)
            offsets[i] = <uint32_t> moved
            moved += length
    to.out = first + moved
    for i in range(count):
        if places[items[i].position] != NOWHERE:
            items[kept] = items[i]
            kept += 1
    return kept


cdef inline int close_object(Assembler* to, Frame* frame) noexcept nogil:
    """Closes an object; needs room for the head, at most 9 bytes and 8 per value."""
    cdef uint8_t* first = to.value.data + frame.start
    cdef int64_t size, count = to.top - frame.base, head, i
    cdef const uint32_t* offsets = <const uint32_t*> to.offsets.data + frame.base
    cdef const uint32_t* ids = <const uint32_t*> to.ids.data + frame.base
    cdef const uint32_t* order = NULL
    cdef const Sortable* items
    cdef int id_size, offset_size
    cdef uint8_t* out_ids
    cdef uint8_t* out_offsets
    cdef uint32_t position, zero = 0
    if count == 1:
        order = &zero
    elif count > 1 and not frame.has_duplicates:
        order = known_order(&to.keys, frame.hash, <const uint32_t*> to.places.data + frame.base, count)
    if order == NULL and count:
        if sort_fields(to, frame, count) != OK:
            return NO_MEMORY
        if frame.has_duplicates:
            count = drop_duplicates(to, frame, count)
    size = to.out - first
    id_size = uint_size(frame.largest_id)
    offset_size = uint_size(<uint64_t> size)
    head = object_head_size(count, id_size, offset_size)
    memmove(first + head, first, <size_t> size)
    to.out += head
    out_ids = write_object_header(first, count, id_size, offset_size)
    out_offsets = out_ids + count * id_size
    items = <const Sortable*> to.sortables.data
    if id_size == 1 and offset_size == 1 and order != NULL:
        for i in range(count):
            position = order[i]
            out_ids[i] = <uint8_t> ids[position]
            out_offsets[i] = <uint8_t> offsets[position]
        out_offsets += count
    else:
        for i in range(count):
            position = order[i] if order != NULL else items[i].position
            out_ids = write_uint(out_ids, ids[position], id_size)
            out_offsets = write_uint(out_offsets, offsets[position], offset_size)
    write_uint(out_offsets, <uint64_t> size, offset_size)
    to.top = frame.base
    return OK
