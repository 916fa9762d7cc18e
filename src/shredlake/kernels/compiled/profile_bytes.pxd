"""Writes and reads the bytes of a profile; shredding/inference/profile_codec.py describes the format."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy, memset

from shredlake.kernels.compiled.buffers cimport NO_MEMORY, OK, Bytes, append, append_byte, reserve
from shredlake.kernels.compiled.profile_paths cimport (
    LONGEST_NAME, LOOKS, MAGIC, MOST_DIGITS, NUMBER_KEY, PREFIX, REGISTERS, T_ARRAY, T_BINARY, T_OBJECT, T_STRING, TEXT_KEY, TYPES,
    Key, Node, Registers, Sketch, Tables, add_node, any_register, find_node, hash_bytes, prune, raise_register,
    scales_of, settle, tables_of,
)
from shredlake.kernels.compiled.variant cimport MALFORMED, read_double

cdef enum:
    HAS_RANGE = 1
    HAS_EXACT = 2
    HAS_TEXT = 4
    HAS_ARRAY = 8
    HAS_ORDER = 16
    HAS_VALUES = 32
    HAS_KEYS = 64

# ---------------------------------------------------------------- order in the file

cdef inline void compare_keys(Tables* tables, const Key* before, const Key* after) noexcept nogil:
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
        tables.up += 1
    elif order < 0:
        tables.down += 1
    else:
        tables.same += 1


# ---------------------------------------------------------------- writing

cdef inline int put_number(Bytes* out, uint64_t number) noexcept nogil:
    """Writes a varint: seven bits per byte, low bits first; the top bit means that more follow."""
    if reserve(out, 10) != OK:
        return NO_MEMORY
    while number >= 128:
        out.data[out.size] = <uint8_t> (number | 128)
        out.size += 1
        number >>= 7
    out.data[out.size] = <uint8_t> number
    out.size += 1
    return OK


cdef inline int put_counts(Bytes* out, const int64_t* counts) noexcept nogil:
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


cdef inline int put_scales(Bytes* out, const Tables* tables) noexcept nogil:
    """Ints have scale 0 and are not counted individually."""
    cdef int64_t scales[MOST_DIGITS + 1]
    cdef int i
    memset(scales, 0, sizeof(scales))
    scales[0] = tables.exact
    if tables.scales != NULL:
        for i in range(1, MOST_DIGITS + 1):
            scales[i] = tables.scales[i]
            scales[0] -= tables.scales[i]
    return put_counts(out, scales)


cdef inline int put_registers(Bytes* out, const Registers* registers) noexcept nogil:
    cdef int i, used = 0, status
    if registers.all == NULL:
        status = put_number(out, registers.used)
        return append(out, registers.few, 2 * registers.used) if status == OK else status
    for i in range(REGISTERS):
        used += registers.all[i] != 0
    status = put_number(out, used)
    if used >= REGISTERS // 2:
        return append(out, registers.all, REGISTERS) if status == OK else status
    for i in range(REGISTERS):
        if registers.all[i] and status == OK:
            status = append_byte(out, <uint8_t> i)
            if status == OK:
                status = append_byte(out, registers.all[i])
    return status


cdef inline int put_key(Bytes* out, const Key* key) noexcept nogil:
    cdef int status = append_byte(out, key.kind)
    if status == OK and key.kind == NUMBER_KEY:
        return append(out, &key.number, 8)
    if status == OK:
        status = append_byte(out, key.size)
    return append(out, key.text, key.size) if status == OK else status


cdef inline int put_node(Bytes* out, const Sketch* sketch, int32_t index) noexcept nogil:
    cdef const Node* node = &sketch.nodes[index]
    cdef const Tables* tables = node.tables
    cdef uint64_t mask = 0
    cdef int i, flags, status = OK
    for i in range(TYPES):
        mask |= <uint64_t> (tables.types[i] != 0) << i
    flags = ((HAS_RANGE if node.ranged else 0) | (HAS_EXACT if tables.exact else 0)
             | (HAS_TEXT if tables.types[T_STRING] or tables.types[T_BINARY] else 0)
             | (HAS_ARRAY if tables.types[T_ARRAY] else 0) | (HAS_ORDER if node.ordered else 0)
             | (HAS_VALUES if any_register(&node.values) else 0) | (HAS_KEYS if tables.types[T_OBJECT] else 0))
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
        if tables.types[i]:
            status |= put_number(out, tables.types[i])
    status |= append_byte(out, <uint8_t> flags)
    if flags & HAS_RANGE:
        status |= put_number(out, node.ranged)
        status |= append(out, &node.low, 8)
        status |= append(out, &node.high, 8)
    if flags & HAS_EXACT:
        status |= put_scales(out, tables)
        status |= put_counts(out, tables.digits)
    if flags & HAS_TEXT:
        status |= put_number(out, tables.text_bytes)
        status |= put_number(out, tables.longest_text)
        for i in range(LOOKS):
            status |= put_number(out, tables.looks[i])
    if flags & HAS_ARRAY:
        status |= put_number(out, tables.elements)
        status |= put_number(out, tables.shortest)
        status |= put_number(out, tables.longest)
    if flags & HAS_ORDER:
        status |= put_number(out, tables.up)
        status |= put_number(out, tables.down)
        status |= put_number(out, tables.same)
        status |= put_key(out, &node.first_key)
        status |= put_key(out, &tables.last_key if tables.last_key.kind else &node.first_key)
    if flags & HAS_VALUES:
        status |= put_registers(out, &node.values)
    if flags & HAS_KEYS:
        status |= put_number(out, tables.other_count)
        status |= put_number(out, tables.other_bytes)
        status |= put_registers(out, &tables.keys)
    return status


cdef inline int put_sketch(Bytes* out, const Sketch* sketch) noexcept nogil:
    cdef int status = append(out, MAGIC, 4)
    cdef int32_t index
    status |= put_number(out, sketch.rows)
    status |= put_number(out, sketch.nulls)
    status |= put_number(out, sketch.metadata_bytes)
    status |= put_number(out, sketch.missed)
    status |= put_number(out, sketch.size)
    for index in range(sketch.size):
        status |= settle(&sketch.nodes[index])
        if status == OK:
            status |= put_node(out, sketch, index)
        if status != OK:
            return NO_MEMORY
    return status

# ---------------------------------------------------------------- reading, added to an existing profile

cdef struct Reader:
    const uint8_t* p
    const uint8_t* end
    bint broken
    bint no_memory


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
    """The position of the next `size` bytes, or NULL (and broken)."""
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


cdef inline void get_counts(Reader* reader, int64_t* counts) noexcept nogil:
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


cdef inline void get_registers(Reader* reader, Registers* registers) noexcept nogil:
    cdef int64_t used = get_number(reader)
    cdef const uint8_t* found
    cdef int i, status = OK
    if used >= REGISTERS // 2:
        found = get_bytes(reader, REGISTERS)
        if found != NULL:
            for i in range(REGISTERS):
                if found[i]:
                    status |= raise_register(registers, <uint8_t> i, found[i])
    else:
        found = get_bytes(reader, 2 * used)
        if found != NULL:
            for i in range(<int> used):
                status |= raise_register(registers, found[2 * i], found[2 * i + 1])
    if status != OK:
        reader.no_memory = True


cdef inline void get_key(Reader* reader, Key* key) noexcept nogil:
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


cdef inline void get_exact(Reader* reader, Tables* tables) noexcept nogil:
    cdef int64_t scales[MOST_DIGITS + 1]
    cdef int64_t* own
    cdef int i
    memset(scales, 0, sizeof(scales))
    get_counts(reader, scales)
    get_counts(reader, tables.digits)
    for i in range(MOST_DIGITS + 1):
        tables.exact += scales[i]
        if i and scales[i]:
            own = scales_of(tables)
            if own == NULL:
                reader.no_memory = True
                return
            own[i] += scales[i]


cdef inline void get_node(Reader* reader, Node* node) noexcept nogil:
    """Adds the counts of a stored node to a node; its name has been read before."""
    cdef Tables* tables = tables_of(node)
    cdef int64_t mask, shortest, longest, ranged
    cdef bint was_array, was_ordered = node.ordered != 0
    cdef double low, high
    cdef int i, flags
    cdef Key first, last
    if tables == NULL:
        reader.no_memory = True
        return
    was_array = tables.types[T_ARRAY] != 0
    node.count += get_number(reader)
    node.rows += get_number(reader)
    node.bytes += get_number(reader)
    node.missed += get_number(reader)
    mask = get_number(reader)
    for i in range(TYPES):
        if (mask >> i) & 1:
            tables.types[i] += get_number(reader)
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
        get_exact(reader, tables)
    if flags & HAS_TEXT:
        tables.text_bytes += get_number(reader)
        longest = get_number(reader)
        if longest > tables.longest_text:
            tables.longest_text = longest
        for i in range(LOOKS):
            tables.looks[i] += get_number(reader)
    if flags & HAS_ARRAY:
        tables.elements += get_number(reader)
        shortest = get_number(reader)
        longest = get_number(reader)
        if not was_array or shortest < tables.shortest:
            tables.shortest = shortest
        if longest > tables.longest:
            tables.longest = longest
    if flags & HAS_ORDER:
        node.ordered = 1
        tables.up += get_number(reader)
        tables.down += get_number(reader)
        tables.same += get_number(reader)
        get_key(reader, &first)
        get_key(reader, &last)
        if was_ordered:
            compare_keys(tables, &tables.last_key, &first)
        else:
            node.first_key = first
        tables.last_key = last
    if flags & HAS_VALUES:
        get_registers(reader, &node.values)
    if flags & HAS_KEYS:
        tables.other_count += get_number(reader)
        tables.other_bytes += get_number(reader)
        get_registers(reader, &tables.keys)


cdef inline int add_sketch(Sketch* sketch, const uint8_t* data, int64_t size) noexcept nogil:
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
    reader.no_memory = False
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
        # A path that the other side lists is corrected below.
        for index in range(sketch.size):
            sketch.nodes[index].missed += missed
    for index in range(count):
        parent = get_number(&reader)
        name_size = get_number(&reader) - 1
        name = get_bytes(&reader, name_size if name_size > 0 else 0)
        if reader.broken or (parent >= index and index > 0) or (index == 0 and name_size >= 0) or name_size > LONGEST_NAME:
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
        if reader.no_memory:
            status = NO_MEMORY
            break
    free(own)
    if status != OK:
        return status
    sketch.missed += missed
    if reader.p != reader.end:
        return MALFORMED
    return prune(sketch) if sketch.size > 3 * sketch.max_paths else OK

