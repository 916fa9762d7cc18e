"""JSON text to Variants, one row after the other, without a tree in between.

Children are written first, at the place where their parent will start; when the parent closes, its head
(ids and offsets, whose sizes are known only now) is pushed in before them:

    {"b":1,"a":[2,3]}      ..b..a..[..2..3         values appended as they are read
                           ..b..a..[head 2 3]      ] closes: the array's head moves in
                           [head b a[head 2 3]]    } closes: the object's head moves in

The bytes equal Spark's parse_json: the dictionary lists keys in the order of their first occurrence, objects
list their fields by name (unsigned UTF-8 bytes), values lie in the order of the text.

A row either becomes a Variant or leaves nothing behind but an entry in the list of rejects.
"""

import os

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcmp, memcpy, memmove, memset

from shredlake.kernels._buffers cimport (
    NO_MEMORY, OK, Bits, Bytes, append, append_bit, append_byte, append_int32, append_int64, bit_at, bits_to_arrow,
    release, release_bits, reserve, start, start_bits, to_arrow,
)
from shredlake.kernels._hash cimport mix
from shredlake.kernels._json_keys cimport (
    NOWHERE, ROOT, Keys, Name, Place, Sortable, close_keys, find_place, forget_if_large, guess_place, intern_name,
    keep_order, known_order, name_of, open_keys, place_of, sort_names,
)
from shredlake.kernels._json_text cimport (
    CONTROL, DUPLICATE_KEY, EXPECTED_COLON, EXPECTED_COMMA_OR_BRACE, EXPECTED_COMMA_OR_BRACKET, EXPECTED_KEY,
    EXPECTED_VALUE, FINE, NOT_UTF8, PADDING, TOO_DEEP, TOO_LARGE, TRAILING, UNCLOSED, Failure, copy_number,
    copy_string, fail, first_not_utf8, is_digit, skip_space,
)
from shredlake.kernels._numbers cimport powers_of_five
from shredlake.kernels._variant cimport (
    P_FALSE, P_NULL, P_STRING, P_TRUE, SHORT_STRING, array_head_size, object_head_size, uint_size, write_array_header,
    write_object_header, write_uint,
)

import pyarrow as pa

from shredlake.kernels.json_problems import describe

cdef enum:
    # Text of n bytes becomes at most this many times n bytes of value: "[]" at worst, with 4-byte offsets.
    GROWTH = 6
    LARGEST_BUFFER = 0x7FFFFFFF

cdef struct Frame:          # a container that is still open
    int64_t start           # where its values start in the output
    int64_t base            # its first entry in the stacks below
    int64_t serial          # of objects, to find duplicate keys
    uint64_t hash           # of the places of its keys so far
    uint32_t place          # of the container itself
    uint32_t previous       # the place of its last key
    uint32_t largest_id
    bint is_object
    bint has_duplicates

cdef struct Encoder:
    Keys keys
    Failure failure
    const uint64_t* powers
    uint8_t* out            # where the next byte of value goes
    Bytes text              # the row, followed by zeros
    Bytes scratch           # an unescaped key
    Bytes frames            # Frame[]
    Bytes offsets           # uint32_t[], of all values in open containers ...
    Bytes places            # ... and of their keys' places
    Bytes ids               # ... and ids
    Bytes sortables
    Bytes dictionary        # uint32_t[]: the names of this row, in order of first occurrence
    Bytes last_dictionary   # and those of the last row
    Bytes metadata
    Bytes value
    int64_t dictionary_bytes
    int64_t last_metadata   # where the last row's metadata starts, and its size
    int64_t last_metadata_size
    int64_t top             # entries in the stacks
    int64_t row
    int64_t serial
    int64_t max_depth
    int64_t max_size
    int64_t limit           # where in the output the value grows too large
    bint last_wins
    int status

# ---------------------------------------------------------------- keys

cdef inline int64_t metadata_size(const Encoder* e) noexcept nogil:
    cdef int64_t count = e.dictionary.size >> 2
    return 1 + (count + 2) * offset_size_of_names(e, count) + e.dictionary_bytes


cdef inline int offset_size_of_names(const Encoder* e, int64_t count) noexcept nogil:
    return uint_size(<uint64_t> (count if count > e.dictionary_bytes else e.dictionary_bytes))


cdef inline const uint8_t* read_key(Encoder* e, Frame* frame, const uint8_t* p) noexcept nogil:
    """From the quote of a key to behind its colon; pushes an entry for the value that follows."""
    cdef const uint8_t* quote = p
    cdef uint32_t index, name_index
    cdef Place* place
    cdef Name* name
    cdef uint8_t* end
    cdef int64_t size
    if p[0] != 34:
        return fail(&e.failure, EXPECTED_KEY, p)
    p += 1
    index = guess_place(&e.keys, frame.place, frame.previous, p)
    if index != NOWHERE:
        place = place_of(&e.keys, index)
        name = name_of(&e.keys, place.name)
        p += name.size + 1
    else:
        end = e.scratch.data
        p = copy_string(p, &end, &e.failure)
        if p == NULL:
            e.failure.opening = quote
            return NULL
        size = end - e.scratch.data
        name_index = intern_name(&e.keys, e.scratch.data, size, p - quote - 2 != size)
        if name_index == NOWHERE:
            e.status = NO_MEMORY
            return NULL
        index = find_place(&e.keys, frame.place, name_index)
        if index == NOWHERE:
            e.status = NO_MEMORY
            return NULL
        if frame.previous == NOWHERE:
            place_of(&e.keys, frame.place).first = index
        else:
            place_of(&e.keys, frame.previous).next = index
        place = place_of(&e.keys, index)
        name = name_of(&e.keys, place.name)
    if place.object == frame.serial:
        if not e.last_wins:
            return fail(&e.failure, DUPLICATE_KEY, quote)
        frame.has_duplicates = True
    place.object = frame.serial
    if name.row != e.row:
        name.row = e.row
        name.id = <uint32_t> (e.dictionary.size >> 2)
        (<uint32_t*> (e.dictionary.data + e.dictionary.size))[0] = place.name
        e.dictionary.size += 4
        e.dictionary_bytes += name.size
        if e.dictionary_bytes + e.dictionary.size + 9 > e.max_size and metadata_size(e) > e.max_size:
            return fail(&e.failure, TOO_LARGE, p)
    frame.previous = index
    frame.hash = mix(frame.hash, index)
    if name.id > frame.largest_id:
        frame.largest_id = name.id
    (<uint32_t*> e.places.data)[e.top] = index
    (<uint32_t*> e.ids.data)[e.top] = name.id
    if p[0] != 58:
        p = skip_space(p)
        if p[0] != 58:
            return fail(&e.failure, EXPECTED_COLON, p)
    return p + 1

# ---------------------------------------------------------------- containers

cdef inline Frame* open_container(Encoder* e, int64_t depth, uint32_t place, bint is_object) noexcept nogil:
    cdef Frame* frame = <Frame*> e.frames.data + depth
    frame.start = e.out - e.value.data
    frame.base = e.top
    frame.place = place
    frame.is_object = is_object
    if is_object:
        e.serial += 1
        frame.serial = e.serial
        frame.previous = NOWHERE
        frame.largest_id = 0
        frame.has_duplicates = False
        frame.hash = place
    return frame


cdef inline void push_offset(Encoder* e, Frame* frame) noexcept nogil:
    (<uint32_t*> e.offsets.data)[e.top] = <uint32_t> (e.out - e.value.data - frame.start)
    e.top += 1


cdef inline void close_array(Encoder* e, Frame* frame) noexcept nogil:
    cdef uint8_t* first = e.value.data + frame.start
    cdef int64_t size = e.out - first, count = e.top - frame.base, i
    cdef int offset_size = uint_size(<uint64_t> size)
    cdef int64_t head = array_head_size(count, offset_size)
    cdef uint8_t* out
    cdef const uint32_t* offsets = <const uint32_t*> e.offsets.data + frame.base
    memmove(first + head, first, <size_t> size)
    e.out += head
    out = write_array_header(first, count, offset_size)
    if offset_size == 1:
        for i in range(count):
            out[i] = <uint8_t> offsets[i]
        out += count
    else:
        for i in range(count):
            out = write_uint(out, offsets[i], offset_size)
    write_uint(out, <uint64_t> size, offset_size)
    e.top = frame.base


cdef int sort_fields(Encoder* e, Frame* frame, int64_t count) noexcept nogil:
    """Fills e.sortables with the fields of the object by name, and remembers the order."""
    cdef Sortable* items
    cdef const uint32_t* places = <const uint32_t*> e.places.data + frame.base
    cdef Name* name
    cdef int64_t i
    if reserve(&e.sortables, count * <int64_t> sizeof(Sortable)) != OK:
        return NO_MEMORY
    items = <Sortable*> e.sortables.data
    for i in range(count):
        name = name_of(&e.keys, place_of(&e.keys, places[i]).name)
        items[i].rank = name.rank
        items[i].name = e.keys.bytes.data + name.offset
        items[i].size = name.size
        items[i].position = <uint32_t> i
    sort_names(items, count)
    if frame.has_duplicates:
        return OK
    return keep_order(&e.keys, frame.hash, places, items, count)


cdef int64_t drop_duplicates(Encoder* e, Frame* frame, int64_t count) noexcept nogil:
    """Keeps the last of fields with one name: moves the others' values out. Returns how many fields are left."""
    cdef Sortable* items = <Sortable*> e.sortables.data
    cdef uint32_t* offsets = <uint32_t*> e.offsets.data + frame.base
    cdef uint32_t* ids = <uint32_t*> e.ids.data + frame.base
    cdef uint8_t* first = e.value.data + frame.start
    cdef int64_t size = e.out - first, i, kept = 0, old, length, moved = 0
    cdef uint32_t* places = <uint32_t*> e.places.data + frame.base
    # Sorted by name, then position: a field followed by one of the same name goes. Marked by its place.
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
    e.out = first + moved
    for i in range(count):
        if places[items[i].position] != NOWHERE:
            items[kept] = items[i]
            kept += 1
    return kept


cdef inline int close_object(Encoder* e, Frame* frame) noexcept nogil:
    cdef uint8_t* first = e.value.data + frame.start
    cdef int64_t size, count = e.top - frame.base, head, i
    cdef const uint32_t* offsets = <const uint32_t*> e.offsets.data + frame.base
    cdef const uint32_t* ids = <const uint32_t*> e.ids.data + frame.base
    cdef const uint32_t* order = NULL
    cdef const Sortable* items
    cdef int id_size, offset_size
    cdef uint8_t* out_ids
    cdef uint8_t* out_offsets
    cdef uint32_t position
    if count == 1:
        order = &ZERO
    elif count > 1 and not frame.has_duplicates:
        order = known_order(&e.keys, frame.hash, <const uint32_t*> e.places.data + frame.base, count)
    if order == NULL and count:
        if sort_fields(e, frame, count) != OK:
            return NO_MEMORY
        if frame.has_duplicates:
            count = drop_duplicates(e, frame, count)
    size = e.out - first
    id_size = uint_size(frame.largest_id)
    offset_size = uint_size(<uint64_t> size)
    head = object_head_size(count, id_size, offset_size)
    memmove(first + head, first, <size_t> size)
    e.out += head
    out_ids = write_object_header(first, count, id_size, offset_size)
    out_offsets = out_ids + count * id_size
    items = <const Sortable*> e.sortables.data
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
    e.top = frame.base
    return OK

cdef uint32_t ZERO = 0

# ---------------------------------------------------------------- values

cdef inline const uint8_t* read_string(Encoder* e, const uint8_t* p) noexcept nogil:
    """p is at the opening quote."""
    cdef uint8_t* header = e.out
    cdef uint8_t* end = header + 1
    cdef int64_t size
    cdef const uint8_t* quote = p
    p = copy_string(p + 1, &end, &e.failure)
    if p == NULL:
        e.failure.opening = quote
        return NULL
    size = end - header - 1
    if size < 64:
        header[0] = <uint8_t> ((size << 2) | SHORT_STRING)
        e.out = end
        return p
    memmove(header + 5, header + 1, <size_t> size)
    header[0] = P_STRING << 2
    write_uint(header + 1, <uint64_t> size, 4)
    e.out = end + 4
    return p


cdef extern from *:
    """
    static inline int shredlake_text_is(const unsigned char* p, const char* word, int size) {
        return memcmp(p, word, size) == 0;
    }
    """
    bint text_is_word "shredlake_text_is"(const uint8_t* p, const char* word, int size) noexcept nogil


cdef inline const uint8_t* read_word(Encoder* e, const uint8_t* p) noexcept nogil:
    """true, false or null."""
    cdef int id, size = 4
    if text_is_word(p, b"true", 4):
        id = P_TRUE
    elif text_is_word(p, b"null", 4):
        id = P_NULL
    elif text_is_word(p, b"false", 5):
        id = P_FALSE
        size = 5
    else:
        return fail(&e.failure, EXPECTED_VALUE, p)
    e.out[0] = <uint8_t> (id << 2)
    e.out += 1
    return p + size


cdef const uint8_t* read_value(Encoder* e, const uint8_t* p) noexcept nogil:
    """One value with all that it contains; returns the position behind it, or NULL (failure, or e.status)."""
    cdef int64_t depth = 0              # open containers
    cdef Frame* frame = NULL            # the innermost of them
    cdef uint32_t place
    cdef uint8_t c
    while True:
        # A value starts at p, or white space before it.
        c = p[0]
        if c <= 32:
            p = skip_space(p)
            c = p[0]
        if c == 34:                     # quote
            p = read_string(e, p)
            if p == NULL:
                return NULL
        elif c == 123 or c == 91:       # { [
            if depth >= e.max_depth:
                return fail(&e.failure, TOO_DEEP, p)
            if frame == NULL:
                place = ROOT
            else:
                place = frame.previous if frame.is_object else frame.place
            frame = open_container(e, depth, place, c == 123)
            depth += 1
            p = skip_space(p + 1)
            if p[0] != c + 2:           # } and ] are two after { and [
                if c == 123:
                    p = read_key(e, frame, p)
                    if p == NULL:
                        return NULL
                push_offset(e, frame)
                continue
            # Empty: closed below.
        elif is_digit(c) or c == 45:
            p = copy_number(p, &e.out, e.powers, &e.failure)
            if p == NULL:
                return NULL
        else:
            p = read_word(e, p)
            if p == NULL:
                return NULL
        # A value has ended at p, or an empty container is about to: close what closes.
        while True:
            if e.out - e.value.data > e.limit:
                return fail(&e.failure, TOO_LARGE, p)
            if depth == 0:
                return p
            if p[0] <= 32:
                p = skip_space(p)
            c = p[0]
            if c == 44:                 # comma
                p += 1
                if frame.is_object:
                    if p[0] <= 32:
                        p = skip_space(p)
                    p = read_key(e, frame, p)
                    if p == NULL:
                        return NULL
                push_offset(e, frame)
                break
            if c == 125 and frame.is_object:
                if close_object(e, frame) != OK:
                    e.status = NO_MEMORY
                    return NULL
            elif c == 93 and not frame.is_object:
                close_array(e, frame)
            else:
                return fail(&e.failure, EXPECTED_COMMA_OR_BRACE if frame.is_object else EXPECTED_COMMA_OR_BRACKET, p)
            p += 1
            depth -= 1
            frame = <Frame*> e.frames.data + depth - 1

# ---------------------------------------------------------------- rows

cdef int write_metadata(Encoder* e) noexcept nogil:
    """The row's dictionary; copied as a whole if it equals the last row's."""
    cdef int64_t count = e.dictionary.size >> 2, at = e.metadata.size, i, offset = 0
    cdef int size
    cdef uint8_t* out
    cdef uint8_t* names
    cdef const uint32_t* indices = <const uint32_t*> e.dictionary.data
    cdef Name* name
    cdef Bytes swap
    if (
        e.last_metadata_size
        and e.dictionary.size == e.last_dictionary.size
        and memcmp(e.dictionary.data, e.last_dictionary.data, <size_t> e.dictionary.size) == 0
    ):
        if reserve(&e.metadata, e.last_metadata_size) != OK:
            return NO_MEMORY
        memcpy(e.metadata.data + at, e.metadata.data + e.last_metadata, <size_t> e.last_metadata_size)
        e.metadata.size += e.last_metadata_size
        e.last_metadata = at
        return OK
    size = offset_size_of_names(e, count)
    if reserve(&e.metadata, metadata_size(e)) != OK:
        return NO_MEMORY
    out = e.metadata.data + at
    out[0] = <uint8_t> (1 | ((size - 1) << 6))
    out = write_uint(out + 1, <uint64_t> count, size)
    names = out + (count + 1) * size
    for i in range(count):
        name = name_of(&e.keys, indices[i])
        out = write_uint(out, <uint64_t> offset, size)
        memcpy(names + offset, e.keys.bytes.data + name.offset, name.size)
        offset += name.size
    write_uint(out, <uint64_t> offset, size)
    e.metadata.size = names + offset - e.metadata.data
    e.last_metadata = at
    e.last_metadata_size = e.metadata.size - at
    swap = e.last_dictionary
    e.last_dictionary = e.dictionary
    e.dictionary = swap
    return OK


cdef int prepare(Encoder* e, const uint8_t* data, int64_t size) noexcept nogil:
    """All the room that a row of this size can need, so that nothing below has to ask."""
    cdef int64_t depth = e.max_depth if e.max_depth < size else size
    cdef int64_t values = size // 2 + depth + 1     # a value takes 2 characters with its comma or bracket
    if forget_if_large(&e.keys):
        if open_keys(&e.keys, SEED) != OK:
            return NO_MEMORY
        e.last_metadata_size = 0                    # its names have other numbers now
    e.text.size = e.scratch.size = e.frames.size = e.offsets.size = e.places.size = e.ids.size = 0
    e.dictionary.size = 0
    e.dictionary_bytes = 0
    e.limit = e.value.size + e.max_size
    if (
        reserve(&e.text, size + PADDING) != OK
        or reserve(&e.scratch, size + PADDING) != OK
        or reserve(&e.frames, (depth + 1) * <int64_t> sizeof(Frame)) != OK
        or reserve(&e.offsets, 4 * values) != OK
        or reserve(&e.places, 4 * values) != OK
        or reserve(&e.ids, 4 * values) != OK
        or reserve(&e.dictionary, size + 8) != OK   # a key takes 4 characters with its colon and value
        or reserve(&e.value, GROWTH * size + PADDING) != OK
    ):
        return NO_MEMORY
    memcpy(e.text.data, data, <size_t> size)
    memset(e.text.data + size, 0, PADDING)
    return OK


cdef void refine_failure(Encoder* e, const uint8_t* end) noexcept nogil:
    """What only the whole text tells: that it is not UTF-8 in the first place, or that a string never ends."""
    cdef int64_t damaged = first_not_utf8(e.text.data, end - e.text.data)
    if damaged >= 0:
        fail(&e.failure, NOT_UTF8, e.text.data + damaged)
    elif e.failure.problem == CONTROL and e.failure.at == end:
        fail(&e.failure, UNCLOSED, e.failure.opening)


cdef int encode_row(Encoder* e, const uint8_t* data, int64_t size) noexcept nogil:
    """Appends the row's metadata and value; or leaves both alone and says why in e.failure, or e.status."""
    cdef const uint8_t* p
    cdef const uint8_t* end
    cdef int64_t metadata_before = e.metadata.size
    e.failure.problem = FINE
    if prepare(e, data, size) != OK:
        e.status = NO_MEMORY
        return NO_MEMORY
    end = e.text.data + size
    e.out = e.value.data + e.value.size
    e.top = 0
    e.row += 1
    p = read_value(e, e.text.data)
    if p != NULL:
        p = skip_space(p)
        if p != end:
            fail(&e.failure, TRAILING, p)
    if e.status != OK:
        return e.status
    if e.failure.problem != FINE:
        refine_failure(e, end)
        return OK
    if write_metadata(e) != OK:
        e.status = NO_MEMORY
        return NO_MEMORY
    if e.metadata.size > LARGEST_BUFFER or e.out - e.value.data > LARGEST_BUFFER:
        e.metadata.size = metadata_before
        e.last_metadata_size = 0
        fail(&e.failure, TOO_LARGE, end)
        return OK
    e.value.size = e.out - e.value.data
    return OK


cdef void close_encoder(Encoder* e) noexcept nogil:
    close_keys(&e.keys)
    release(&e.text)
    release(&e.scratch)
    release(&e.frames)
    release(&e.offsets)
    release(&e.places)
    release(&e.ids)
    release(&e.sortables)
    release(&e.dictionary)
    release(&e.last_dictionary)
    release(&e.metadata)
    release(&e.value)


cdef uint64_t SEED = <uint64_t> int.from_bytes(os.urandom(8), "little")


def encode(
    array, bint last_wins, int64_t max_depth, int64_t max_size, bint stop_at_first, variant_type
):
    """(Variant column, rejects) of an array of string, large_string, binary or large_binary.

    `rejects` lists (row, InvalidJson) of the rows that are null because their text is no JSON; with
    `stop_at_first` the first such row ends the work and the column is None.
    """
    cdef bint wide = array.type in (pa.large_string(), pa.large_binary())
    cdef int64_t length = len(array), skipped = array.offset, row, first, size
    validity_buffer, offsets_buffer, data_buffer = array.buffers()
    cdef const uint8_t* validity = NULL
    cdef const int32_t* narrow_offsets = NULL
    cdef const int64_t* wide_offsets = NULL
    cdef const uint8_t* data = NULL
    cdef Encoder e
    cdef Bytes metadata_offsets, value_offsets, rejects
    cdef Bits valid
    cdef int status = OK
    if validity_buffer is not None and array.null_count:
        validity = <const uint8_t*> <uintptr_t> validity_buffer.address
    if data_buffer is not None:
        data = <const uint8_t*> <uintptr_t> data_buffer.address
    if length and wide:
        wide_offsets = <const int64_t*> <uintptr_t> offsets_buffer.address + skipped
    elif length:
        narrow_offsets = <const int32_t*> <uintptr_t> offsets_buffer.address + skipped
    memset(&e, 0, sizeof(Encoder))
    e.powers = powers_of_five()
    e.max_depth = max_depth
    e.max_size = max_size if max_size < LARGEST_BUFFER else LARGEST_BUFFER
    e.last_wins = last_wins
    start(&metadata_offsets)
    start(&value_offsets)
    start(&rejects)
    start_bits(&valid)
    with nogil:
        status = open_keys(&e.keys, SEED)
        if status == OK and length:
            first = wide_offsets[0] if wide else narrow_offsets[0]
            size = (wide_offsets[length] if wide else narrow_offsets[length]) - first
            status = reserve(&e.value, size) or reserve(&e.metadata, size // 2)
        if status == OK:
            status = reserve(&metadata_offsets, 4 * (length + 1)) or reserve(&value_offsets, 4 * (length + 1))
        if status == OK:
            append_int32(&metadata_offsets, 0)
            append_int32(&value_offsets, 0)
            for row in range(length):
                if bit_at(validity, skipped + row):
                    if wide:
                        first = wide_offsets[row]
                        size = wide_offsets[row + 1] - first
                    else:
                        first = narrow_offsets[row]
                        size = narrow_offsets[row + 1] - first
                    status = encode_row(&e, data + first, size)
                    if status != OK:
                        break
                    if e.failure.problem != FINE:
                        status = (
                            append_int64(&rejects, row)
                            or append_int64(&rejects, e.failure.at - e.text.data)
                            or append_int64(&rejects, e.failure.problem)
                        )
                        if status != OK or stop_at_first:
                            break
                    status = append_bit(&valid, e.failure.problem == FINE)
                else:
                    status = append_bit(&valid, False)
                if status != OK:
                    break
                append_int32(&metadata_offsets, <int32_t> e.metadata.size)
                append_int32(&value_offsets, <int32_t> e.value.size)
    try:
        if status != OK:
            raise MemoryError("out of memory while parsing JSON")
        problems = _described(array, &rejects, max_depth, max_size)
        if stop_at_first and problems:
            return None, problems
        nulls = valid.unset
        bitmap = bits_to_arrow(&valid)
        return pa.Array.from_buffers(
            variant_type,
            length,
            [bitmap],
            null_count=nulls,
            children=[
                pa.Array.from_buffers(
                    pa.binary(), length, [None, to_arrow(&metadata_offsets), to_arrow(&e.metadata)], null_count=0
                ),
                pa.Array.from_buffers(
                    pa.binary(), length, [bitmap, to_arrow(&value_offsets), to_arrow(&e.value)], null_count=nulls
                ),
            ],
        ), problems
    finally:
        close_encoder(&e)
        release(&metadata_offsets)
        release(&value_offsets)
        release(&rejects)
        release_bits(&valid)


cdef list _described(array, Bytes* rejects, int64_t max_depth, int64_t max_size):
    cdef const int64_t* numbers = <const int64_t*> rejects.data
    cdef int64_t i
    found = []
    for i in range(rejects.size // 24):
        text = array[numbers[3 * i]].as_buffer().to_pybytes()
        error = describe(numbers[3 * i + 2], text, numbers[3 * i + 1], max_depth=max_depth, max_size=max_size)
        found.append((numbers[3 * i], error))
    return found
