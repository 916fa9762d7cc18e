"""Traverses a whole Variant value, event by event, like variant/walk.py.

    {"a":[1,"x"],"b":null}     OBJECT · ARRAY (id of a) · SCALAR · SCALAR · END · SCALAR (id of b) · END

No recursion: open containers are frames on a heap stack, so only the bytes bound the depth. Every read is checked, and
the values of a container never overlap, so a traversal takes time in proportion to the bytes:

- an array's values are between consecutive offsets, which must increase;
- an object's values may be in any order. If they tile the object without gaps, as with all writers, each value starts
where another ends: then the starts and the total end are the same set of numbers as the ends and 0. Both sets are
compared by the sum of their hashes; if they differ (gaps are legal), the values are sorted.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport qsort

from shredlake.kernels.compiled.buffers cimport NO_MEMORY, OK, Bytes, release, reserve_total, start
from shredlake.kernels.compiled.hash cimport mix
from shredlake.kernels.compiled.variant cimport (
    MALFORMED,
    OBJECT,
    SHORT_STRING,
    ArrayView,
    ObjectView,
    id_at,
    parse_array,
    parse_object,
    read_uint,
    value_size,
)

cdef enum Event:
    FINISHED = 0
    SCALAR = 1
    OPEN_OBJECT = 2
    OPEN_ARRAY = 3
    CLOSE_OBJECT = 4
    CLOSE_ARRAY = 5

cdef struct Frame:
    ObjectView view         # for an array: without ids
    const uint8_t* at       # its header
    int64_t index           # of the next child
    int64_t spent           # bytes of the children so far
    uint64_t tally          # hashes of the children's starts minus those of their ends
    bint is_object

cdef struct Walk:
    Bytes frames            # Frame[]
    Bytes extents           # scratch
    int64_t depth
    uint64_t seed
    const uint8_t* at       # the event's value
    int64_t size
    int64_t id              # of the field, if its container is an object

cdef struct Extent:
    int64_t start
    int64_t end


cdef inline void open_walk(Walk* walk, uint64_t seed) noexcept nogil:
    start(&walk.frames)
    start(&walk.extents)
    walk.seed = seed
    walk.depth = 0
    walk.at = NULL


cdef inline void close_walk(Walk* walk) noexcept nogil:
    release(&walk.frames)
    release(&walk.extents)


cdef inline int first_event(Walk* walk, const uint8_t* value, int64_t size) noexcept nogil:
    """Starts with a value, which must fill its bytes, and returns its event; next_event() returns the others."""
    cdef int event
    walk.depth = 0
    walk.at = value
    event = enter(walk, value + size)
    return MALFORMED if event > 0 and walk.size != size else event


cdef inline int next_event(Walk* walk) noexcept nogil:
    """An Event, MALFORMED, or NO_MEMORY."""
    cdef int64_t parent = walk.depth - 1, index, first, last
    cdef Frame* frame
    cdef ObjectView* view
    cdef int event
    if parent < 0:
        return FINISHED
    frame = <Frame*> walk.frames.data + parent
    view = &frame.view
    index = frame.index
    if index == view.count:
        return leave(walk, frame)
    frame.index = index + 1
    first = read_uint(view.offsets + index * view.offset_size, view.offset_size)
    walk.at = view.data + first
    if not frame.is_object:
        last = read_uint(view.offsets + (index + 1) * view.offset_size, view.offset_size)
        if last > view.end - view.data:
            return MALFORMED
        return enter(walk, view.data + last)
    walk.id = id_at(view, index)
    event = enter(walk, view.end)
    if event < 0:
        return event
    frame = <Frame*> walk.frames.data + parent      # entering a container may have moved the frames
    frame.spent += walk.size
    frame.tally += mix(walk.seed, <uint64_t> first) - mix(walk.seed, <uint64_t> (first + walk.size))
    return event if frame.spent <= frame.view.end - frame.view.data else MALFORMED


cdef inline int enter(Walk* walk, const uint8_t* limit) noexcept nogil:
    """The event of the value at walk.at, which must end by `limit`; a container becomes the innermost frame."""
    cdef Frame* frame
    cdef ArrayView array
    if walk.at >= limit:
        return MALFORMED
    if walk.at[0] & 3 <= SHORT_STRING:
        walk.size = value_size(walk.at, limit)
        if walk.size < 0:
            return MALFORMED
        return SCALAR
    if reserve_total(&walk.frames, (walk.depth + 1) * <int64_t> sizeof(Frame)) != OK:
        return NO_MEMORY
    frame = <Frame*> walk.frames.data + walk.depth
    frame.at = walk.at
    frame.index = 0
    frame.spent = 0
    frame.tally = 0
    frame.is_object = walk.at[0] & 3 == OBJECT
    walk.depth += 1
    if frame.is_object:
        if parse_object(walk.at, limit, &frame.view) != 0:
            return MALFORMED
    else:
        if parse_array(walk.at, limit, &array) != 0:
            return MALFORMED
        frame.view.offsets = array.offsets
        frame.view.data = array.data
        frame.view.end = array.end
        frame.view.count = array.count
        frame.view.offset_size = array.offset_size
    walk.size = frame.view.end - walk.at
    return OPEN_OBJECT if frame.is_object else OPEN_ARRAY


cdef inline int leave(Walk* walk, Frame* frame) noexcept nogil:
    cdef uint64_t whole
    walk.depth -= 1
    if not frame.is_object:
        return CLOSE_ARRAY
    whole = mix(walk.seed, 0) - mix(walk.seed, <uint64_t> (frame.view.end - frame.view.data))
    if frame.tally == whole:
        return CLOSE_OBJECT
    return check_extents(walk, &frame.view)


cdef inline int by_start(const void* a, const void* b) noexcept nogil:
    return -1 if (<const Extent*> a).start < (<const Extent*> b).start else 1


cdef inline int check_extents(Walk* walk, ObjectView* view) noexcept nogil:
    """CLOSE_OBJECT if no two values overlap, determined by sorting; MALFORMED otherwise."""
    cdef Extent* extents
    cdef int64_t i
    if reserve_total(&walk.extents, view.count * <int64_t> sizeof(Extent)) != OK:
        return NO_MEMORY
    extents = <Extent*> walk.extents.data
    for i in range(view.count):
        extents[i].start = read_uint(view.offsets + i * view.offset_size, view.offset_size)
        extents[i].end = extents[i].start + value_size(view.data + extents[i].start, view.end)
    qsort(extents, <size_t> view.count, sizeof(Extent), by_start)
    for i in range(1, view.count):
        if extents[i - 1].end > extents[i].start:
            return MALFORMED
    return CLOSE_OBJECT
