"""Reconstructs shredded Variants: from the buffers of the columns straight to value bytes."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from shredlake.kernels.compiled.arrow cimport ArrowArray
from shredlake.kernels.compiled.buffers cimport (
    APART,
    NO_MEMORY,
    OK,
    SLACK,
    Bytes,
    append_byte,
    bit_at,
    release,
    reserve,
    to_arrow,
)
from shredlake.kernels.compiled.names cimport build_names, look_up, release_cache, release_names, start_cache
from shredlake.kernels.compiled.shredded cimport FIELDS, TOO_LARGE
from shredlake.kernels.compiled.unshred_columns cimport Fields, Node, Part, Unshredding, bytes_at, find_columns
from shredlake.kernels.compiled.unshred_values cimport COLUMN, MISSING, NAMELESS, put_group
from shredlake.kernels.compiled.variant cimport Slice

import pyarrow as pa

from shredlake.kernels.arrow.buffers import address, column_of, metadata_of, validity_of
from shredlake.kernels.arrow.normalize import checked
from shredlake.kernels.arrow.shredded import bytes_part, columns_in, extend_metadata, largest_array
from shredlake.kernels.row_errors import explain_reconstruction

cdef extern from "<stdlib.h>" nogil:
    void* aligned_alloc(size_t alignment, size_t size)


cdef class ColumnTree:
    """A column as an Arrow C data interface array without its type, because exporting a thousand names is slower."""

    cdef ArrowArray array

    def __cinit__(self, column):
        self.array.release = NULL
        column._export_to_c(<uintptr_t> &self.array)

    def __dealloc__(self):
        if self.array.release != NULL:
            self.array.release(&self.array)


cdef class Unshredder:
    """The state of reconstructing one contiguous column."""

    cdef uint8_t before[APART]
    cdef Unshredding work
    cdef uint8_t behind[APART]

    def __cinit__(self, plan, columns, ColumnTree tree, bint reject_conflicts):
        cdef list nodes = plan.shapes, fields = plan.fields, name_starts = plan.name_starts
        cdef bytes names = plan.all_names
        cdef const ArrowArray* column = &tree.array
        cdef int64_t* starts
        cdef int32_t* places
        cdef int index, code, shapes = 0
        cdef Fields* all = &self.work.fields
        cdef Node* node
        memset(&self.work, 0, sizeof(Unshredding))
        self.work.reject_conflicts = reject_conflicts
        self.work.count = <int> len(nodes)
        self.work.nodes = <Node*> aligned_alloc(64, <size_t> len(nodes) * sizeof(Node))
        if self.work.nodes == NULL:
            raise MemoryError
        memset(self.work.nodes, 0, <size_t> len(nodes) * sizeof(Node))
        all.nodes = <int32_t*> malloc((len(fields) + 1) * sizeof(int32_t))
        all.names = <int32_t*> malloc((len(fields) + 1) * sizeof(int32_t))
        all.typed = <uint64_t*> malloc((len(fields) + 1) * sizeof(uint64_t))
        all.value = <uint64_t*> malloc((len(fields) + 1) * sizeof(uint64_t))
        all.blocks = <int64_t*> malloc((len(nodes) + 1) * sizeof(int64_t))
        starts = <int64_t*> malloc(len(name_starts) * sizeof(int64_t))
        places = <int32_t*> malloc(3 * len(nodes) * sizeof(int32_t))
        try:
            if (
                all.nodes == NULL or all.names == NULL or all.typed == NULL or all.value == NULL
                or all.blocks == NULL or starts == NULL or places == NULL
            ):
                raise MemoryError
            for index, values in enumerate(nodes):
                node = &self.work.nodes[index]
                (
                    node.kind, node.type, node.width, node.precision, node.scale, node.element,
                    node.first_field, node.field_count, _,
                ) = values
                node.offset_size = 1
                all.blocks[shapes] = -1
                node.shape = shapes
                shapes += node.kind == FIELDS
            for index, values in enumerate(columns.places):
                places[3 * index], places[3 * index + 1], places[3 * index + 2] = values
            for index in range(len(fields)):
                all.names[index], all.nodes[index] = fields[index]
            for index in range(len(name_starts)):
                starts[index] = name_starts[index]
            if start_cache(&self.work.lookups, shapes) != OK:
                raise MemoryError
            code = build_names(&self.work.names, <const uint8_t*> <const char*> names, starts, len(name_starts) - 1)
            if code != OK:
                raise MemoryError
            find_columns(&self.work, places, 0, column, column.offset, column.length)
            # Null rows are identified before the columns are read.
            self.work.nodes[0].group_valid = NULL
        finally:
            free(starts)
            free(places)

    def __dealloc__(self):
        free(self.work.nodes)
        free(self.work.fields.nodes)
        free(self.work.fields.names)
        free(self.work.fields.typed)
        free(self.work.fields.value)
        free(self.work.fields.blocks)
        free(self.work.entries)
        free(self.work.rest)
        release(&self.work.out)
        release_cache(&self.work.lookups)
        release_names(&self.work.names)

    def run(self, valid, metadata, int64_t first_row, int64_t rows, int64_t largest):
        """Writes rows from first_row on until the end or until `largest` bytes: (fault or 0, the row it stopped at,
        offsets, data). valid: (address, bit offset); metadata: a part.
        """
        cdef const uint8_t* bits = <const uint8_t*> <uintptr_t> valid[0]
        cdef int64_t bits_from = valid[1], row = first_row, before
        cdef Part names
        cdef Slice bytes
        cdef Bytes offsets
        cdef int32_t* list
        cdef int code = OK
        memset(&names, 0, sizeof(Part))
        memset(&offsets, 0, sizeof(Bytes))
        names.valid = <const uint8_t*> <uintptr_t> metadata[0]
        names.start = metadata[1]
        names.offsets = <const int32_t*> <uintptr_t> metadata[2]
        names.data = <const uint8_t*> <uintptr_t> metadata[3]
        names.size = metadata[4]
        if self.work.expected > largest:
            self.work.expected = largest
        if (
            reserve(&offsets, 4 * (rows - first_row + 1)) != OK
            or reserve(&self.work.out, self.work.expected + SLACK) != OK
        ):
            release(&offsets)
            raise MemoryError
        list = <int32_t*> offsets.data
        list[0] = 0
        with nogil:
            while row < rows:
                before = self.work.out.size
                if bit_at(bits, bits_from + row):
                    code = bytes_at(&names, row, &bytes)
                    if code == OK:
                        code = look_up(&self.work.lookups, &self.work.names, bytes.data, bytes.size)
                    if code == OK:
                        code = put_group(&self.work, 0, row, COLUMN)
                        if code == MISSING:
                            code = append_byte(&self.work.out, 0)
                    if code < 0:
                        break
                if self.work.out.size > largest:
                    if row == first_row:
                        code = TOO_LARGE
                    self.work.out.size = before
                    break
                row += 1
                list[row - first_row] = <int32_t> self.work.out.size
        if code < 0:
            release(&offsets)
            return code, row, None, None
        offsets.size = 4 * (row - first_row + 1)
        return 0, row, to_arrow(&offsets), to_arrow(&self.work.out)


def unshred(piece, plan, bint reject_conflicts, int64_t first_row):
    """Reconstructs the unshredded column from a shredded one: several arrays if one would exceed 2 GiB."""
    validity = validity_of(piece)
    metadata = metadata_of(piece, first_row)
    columns = columns_in(piece, plan)
    tree = ColumnTree(columns.piece)
    valid = (0, 0) if validity is None else (address(validity.buffers()[1]), validity.offset)
    arrays, row, extended = [], 0, False
    while row < len(piece) or not arrays:
        unshredder = Unshredder(plan, columns, tree, reject_conflicts)
        code, stop, offsets, data = unshredder.run(valid, bytes_part(metadata), row, len(piece), largest_array())
        if code == NO_MEMORY:
            raise MemoryError
        if code == NAMELESS and not reject_conflicts and not extended:
            metadata = extend_metadata(metadata, plan.names)
            arrays, row, extended = [], 0, True
            continue
        if code != OK:
            checked(piece)      # the reference reads with Arrow, which does not check offsets
            explain_reconstruction(piece.slice(stop, 1), plan.root, reject_conflicts, first_row + stop)
        rows = stop - row
        bits = validity_of(piece.slice(row, rows))
        bitmap = None if bits is None else bits.buffers()[1]
        value = pa.Array.from_buffers(pa.binary(), rows, [bitmap, offsets, data])
        arrays.append(column_of(metadata.slice(row, rows), value, None, bits))
        row = stop
    return arrays
