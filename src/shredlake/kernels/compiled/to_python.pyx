"""Converts whole columns of Variants to Python objects, as Variant.to_python() does."""

import os

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcmp

from shredlake.kernels.compiled.arrow cimport VariantColumn, bytes_at, is_null_at, variant_column
from shredlake.kernels.compiled.buffers cimport NO_MEMORY, OK, bit_at
from shredlake.kernels.compiled.decimals cimport exact_number
from shredlake.kernels.compiled.json_print cimport print_decimal
from shredlake.kernels.compiled.variant cimport (
    P_BINARY,
    P_DECIMAL16,
    P_DECIMAL4,
    P_DOUBLE,
    P_FALSE,
    P_FLOAT,
    P_INT16,
    P_INT32,
    P_INT64,
    P_INT8,
    P_NULL,
    P_STRING,
    P_TRUE,
    SHORT_STRING,
    Dictionary,
    Slice,
    int128_t,
    name_at,
    parse_metadata,
    read_double,
    read_float,
    read_int16,
    read_int32,
    read_int64,
    string_at,
)
from shredlake.kernels.compiled.walk cimport (
    CLOSE_ARRAY,
    CLOSE_OBJECT,
    OPEN_OBJECT,
    SCALAR,
    Frame,
    Walk,
    close_walk,
    first_event,
    next_event,
    open_walk,
)

from decimal import Decimal

from shredlake.errors import MalformedVariant
from shredlake.variant.decode import PLAIN
from shredlake.variant.layout import scalar_at

cdef uint64_t SEED = <uint64_t> int.from_bytes(os.urandom(8), "little")


class NotAVariant(Exception):
    """A malformed row; the caller lets the reference explain it."""


cdef class Names:
    """The names of one dictionary as str objects, decoded on first use."""

    cdef Dictionary dictionary
    cdef list texts

    cdef int read(self, Slice metadata) except -1:
        if parse_metadata(metadata.data, metadata.size, &self.dictionary) != 0:
            raise NotAVariant
        if self.dictionary.end != metadata.data + metadata.size:
            raise NotAVariant
        self.texts = [None] * self.dictionary.count
        return 0

    cdef str name(self, int64_t id):
        cdef Slice bytes
        if id >= self.dictionary.count:
            raise NotAVariant
        text = self.texts[id]
        if text is None:
            if name_at(&self.dictionary, id, &bytes) != 0:
                raise NotAVariant
            text = self.texts[id] = decoded(bytes)
        return text


cdef str decoded(Slice text):
    try:
        return (<const char*> text.data)[: text.size].decode()
    except UnicodeDecodeError:
        raise NotAVariant from None


cdef object scalar(const uint8_t* p, int64_t size):
    cdef int id = p[0] >> 2
    cdef Slice bytes
    cdef int128_t unscaled
    cdef int scale
    cdef uint8_t text[48]
    if p[0] & 3 == SHORT_STRING or id == P_STRING:
        string_at(p, p + size, &bytes)
        return decoded(bytes)
    if id == P_INT8:
        return <signed char> p[1]
    if id == P_INT16:
        return read_int16(p + 1)
    if id == P_INT32:
        return read_int32(p + 1)
    if id == P_INT64:
        return read_int64(p + 1)
    if id == P_NULL:
        return None
    if id == P_TRUE:
        return True
    if id == P_FALSE:
        return False
    if id == P_DOUBLE:
        return read_double(p + 1)
    if id == P_FLOAT:
        return read_float(p + 1)
    if P_DECIMAL4 <= id <= P_DECIMAL16:
        if exact_number(p, p + size, &unscaled, &scale) != 1:
            raise NotAVariant
        return Decimal((<const char*> text)[: print_decimal(text, unscaled, scale) - text].decode())
    encoded = (<const char*> p)[:size]
    if id == P_BINARY:
        return encoded[5:]
    type_, raw = scalar_at(encoded, 0, size)
    return PLAIN[type_](raw)


cdef object python_value(Walk* walk, Names names, Slice value):
    """Processes the value's events; `outer` holds the containers around the one being filled."""
    cdef int event = first_event(walk, value.data, value.size)
    cdef Frame* frame
    cdef list outer = []
    cdef list elements = []
    cdef dict fields
    cdef object target = elements, item
    cdef bint in_object = False
    while event > 0:
        if event == CLOSE_OBJECT or event == CLOSE_ARRAY:
            target = outer.pop()
            in_object = type(target) is dict
            event = next_event(walk)
            continue
        if in_object:
            key = names.name(walk.id)
            if key in <dict> target:
                raise NotAVariant
        if event == SCALAR:
            item = scalar(walk.at, walk.size)
        elif event == OPEN_OBJECT:
            item = {}
        else:
            item = []
        if in_object:
            (<dict> target)[key] = item
        else:
            (<list> target).append(item)
        if event != SCALAR:
            outer.append(target)
            target = item
            in_object = event == OPEN_OBJECT
        event = next_event(walk)
    if event == NO_MEMORY:
        raise MemoryError
    if event < 0:
        raise NotAVariant
    return elements[0]


def to_python(metadata, value, validity):
    """Returns (objects, row): the rows before `row`, which is the first malformed row or the number of rows."""
    cdef VariantColumn column = variant_column(metadata, value, validity)
    cdef int64_t row
    cdef Walk walk
    cdef Names names = Names()
    cdef Slice bytes, last
    cdef list objects = []
    last.data = NULL
    last.size = 0
    open_walk(&walk, SEED)
    try:
        for row in range(column.value.length):
            if not bit_at(column.valid, row) or is_null_at(&column.value, row):
                objects.append(None)
                continue
            bytes = bytes_at(&column.metadata, row)
            if bytes.size != last.size or last.data == NULL or memcmp(bytes.data, last.data, <size_t> bytes.size):
                last.data = NULL
                names.read(bytes)
                last = bytes
            objects.append(python_value(&walk, names, bytes_at(&column.value, row)))
    except (NotAVariant, MalformedVariant):
        return objects, row
    finally:
        close_walk(&walk)
    return objects, column.value.length
