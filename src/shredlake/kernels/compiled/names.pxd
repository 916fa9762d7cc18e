"""Maps the names of a row's dictionary to the field names of a shredding schema, and back, with a cache.

Rows resemble each other: most have the same metadata bytes as a recent row. So the mapping is cached per metadata,
with the bytes as the key:

    metadata bytes ─ hash ─▶ slot ─▶ ┌ name_of_id  dictionary id ─▶ schema name, or -1
                                     ├ id_of_name  schema name ─▶ dictionary id, or -1
                                     └ shapes      object node ─▶ ids of its last object, and their nodes

Schema names are numbered by unsigned byte order, so that numbers compare like names.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

from shredlake.kernels.compiled.buffers cimport NO_MEMORY, OK
from shredlake.kernels.compiled.variant cimport MALFORMED, Dictionary, Slice, name_at, parse_metadata

cdef enum:
    CACHE_SLOTS = 256       # a power of two; rows of one data set have fewer distinct dictionaries than this,
                            # or so many that no cache helps

# The distinct field names of a schema, in byte order, and a hash table over them.
cdef struct Names:
    uint8_t* bytes
    int64_t* starts         # count + 1
    int32_t* slots          # number of a name + 1; 0 is free
    int64_t count
    uint64_t mask

# The fields that an object node's last object had under one metadata, and the node of each or -1: rows with the same
# dictionary mostly have the same fields.
cdef struct Shape:
    const uint8_t* ids      # in the input
    int64_t size            # of the ids in bytes
    int64_t count
    int32_t* nodes
    int64_t room

# The cached facts about one metadata. The bytes belong to the input column, which outlives the kernel.
cdef struct Lookup:
    const uint8_t* metadata
    int64_t size
    Dictionary dictionary
    int32_t* name_of_id
    int64_t room            # ids that name_of_id has room for
    int32_t* id_of_name
    Shape* shapes

cdef struct LookupCache:
    Lookup* slots
    Lookup* last
    int shapes              # per metadata: the number of object nodes


cdef inline uint64_t hash_bytes(const uint8_t* p, int64_t size) noexcept nogil:
    """Hashes eight bytes at a time; the low bits select the table's slot. The hash is not cryptographic."""
    cdef uint64_t word, hash = <uint64_t> size * HASH_PRIME
    while size >= 8:
        memcpy(&word, p, 8)
        hash = (hash ^ word) * HASH_PRIME
        hash ^= hash >> 32
        p += 8
        size -= 8
    if size:
        word = 0
        memcpy(&word, p, <size_t> size)
        hash = (hash ^ word) * HASH_PRIME
        hash ^= hash >> 32
    return hash ^ (hash >> 15)

cdef extern from *:
    """
    #define SHREDLAKE_HASH_PRIME 0x9E3779B97F4A7C15ULL
    """
    const uint64_t HASH_PRIME "SHREDLAKE_HASH_PRIME"

# ---------------------------------------------------------------- the schema's names

cdef inline void release_names(Names* names) noexcept nogil:
    free(names.bytes)
    free(names.starts)
    free(names.slots)
    memset(names, 0, sizeof(Names))


cdef inline int build_names(Names* names, const uint8_t* blob, const int64_t* starts, int64_t count) noexcept nogil:
    """Takes distinct names in byte order, concatenated in `blob`; OK or NO_MEMORY."""
    cdef int64_t number
    cdef uint64_t slot, slots = 16
    while slots < 4 * <uint64_t> count:
        slots *= 2
    names.count = count
    names.mask = slots - 1
    names.bytes = <uint8_t*> malloc(<size_t> (starts[count] + 1))
    names.starts = <int64_t*> malloc(<size_t> ((count + 1) * sizeof(int64_t)))
    names.slots = <int32_t*> calloc(<size_t> slots, sizeof(int32_t))
    if names.bytes == NULL or names.starts == NULL or names.slots == NULL:
        return NO_MEMORY
    memcpy(names.bytes, blob, <size_t> starts[count])
    memcpy(names.starts, starts, <size_t> ((count + 1) * sizeof(int64_t)))
    for number in range(count):
        slot = hash_bytes(blob + starts[number], starts[number + 1] - starts[number]) & names.mask
        while names.slots[slot]:
            slot = (slot + 1) & names.mask
        names.slots[slot] = <int32_t> (number + 1)
    return OK


cdef inline Slice schema_name(const Names* names, int64_t number) noexcept nogil:
    cdef Slice name
    name.data = names.bytes + names.starts[number]
    name.size = names.starts[number + 1] - names.starts[number]
    return name


cdef inline int32_t number_of_name(const Names* names, const Slice* name) noexcept nogil:
    """The number of a schema name, or -1."""
    cdef uint64_t slot = hash_bytes(name.data, name.size) & names.mask
    cdef int32_t number
    cdef Slice known
    while names.slots[slot]:
        number = names.slots[slot] - 1
        known = schema_name(names, number)
        if known.size == name.size and memcmp(known.data, name.data, <size_t> name.size) == 0:
            return number
        slot = (slot + 1) & names.mask
    return -1

# ---------------------------------------------------------------- metadata of the rows

cdef inline int start_cache(LookupCache* cache, int shapes) noexcept nogil:
    cache.shapes = shapes
    cache.slots = <Lookup*> calloc(CACHE_SLOTS, sizeof(Lookup))
    cache.last = cache.slots
    return OK if cache.slots != NULL else NO_MEMORY


cdef inline void release_cache(LookupCache* cache) noexcept nogil:
    cdef int slot, shape
    if cache.slots != NULL:
        for slot in range(CACHE_SLOTS):
            free(cache.slots[slot].name_of_id)
            free(cache.slots[slot].id_of_name)
            if cache.slots[slot].shapes != NULL:
                for shape in range(cache.shapes):
                    free(cache.slots[slot].shapes[shape].nodes)
            free(cache.slots[slot].shapes)
        free(cache.slots)
    memset(cache, 0, sizeof(LookupCache))


cdef inline int fill_lookup(Lookup* lookup, const Names* names, int shapes) noexcept nogil:
    """OK, MALFORMED or NO_MEMORY. If a dictionary has a name twice, its first id is used."""
    cdef Dictionary* dictionary = &lookup.dictionary
    cdef int32_t* moved
    cdef int64_t id
    cdef int32_t number
    cdef int shape
    cdef Slice name
    if parse_metadata(lookup.metadata, lookup.size, dictionary) != 0:
        return MALFORMED
    if lookup.id_of_name == NULL or lookup.room < dictionary.count:
        moved = <int32_t*> realloc(lookup.name_of_id, <size_t> ((dictionary.count + 1) * sizeof(int32_t)))
        if moved == NULL:
            return NO_MEMORY
        lookup.name_of_id = moved
        lookup.room = dictionary.count
    if lookup.id_of_name == NULL:
        lookup.id_of_name = <int32_t*> malloc(<size_t> ((names.count + 1) * sizeof(int32_t)))
        if lookup.id_of_name == NULL:
            return NO_MEMORY
        lookup.shapes = <Shape*> calloc(<size_t> (shapes + 1), sizeof(Shape))
        if lookup.shapes == NULL:
            return NO_MEMORY
    for shape in range(shapes):
        lookup.shapes[shape].ids = NULL
    memset(lookup.id_of_name, 0xFF, <size_t> (names.count * sizeof(int32_t)))
    for id in range(dictionary.count):
        if name_at(dictionary, id, &name) != 0:
            return MALFORMED
        number = number_of_name(names, &name)
        lookup.name_of_id[id] = number
        if number >= 0 and lookup.id_of_name[number] < 0:
            lookup.id_of_name[number] = <int32_t> id
    return OK


cdef inline int look_up(
    LookupCache* cache, const Names* names, const uint8_t* metadata, int64_t size
) noexcept nogil:
    """Points cache.last at the facts about this metadata: OK, MALFORMED or NO_MEMORY."""
    cdef Lookup* slot = cache.last
    cdef int code
    if slot.metadata != NULL and slot.size == size and memcmp(slot.metadata, metadata, <size_t> size) == 0:
        return OK
    slot = &cache.slots[hash_bytes(metadata, size) & (CACHE_SLOTS - 1)]
    if slot.metadata == NULL or slot.size != size or memcmp(slot.metadata, metadata, <size_t> size) != 0:
        slot.metadata = metadata
        slot.size = size
        code = fill_lookup(slot, names, cache.shapes)
        if code != OK:
            slot.metadata = NULL
            return code
    cache.last = slot
    return OK
