"""The table of paths of a profile: bounded, and searched by guess or by hash.

    nodes   [root] [$.a] [$.a.b] [$.tags] [$.tags[*]] ...      a parent always precedes its children
    tables  rarely needed data of a node, in a separate block
    slots   open hash table over (parent, name) ─▶ node
    names   the concatenated bytes of all names

`max_paths` bounds the memory: between rows, when three times as many nodes exist, those in the fewest rows are dropped
and counted in their parent (`other_*`); inside a row, no nodes are created beyond four times as many. The output has
at most `max_paths`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort, realloc
from libc.string cimport memcpy, memset

from shredlake.kernels.compiled.buffers cimport NO_MEMORY, OK, Bytes, append, release, reserve, start
from shredlake.kernels.compiled.variant cimport int128_t

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    typedef unsigned __int128 shredlake_uint128;

    static const char shredlake_profile_magic[4] = {'S', 'L', 'P', '1'};

    static const uint64_t K0 = 0x9E3779B97F4A7C15ULL, K1 = 0xD6E8FEB86659FD93ULL, K2 = 0xA0761D6478BD642FULL;

    static inline uint64_t shredlake_fold(uint64_t a, uint64_t b) {
        shredlake_uint128 product = (shredlake_uint128) a * b;
        return (uint64_t) product ^ (uint64_t) (product >> 64);
    }

    static inline uint64_t shredlake_hash(uint64_t seed, const uint8_t* data, int64_t size) {
        uint64_t hash = seed ^ K0 ^ (uint64_t) size, block;
        while (size >= 8) {
            memcpy(&block, data, 8);
            hash = shredlake_fold(hash ^ block, K1);
            data += 8;
            size -= 8;
        }
        if (size) {
            block = 0;
            memcpy(&block, data, (size_t) size);
            hash = shredlake_fold(hash ^ block, K2);
        }
        return shredlake_fold(hash ^ K0, K1);
    }

    /* Names are short: two loads that overlap compare 4 to 16 bytes, without a call. */
    static inline int shredlake_same(const uint8_t* a, const uint8_t* b, int64_t size) {
        uint64_t x, y, v, w;
        uint32_t p, q, r, s;
        if (size >= 8 && size <= 16) {
            memcpy(&x, a, 8); memcpy(&y, b, 8); memcpy(&v, a + size - 8, 8); memcpy(&w, b + size - 8, 8);
            return x == y && v == w;
        }
        if (size >= 4 && size < 8) {
            memcpy(&p, a, 4); memcpy(&q, b, 4); memcpy(&r, a + size - 4, 4); memcpy(&s, b + size - 4, 4);
            return p == q && r == s;
        }
        return memcmp(a, b, (size_t) size) == 0;
    }

    static inline int shredlake_rank(uint64_t hash) {  /* 1 + zeros at the low end of the upper 56 bits */
        return 1 + __builtin_ctzll((hash >> 8) | (1ULL << 55));
    }

    static inline int shredlake_digits_of_unsigned(uint64_t number) {  /* decimal digits; zero has one */
        static const uint64_t powers[20] = {
            1ULL, 10ULL, 100ULL, 1000ULL, 10000ULL, 100000ULL, 1000000ULL, 10000000ULL, 100000000ULL,
            1000000000ULL, 10000000000ULL, 100000000000ULL, 1000000000000ULL, 10000000000000ULL,
            100000000000000ULL, 1000000000000000ULL, 10000000000000000ULL, 100000000000000000ULL,
            1000000000000000000ULL, 10000000000000000000ULL };
        int digits = (64 - __builtin_clzll(number | 1)) * 1233 >> 12;  /* the logarithm, or one more */
        digits += number >= powers[digits];
        return digits ? digits : 1;
    }

    static inline int shredlake_digits_of(int64_t number) {
        return shredlake_digits_of_unsigned(number < 0 ? -(uint64_t) number : (uint64_t) number);
    }

    static inline int shredlake_wide_digits_of(__int128 number) {
        shredlake_uint128 rest = number < 0 ? -(shredlake_uint128) number : (shredlake_uint128) number;
        int more = 0;
        while (rest >> 64) { rest /= 1000000000000000000ULL; more += 18; }
        more += shredlake_digits_of_unsigned((uint64_t) rest);
        return more > 39 ? 39 : more;
    }

    static inline double shredlake_power_of_ten(int exponent) {  /* 39 and more count as 39 */
        static const double powers[40] = {
            1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
            1e18, 1e19, 1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29, 1e30, 1e31, 1e32, 1e33,
            1e34, 1e35, 1e36, 1e37, 1e38, 1e39 };
        return powers[exponent < 39 ? exponent : 39];
    }
    """
    uint64_t hash_bytes "shredlake_hash" (uint64_t seed, const uint8_t* data, int64_t size) nogil
    bint same "shredlake_same" (const uint8_t* a, const uint8_t* b, int64_t size) nogil
    int rank_of "shredlake_rank" (uint64_t hash) nogil
    int digits_of "shredlake_digits_of" (int64_t number) nogil
    int wide_digits_of "shredlake_wide_digits_of" (int128_t number) nogil
    double power_of_ten "shredlake_power_of_ten" (int exponent) nogil
    void prefetch "__builtin_prefetch" (const void* address) nogil
    const char* MAGIC "shredlake_profile_magic"

cdef enum:
    TYPES = 22              # VariantType, in the order of its members
    T_BINARY = 14
    T_STRING = 15
    T_OBJECT = 20
    T_ARRAY = 21
    REGISTERS = 256
    FEW = 12                # registers kept as a short list before all 256 are allocated
    MOST_DIGITS = 39        # scales and digits are counted individually, 0 to 39
    LOOKS = 5
    PREFIX = 32             # bytes of a text kept to compare it with a later one
    LONGEST_NAME = 1000     # bytes; longer names are treated as data and counted in their parent
    COMMON = 4096           # rows from which paths are ranked individually, not counted

cdef enum KeyKind:
    NO_KEY = 0
    NUMBER_KEY = 1
    TEXT_KEY = 2

# The sort key of a value: a number, or the start of a string.
cdef struct Key:
    double number
    uint8_t kind
    uint8_t size
    uint8_t text[PREFIX]

# A HyperLogLog: while few registers are set, (index, rank) pairs; then all of them. A rank up to the lowest register
# (`floor`) changes nothing, so most values of a long column do not access the registers at all.
cdef struct Registers:
    uint8_t* all
    uint8_t used
    uint8_t floor
    uint16_t at_floor       # the number of registers with this rank
    uint8_t few[2 * FEW]

# Rarely used data.
cdef struct Tables:
    int64_t types[TYPES]
    int64_t exact           # ints and decimals
    int64_t digits[MOST_DIGITS + 1]
    int64_t* scales         # MOST_DIGITS + 1 of them; NULL until the first decimal
    int64_t up
    int64_t down
    int64_t same
    Key last_key
    int64_t text_bytes
    int64_t longest_text
    int64_t looks[LOOKS]
    int64_t elements
    int64_t shortest
    int64_t longest
    Registers keys          # of the names of fields
    int64_t other_count
    int64_t other_bytes

# A path. Values of one path mostly have one of two shapes, of type and digits: these are only counted here, and moved
# into the tables when a third shape occurs. The most used fields are in the first two cache lines.
cdef struct Node:
    int32_t parent
    int32_t follower        # the sibling that followed this one last time
    uint32_t name_at
    int32_t name_size       # -1: root, or the elements of an array
    uint32_t name_hash
    uint32_t shape          # type | scale << 8 | digits << 16
    uint32_t other_shape
    int32_t shaped          # values with this shape that are not in the tables yet
    int32_t other_shaped
    int32_t last_row
    int64_t count
    int64_t rows
    int64_t bytes
    int64_t ordered         # values that have a Key
    int64_t ranged          # values included in low and high
    double low
    double high
    Registers values        # of scalars
    Tables* tables          # NULL until needed
    int32_t first           # the first field of the last object at this path
    int32_t element         # the node of an array's elements, or -1
    int64_t missed          # rows that may not have been counted before this node was created
    Key first_key

cdef struct Slot:
    uint32_t hash           # of the name
    int32_t node            # -1: free

cdef struct Sketch:
    Node* nodes
    int32_t size
    int32_t capacity
    Slot* slots
    int64_t slot_count      # a power of two
    Bytes names
    int32_t max_paths
    int32_t max_depth
    int64_t rows
    int64_t nulls
    int64_t metadata_bytes
    int64_t missed          # the most rows of any dropped path
    int64_t budget          # values that the current row may still have; bounded by its bytes

# ---------------------------------------------------------------- registers

cdef inline int raise_register(Registers* registers, uint8_t index, uint8_t rank) noexcept nogil:
    """Raises register `index` to at least `rank`. OK or NO_MEMORY."""
    cdef int i
    if registers.all == NULL:
        for i in range(registers.used):
            if registers.few[2 * i] == index:
                if registers.few[2 * i + 1] < rank:
                    registers.few[2 * i + 1] = rank
                return OK
        if registers.used < FEW:
            registers.few[2 * registers.used] = index
            registers.few[2 * registers.used + 1] = rank
            registers.used += 1
            return OK
        registers.all = <uint8_t*> calloc(REGISTERS, 1)
        if registers.all == NULL:
            return NO_MEMORY
        for i in range(FEW):
            registers.all[registers.few[2 * i]] = registers.few[2 * i + 1]
        registers.at_floor = REGISTERS - FEW
    if rank <= registers.floor or registers.all[index] >= rank:
        return OK
    if registers.all[index] == registers.floor:
        registers.at_floor -= 1
    registers.all[index] = rank
    while registers.at_floor == 0:
        registers.floor += 1
        for i in range(REGISTERS):
            registers.at_floor += registers.all[i] == registers.floor
    return OK


cdef inline int remember(Registers* registers, uint64_t hash) noexcept nogil:
    return raise_register(registers, <uint8_t> (hash & 255), <uint8_t> rank_of(hash))


cdef inline bint any_register(const Registers* registers) noexcept nogil:
    return registers.all != NULL or registers.used != 0

# ---------------------------------------------------------------- nodes

cdef inline Tables* tables_of(Node* node) noexcept nogil:
    """The tables, created if needed; NULL if out of memory."""
    if node.tables == NULL:
        node.tables = <Tables*> calloc(1, sizeof(Tables))
    return node.tables


cdef inline int64_t* scales_of(Tables* tables) noexcept nogil:
    """The counters of scales, created if needed; NULL if out of memory."""
    if tables.scales == NULL:
        tables.scales = <int64_t*> calloc(MOST_DIGITS + 1, sizeof(int64_t))
    return tables.scales


cdef inline int settle_shape(Node* node, uint32_t shape, int32_t count) noexcept nogil:
    """Moves `count` values of a shape into the tables. OK or NO_MEMORY."""
    cdef int kind = shape & 255, scale = (shape >> 8) & 255, digits = shape >> 16
    cdef Tables* tables = tables_of(node)
    if tables == NULL:
        return NO_MEMORY
    if count == 0:
        return OK
    if digits:
        if scale:
            if scales_of(tables) == NULL:
                return NO_MEMORY
            tables.scales[scale if scale < MOST_DIGITS else MOST_DIGITS] += count
        tables.exact += count
        tables.digits[digits - scale if digits > scale else 0] += count
    tables.types[kind] += count
    return OK


cdef inline int settle(Node* node) noexcept nogil:
    """Moves the values that are only counted into the tables. OK or NO_MEMORY."""
    cdef int status = settle_shape(node, node.shape, node.shaped)
    if status == OK:
        status = settle_shape(node, node.other_shape, node.other_shaped)
    node.shaped = node.other_shaped = 0
    return status


cdef inline int count_shape(Node* node, int kind, int scale, int digits) noexcept nogil:
    """Counts a value of a type; ints and decimals also by their digits (at least 1) and scale."""
    cdef uint32_t shape = <uint32_t> (kind | scale << 8 | digits << 16)
    cdef int status = OK
    if shape == node.shape:
        node.shaped += 1
    elif shape == node.other_shape:
        node.other_shaped += 1
    else:
        if node.other_shaped:
            status = settle_shape(node, node.other_shape, node.other_shaped)
        node.other_shape = node.shape
        node.other_shaped = node.shaped
        node.shape = shape
        node.shaped = 1
    return status


cdef inline void release_node(Node* node) noexcept nogil:
    if node.tables != NULL:
        free(node.tables.keys.all)
        free(node.tables.scales)
        free(node.tables)
    free(node.values.all)


cdef inline int start_sketch(Sketch* sketch, int32_t max_paths, int32_t max_depth) noexcept nogil:
    memset(sketch, 0, sizeof(Sketch))
    start(&sketch.names)
    sketch.max_paths = max_paths
    sketch.max_depth = max_depth
    return OK if add_node(sketch, -1, NULL, -1, 0) == 0 else NO_MEMORY


cdef inline void release_sketch(Sketch* sketch) noexcept nogil:
    cdef int32_t index
    for index in range(sketch.size):
        release_node(&sketch.nodes[index])
    free(sketch.nodes)
    free(sketch.slots)
    release(&sketch.names)
    sketch.nodes = NULL
    sketch.slots = NULL
    sketch.size = 0


cdef inline Slot* slot_of(const Sketch* sketch, int32_t parent, uint32_t name_hash) noexcept nogil:
    """The slot where the search for a child starts."""
    cdef uint64_t hash = <uint64_t> name_hash * 31 + <uint64_t> parent * 2654435761U
    return &sketch.slots[hash & <uint64_t> (sketch.slot_count - 1)]


cdef inline Slot* next_slot(const Sketch* sketch, Slot* slot) noexcept nogil:
    slot += 1
    return sketch.slots if slot == sketch.slots + sketch.slot_count else slot


cdef inline int rebuild_slots(Sketch* sketch, int64_t count) noexcept nogil:
    cdef Slot* slots = <Slot*> malloc(<size_t> count * sizeof(Slot))
    cdef int32_t index
    if slots == NULL:
        return NO_MEMORY
    memset(slots, 255, <size_t> count * sizeof(Slot))
    free(sketch.slots)
    sketch.slots = slots
    sketch.slot_count = count
    for index in range(1, sketch.size):
        if sketch.nodes[index].name_size >= 0:
            fill_slot(sketch, index)
    return OK


cdef inline void fill_slot(Sketch* sketch, int32_t index) noexcept nogil:
    cdef const Node* node = &sketch.nodes[index]
    cdef Slot* slot = slot_of(sketch, node.parent, node.name_hash)
    while slot.node >= 0:
        slot = next_slot(sketch, slot)
    slot.node = index
    slot.hash = node.name_hash


cdef inline int32_t add_node(Sketch* sketch, int32_t parent, const uint8_t* name, int32_t name_size,
                             uint32_t name_hash) noexcept nogil:
    """The index of a new node, or NO_MEMORY. The caller knows that it does not exist yet."""
    cdef Node* moved
    cdef Node* node
    cdef int32_t wanted
    if sketch.size == sketch.capacity:
        wanted = 2 * sketch.capacity if sketch.capacity else 32
        moved = <Node*> realloc(sketch.nodes, <size_t> wanted * sizeof(Node))
        if moved == NULL:
            return NO_MEMORY
        sketch.nodes = moved
        sketch.capacity = wanted
    node = &sketch.nodes[sketch.size]
    memset(node, 0, sizeof(Node))
    node.parent = parent
    node.follower = node.first = node.element = -1
    node.last_row = -1
    node.missed = sketch.missed
    node.name_size = name_size
    node.name_hash = name_hash
    node.name_at = <uint32_t> sketch.names.size
    if name_size >= 0 and append(&sketch.names, name, name_size) != OK:
        return NO_MEMORY
    sketch.size += 1
    if 2 * <int64_t> sketch.size > sketch.slot_count:
        if rebuild_slots(sketch, 2 * sketch.slot_count if sketch.slot_count else 256) != OK:
            return NO_MEMORY
    elif name_size >= 0:
        fill_slot(sketch, sketch.size - 1)
    return sketch.size - 1


cdef inline bint has_name(const Sketch* sketch, int32_t index, int32_t parent, const uint8_t* name,
                          int64_t size) noexcept nogil:
    cdef const Node* node = &sketch.nodes[index]
    return (node.parent == parent and node.name_size == size
            and same(sketch.names.data + node.name_at, name, size))


cdef inline int32_t find_node(const Sketch* sketch, int32_t parent, const uint8_t* name, int64_t size,
                              uint32_t name_hash) noexcept nogil:
    """The child with this name, or -1."""
    cdef Slot* slot = slot_of(sketch, parent, name_hash)
    while slot.node >= 0:
        if slot.hash == name_hash and has_name(sketch, slot.node, parent, name, size):
            return slot.node
        slot = next_slot(sketch, slot)
    return -1

# ---------------------------------------------------------------- bounding the size

cdef inline int compare_rows(const void* a, const void* b) noexcept nogil:
    cdef int64_t x = (<const int64_t*> a)[0], y = (<const int64_t*> b)[0]
    return (x < y) - (x > y)


cdef inline int64_t most_rows_dropped(const Sketch* sketch) noexcept nogil:
    """The number of rows up to which paths must be dropped to keep max_paths; NO_MEMORY."""
    cdef int64_t* rows = <int64_t*> calloc(<size_t> (sketch.size if sketch.size > COMMON else COMMON), sizeof(int64_t))
    cdef int64_t least = 0, dropped = 0
    cdef int32_t index
    if rows == NULL:
        return NO_MEMORY
    for index in range(sketch.size):
        if sketch.nodes[index].rows < COMMON:
            rows[sketch.nodes[index].rows] += 1
    while least < COMMON and dropped + rows[least] < sketch.size - sketch.max_paths:
        dropped += rows[least]
        least += 1
    if least == COMMON:
        for index in range(sketch.size):
            rows[index] = sketch.nodes[index].rows
        qsort(rows, <size_t> sketch.size, sizeof(int64_t), compare_rows)
        least = rows[sketch.max_paths]
    free(rows)
    return least


cdef inline int prune(Sketch* sketch) noexcept nogil:
    """Drops the paths in the fewest rows. A child is in at most as many rows as its parent, so trees stay whole.

    Paths in as many rows as the last one dropped are dropped too, so the result does not depend on the order of
    creation.
    """
    cdef int64_t least = most_rows_dropped(sketch)
    cdef int32_t* moved = <int32_t*> malloc(<size_t> sketch.size * sizeof(int32_t))
    cdef int32_t index, kept = 0
    cdef Bytes names
    cdef Node* node
    start(&names)
    if least < 0 or moved == NULL or reserve(&names, sketch.names.size) != OK:
        free(moved)
        release(&names)
        return NO_MEMORY
    if least > sketch.missed:
        sketch.missed = least
    for index in range(sketch.size):
        node = &sketch.nodes[index]
        if index and (node.rows <= least or moved[node.parent] < 0):
            moved[index] = -1
            if moved[node.parent] >= 0 and node.name_size >= 0:
                # An object: its fields created the tables, for `keys`.
                sketch.nodes[moved[node.parent]].tables.other_count += node.count
                sketch.nodes[moved[node.parent]].tables.other_bytes += node.bytes
            release_node(node)
            continue
        moved[index] = kept
        if node.name_size > 0:
            memcpy(names.data + names.size, sketch.names.data + node.name_at, <size_t> node.name_size)
        node.name_at = <uint32_t> names.size
        names.size += node.name_size if node.name_size > 0 else 0
        if index:
            node.parent = moved[node.parent]
        sketch.nodes[kept] = node[0]
        kept += 1
    sketch.size = kept
    for index in range(kept):
        node = &sketch.nodes[index]
        node.follower = moved[node.follower] if node.follower >= 0 else -1
        node.first = moved[node.first] if node.first >= 0 else -1
        node.element = moved[node.element] if node.element >= 0 else -1
    free(moved)
    release(&sketch.names)
    sketch.names = names
    return rebuild_slots(sketch, sketch.slot_count)
