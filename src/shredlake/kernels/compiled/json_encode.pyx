"""Converts JSON text to Variants, row by row and without an intermediate tree (assemble.pxd writes the bytes).

The bytes equal Spark's parse_json. A row either becomes a Variant or leaves only an entry in the list of rejects.
"""

import os

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcpy, memmove, memset

from shredlake.kernels.compiled.assemble cimport (
    KEY_NEW,
    KEY_REPEATED,
    Assembler,
    Frame,
    KeyOutcome,
    add_key,
    close_array,
    close_assembler,
    close_object,
    metadata_size,
    open_container,
    push_offset,
    start_row,
    write_metadata,
)
from shredlake.kernels.compiled.buffers cimport (
    SLACK,
    NO_MEMORY,
    OK,
    Bits,
    Bytes,
    append_bit,
    append_int32,
    append_int64,
    bit_at,
    bits_to_arrow,
    release,
    release_bits,
    reserve,
    reserve_total,
    start,
    start_bits,
    to_arrow,
)
from shredlake.kernels.compiled.json_keys cimport (
    NOWHERE,
    ROOT,
    Keys,
    find_place,
    guess_place,
    intern_name,
    learn,
    name_of,
    open_keys,
    place_of,
)
from shredlake.kernels.compiled.json_text cimport (
    CONTROL,
    DUPLICATE_KEY,
    EXPECTED_COLON,
    EXPECTED_COMMA_OR_BRACE,
    EXPECTED_COMMA_OR_BRACKET,
    EXPECTED_KEY,
    EXPECTED_VALUE,
    FINE,
    NOT_UTF8,
    PADDING,
    TOO_DEEP,
    TOO_LARGE,
    TRAILING,
    UNCLOSED,
    Failure,
    copy_number,
    copy_string,
    fail,
    first_not_utf8,
    is_digit,
    skip_space,
)
from shredlake.kernels.compiled.numbers cimport powers_of_five
from shredlake.kernels.compiled.variant cimport P_FALSE, P_NULL, P_STRING, P_TRUE, SHORT_STRING, write_uint

import pyarrow as pa

from shredlake.variant.json.problems import describe

cdef enum:
    # Text of n bytes becomes at most this many times n bytes of value: "[]" at worst, with 4-byte offsets.
    GROWTH = 6
    LARGEST_BUFFER = 0x7FFFFFFF

cdef struct Encoder:
    Assembler to
    Failure failure
    const uint64_t* powers
    Bytes text              # the row, followed by zeros
    Bytes scratch           # an unescaped key
    int64_t max_depth
    int64_t max_size
    int64_t limit           # position in the output at which the value is too large
    bint last_wins
    int status

# ---------------------------------------------------------------- keys

cdef inline const uint8_t* read_key(Encoder* e, Frame* frame, const uint8_t* p) noexcept nogil:
    """Reads from the quote of a key to after its colon; pushes an entry for the value that follows."""
    cdef const uint8_t* quote = p
    cdef uint32_t index, name
    cdef uint8_t* end
    cdef int64_t size
    cdef Keys* keys = &e.to.keys
    cdef KeyOutcome outcome
    if p[0] != 34:
        return fail(&e.failure, EXPECTED_KEY, p)
    p += 1
    index = guess_place(keys, frame.place, frame.previous, p)
    if index != NOWHERE:
        p += name_of(keys, place_of(keys, index).name).size + 1
    else:
        end = e.scratch.data
        p = copy_string(p, &end, &e.failure)
        if p == NULL:
            e.failure.opening = quote
            return NULL
        size = end - e.scratch.data
        name = intern_name(keys, e.scratch.data, size, p - quote - 2 != size)
        index = find_place(keys, frame.place, name) if name != NOWHERE else NOWHERE
        if index == NOWHERE:
            e.status = NO_MEMORY
            return NULL
        learn(keys, frame.place, frame.previous, index)
    outcome = add_key(&e.to, frame, index)
    if outcome == KEY_REPEATED and not e.last_wins:
        return fail(&e.failure, DUPLICATE_KEY, quote)
    if outcome == KEY_NEW and e.to.dictionary_bytes + e.to.dictionary.size + 9 > e.max_size:
        if metadata_size(&e.to) > e.max_size:
            return fail(&e.failure, TOO_LARGE, p)
    if p[0] != 58:
        p = skip_space(p)
        if p[0] != 58:
            return fail(&e.failure, EXPECTED_COLON, p)
    return p + 1

# ---------------------------------------------------------------- values

cdef inline const uint8_t* read_string(Encoder* e, const uint8_t* p) noexcept nogil:
    """Reads a string; p is at the opening quote."""
    cdef uint8_t* header = e.to.out
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
        e.to.out = end
        return p
    memmove(header + 5, header + 1, <size_t> size)
    header[0] = P_STRING << 2
    write_uint(header + 1, <uint64_t> size, 4)
    e.to.out = end + 4
    return p


cdef extern from *:
    """
    static inline int shredlake_text_is(const unsigned char* p, const char* word, int size) {
        return memcmp(p, word, size) == 0;
    }
    """
    bint text_is_word "shredlake_text_is"(const uint8_t* p, const char* word, int size) noexcept nogil


cdef inline const uint8_t* read_word(Encoder* e, const uint8_t* p) noexcept nogil:
    """Reads true, false or null."""
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
    e.to.out[0] = <uint8_t> (id << 2)
    e.to.out += 1
    return p + size


cdef const uint8_t* read_value(Encoder* e, const uint8_t* p) noexcept nogil:
    """Reads one value with everything in it; returns the position after it, or NULL (failure, or e.status)."""
    cdef int64_t depth = 0              # open containers
    cdef Frame* frame = NULL            # the innermost of them
    cdef uint32_t place
    cdef uint8_t c
    while True:
        # A value, possibly after white space, starts at p.
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
            frame = open_container(&e.to, depth, place, c == 123)
            depth += 1
            p = skip_space(p + 1)
            if p[0] != c + 2:           # } and ] are two after { and [
                if c == 123:
                    p = read_key(e, frame, p)
                    if p == NULL:
                        return NULL
                push_offset(&e.to, frame)
                continue
            # Empty: it is closed below.
        elif is_digit(c) or c == 45:
            p = copy_number(p, &e.to.out, e.powers, &e.failure)
            if p == NULL:
                return NULL
        else:
            p = read_word(e, p)
            if p == NULL:
                return NULL
        # A value has ended at p, or an empty container is about to: close all containers that end here.
        while True:
            if e.to.out - e.to.value.data > e.limit:
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
                push_offset(&e.to, frame)
                break
            if c == 125 and frame.is_object:
                if close_object(&e.to, frame) != OK:
                    e.status = NO_MEMORY
                    return NULL
            elif c == 93 and not frame.is_object:
                close_array(&e.to, frame)
            else:
                return fail(&e.failure, EXPECTED_COMMA_OR_BRACE if frame.is_object else EXPECTED_COMMA_OR_BRACKET, p)
            p += 1
            depth -= 1
            frame = <Frame*> e.to.frames.data + depth - 1

# ---------------------------------------------------------------- rows

cdef int prepare(Encoder* e, const uint8_t* data, int64_t size) noexcept nogil:
    """Reserves all the memory that a row of this size may need, so that no later step has to."""
    cdef Assembler* to = &e.to
    cdef int64_t depth = e.max_depth if e.max_depth < size else size
    cdef int64_t values = size // 2 + depth + 1     # a value takes 2 characters with its comma or bracket
    if start_row(to) < 0:
        return NO_MEMORY
    e.limit = to.value.size + e.max_size
    if (
        reserve_total(&e.text, size + PADDING) != OK
        or reserve_total(&e.scratch, size + PADDING) != OK
        or reserve_total(&to.frames, (depth + 1) * <int64_t> sizeof(Frame)) != OK
        or reserve_total(&to.offsets, 4 * values) != OK
        or reserve_total(&to.places, 4 * values) != OK
        or reserve_total(&to.ids, 4 * values) != OK
        or reserve(&to.dictionary, size + 8) != OK  # a key takes 4 characters with its colon and value
        or reserve(&to.value, GROWTH * size + PADDING) != OK
    ):
        return NO_MEMORY
    to.out = to.value.data + to.value.size
    memcpy(e.text.data, data, <size_t> size)
    memset(e.text.data + size, 0, PADDING)
    return OK


cdef void refine_failure(Encoder* e, const uint8_t* end) noexcept nogil:
    """Corrects a failure by looking at the whole text: it may not be UTF-8, or a string may never end."""
    cdef int64_t damaged = first_not_utf8(e.text.data, end - e.text.data)
    if damaged >= 0:
        fail(&e.failure, NOT_UTF8, e.text.data + damaged)
    elif e.failure.problem == CONTROL and e.failure.at == end:
        fail(&e.failure, UNCLOSED, e.failure.opening)


cdef int encode_row(Encoder* e, const uint8_t* data, int64_t size) noexcept nogil:
    """Appends the row's metadata and value; or leaves both unchanged and sets e.failure or e.status."""
    cdef const uint8_t* p
    cdef const uint8_t* end
    cdef Assembler* to = &e.to
    cdef int64_t metadata_before = to.metadata.size
    e.failure.problem = FINE
    if prepare(e, data, size) != OK:
        e.status = NO_MEMORY
        return NO_MEMORY
    end = e.text.data + size
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
    if write_metadata(to) != OK:
        e.status = NO_MEMORY
        return NO_MEMORY
    if to.metadata.size > LARGEST_BUFFER or to.out - to.value.data > LARGEST_BUFFER:
        to.metadata.size = metadata_before
        to.last_metadata_size = 0
        fail(&e.failure, TOO_LARGE, end)
        return OK
    to.value.size = to.out - to.value.data
    return OK


cdef void close_encoder(Encoder* e) noexcept nogil:
    close_assembler(&e.to)
    release(&e.text)
    release(&e.scratch)


cdef uint64_t SEED = <uint64_t> int.from_bytes(os.urandom(8), "little")


def encode(
    array, bint last_wins, int64_t max_depth, int64_t max_size, bint stop_at_first, variant_type
):
    """(Variant column, rejects) of an array of string, large_string, binary or large_binary.

    `rejects` lists (row, InvalidJson) of the rows that are null because their text is not JSON; with
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
        status = open_keys(&e.to.keys, SEED)
        if status == OK and length:
            first = wide_offsets[0] if wide else narrow_offsets[0]
            size = (wide_offsets[length] if wide else narrow_offsets[length]) - first
            status = reserve(&e.to.value, size + size // 8 + SLACK) or reserve(&e.to.metadata, size // 2)
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
                append_int32(&metadata_offsets, <int32_t> e.to.metadata.size)
                append_int32(&value_offsets, <int32_t> e.to.value.size)
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
                    pa.binary(), length, [None, to_arrow(&metadata_offsets), to_arrow(&e.to.metadata)], null_count=0
                ),
                pa.Array.from_buffers(
                    pa.binary(), length, [bitmap, to_arrow(&value_offsets), to_arrow(&e.to.value)], null_count=nulls
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
