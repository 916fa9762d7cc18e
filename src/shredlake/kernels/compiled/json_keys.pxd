"""The keys of JSON objects, cached from row to row, because rows of one column resemble each other.

    names   every distinct key so far: its bytes, and its id in the current row's dictionary
    places  every key with its place, the path of objects around it
    orders  for a sequence of places seen in one object: the order of their names

A key is usually predicted correctly. The places under one object are linked in the order in which they occurred, so
the next key is known before it is read, and comparing eight bytes at a time confirms the guess:

    {"did":..,"time_us":..,"commit":{"operation":..}}
     root ──first──▶ did ──next──▶ time_us ──next──▶ commit ──first──▶ operation

If the guess is wrong, the next two places are tried (optional keys come and go), then the tables are searched. Sorting
works the same way: an object with the same sequence of places as an earlier one has the same order.

Correctness does not depend on the guesses. The tables are emptied between rows once they grow large (if data is used
as keys), so the largest row bounds the memory.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, qsort
from libc.string cimport memcmp, memcpy, memset

from shredlake.kernels.compiled.buffers cimport NO_MEMORY, OK, Bytes, append, release, reserve, start
from shredlake.kernels.compiled.hash cimport mix
from shredlake.kernels.compiled.json_text cimport word_at

cdef enum:
    NOWHERE = 0xFFFFFFFF
    ROOT = 0
    GUESSES = 3                 # places tried before the table is searched
    PATIENCE = 16               # failed guesses in an object after which guessing stops
    MANY_PLACES = 1 << 12       # tables larger than this are emptied before the next row
    MANY_NAME_BYTES = 1 << 20
    MANY_ORDERS = 1 << 18
    ORDER_SLOTS = 1 << 10
    LONGEST_ORDER = 1 << 12     # longer objects are sorted each time

cdef struct Name:
    uint64_t head               # the first 8 bytes of the key and its closing quote,
    uint64_t mask               # and which of them count; 0 if the text of the key has escapes
    uint64_t rank               # the first 8 bytes, big-endian: orders most names by one comparison
    uint64_t hash
    int64_t offset              # of its bytes in Keys.bytes, followed by 8 bytes of padding
    int64_t row                 # the last row that had it
    uint32_t size
    uint32_t id                 # in that row's dictionary

cdef struct Place:
    uint32_t name
    uint32_t parent
    uint32_t first              # the first key of the object at this place
    uint32_t next               # the key that followed this one
    uint32_t missed             # consecutive failed guesses about the keys of the object at this place
    int64_t object              # serial number of the last object that had it: finds duplicates

cdef struct Order:
    uint64_t hash
    int64_t at                  # in Keys.orders: count places, then count positions
    int64_t count

cdef struct Sortable:
    uint64_t rank
    const uint8_t* name
    uint32_t size
    uint32_t position

cdef struct Keys:
    Bytes names                 # Name[]
    Bytes places                # Place[]
    Bytes bytes                 # of all names
    Bytes orders                # uint32_t[]
    Order* order_slots
    uint32_t* name_slots        # hash tables with open addressing; a slot holds an index or NOWHERE
    uint32_t* place_slots
    int64_t name_mask
    int64_t place_mask
    uint64_t seed


cdef inline Name* name_of(Keys* keys, uint32_t index) noexcept nogil:
    return <Name*> keys.names.data + index


cdef inline Place* place_of(Keys* keys, uint32_t index) noexcept nogil:
    return <Place*> keys.places.data + index


cdef inline int64_t name_count(const Keys* keys) noexcept nogil:
    return keys.names.size // <int64_t> sizeof(Name)


cdef inline int64_t place_count(const Keys* keys) noexcept nogil:
    return keys.places.size // <int64_t> sizeof(Place)

# ---------------------------------------------------------------- life

cdef inline uint32_t* empty_slots(int64_t count) noexcept nogil:
    cdef uint32_t* slots = <uint32_t*> calloc(<size_t> count, 4)
    if slots != NULL:
        memset(slots, 0xFF, <size_t> (4 * count))
    return slots


cdef inline void close_keys(Keys* keys) noexcept nogil:
    release(&keys.names)
    release(&keys.places)
    release(&keys.bytes)
    release(&keys.orders)
    free(keys.order_slots)
    free(keys.name_slots)
    free(keys.place_slots)
    keys.order_slots = NULL
    keys.name_slots = keys.place_slots = NULL


cdef inline int open_keys(Keys* keys, uint64_t seed) noexcept nogil:
    """Initialises empty tables with the root place. In any case, close_keys() must follow."""
    start(&keys.names)
    start(&keys.places)
    start(&keys.bytes)
    start(&keys.orders)
    keys.seed = seed
    keys.name_mask = keys.place_mask = 1023
    keys.name_slots = empty_slots(1024)
    keys.place_slots = empty_slots(1024)
    keys.order_slots = <Order*> calloc(ORDER_SLOTS, sizeof(Order))
    if keys.name_slots == NULL or keys.place_slots == NULL or keys.order_slots == NULL:
        return NO_MEMORY
    return add_place(keys, NOWHERE, NOWHERE)


cdef inline bint forget_if_large(Keys* keys) noexcept nogil:
    """Between rows: closes the tables once they no longer fit the caches; open_keys() must follow."""
    if (
        place_count(keys) < MANY_PLACES
        and keys.bytes.size < MANY_NAME_BYTES
        and keys.orders.size < 4 * MANY_ORDERS
    ):
        return False
    close_keys(keys)
    return True

# ---------------------------------------------------------------- names

cdef extern from *:
    """
    /* A mask for the low `count` bytes of a word, 0 to 8. */
    static inline uint64_t shredlake_low_bytes(int64_t count) {
        return count >= 8 ? ~0ULL : (1ULL << (8 * count)) - 1;
    }
    """
    uint64_t low_bytes "shredlake_low_bytes"(int64_t count) noexcept nogil
    uint64_t byte_swap "__builtin_bswap64"(uint64_t word) noexcept nogil


cdef inline uint64_t hash_bytes(const uint8_t* data, int64_t size, uint64_t seed) noexcept nogil:
    """`data` must be readable for 7 bytes beyond its end."""
    cdef uint64_t state = mix(seed, <uint64_t> size)
    while size >= 8:
        state = mix(state, word_at(data) ^ seed)
        data += 8
        size -= 8
    return mix(state, (word_at(data) & low_bytes(size)) ^ seed)


cdef inline int widen_names(Keys* keys) noexcept nogil:
    """Doubles the hash table of names."""
    cdef int64_t wider = 2 * keys.name_mask + 1, slot
    cdef uint32_t index
    cdef uint32_t* larger = empty_slots(wider + 1)
    if larger == NULL:
        return NO_MEMORY
    for index in range(<uint32_t> name_count(keys)):
        slot = <int64_t> (name_of(keys, index).hash & <uint64_t> wider)
        while larger[slot] != NOWHERE:
            slot = (slot + 1) & wider
        larger[slot] = index
    free(keys.name_slots)
    keys.name_slots = larger
    keys.name_mask = wider
    return OK


cdef inline uint32_t intern_name(Keys* keys, const uint8_t* data, int64_t size, bint escaped) noexcept nogil:
    """The index of the name, added if it is new; NOWHERE if out of memory. 7 bytes of padding, as above.

    `escaped` means that the key's text differs from its bytes, so later texts can't be compared raw.
    """
    cdef uint64_t hash = hash_bytes(data, size, keys.seed)
    cdef int64_t slot = <int64_t> (hash & <uint64_t> keys.name_mask)
    cdef uint32_t index
    cdef Name* name
    cdef Name fresh
    cdef int64_t count
    cdef uint64_t raw
    while keys.name_slots[slot] != NOWHERE:
        index = keys.name_slots[slot]
        name = name_of(keys, index)
        if (
            name.hash == hash
            and name.size == size
            and memcmp(keys.bytes.data + name.offset, data, <size_t> size) == 0
        ):
            return index
        slot = (slot + 1) & keys.name_mask
    count = name_count(keys)
    if 2 * count > keys.name_mask:
        if widen_names(keys) != OK:
            return NOWHERE
        slot = <int64_t> (hash & <uint64_t> keys.name_mask)
        while keys.name_slots[slot] != NOWHERE:
            slot = (slot + 1) & keys.name_mask
    if reserve(&keys.bytes, size + 9) != OK:
        return NOWHERE
    fresh.offset = keys.bytes.size
    memcpy(keys.bytes.data + fresh.offset, data, <size_t> size)
    keys.bytes.data[fresh.offset + size] = 34
    memset(keys.bytes.data + fresh.offset + size + 1, 0, 8)
    keys.bytes.size += size + 9
    raw = word_at(keys.bytes.data + fresh.offset)
    fresh.mask = 0 if escaped else low_bytes(size + 1)
    fresh.head = raw & fresh.mask
    fresh.rank = byte_swap(raw & low_bytes(size))
    fresh.hash = hash
    fresh.row = -1
    fresh.size = <uint32_t> size
    fresh.id = 0
    if append(&keys.names, &fresh, sizeof(Name)) != OK:
        return NOWHERE
    keys.name_slots[slot] = <uint32_t> count
    return <uint32_t> count


cdef inline bint text_is(const Keys* keys, const Name* name, const uint8_t* text) noexcept nogil:
    """Whether the text at this point is the key and its closing quote, without escapes."""
    if name.mask == 0 or word_at(text) & name.mask != name.head:
        return False
    return name.size < 8 or memcmp(text + 8, keys.bytes.data + name.offset + 8, <size_t> (name.size - 7)) == 0

# ---------------------------------------------------------------- places

cdef inline int add_place(Keys* keys, uint32_t parent, uint32_t name) noexcept nogil:
    cdef Place place
    place.name = name
    place.parent = parent
    place.first = place.next = NOWHERE
    place.missed = 0
    place.object = -1
    return append(&keys.places, &place, sizeof(Place))


cdef inline uint64_t hash_place(const Keys* keys, uint32_t parent, uint32_t name) noexcept nogil:
    return mix(keys.seed ^ parent, name)


cdef inline int widen_places(Keys* keys) noexcept nogil:
    """Doubles the hash table of places; the root is not in it, since it has no parent."""
    cdef int64_t wider = 2 * keys.place_mask + 1, slot
    cdef uint32_t index
    cdef Place* place
    cdef uint32_t* larger = empty_slots(wider + 1)
    if larger == NULL:
        return NO_MEMORY
    for index in range(1, <uint32_t> place_count(keys)):
        place = place_of(keys, index)
        slot = <int64_t> (hash_place(keys, place.parent, place.name) & <uint64_t> wider)
        while larger[slot] != NOWHERE:
            slot = (slot + 1) & wider
        larger[slot] = index
    free(keys.place_slots)
    keys.place_slots = larger
    keys.place_mask = wider
    return OK


cdef inline uint32_t find_place(Keys* keys, uint32_t parent, uint32_t name) noexcept nogil:
    """The place of this name under this parent, added if it is new; NOWHERE if out of memory."""
    cdef uint64_t hash = hash_place(keys, parent, name)
    cdef int64_t slot = <int64_t> (hash & <uint64_t> keys.place_mask)
    cdef int64_t count
    cdef Place* place
    while keys.place_slots[slot] != NOWHERE:
        place = place_of(keys, keys.place_slots[slot])
        if place.name == name and place.parent == parent:
            return keys.place_slots[slot]
        slot = (slot + 1) & keys.place_mask
    count = place_count(keys)
    if 2 * count > keys.place_mask:
        if widen_places(keys) != OK:
            return NOWHERE
        slot = <int64_t> (hash & <uint64_t> keys.place_mask)
        while keys.place_slots[slot] != NOWHERE:
            slot = (slot + 1) & keys.place_mask
    if add_place(keys, parent, name) != OK:
        return NOWHERE
    keys.place_slots[slot] = <uint32_t> count
    return <uint32_t> count


cdef inline uint32_t expected_place(Keys* keys, uint32_t parent, uint32_t previous) noexcept nogil:
    return place_of(keys, parent).first if previous == NOWHERE else place_of(keys, previous).next


cdef inline void learn(Keys* keys, uint32_t parent, uint32_t previous, uint32_t found) noexcept nogil:
    """Records which key followed which. If data is used as keys, guessing only costs time, so it stops after some
    failures, until a guess would have succeeded.
    """
    if expected_place(keys, parent, previous) == found:
        place_of(keys, parent).missed = 0
        return
    if place_of(keys, parent).missed < PATIENCE:
        place_of(keys, parent).missed += 1
    if previous == NOWHERE:
        place_of(keys, parent).first = found
    else:
        place_of(keys, previous).next = found


cdef inline uint32_t guess_place(Keys* keys, uint32_t parent, uint32_t previous, const uint8_t* text) noexcept nogil:
    """The place of the key whose text starts here, if it is one of those expected next; else NOWHERE."""
    cdef uint32_t index = expected_place(keys, parent, previous)
    cdef Place* place
    cdef int tries
    if place_of(keys, parent).missed >= PATIENCE:
        return NOWHERE
    for tries in range(GUESSES):
        if index == NOWHERE:
            return NOWHERE
        place = place_of(keys, index)
        if text_is(keys, name_of(keys, place.name), text):
            return index
        index = place.next
    return NOWHERE

# ---------------------------------------------------------------- order

cdef inline bint is_after(const Sortable* a, const Sortable* b) noexcept nogil:
    """Compares names by unsigned bytes; equal names by position."""
    cdef uint32_t shorter
    cdef int order
    if a.rank != b.rank:
        return a.rank > b.rank
    shorter = a.size if a.size < b.size else b.size
    order = memcmp(a.name, b.name, shorter)
    if order:
        return order > 0
    return a.size > b.size if a.size != b.size else a.position > b.position


cdef inline int compare_sortables(const void* a, const void* b) noexcept nogil:
    return 1 if is_after(<const Sortable*> a, <const Sortable*> b) else -1


cdef inline void sort_names(Sortable* items, int64_t count) noexcept nogil:
    """Insertion sort if there are few fields, which is nearly always, or they are nearly sorted, which is common."""
    cdef Sortable item
    cdef int64_t i, j
    if count > 24:
        qsort(items, <size_t> count, sizeof(Sortable), compare_sortables)
        return
    for i in range(1, count):
        item = items[i]
        j = i
        while j > 0 and is_after(&items[j - 1], &item):
            items[j] = items[j - 1]
            j -= 1
        items[j] = item


cdef inline const uint32_t* known_order(
    const Keys* keys, uint64_t hash, const uint32_t* places, int64_t count
) noexcept nogil:
    """The positions in name order, if this sequence of places was sorted before; else NULL."""
    cdef const Order* order = &keys.order_slots[hash & (ORDER_SLOTS - 1)]
    cdef const uint32_t* kept
    if order.hash != hash or order.count != count:
        return NULL
    kept = <const uint32_t*> keys.orders.data + order.at
    if memcmp(kept, places, <size_t> (4 * count)) != 0:
        return NULL
    return kept + count


cdef inline int keep_order(
    Keys* keys, uint64_t hash, const uint32_t* places, const Sortable* items, int64_t count
) noexcept nogil:
    cdef Order* order = &keys.order_slots[hash & (ORDER_SLOTS - 1)]
    cdef int64_t i
    if count > LONGEST_ORDER:
        return OK
    order.count = 0
    if append(&keys.orders, places, 4 * count) != OK:
        return NO_MEMORY
    for i in range(count):
        if append(&keys.orders, &items[i].position, 4) != OK:
            return NO_MEMORY
    order.hash = hash
    order.at = keys.orders.size // 4 - 2 * count
    order.count = count
    return OK
