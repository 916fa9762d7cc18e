"""What paths a Variant column holds: one pass, bounded memory, results as bytes that merge.

    nodes   [root] [$.a] [$.a.b] [$.tags] [$.tags[*]] ...      a parent always stands before its children
    slots   open hash table over (parent, name) ─▶ node
    names   the bytes of all names, back to back

A row is walked from its root. The child for the next field is guessed before it is looked up: rows resemble
each other, so the field that followed the last time mostly follows again, and one comparison of names settles
it. Memory is bounded by `max_paths`: between rows, when twice as many nodes exist, those in the fewest rows go
and are counted in their parent (`other_*`); inside a row, nodes beyond four times as many are not made at all.

The bytes are described in shredding/profile_codec.py; shredding/profile_reference.py does the same, slowly.
"""

from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free, malloc, qsort, realloc
from libc.string cimport memcmp, memcpy, memset

from shredlake.kernels._buffers cimport NO_MEMORY, OK, Bytes, append, append_byte, bit_at, release, reserve, start
from shredlake.kernels._variant cimport (
    ARRAY, MALFORMED, OBJECT, P_BINARY, P_DATE, P_DECIMAL4, P_DECIMAL8, P_DECIMAL16, P_DOUBLE, P_FLOAT, P_INT8,
    P_INT16, P_INT32, P_INT64, P_NULL, P_STRING, P_TIME, P_TIMESTAMP, P_TIMESTAMP_NANOS, P_TIMESTAMP_NTZ,
    P_TIMESTAMP_NTZ_NANOS, P_TRUE, P_UUID, PRIMITIVE, PRIMITIVE_WIDTHS, PRIMITIVES, SHORT_STRING,
    ArrayView, Dictionary, ObjectView, Slice, element_at, field_at, id_at, int128_t, name_at, parse_array,
    parse_metadata, parse_object, read_double, read_float, read_int16, read_int32, read_int64, read_int128,
    read_uint, string_at,
)

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

    static inline int shredlake_rank(uint64_t hash) {  /* 1 + zeros at the low end of the upper 56 bits */
        return 1 + __builtin_ctzll((hash >> 8) | (1ULL << 55));
    }

    static inline int shredlake_digits(shredlake_uint128 number) {  /* decimal digits; zero has one */
        static const uint64_t powers[20] = {
            1ULL, 10ULL, 100ULL, 1000ULL, 10000ULL, 100000ULL, 1000000ULL, 10000000ULL, 100000000ULL,
            1000000000ULL, 10000000000ULL, 100000000000ULL, 1000000000000ULL, 10000000000000ULL,
            100000000000000ULL, 1000000000000000ULL, 10000000000000000ULL, 100000000000000000ULL,
            1000000000000000000ULL, 10000000000000000000ULL };
        int digits = 1, more = 0;
        while (number >> 64) { number /= powers[18]; more += 18; }
        while (digits < 20 && (uint64_t) number >= powers[digits]) digits++;
        return digits + more > 39 ? 39 : digits + more;
    }

    static inline int shredlake_digits_of(__int128 number) {
        return shredlake_digits(number < 0 ? -(shredlake_uint128) number : (shredlake_uint128) number);
    }

    static const double shredlake_powers[40] = {
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
        1e19, 1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29, 1e30, 1e31, 1e32, 1e33, 1e34, 1e35,
        1e36, 1e37, 1e38, 1e39 };

    static inline double shredlake_scaled(__int128 unscaled, int scale) {
        return (double) unscaled / shredlake_powers[scale];
    }
    """
    uint64_t hash_bytes "shredlake_hash" (uint64_t seed, const uint8_t* data, int64_t size) nogil
    int rank_of "shredlake_rank" (uint64_t hash) nogil
    int digits_of "shredlake_digits_of" (int128_t number) nogil
    double scaled "shredlake_scaled" (int128_t unscaled, int scale) nogil
    const char* MAGIC "shredlake_profile_magic"

cdef enum:
    TYPES = 22              # VariantType, in the order of its members
    T_OBJECT = 20
    T_ARRAY = 21
    T_STRING = 15
    REGISTERS = 256
    MOST_DIGITS = 39        # scales and digits counted one by one, 0 to 39
    LOOKS = 5
    PREFIX = 32             # bytes of a text kept to compare it with a later one
    STRIDE = 64             # every 64th value of a path is compared with the one 64 before
    HAS_RANGE = 1
    HAS_EXACT = 2
    HAS_TEXT = 4
    HAS_ARRAY = 8
    HAS_ORDER = 16
    HAS_VALUES = 32
    HAS_KEYS = 64

cdef enum Look:
    EMPTY = 0
    DATE = 1
    TIMESTAMP = 2
    UUID = 3
    NUMBER = 4

cdef enum KeyKind:
    NO_KEY = 0
    NUMBER_KEY = 1
    TEXT_KEY = 2

# A value as far as order goes: a number, or the start of a text.
cdef struct Key:
    double number
    uint8_t kind
    uint8_t size
    uint8_t text[PREFIX]

cdef struct Node:
    int32_t parent
    int32_t first           # the field that came first in the last object seen here
    int32_t follower        # the sibling that came after this one the last time
    int32_t element         # the node of an array's elements, or -1
    int64_t name_at
    int32_t name_size       # -1: root, or the elements of an array
    uint32_t name_hash
    int64_t last_row
    int64_t count
    int64_t rows
    int64_t bytes
    int64_t missed          # rows that may have gone uncounted before this node was made
    int64_t types[TYPES]
    double low
    double high
    int64_t ranged          # values behind low and high
    int64_t exact           # ints and decimals
    int64_t scales[MOST_DIGITS + 1]
    int64_t digits[MOST_DIGITS + 1]
    int64_t text_bytes
    int64_t longest_text
    int64_t looks[LOOKS]
    int64_t elements
    int64_t shortest
    int64_t longest
    int64_t ordered         # values that have a Key
    int64_t up
    int64_t down
    int64_t same
    Key first_key
    Key last_key
    int64_t hashed          # whether values holds anything
    int64_t other_count
    int64_t other_bytes
    uint8_t values[REGISTERS]
    uint8_t keys[REGISTERS]

cdef struct Sketch:
    Node* nodes
    int32_t size
    int32_t capacity
    int32_t* slots
    int64_t slot_count      # a power of two
    Bytes names
    int32_t max_paths
    int32_t max_depth
    int64_t rows
    int64_t nulls
    int64_t metadata_bytes
    int64_t missed          # most rows of a path that was dropped
    int64_t budget          # values that the current row may still hold: fewer than its bytes

# ---------------------------------------------------------------- the table of paths

cdef int start_sketch(Sketch* sketch, int32_t max_paths, int32_t max_depth) noexcept nogil:
    memset(sketch, 0, sizeof(Sketch))
    start(&sketch.names)
    sketch.max_paths = max_paths
    sketch.max_depth = max_depth
    return OK if add_node(sketch, -1, NULL, -1, 0) == 0 else NO_MEMORY


cdef void release_sketch(Sketch* sketch) noexcept nogil:
    free(sketch.nodes)
    free(sketch.slots)
    release(&sketch.names)
    sketch.nodes = NULL
    sketch.slots = NULL


cdef inline uint64_t slot_hash(int32_t parent, uint32_t name_hash) noexcept nogil:
    return <uint64_t> name_hash * 31 + <uint64_t> parent * 2654435761U


cdef int rebuild_slots(Sketch* sketch, int64_t count) noexcept nogil:
    cdef int32_t* slots = <int32_t*> malloc(<size_t> count * sizeof(int32_t))
    cdef int32_t index
    cdef int64_t slot
    if slots == NULL:
        return NO_MEMORY
    memset(slots, 255, <size_t> count * sizeof(int32_t))
    for index in range(1, sketch.size):
        if sketch.nodes[index].name_size < 0:
            continue
        slot = <int64_t> (slot_hash(sketch.nodes[index].parent, sketch.nodes[index].name_hash) & <uint64_t> (count - 1))
        while slots[slot] >= 0:
            slot = (slot + 1) & (count - 1)
        slots[slot] = index
    free(sketch.slots)
    sketch.slots = slots
    sketch.slot_count = count
    return OK


cdef int32_t add_node(Sketch* sketch, int32_t parent, const uint8_t* name, int32_t name_size,
                      uint32_t name_hash) noexcept nogil:
    """The index of a new node, or NO_MEMORY. The caller knows that it is not there yet."""
    cdef Node* moved
    cdef Node* node
    cdef int32_t wanted
    cdef int64_t slot
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
    node.first = node.follower = node.element = -1
    node.last_row = -1
    node.missed = sketch.missed
    node.name_size = name_size
    node.name_hash = name_hash
    if name_size >= 0:
        node.name_at = sketch.names.size
        if append(&sketch.names, name, name_size) != OK:
            return NO_MEMORY
    sketch.size += 1
    if 2 * <int64_t> sketch.size > sketch.slot_count:
        if rebuild_slots(sketch, 2 * sketch.slot_count if sketch.slot_count else 256) != OK:
            return NO_MEMORY
    elif name_size >= 0:
        slot = <int64_t> (slot_hash(parent, name_hash) & <uint64_t> (sketch.slot_count - 1))
        while sketch.slots[slot] >= 0:
            slot = (slot + 1) & (sketch.slot_count - 1)
        sketch.slots[slot] = sketch.size - 1
    return sketch.size - 1


cdef inline bint has_name(const Sketch* sketch, int32_t index, int32_t parent, const uint8_t* name,
                          int64_t size) noexcept nogil:
    cdef const Node* node = &sketch.nodes[index]
    return (node.parent == parent and node.name_size == size
            and memcmp(sketch.names.data + node.name_at, name, <size_t> size) == 0)


cdef int32_t find_node(const Sketch* sketch, int32_t parent, const uint8_t* name, int64_t size,
                       uint32_t name_hash) noexcept nogil:
    """The child with this name, or -1."""
    cdef int64_t slot = <int64_t> (slot_hash(parent, name_hash) & <uint64_t> (sketch.slot_count - 1))
    cdef int32_t index
    while True:
        index = sketch.slots[slot]
        if index < 0:
            return -1
        if sketch.nodes[index].name_hash == name_hash and has_name(sketch, index, parent, name, size):
            return index
        slot = (slot + 1) & (sketch.slot_count - 1)


cdef inline void remember(uint8_t* registers, uint64_t hash) noexcept nogil:
    cdef int rank = rank_of(hash)
    if registers[hash & 255] < rank:
        registers[hash & 255] = <uint8_t> rank

# ---------------------------------------------------------------- one value

cdef inline void observe_number(Node* node, double number) noexcept nogil:
    if isnan(number):
        return
    if node.ranged == 0:
        node.low = node.high = number
    elif number < node.low:
        node.low = number
    elif number > node.high:
        node.high = number
    node.ranged += 1
    observe_order(node, NUMBER_KEY, number, NULL, 0)


cdef inline void observe_exact(Node* node, int128_t unscaled, int scale) noexcept nogil:
    cdef int digits = digits_of(unscaled) - scale
    node.exact += 1
    node.scales[scale if scale < MOST_DIGITS else MOST_DIGITS] += 1
    node.digits[digits if digits > 0 else 0] += 1


cdef inline void observe_order(Node* node, uint8_t kind, double number, const uint8_t* text, int64_t size) noexcept nogil:
    cdef Key key
    node.ordered += 1
    if (node.ordered - 1) % STRIDE:
        return
    key.kind = kind
    key.number = number
    key.size = <uint8_t> (size if size < PREFIX else PREFIX)
    if key.size:
        memcpy(key.text, text, key.size)
    if node.ordered == 1:
        node.first_key = key
    else:
        compare_keys(node, &node.last_key, &key)
    node.last_key = key


cdef inline void compare_keys(Node* node, const Key* before, const Key* after) noexcept nogil:
    cdef int order
    if before.kind != after.kind:
        return
    if after.kind == NUMBER_KEY:
        order = (after.number > before.number) - (after.number < before.number)
    else:
        order = memcmp(after.text, before.text, after.size if after.size < before.size else before.size)
        if order == 0:
            order = (after.size > before.size) - (after.size < before.size)
    if order > 0:
        node.up += 1
    elif order < 0:
        node.down += 1
    else:
        node.same += 1


cdef inline bint digits_at(const uint8_t* p, int count) noexcept nogil:
    cdef int i
    for i in range(count):
        if p[i] < 48 or p[i] > 57:
            return False
    return True


cdef inline int look_of(const uint8_t* p, int64_t size) noexcept nogil:
    """What a text looks like, or -1. Shapes only: 2024-99-99 looks like a date."""
    cdef int64_t i
    cdef int points = 0
    if size == 0:
        return EMPTY
    if size >= 10 and p[4] == 45 and p[7] == 45:
        if not (digits_at(p, 4) and digits_at(p + 5, 2) and digits_at(p + 8, 2)):
            return -1
        if size == 10:
            return DATE
        if size >= 16 and (p[10] == 84 or p[10] == 32) and digits_at(p + 11, 2) and p[13] == 58 and digits_at(p + 14, 2):
            return TIMESTAMP
        return -1
    if size == 36 and p[8] == 45 and p[13] == 45 and p[18] == 45 and p[23] == 45:
        for i in range(36):
            if not (48 <= p[i] <= 57 or 97 <= p[i] <= 102 or 65 <= p[i] <= 70
                    or (p[i] == 45 and (i == 8 or i == 13 or i == 18 or i == 23))):
                return -1
        return UUID
    i = 1 if p[0] == 45 else 0
    if size > 38 or i == size or p[i] < 48 or p[i] > 57 or p[size - 1] < 48:
        return -1
    for i in range(i, size):
        if p[i] == 46:
            points += 1
        elif p[i] < 48 or p[i] > 57:
            return -1
    return NUMBER if points < 2 else -1


cdef inline void observe_text(Node* node, const uint8_t* text, int64_t size) noexcept nogil:
    cdef int look = look_of(text, size)
    node.text_bytes += size
    if size > node.longest_text:
        node.longest_text = size
    if look >= 0:
        node.looks[look] += 1
    observe_order(node, TEXT_KEY, 0, text, size)
    remember(node.values, hash_bytes(T_STRING, text, size))
    node.hashed = 1


cdef inline void observe_int(Node* node, int64_t number) noexcept nogil:
    observe_exact(node, number, 0)
    observe_number(node, <double> number)
    remember(node.values, hash_bytes(1, <const uint8_t*> &number, 8))


cdef inline void observe_decimal(Node* node, int128_t unscaled, int scale) noexcept nogil:
    cdef uint8_t whole[17]
    observe_exact(node, unscaled, scale)
    observe_number(node, scaled(unscaled, scale if scale < MOST_DIGITS else MOST_DIGITS))
    whole[0] = <uint8_t> scale
    memcpy(whole + 1, &unscaled, 16)
    remember(node.values, hash_bytes(2, whole, 17))


cdef int64_t observe_scalar(Node* node, const uint8_t* p, const uint8_t* end) noexcept nogil:
    """Bytes of the scalar at p, or MALFORMED. An unknown type counts as one byte of no type."""
    cdef Slice text
    cdef int id, width
    cdef uint8_t truth
    cdef double number
    if p[0] & 3 == SHORT_STRING or p[0] == P_STRING << 2 or p[0] == P_BINARY << 2:
        if string_at(p, end, &text) != 0:
            return MALFORMED
        if p[0] == P_BINARY << 2:
            node.types[P_BINARY - 1] += 1
            observe_order(node, TEXT_KEY, 0, text.data, text.size)
            remember(node.values, hash_bytes(16 + P_BINARY, text.data, text.size))
            node.hashed = 1
            node.text_bytes += text.size
            if text.size > node.longest_text:
                node.longest_text = text.size
        else:
            node.types[T_STRING] += 1
            observe_text(node, text.data, text.size)
        return text.data + text.size - p
    id = p[0] >> 2
    if id >= PRIMITIVES:
        return 1
    width = PRIMITIVE_WIDTHS[id]
    if end - p < 1 + width:
        return MALFORMED
    if id == P_NULL:
        node.types[0] += 1
        return 1
    node.types[1 if id < P_INT8 else id - 1] += 1
    node.hashed = 1
    if id == P_INT8:
        observe_int(node, <signed char> p[1])
    elif id == P_INT16:
        observe_int(node, read_int16(p + 1))
    elif id == P_INT32:
        observe_int(node, read_int32(p + 1))
    elif id == P_INT64:
        observe_int(node, read_int64(p + 1))
    elif id == P_DECIMAL4:
        observe_decimal(node, read_int32(p + 2), p[1])
    elif id == P_DECIMAL8:
        observe_decimal(node, read_int64(p + 2), p[1])
    elif id == P_DECIMAL16:
        observe_decimal(node, read_int128(p + 2), p[1])
    elif id == P_DOUBLE or id == P_FLOAT:
        number = read_double(p + 1) if id == P_DOUBLE else read_float(p + 1)
        observe_number(node, number)
        remember(node.values, hash_bytes(16 + id, p + 1, width))
    elif id == P_DATE:
        observe_number(node, read_int32(p + 1))
        remember(node.values, hash_bytes(16 + id, p + 1, width))
    elif id == P_UUID:
        observe_order(node, TEXT_KEY, 0, p + 1, width)
        remember(node.values, hash_bytes(16 + id, p + 1, width))
    elif id == P_TRUE or id == P_TRUE + 1:
        truth = id == P_TRUE
        remember(node.values, hash_bytes(16 + P_TRUE, &truth, 1))
    else:                                   # times and timestamps: 8 bytes, signed
        observe_number(node, <double> read_int64(p + 1))
        remember(node.values, hash_bytes(16 + id, p + 1, width))
    return 1 + width


cdef int64_t visit(Sketch* sketch, int32_t at, const uint8_t* p, const uint8_t* end,
                   const Dictionary* names, int depth) noexcept nogil:
    """Bytes of the value at p, or MALFORMED, or NO_MEMORY. Nodes may move: never hold one across a call."""
    cdef Node* node = &sketch.nodes[at]
    cdef ObjectView object_view
    cdef ArrayView array_view
    cdef int64_t size
    if p >= end:
        return MALFORMED
    # Values that share bytes could make a small row endless: no row has more values than bytes.
    if sketch.budget <= 0:
        return MALFORMED
    sketch.budget -= 1
    node.count += 1
    if node.last_row != sketch.rows:
        node.last_row = sketch.rows
        node.rows += 1
    if p[0] & 3 == OBJECT:
        if parse_object(p, end, &object_view) != 0:
            return MALFORMED
        node.types[T_OBJECT] += 1
        size = object_view.end - p
        node.bytes += size
        return size if depth == 0 else visit_fields(sketch, at, &object_view, names, depth, size)
    if p[0] & 3 == ARRAY:
        if parse_array(p, end, &array_view) != 0:
            return MALFORMED
        if node.types[T_ARRAY] == 0 or array_view.count < node.shortest:
            node.shortest = array_view.count
        if array_view.count > node.longest:
            node.longest = array_view.count
        node.types[T_ARRAY] += 1
        node.elements += array_view.count
        size = array_view.end - p
        node.bytes += size
        return size if depth == 0 else visit_elements(sketch, at, &array_view, names, depth, size)
    size = observe_scalar(node, p, end)
    if size > 0:
        node.bytes += size
    return size


cdef int64_t visit_fields(Sketch* sketch, int32_t at, const ObjectView* view, const Dictionary* names,
                          int depth, int64_t size) noexcept nogil:
    cdef int64_t index, visited
    cdef int32_t child, previous = -1, guess = sketch.nodes[at].first
    cdef const uint8_t* field
    cdef Slice name
    for index in range(view.count):
        if name_at(names, id_at(view, index), &name) != 0 or field_at(view, index, &field) != 0:
            return MALFORMED
        child = guess
        if child < 0 or not has_name(sketch, child, at, name.data, name.size):
            child = field_node(sketch, at, &name)
            if child == NO_MEMORY:
                return NO_MEMORY
            if child >= 0:
                if previous < 0:
                    sketch.nodes[at].first = child
                else:
                    sketch.nodes[previous].follower = child
        if child < 0:
            visited = unkept_field(sketch, at, field, view.end)
        else:
            visited = visit(sketch, child, field, view.end, names, depth - 1)
            previous = child
            guess = sketch.nodes[child].follower
        if visited < 0:
            return visited
    return size


cdef int32_t field_node(Sketch* sketch, int32_t at, const Slice* name) noexcept nogil:
    """The child with this name, made if need be; -2 if there is no more room for it; NO_MEMORY."""
    cdef uint64_t hash = hash_bytes(0, name.data, name.size)
    cdef int32_t child = find_node(sketch, at, name.data, name.size, <uint32_t> hash)
    if child >= 0:
        return child
    remember(sketch.nodes[at].keys, hash)
    if sketch.size >= 4 * sketch.max_paths:
        return -2
    return add_node(sketch, at, name.data, <int32_t> name.size, <uint32_t> hash)


cdef int64_t unkept_field(Sketch* sketch, int32_t at, const uint8_t* p, const uint8_t* end) noexcept nogil:
    """Counts a value whose path has no node; returns its size, or MALFORMED."""
    cdef ObjectView object_view
    cdef ArrayView array_view
    cdef Node nobody
    cdef int64_t size
    if p[0] & 3 == OBJECT:
        size = object_view.end - p if parse_object(p, end, &object_view) == 0 else MALFORMED
    elif p[0] & 3 == ARRAY:
        size = array_view.end - p if parse_array(p, end, &array_view) == 0 else MALFORMED
    else:
        memset(&nobody, 0, sizeof(Node))
        size = observe_scalar(&nobody, p, end)
    if size >= 0:
        sketch.nodes[at].other_count += 1
        sketch.nodes[at].other_bytes += size
    return size


cdef int64_t visit_elements(Sketch* sketch, int32_t at, const ArrayView* view, const Dictionary* names,
                            int depth, int64_t size) noexcept nogil:
    cdef int64_t index, visited
    cdef int32_t child = sketch.nodes[at].element
    cdef Slice element
    if view.count == 0:
        return size
    if child < 0:
        if sketch.size >= 4 * sketch.max_paths:
            return size
        child = add_node(sketch, at, NULL, -1, 0)
        if child < 0:
            return NO_MEMORY
        sketch.nodes[at].element = child
    for index in range(view.count):
        if element_at(view, index, &element) != 0:
            return MALFORMED
        visited = visit(sketch, child, element.data, element.data + element.size, names, depth - 1)
        if visited < 0:
            return visited
    return size

# ---------------------------------------------------------------- keeping it small

cdef int compare_rows(const void* a, const void* b) noexcept nogil:
    cdef int64_t x = (<const int64_t*> a)[0], y = (<const int64_t*> b)[0]
    return (x < y) - (x > y)


cdef int prune(Sketch* sketch) noexcept nogil:
    """Keeps the max_paths nodes in the most rows. A child is in no more rows than its parent, so trees stay whole."""
    cdef int64_t* rows = <int64_t*> malloc(<size_t> sketch.size * sizeof(int64_t))
    cdef int32_t* moved = <int32_t*> malloc(<size_t> sketch.size * sizeof(int32_t))
    cdef int32_t index, kept = 0
    cdef int64_t least
    cdef Bytes names
    cdef Node* node
    start(&names)
    if rows == NULL or moved == NULL or reserve(&names, sketch.names.size) != OK:
        free(rows)
        free(moved)
        release(&names)
        return NO_MEMORY
    for index in range(sketch.size):
        rows[index] = sketch.nodes[index].rows
    qsort(rows, <size_t> sketch.size, sizeof(int64_t), compare_rows)
    # Nodes in exactly `least` rows go too, so that what stays does not depend on the order of creation.
    least = rows[sketch.max_paths]
    free(rows)
    if least > sketch.missed:
        sketch.missed = least
    for index in range(sketch.size):
        node = &sketch.nodes[index]
        if index and (node.rows <= least or moved[node.parent] < 0):
            moved[index] = -1
            if moved[node.parent] >= 0 and node.name_size >= 0:
                sketch.nodes[moved[node.parent]].other_count += node.count
                sketch.nodes[moved[node.parent]].other_bytes += node.bytes
            continue
        moved[index] = kept
        if node.name_size >= 0:
            memcpy(names.data + names.size, sketch.names.data + node.name_at, <size_t> node.name_size)
            node.name_at = names.size
            names.size += node.name_size
        if index:
            node.parent = moved[node.parent]
        if kept != index:
            sketch.nodes[kept] = node[0]
        kept += 1
    sketch.size = kept
    for index in range(kept):
        node = &sketch.nodes[index]
        node.first = moved[node.first] if node.first >= 0 else -1
        node.follower = moved[node.follower] if node.follower >= 0 else -1
        node.element = moved[node.element] if node.element >= 0 else -1
    free(moved)
    release(&sketch.names)
    sketch.names = names
    return rebuild_slots(sketch, sketch.slot_count)

# ---------------------------------------------------------------- rows

# A binary column as Arrow lays it out. The bitmap's first bit is number `offset`; `ends` starts at the first row.
cdef struct Binaries:
    const uint8_t* valid
    int64_t offset
    const int32_t* ends
    const uint8_t* data
    int64_t size


cdef inline int row_at(const Binaries* column, int64_t row, Slice* out) noexcept nogil:
    """0 and the row's bytes, or MALFORMED if its offsets lie outside."""
    cdef int64_t first = column.ends[row], last = column.ends[row + 1]
    if first < 0 or first > last or last > column.size:
        return MALFORMED
    out.data = column.data + first
    out.size = last - first
    return 0


cdef int64_t observe_rows(Sketch* sketch, int64_t length, const uint8_t* valid, int64_t offset,
                          const Binaries* metadata, const Binaries* value, int64_t* fault) noexcept nogil:
    """0, or MALFORMED or NO_MEMORY with the number of the row in `fault`."""
    cdef int64_t row, status
    cdef Slice dictionary, document
    cdef Dictionary names
    for row in range(length):
        fault[0] = row
        if not (bit_at(valid, offset + row) and bit_at(value.valid, value.offset + row)
                and bit_at(metadata.valid, metadata.offset + row)):
            sketch.rows += 1
            sketch.nulls += 1
            continue
        if row_at(metadata, row, &dictionary) != 0 or row_at(value, row, &document) != 0:
            return MALFORMED
        if parse_metadata(dictionary.data, dictionary.size, &names) != 0:
            return MALFORMED
        sketch.metadata_bytes += dictionary.size
        sketch.budget = document.size
        status = visit(sketch, 0, document.data, document.data + document.size, &names, sketch.max_depth)
        if status < 0:
            return status
        sketch.rows += 1
        if sketch.size > 2 * sketch.max_paths:
            status = prune(sketch)
            if status != OK:
                return status
    return OK

# ---------------------------------------------------------------- bytes out (shredding/profile_codec.py)

cdef inline int put_number(Bytes* out, uint64_t number) noexcept nogil:
    """A varint: seven bits a byte, low ones first, the top bit says that more follow."""
    if reserve(out, 10) != OK:
        return NO_MEMORY
    while number >= 128:
        out.data[out.size] = <uint8_t> (number | 128)
        out.size += 1
        number >>= 7
    out.data[out.size] = <uint8_t> number
    out.size += 1
    return OK


cdef int put_counts(Bytes* out, const int64_t* counts) noexcept nogil:
    cdef int i, used = 0, status
    for i in range(MOST_DIGITS + 1):
        used += counts[i] != 0
    status = put_number(out, used)
    for i in range(MOST_DIGITS + 1):
        if counts[i] and status == OK:
            status = append_byte(out, <uint8_t> i)
            if status == OK:
                status = put_number(out, counts[i])
    return status


cdef int put_registers(Bytes* out, const uint8_t* registers) noexcept nogil:
    cdef int i, used = 0, status
    for i in range(REGISTERS):
        used += registers[i] != 0
    status = put_number(out, used)
    if used >= REGISTERS // 2:
        return append(out, registers, REGISTERS) if status == OK else status
    for i in range(REGISTERS):
        if registers[i] and status == OK:
            status = append_byte(out, <uint8_t> i)
            if status == OK:
                status = append_byte(out, registers[i])
    return status


cdef int put_key(Bytes* out, const Key* key) noexcept nogil:
    cdef int status = append_byte(out, key.kind)
    if status == OK and key.kind == NUMBER_KEY:
        return append(out, &key.number, 8)
    if status == OK:
        status = append_byte(out, key.size)
    return append(out, key.text, key.size) if status == OK else status


cdef int put_node(Bytes* out, const Sketch* sketch, int32_t index) noexcept nogil:
    cdef const Node* node = &sketch.nodes[index]
    cdef uint64_t mask = 0
    cdef int i, flags, status = OK
    for i in range(TYPES):
        mask |= <uint64_t> (node.types[i] != 0) << i
    flags = ((HAS_RANGE if node.ranged else 0) | (HAS_EXACT if node.exact else 0)
             | (HAS_TEXT if node.types[T_STRING] or node.types[P_BINARY - 1] else 0)
             | (HAS_ARRAY if node.types[T_ARRAY] else 0) | (HAS_ORDER if node.ordered else 0)
             | (HAS_VALUES if node.hashed else 0) | (HAS_KEYS if node.types[T_OBJECT] else 0))
    status |= put_number(out, node.parent if index else 0)
    status |= put_number(out, node.name_size + 1)
    if node.name_size > 0:
        status |= append(out, sketch.names.data + node.name_at, node.name_size)
    status |= put_number(out, node.count)
    status |= put_number(out, node.rows)
    status |= put_number(out, node.bytes)
    status |= put_number(out, node.missed)
    status |= put_number(out, mask)
    for i in range(TYPES):
        if node.types[i]:
            status |= put_number(out, node.types[i])
    status |= append_byte(out, <uint8_t> flags)
    if flags & HAS_RANGE:
        status |= put_number(out, node.ranged)
        status |= append(out, &node.low, 8)
        status |= append(out, &node.high, 8)
    if flags & HAS_EXACT:
        status |= put_counts(out, node.scales)
        status |= put_counts(out, node.digits)
    if flags & HAS_TEXT:
        status |= put_number(out, node.text_bytes)
        status |= put_number(out, node.longest_text)
        for i in range(LOOKS):
            status |= put_number(out, node.looks[i])
    if flags & HAS_ARRAY:
        status |= put_number(out, node.elements)
        status |= put_number(out, node.shortest)
        status |= put_number(out, node.longest)
    if flags & HAS_ORDER:
        status |= put_number(out, node.up)
        status |= put_number(out, node.down)
        status |= put_number(out, node.same)
        status |= put_key(out, &node.first_key)
        status |= put_key(out, &node.last_key)
    if flags & HAS_VALUES:
        status |= put_registers(out, node.values)
    if flags & HAS_KEYS:
        status |= put_number(out, node.other_count)
        status |= put_number(out, node.other_bytes)
        status |= put_registers(out, node.keys)
    return status


cdef int put_sketch(Bytes* out, const Sketch* sketch) noexcept nogil:
    cdef int status = append(out, MAGIC, 4)
    cdef int32_t index
    status |= put_number(out, sketch.rows)
    status |= put_number(out, sketch.nulls)
    status |= put_number(out, sketch.metadata_bytes)
    status |= put_number(out, sketch.missed)
    status |= put_number(out, sketch.size)
    for index in range(sketch.size):
        status |= put_node(out, sketch, index)
        if status != OK:
            return NO_MEMORY
    return status

# ---------------------------------------------------------------- bytes in, added to what is there

cdef struct Reader:
    const uint8_t* p
    const uint8_t* end
    bint broken


cdef inline int64_t get_number(Reader* reader) noexcept nogil:
    cdef uint64_t number = 0
    cdef int shift = 0
    while reader.p < reader.end and shift < 63:
        number |= <uint64_t> (reader.p[0] & 127) << shift
        shift += 7
        reader.p += 1
        if (reader.p - 1)[0] < 128:
            return <int64_t> number
    reader.broken = True
    return 0


cdef inline const uint8_t* get_bytes(Reader* reader, int64_t size) noexcept nogil:
    """Where the next `size` bytes lie, or NULL (and broken)."""
    cdef const uint8_t* found = reader.p
    if size < 0 or size > reader.end - reader.p:
        reader.broken = True
        return NULL
    reader.p += size
    return found


cdef inline double get_double(Reader* reader) noexcept nogil:
    cdef const uint8_t* found = get_bytes(reader, 8)
    return read_double(found) if found != NULL else 0


cdef inline int get_byte(Reader* reader) noexcept nogil:
    cdef const uint8_t* found = get_bytes(reader, 1)
    return found[0] if found != NULL else 0


cdef void get_counts(Reader* reader, int64_t* counts) noexcept nogil:
    cdef int64_t used = get_number(reader), count
    cdef int i
    while used > 0 and not reader.broken:
        i = get_byte(reader)
        count = get_number(reader)
        if i > MOST_DIGITS:
            reader.broken = True
        else:
            counts[i] += count
        used -= 1


cdef void get_registers(Reader* reader, uint8_t* registers) noexcept nogil:
    cdef int64_t used = get_number(reader)
    cdef const uint8_t* found
    cdef int i, rank
    if used >= REGISTERS // 2:
        found = get_bytes(reader, REGISTERS)
        if found != NULL:
            for i in range(REGISTERS):
                registers[i] = found[i] if found[i] > registers[i] else registers[i]
        return
    while used > 0 and not reader.broken:
        i = get_byte(reader)
        rank = get_byte(reader)
        if rank > registers[i]:
            registers[i] = <uint8_t> rank
        used -= 1


cdef void get_key(Reader* reader, Key* key) noexcept nogil:
    cdef const uint8_t* found
    memset(key, 0, sizeof(Key))
    key.kind = <uint8_t> get_byte(reader)
    if key.kind == NUMBER_KEY:
        key.number = get_double(reader)
        return
    key.size = <uint8_t> get_byte(reader)
    found = get_bytes(reader, key.size)
    if key.size > PREFIX or key.kind != TEXT_KEY:
        reader.broken = True
    elif found != NULL:
        memcpy(key.text, found, key.size)


cdef void get_node(Reader* reader, Node* node) noexcept nogil:
    """Adds the figures of a stored node to a node; its name has been read before."""
    cdef int64_t mask, shortest, longest, ranged
    cdef bint was_array = node.types[T_ARRAY] != 0, was_ordered = node.ordered != 0
    cdef double low, high
    cdef int i, flags
    cdef Key first, last
    node.count += get_number(reader)
    node.rows += get_number(reader)
    node.bytes += get_number(reader)
    node.missed += get_number(reader)
    mask = get_number(reader)
    for i in range(TYPES):
        if (mask >> i) & 1:
            node.types[i] += get_number(reader)
    flags = get_byte(reader)
    if flags & HAS_RANGE:
        ranged = get_number(reader)
        low = get_double(reader)
        high = get_double(reader)
        if node.ranged == 0 or low < node.low:
            node.low = low
        if node.ranged == 0 or high > node.high:
            node.high = high
        node.ranged += ranged
    if flags & HAS_EXACT:
        node.exact = 1
        get_counts(reader, node.scales)
        get_counts(reader, node.digits)
    if flags & HAS_TEXT:
        node.text_bytes += get_number(reader)
        longest = get_number(reader)
        if longest > node.longest_text:
            node.longest_text = longest
        for i in range(LOOKS):
            node.looks[i] += get_number(reader)
    if flags & HAS_ARRAY:
        node.elements += get_number(reader)
        shortest = get_number(reader)
        longest = get_number(reader)
        if not was_array or shortest < node.shortest:
            node.shortest = shortest
        if longest > node.longest:
            node.longest = longest
    if flags & HAS_ORDER:
        node.ordered = 1
        node.up += get_number(reader)
        node.down += get_number(reader)
        node.same += get_number(reader)
        get_key(reader, &first)
        get_key(reader, &last)
        if was_ordered:
            compare_keys(node, &node.last_key, &first)
        else:
            node.first_key = first
        node.last_key = last
    if flags & HAS_VALUES:
        node.hashed = 1
        get_registers(reader, node.values)
    if flags & HAS_KEYS:
        node.other_count += get_number(reader)
        node.other_bytes += get_number(reader)
        get_registers(reader, node.keys)


cdef int add_sketch(Sketch* sketch, const uint8_t* data, int64_t size) noexcept nogil:
    """OK, MALFORMED or NO_MEMORY. Paths that one side does not list may have been dropped there: `missed`."""
    cdef Reader reader
    cdef int64_t count, missed, index, parent, name_size
    cdef int32_t* own
    cdef int32_t child
    cdef const uint8_t* name
    cdef uint64_t hash
    cdef int status = OK
    reader.p = data
    reader.end = data + size
    reader.broken = False
    name = get_bytes(&reader, 4)
    if name == NULL or memcmp(name, MAGIC, 4) != 0:
        return MALFORMED
    sketch.rows += get_number(&reader)
    sketch.nulls += get_number(&reader)
    sketch.metadata_bytes += get_number(&reader)
    missed = get_number(&reader)
    count = get_number(&reader)
    if reader.broken or count < 1 or count > size:
        return MALFORMED
    own = <int32_t*> malloc(<size_t> count * sizeof(int32_t))
    if own == NULL:
        return NO_MEMORY
    if missed:
        # A path that the other side lists gets that back below.
        for index in range(sketch.size):
            sketch.nodes[index].missed += missed
    for index in range(count):
        parent = get_number(&reader)
        name_size = get_number(&reader) - 1
        name = get_bytes(&reader, name_size if name_size > 0 else 0)
        if reader.broken or (parent >= index and index > 0) or (index == 0 and name_size >= 0):
            status = MALFORMED
            break
        if index == 0:
            child = 0
        elif name_size < 0:
            child = sketch.nodes[own[parent]].element
            if child < 0:
                child = add_node(sketch, own[parent], NULL, -1, 0)
                if child >= 0:
                    sketch.nodes[own[parent]].element = child
                    sketch.nodes[child].missed += missed
        else:
            hash = hash_bytes(0, name, name_size)
            child = find_node(sketch, own[parent], name, name_size, <uint32_t> hash)
            if child < 0:
                child = add_node(sketch, own[parent], name, <int32_t> name_size, <uint32_t> hash)
                if child >= 0:
                    sketch.nodes[child].missed += missed
        if child < 0:
            status = NO_MEMORY
            break
        own[index] = child
        sketch.nodes[child].missed -= missed
        get_node(&reader, &sketch.nodes[child])
        if reader.broken:
            status = MALFORMED
            break
    free(own)
    if status != OK:
        return status
    sketch.missed += missed
    if reader.p != reader.end:
        return MALFORMED
    return prune(sketch) if sketch.size > 2 * sketch.max_paths else OK

# ---------------------------------------------------------------- from Python

cdef bytes take(Bytes* out):
    try:
        return (<char*> out.data)[:out.size]
    finally:
        release(out)


cdef uintptr_t address_of(buffer):
    return 0 if buffer is None else buffer.address


cdef Binaries binaries(array):
    """The buffers of a pa.BinaryArray; the caller keeps the array alive."""
    valid, ends, data = array.buffers()
    cdef Binaries column
    column.offset = array.offset
    column.valid = <const uint8_t*> address_of(valid)
    column.ends = <const int32_t*> address_of(ends) + column.offset
    column.data = <const uint8_t*> address_of(data)
    column.size = 0 if data is None else data.size
    return column


def summarize(metadata, value, validity, int32_t max_paths, int32_t max_depth):
    """(profile as bytes, None), or (None, number of the first row that is malformed).

    `metadata` and `value` are pa.BinaryArrays; `validity`, a pa.BooleanArray or None, says which rows are not null.
    """
    cdef Binaries metadata_column = binaries(metadata), value_column = binaries(value)
    cdef const uint8_t* valid = NULL
    cdef int64_t length = len(metadata), offset = 0, status, fault = 0
    cdef Sketch sketch
    cdef Bytes out
    if validity is not None:
        valid = <const uint8_t*> address_of(validity.buffers()[1])
        offset = validity.offset
    start(&out)
    with nogil:
        status = start_sketch(&sketch, max_paths, max_depth)
        if status == OK:
            status = observe_rows(&sketch, length, valid, offset, &metadata_column, &value_column, &fault)
        if status == OK:
            status = put_sketch(&out, &sketch)
        release_sketch(&sketch)
    if status == OK:
        return take(&out), None
    release(&out)
    if status == MALFORMED:
        return None, fault
    raise MemoryError


def merge(parts, int32_t max_paths):
    """The profile of the rows of all parts, in their order, as bytes."""
    cdef Sketch sketch
    cdef Bytes out
    cdef const uint8_t* data
    cdef int64_t size
    cdef int status
    start(&out)
    status = start_sketch(&sketch, max_paths, 1)
    for part in parts:
        if status != OK:
            break
        data = <const uint8_t*> <const char*> part
        size = len(part)
        with nogil:
            status = add_sketch(&sketch, data, size)
    if status == OK:
        status = put_sketch(&out, &sketch)
    release_sketch(&sketch)
    if status == OK:
        return take(&out)
    release(&out)
    if status == MALFORMED:
        raise ValueError("these bytes are not a profile: they come from another version, or are cut off")
    raise MemoryError
