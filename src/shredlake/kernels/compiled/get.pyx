"""Follows a path in every row of a column of Variants and casts the values straight into Arrow buffers.

    metadata, value ──▶ step, step, ... ──▶ cast ──▶ values, validity      rows that were found and cast
                                              └────▶ deferred              rows for casts/table.py

Rows resemble each other: each step caches the index at which it last found its name in an object, and tries that index
first. Only if another name is there are the object's names searched. A name that a row's dictionary, or an object with
that dictionary, lacks is not searched again while they stay the same.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from shredlake.kernels.compiled.buffers cimport (
    NO_MEMORY,
    OK,
    Bytes,
    append,
    append_int64,
    append_zeros,
    bit_at,
    release,
    reserve,
    start,
    to_arrow,
)
from shredlake.kernels.compiled.cast cimport (
    CAST,
    DAY,
    DEFERRED,
    FAILED,
    K_ARRAY,
    K_OBJECT,
    NOTHING,
    kind_of,
    other,
    to_bool,
    to_decimal,
    to_double,
    to_float,
    to_int,
)
from shredlake.kernels.compiled.cast_time cimport to_date, to_timestamp
from shredlake.kernels.compiled.cast_text cimport append_container, append_scalar
from shredlake.kernels.compiled.numbers cimport powers_of_ten
from shredlake.kernels.compiled.utf8 cimport is_utf8
from shredlake.kernels.compiled.variant cimport (
    ARRAY,
    MALFORMED,
    NOT_FOUND,
    OBJECT,
    P_BINARY,
    P_INT8,
    P_NULL,
    P_STRING,
    P_TIME,
    P_TIMESTAMP_NANOS,
    P_TIMESTAMP_NTZ_NANOS,
    P_UUID,
    UNKNOWN_TYPE,
    ArrayView,
    Dictionary,
    ObjectView,
    Slice,
    element_at,
    field_at,
    id_at,
    int128_t,
    may_hold_name,
    name_at,
    parse_array,
    parse_metadata,
    parse_object,
    read_int64,
    same_bytes,
    same_dictionary,
    same_ids,
    scan_for_field,
    search_for_field,
    string_at,
    value_size,
)
from shredlake.kernels.compiled.walk cimport Walk, close_walk, open_walk

import os

import pyarrow as pa

from shredlake.errors import MalformedVariant
from shredlake.kernels.arrow.buffers import address, size_of
from shredlake.kernels.arrow.types import typed_value_type
from shredlake.variant.types import VariantType

cdef extern from *:
    void prefetch "__builtin_prefetch" (const void* address) nogil

cdef enum:
    AHEAD = 4               # rows
    FEW = 4                 # fields below which a linear search is faster

cdef enum TargetKind:
    T_VARIANT
    T_BOOL
    T_INT
    T_FLOAT
    T_DOUBLE
    T_DECIMAL
    T_STRING
    T_BINARY
    T_DATE
    T_TIMESTAMP
    T_TIMESTAMP_NTZ
    T_SAME                  # only the type itself is cast here: time, uuid, nanoseconds

TARGETS = {
    VariantType.BOOLEAN: (T_BOOL, 0),
    VariantType.INT8: (T_INT, 1),
    VariantType.INT16: (T_INT, 2),
    VariantType.INT32: (T_INT, 4),
    VariantType.INT64: (T_INT, 8),
    VariantType.FLOAT: (T_FLOAT, 4),
    VariantType.DOUBLE: (T_DOUBLE, 8),
    VariantType.DECIMAL4: (T_DECIMAL, 16),
    VariantType.DECIMAL8: (T_DECIMAL, 16),
    VariantType.DECIMAL16: (T_DECIMAL, 16),
    VariantType.STRING: (T_STRING, 0),
    VariantType.BINARY: (T_BINARY, 0),
    VariantType.DATE: (T_DATE, 4),
    VariantType.TIMESTAMP: (T_TIMESTAMP, 8),
    VariantType.TIMESTAMP_NTZ: (T_TIMESTAMP_NTZ, 8),
    VariantType.TIME: (T_SAME, 8),
    VariantType.TIMESTAMP_NANOS: (T_SAME, 8),
    VariantType.TIMESTAMP_NTZ_NANOS: (T_SAME, 8),
    VariantType.UUID: (T_SAME, 16),
}
SAME_IDS = {
    VariantType.TIME: P_TIME,
    VariantType.TIMESTAMP_NANOS: P_TIMESTAMP_NANOS,
    VariantType.TIMESTAMP_NTZ_NANOS: P_TIMESTAMP_NTZ_NANOS,
    VariantType.UUID: P_UUID,
}

cdef uint64_t SEED = <uint64_t> int.from_bytes(os.urandom(8), "little")

cdef struct Step:
    const uint8_t* name     # NULL for a step into an array
    int64_t size            # of the name, or the index
    int64_t place           # the last index of the name in an object
    Dictionary without      # the dictionary of the row that last lacked the name; offsets NULL: none
    bint unnamed            # whether that dictionary lacks it
    ObjectView lacking      # otherwise the object that lacked it

cdef struct Input:
    const uint8_t* validity
    int64_t first           # the index of row 0 in validity and offsets
    const int32_t* offsets
    const uint8_t* data
    int64_t size

cdef struct Job:
    Input metadata
    Input value
    const uint8_t* rows_validity    # bits from 0, NULL: all
    int64_t rows
    Step* steps
    int step_count
    int target
    int width               # bytes of a value, 0 for bits and for values of any length
    int precision
    int scale
    int same_id
    bint utc
    bint keep_failed        # whether values that do not cast are deferred, so that the reference raises
    bint any_bytes          # strings need not be UTF-8
    bint old_java           # floats and doubles are printed with the digits of Java before 19
    int status
    Bytes values            # or the offsets of variable-length values
    Bytes data
    Bytes valid
    int64_t valid_count
    Bytes deferred
    Walk walk               # scratch, for the text of objects and arrays
    const uint64_t* powers

# ---------------------------------------------------------------- following the path

cdef extern from *:
    bint unlikely(bint) noexcept nogil  # of the compiler, through Cython


cdef int slice_of(const Input* input, int64_t row, Slice* out) noexcept nogil:
    cdef int64_t first = input.offsets[input.first + row], last = input.offsets[input.first + row + 1]
    if first < 0 or first > last or last > input.size:
        return MALFORMED
    out.data = input.data + first
    out.size = last - first
    return OK


cdef inline bint lacks_again(const Dictionary* dictionary, const ObjectView* view, const Step* step) noexcept nogil:
    """Whether the name is missing because the fields are those of the row that last lacked it."""
    if step.without.offsets == NULL or not same_dictionary(dictionary, &step.without):
        return False
    return step.unnamed or same_ids(view, &step.lacking)


cdef int64_t find_field(const Dictionary* dictionary, const ObjectView* view, Step* step) noexcept nogil:
    """Index of the field of a step, NOT_FOUND, or MALFORMED."""
    cdef int64_t index
    if view.count <= FEW:
        return scan_for_field(dictionary, view, step.name, step.size)
    if lacks_again(dictionary, view, step):
        return NOT_FOUND
    index = search_for_field(dictionary, view, step.name, step.size)
    if index != NOT_FOUND:
        return index
    step.unnamed = not may_hold_name(dictionary, step.name, step.size)
    if not step.unnamed:
        index = scan_for_field(dictionary, view, step.name, step.size)
    if index == NOT_FOUND:
        step.without = dictionary[0]
        step.lacking = view[0]
    return index


cdef int into_object(const Dictionary* dictionary, Step* step, const uint8_t** p, const uint8_t** end) noexcept nogil:
    cdef ObjectView view
    cdef Slice name
    cdef int64_t index = step.place
    if parse_object(p[0], end[0], &view) != 0:
        return MALFORMED
    if unlikely(index >= view.count or name_at(dictionary, id_at(&view, index), &name) != 0 or not same_bytes(
        &name, step.name, step.size
    )):
        index = find_field(dictionary, &view, step)
        if index < 0:
            return <int> index
        step.place = index
    end[0] = view.end
    return field_at(&view, index, p)


cdef int into_array(const Step* step, const uint8_t** p, const uint8_t** end) noexcept nogil:
    cdef ArrayView view
    cdef Slice element
    if parse_array(p[0], end[0], &view) != 0:
        return MALFORMED
    if step.size >= view.count:
        return NOT_FOUND
    if element_at(&view, step.size, &element) != 0:
        return MALFORMED
    p[0] = element.data
    end[0] = element.data + element.size
    return OK


cdef int follow(Job* job, int64_t row, const uint8_t** p, const uint8_t** end) noexcept nogil:
    """OK and the value at the path (it starts at p, and its parent ends at end); NOT_FOUND or MALFORMED."""
    cdef Slice value, metadata
    cdef Dictionary dictionary
    cdef bint read_metadata = False
    cdef int i, status
    if slice_of(&job.value, row, &value) != OK:
        return MALFORMED
    p[0] = value.data
    end[0] = value.data + value.size
    for i in range(job.step_count):
        if p[0] >= end[0]:
            return MALFORMED
        if job.steps[i].name == NULL:
            status = into_array(&job.steps[i], p, end) if p[0][0] & 3 == ARRAY else NOT_FOUND
        elif p[0][0] & 3 != OBJECT:
            status = NOT_FOUND
        else:
            if not read_metadata:
                read_metadata = True
                if slice_of(&job.metadata, row, &metadata) != OK:
                    return MALFORMED
                if parse_metadata(metadata.data, metadata.size, &dictionary) != 0:
                    return MALFORMED
            status = into_object(&dictionary, &job.steps[i], p, end)
        if status != OK:
            return status
    return OK

# ---------------------------------------------------------------- casting

cdef inline bint is_sized(int target) noexcept nogil:
    """Whether values have variable length, and thus offsets."""
    return target == T_VARIANT or target == T_STRING or target == T_BINARY


cdef int cast_fixed(Job* job, const uint8_t* p, const uint8_t* end, uint8_t* out) noexcept nogil:
    """Casts to fixed-width values, written at out."""
    cdef int64_t whole = 0
    cdef double number = 0
    cdef float single = 0
    cdef int32_t days = 0
    cdef int128_t unscaled = 0
    cdef int outcome, kind
    if job.target == T_INT:
        outcome = to_int(p, end, job.width, &whole)
        memcpy(out, &whole, job.width)      # little-endian: the low bytes come first
    elif job.target == T_DOUBLE:
        outcome = to_double(p, end, &number)
        memcpy(out, &number, 8)
    elif job.target == T_FLOAT:
        outcome = to_float(p, end, &single)
        memcpy(out, &single, 4)
    elif job.target == T_DECIMAL:
        outcome = to_decimal(p, end, job.precision, job.scale, &unscaled)
        memcpy(out, &unscaled, 16)
    elif job.target == T_DATE:
        outcome = to_date(p, end, job.utc, &days)
        memcpy(out, &days, 4)
    elif job.target == T_SAME:
        kind = kind_of(p, end)
        if kind == job.same_id:
            if kind == P_TIME and not 0 <= read_int64(p + 1) < DAY:
                return MALFORMED
            memcpy(out, p + 1, job.width)
            return CAST
        # A number, a string or a local time may cast; the table decides.
        return other(kind) if kind < P_INT8 or kind == K_OBJECT or kind == K_ARRAY else DEFERRED
    else:
        outcome = to_timestamp(p, end, job.target == T_TIMESTAMP, job.utc, &whole)
        memcpy(out, &whole, 8)
    return outcome


cdef int cast_text(Job* job, int64_t row, const uint8_t* p, const uint8_t* end) noexcept nogil:
    """Casts to strings and binaries, appended to the data; may return NO_MEMORY."""
    cdef int kind = kind_of(p, end)
    cdef Slice text
    if kind == P_STRING or kind == P_BINARY:
        if string_at(p, end, &text) != 0:
            return MALFORMED
        if job.target == T_STRING and not is_utf8(text.data, text.size):
            if kind == P_STRING:
                return MALFORMED
            if not job.any_bytes:
                return FAILED
        return append(&job.data, text.data, text.size)
    if job.target == T_BINARY:
        return other(kind)
    if kind == K_OBJECT or kind == K_ARRAY:
        return container_text(job, row, p, end)
    if kind <= P_NULL:
        return other(kind)
    return append_scalar(&job.data, p, end, job.powers, job.utc, job.old_java, False)


cdef int container_text(Job* job, int64_t row, const uint8_t* p, const uint8_t* end) noexcept nogil:
    cdef Slice metadata
    cdef Dictionary dictionary
    cdef int64_t size = value_size(p, end), before = job.data.size
    if size < 0 or slice_of(&job.metadata, row, &metadata) != OK:
        return MALFORMED
    if parse_metadata(metadata.data, metadata.size, &dictionary) != 0:
        return MALFORMED
    cdef int outcome = append_container(
        &job.data, &job.walk, &dictionary, p, size, job.powers, job.utc, job.old_java
    )
    if outcome != CAST:
        job.data.size = before
    return outcome


cdef int copy_value(Job* job, const uint8_t* p, const uint8_t* end) noexcept nogil:
    """Extracts the Variant itself."""
    cdef int64_t size = value_size(p, end)
    if size == UNKNOWN_TYPE:
        return DEFERRED         # a newer type, whose extent only its parent knows: the reference finds it
    if size < 0:
        return MALFORMED
    return append(&job.data, p, size)


cdef inline void set_bit(uint8_t* bitmap, int64_t index) noexcept nogil:
    bitmap[index >> 3] |= <uint8_t> (1 << (index & 7))


cdef inline void fetch_row(const Input* input, int64_t row) noexcept nogil:
    """Prefetches the start of a row's bytes: a lookup reads little of each row, and would wait for all of it."""
    cdef const uint8_t* start = input.data + input.offsets[input.first + row]
    prefetch(start)
    prefetch(start + 64)


cdef int cast_row(Job* job, int64_t row) noexcept nogil:
    cdef const uint8_t* p
    cdef const uint8_t* end
    cdef bint truth = False
    cdef int outcome
    if not bit_at(job.rows_validity, row) or not bit_at(job.value.validity, job.value.first + row):
        return NOTHING
    outcome = follow(job, row, &p, &end)
    if outcome != OK:
        if outcome == NOT_FOUND:
            return NOTHING
        return outcome
    if job.target == T_VARIANT:
        return copy_value(job, p, end)
    if job.target == T_STRING or job.target == T_BINARY:
        return cast_text(job, row, p, end)
    if job.target == T_BOOL:
        outcome = to_bool(p, end, &truth)
        if outcome == CAST and truth:
            set_bit(job.values.data, row)
        return outcome
    return cast_fixed(job, p, end, job.values.data + row * job.width)


cdef int64_t cast_rows(Job* job) noexcept nogil:
    """-1, or the row that stopped it, with MALFORMED or NO_MEMORY in job.status."""
    cdef int64_t row
    cdef int32_t* offsets = NULL
    cdef int outcome
    if is_sized(job.target):
        offsets = <int32_t*> job.values.data
    for row in range(job.rows):
        if row + AHEAD < job.rows:
            fetch_row(&job.metadata, row + AHEAD)
            fetch_row(&job.value, row + AHEAD)
        outcome = cast_row(job, row)
        if outcome == CAST:
            set_bit(job.valid.data, row)
            job.valid_count += 1
        elif outcome == DEFERRED or (outcome == FAILED and job.keep_failed):
            if append_int64(&job.deferred, row) != OK:
                outcome = NO_MEMORY
        if outcome < 0:
            job.status = outcome
            return row
        if offsets != NULL:
            offsets[row + 1] = <int32_t> job.data.size
    return -1

# ---------------------------------------------------------------- input and output

cdef void point_at(Input* input, array) except *:
    """Reads the buffers of a binary array, which must outlive the job."""
    validity, offsets, data = array.buffers()
    input.validity = <const uint8_t*> <uintptr_t> address(validity)
    input.offsets = <const int32_t*> <uintptr_t> address(offsets)
    input.data = <const uint8_t*> <uintptr_t> address(data)
    input.size = size_of(data)
    input.first = array.offset


cdef object finish(Job* job, type_):
    valid = None if job.valid_count == job.rows else to_arrow(&job.valid)
    nulls = job.rows - job.valid_count
    storage = type_.storage_type if isinstance(type_, pa.BaseExtensionType) else type_
    buffers = [valid, to_arrow(&job.values)]
    if is_sized(job.target):
        buffers.append(to_arrow(&job.data))
    array = pa.Array.from_buffers(storage, job.rows, buffers, nulls)
    return array if storage is type_ else pa.ExtensionArray.from_storage(type_, array)


def extract(metadata, value, validity, steps, target, options, *, int64_t first_row):
    """Returns the value at the steps in each row, cast to a scalar (None: the Variant's bytes), and the deferred rows.

    `validity` (booleans from bit 0, or None) marks the rows that exist. Deferred rows are those that only
    casts/table.py can cast and, if the options request it, those that do not cast.
    """
    cdef Job job
    cdef int64_t stopped, count = len(value)
    cdef int i
    names = [step.encode("utf-8", "surrogatepass") if isinstance(step, str) else None for step in steps]
    kind, width = (T_VARIANT, 0) if target is None else TARGETS[target.type]
    type_ = pa.binary() if target is None else typed_value_type(target)
    job.rows = count
    job.rows_validity = <const uint8_t*> <uintptr_t> (0 if validity is None else address(validity.buffers()[1]))
    job.target = kind
    job.width = width
    job.precision = (target.precision or 0) if target is not None else 0
    job.scale = (target.scale or 0) if target is not None else 0
    job.same_id = SAME_IDS.get(target.type, -1) if target is not None else -1
    job.utc = options.is_utc
    job.keep_failed = options.raises
    job.any_bytes = options.dialect.any_bytes
    job.old_java = options.dialect.old_java
    job.valid_count = 0
    job.step_count = <int> len(names)
    start(&job.values)
    start(&job.data)
    start(&job.valid)
    start(&job.deferred)
    open_walk(&job.walk, SEED)
    job.powers = powers_of_ten()
    point_at(&job.metadata, metadata)
    point_at(&job.value, value)
    job.steps = <Step*> calloc(job.step_count + 1, sizeof(Step))
    try:
        if job.steps == NULL:
            raise MemoryError
        for i in range(job.step_count):
            name = names[i]
            job.steps[i].name = NULL if name is None else <const uint8_t*> <const char*> name
            job.steps[i].size = min(steps[i], 1 << 40) if name is None else len(name)
        size = (count + 7) // 8 if kind == T_BOOL else count * width if width else 4 * (count + 1)
        if append_zeros(&job.values, size) != OK or append_zeros(&job.valid, (count + 7) // 8) != OK:
            raise MemoryError
        with nogil:
            stopped = cast_rows(&job)
        if stopped >= 0:
            if job.status == NO_MEMORY:
                raise MemoryError
            explain(metadata, value, steps, stopped, first_row)
        array = finish(&job, type_)
        rows = job.deferred.size // 8
        deferred = pa.Array.from_buffers(pa.int64(), rows, [None, to_arrow(&job.deferred)], 0)
        return array, deferred
    finally:
        free(job.steps)
        release(&job.values)
        release(&job.data)
        release(&job.valid)
        release(&job.deferred)
        close_walk(&job.walk)


cdef explain(metadata, value, steps, int64_t stopped, int64_t first_row):
    """Raises the error of a row; the reference explains it."""
    from shredlake.kernels.fallback.get import check_row

    check_row(metadata[stopped].as_py(), value[stopped].as_py(), steps, first_row + stopped)
    raise MalformedVariant(f"row {first_row + stopped}: the value's parts overlap, or exceed 2 GiB")
