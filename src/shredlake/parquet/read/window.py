"""One window of rows of one file, from the first leaf to the finished batch.

Conditions are evaluated one after the other, the cheapest first: each reads its leaves for the remaining rows
and drops the rows that fail. The output columns are read last, for the rows that passed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shredlake import kernels
from shredlake.errors import InvalidFile, ShredlakeError
from shredlake.expr.ast import Cast, Column, Get, walk
from shredlake.expr.evaluate import evaluate, matching
from shredlake.kernels.arrow.buffers import null_rows
from shredlake.kernels.arrow.nested import Names
from shredlake.kernels.cast_options import DEFAULT, CastOptions
from shredlake.kernels.get import get_path
from shredlake.parquet.format.row_ranges import Rows
from shredlake.parquet.nested import replace_variants
from shredlake.parquet.read.access import Access
from shredlake.parquet.read.bind import Bound, Presence, Reference, Viewed, column_of
from shredlake.parquet.read.draft import to_current_layout
from shredlake.parquet.read.open_file import OpenFile
from shredlake.parquet.read.skipping import constant_values, extreme_values
from shredlake.parquet.read.statistics import Extreme
from shredlake.variant.metadata import EMPTY_METADATA

WORTH_DROPPING = 0.5
"""While more than this share of the rows is left, copying them costs more than evaluating them again."""

Read = Callable[[frozenset[int], Rows], dict[str, pa.Array]]
"""Reads leaves for some rows; returns columns by their top-level names."""

ReadLeaves = Callable[[frozenset[int], Rows], dict[int, pa.Array]]
"""As `Read`, but each leaf without the structs around it."""

Live = Callable[[int, int], pa.BooleanArray]
"""Takes a range of the file's rows; the result is true for rows that are not deleted."""


@dataclass(frozen=True)
class Task:
    """The part of a query that all windows of a file share."""

    file: OpenFile
    slots: Mapping[Reference, str]
    accesses: Mapping[Reference, Access | None]
    """The leaves of each reference."""
    statistics: Mapping[Column | Get, Access | None]
    """The leaves of each reference in the condition as it was written."""
    types: Mapping[Reference, pa.DataType]
    """The type of each reference in the whole data set."""
    conditions: Sequence[Bound]
    outputs: Sequence[Bound]
    schema: pa.Schema
    options: CastOptions = DEFAULT
    live: Live | None = None
    """The rows of the file that are not deleted; None for all."""
    indexes: bool = False
    """Whether strings may be returned dictionary-encoded, if the file stores them so."""
    runs: Mapping[str, Extreme] | None = None
    """If given, a column whose rows are known to be equal may be returned run-end encoded, as one run.

    The mapping names output columns of which only the minimum or the maximum is needed. For whole row groups
    these may be returned as runs of that value.
    """
    extremes: dict[Reference, dict[Extreme, list[pa.Scalar | None]]] = field(
        default_factory=dict, compare=False
    )
    """For references asked for so far: the exact minima and maxima of each row group."""
    constants: dict[Reference, list[pa.Scalar | None]] = field(default_factory=dict, compare=False)
    """For references asked for so far: the value in each row group whose rows all have the same."""

    @property
    def reject_conflicts(self) -> bool:
        """Whether a Variant whose `value` and `typed_value` contradict each other is an error."""
        return self.options.raises

    def constant(self, group: int, reference: Reference) -> pa.Scalar | None:
        """The value of a reference, if the footer says that all rows of a row group have the same."""
        if reference not in self.constants:
            access, kind = self.accesses[reference], self.types[reference]
            plain = isinstance(reference, Column | Get | Viewed)
            self.constants[reference] = constant_values(self.file, access if plain else None, kind)
        return self.constants[reference][group]

    def output_constants(self, group: int) -> list[pa.Scalar | None]:
        """For each output column, the value that all rows of a row group have; None if it is not known.

        All are None unless constant columns may be returned as runs.
        """
        if self.runs is None:
            return [None] * len(self.outputs)
        return [
            self.constant(group, next(iter(output.references))) if isinstance(output.expr, Column) else None
            for output in self.outputs
        ]

    def known_outputs(self, group: int) -> list[pa.Scalar] | None:
        """The values of all output columns in a row group, if its footer is enough to answer the query."""
        found = self.output_constants(group)
        for place, (output, name) in enumerate(zip(self.outputs, self.schema.names, strict=True)):
            which = (self.runs or {}).get(name)
            if which is not None and isinstance(output.expr, Column):
                found[place] = self._extreme(group, next(iter(output.references)), which)
        known = [value for value in found if value is not None]
        return known if known and len(known) == len(found) else None

    def _extreme(self, group: int, reference: Reference, which: Extreme) -> pa.Scalar | None:
        kept = self.extremes.setdefault(reference, {})
        if which not in kept:
            access, kind = self.accesses[reference], self.types[reference]
            plain = isinstance(reference, Column | Get | Viewed)
            kept[which] = extreme_values(self.file, access if plain else None, kind, which)
        return kept[which][group]

    def columns(self, group: int, references: Iterable[Reference]) -> frozenset[int]:
        """The leaves that references read in a row group."""
        chunks = self.file.chunks

        def is_all_null(column: int) -> bool:
            return chunks.chunk(group, column).is_all_null

        found = (self.accesses[reference] for reference in references)
        return frozenset().union(*(access.read(is_all_null) for access in found if access is not None))


class Window:
    """Some rows of one row group, with the columns and values read so far."""

    def __init__(
        self,
        task: Task,
        group: int,
        rows: Rows,
        read: Read,
        read_leaves: ReadLeaves | None = None,
        *,
        together: frozenset[int] = frozenset(),
        conditions: Sequence[Bound] | None = None,
    ) -> None:
        """`together` are leaves that `read` always returns together.

        `conditions` are those of the task that not all rows are known to meet; None for all of them.
        """
        self.task = task
        self.group = group
        self.rows = rows
        self._read = read
        self._read_leaves = read_leaves
        self._together = together
        self._conditions = task.conditions if conditions is None else conditions
        self._columns: dict[str, pa.Array] = {}
        self._loaded: frozenset[int] = frozenset()
        self._values: dict[Reference, pa.Array] = {}

    def filter(self) -> Rows:
        """The rows for which every condition is true."""
        passed: pa.BooleanArray | None = None
        for number, condition in enumerate(self._conditions):
            mask = self.matching(condition)
            passed = mask if passed is None else pc.and_(passed, mask)
            later = self._conditions[number + 1 :]
            if self._can_wait(later) and passed.true_count > WORTH_DROPPING * len(passed):
                continue
            bounds = [*later, *self.task.outputs]
            self._keep(passed, frozenset().union(*(bound.references for bound in bounds)))
            passed = None
            if self.rows.count == 0:
                break
        return self.rows

    def _can_wait(self, later: Sequence[Bound]) -> bool:
        """Whether failed rows may take part in later conditions, which must then not raise errors."""
        nodes = [node for bound in later for node in (*bound.references, *walk(bound.expr))]
        may_raise = self.task.options.raises or any(
            isinstance(node, Get | Cast) and node.strict for node in nodes
        )
        return bool(later) and not may_raise

    def batch(self) -> pa.RecordBatch:
        """The output columns for the remaining rows."""
        constants = self.task.output_constants(self.group)
        read = [output for output, known in zip(self.task.outputs, constants, strict=True) if known is None]
        self._load(reference for output in read for reference in output.references)
        arrays = [
            self._output(output, field) if constant is None else one_run(constant, self.rows.count)
            for output, field, constant in zip(self.task.outputs, self.task.schema, constants, strict=True)
        ]
        if not arrays:
            return rows_without_columns(self.rows.count)
        if self.task.indexes:
            return pa.RecordBatch.from_arrays(arrays, names=self.task.schema.names)
        return pa.RecordBatch.from_arrays(arrays, schema=self.task.schema)

    def _output(self, output: Bound, field: pa.Field) -> pa.Array:
        array = _one_array(self.evaluate(output))
        if self.task.indexes and are_indexes(array.type, field.type):
            return array
        return _cast(array, field.type, f"{self.task.file.name}, {field.name}: ")

    def evaluate(self, bound: Bound) -> pa.Array:
        table, task = self._slots(bound), self.task
        if isinstance(bound.expr, Column):
            return table.column(0)
        return evaluate(bound.expr, table, task.options)

    def matching(self, bound: Bound) -> pa.BooleanArray:
        """Where a condition is true."""
        table, task = self._slots(bound), self.task
        return _one_array(matching(bound.expr, table, task.options))

    def _slots(self, bound: Bound) -> pa.Table:
        """A table of the slots that an expression reads."""
        self._load(bound.references)
        values = {self.task.slots[reference]: self.value(reference) for reference in bound.references}
        return pa.table(values or {"rows": pa.nulls(self.rows.count)})

    def value(self, reference: Reference) -> pa.Array:
        """The values of a reference."""
        if reference not in self._values:
            try:
                self._values[reference] = self._computed(reference)
            except ShredlakeError as error:
                place = f"{self.task.file.name}, row group {self.group}, {column_of(reference)}"
                error.at(place)
                raise
        return self._values[reference]

    def _load(self, references: Iterable[Reference]) -> None:
        """Reads the leaves that have not been read yet."""
        wanted = [reference for reference in references if reference not in self._values]
        for reference in wanted if not self._together else ():
            constant = self.task.constant(self.group, reference)
            if constant is not None:
                self._values[reference] = self._repeated(constant)
        wanted = [reference for reference in wanted if reference not in self._values]
        direct = {reference: self._leaf(reference) for reference in wanted}
        leaves = frozenset(column for column in direct.values() if column is not None)
        if leaves and self._read_leaves is not None and self.rows.count:
            found = self._read_leaves(leaves, self.rows)
            self._values |= {one: found[column] for one, column in direct.items() if column is not None}
            wanted = [reference for reference in wanted if direct[reference] is None]
        missing = self.task.columns(self.group, wanted) - self._loaded
        if missing:
            missing |= self._together
        if missing and self.rows.count:
            columns = self._read(missing, self.rows)
            self._columns = self.task.file.merged([self._columns, columns] if self._columns else [columns])
        self._loaded |= missing

    def _repeated(self, constant: pa.Scalar) -> pa.Array:
        """A value for every row."""
        if self.task.indexes and constant.type == pa.string():
            zeros = pa.array(np.zeros(self.rows.count, dtype=np.int32))
            return pa.DictionaryArray.from_arrays(zeros, pa.array([constant.as_py()], pa.string()))
        return pa.repeat(constant, self.rows.count)

    def _leaf(self, reference: Reference) -> int | None:
        """The leaf that holds the reference's values without cast or residuals, outside lists; else None."""
        access = self.task.accesses[reference]
        leaf = access.leaf if isinstance(reference, Get) and access is not None else None
        if leaf is None or leaf.column is None or leaf.repetition == "required":
            return None
        column, file = leaf.column, self.task.file
        only = self.task.columns(self.group, [reference]) == {column}
        as_it_is = file.types[column] == self.task.types[reference]
        return column if only and as_it_is and column not in file.columns.repeated else None

    def _keep(self, mask: pa.BooleanArray, wanted: frozenset[Reference]) -> None:
        """Drops the rows that fail, and columns that are not needed later."""
        self.rows = self.rows.masked(mask)
        self._values = {
            reference: value.filter(mask) for reference, value in self._values.items() if reference in wanted
        }
        open_ = [reference for reference in wanted if reference not in self._values]
        if self.task.columns(self.group, open_) & self._loaded:
            self._columns = {name: column.filter(mask) for name, column in self._columns.items()}
        else:
            self._columns, self._loaded = {}, frozenset()

    def _computed(self, reference: Reference) -> pa.Array:
        access = self.task.accesses[reference]
        type_ = self.task.types[reference]
        if access is None or self.rows.count == 0:
            return null_rows(self.rows.count, type_)
        if isinstance(reference, Get):
            return self._got(reference, access, type_)
        if access.place[0] not in self._columns:  # a group without columns does not tell its rows apart
            return pa.nulls(self.rows.count, type_)
        found = self._found(access.place)
        if isinstance(reference, Presence):
            return pc.if_else(pc.is_valid(found), pa.scalar(True), pa.scalar(None, pa.bool_()))
        view = reference.view if isinstance(reference, Viewed) else "variant"
        if view == "struct":
            return _cast(found, type_)
        columns = self.task.file.columns

        def convert(column: pa.Array, place: Names) -> pa.Array:
            whole = kernels.unshred(self._in_current_layout(column, place), strict=self.task.reject_conflicts)
            return kernels.to_json(whole) if view == "json" else whole

        node = columns.schema.find(access.place)
        return _cast(replace_variants(found, node, columns.all_variants, convert), type_)

    def _got(self, reference: Get, access: Access, type_: pa.DataType) -> pa.Array:
        columns = access.read(lambda column: column not in self._loaded)
        if not columns:
            return null_rows(self.rows.count, type_)
        found = self._found(access.place)
        leaf = access.leaf
        if leaf is not None and columns == access.columns and leaf.repetition != "required":
            typed = found
            for name in leaf.path[len(access.place) :]:
                typed = typed.field(name)
            if typed.type == type_:
                return typed
        options = self.task.options.overridden_by(reference.strict)
        target = None if reference.type is None else reference.type.arrow
        narrow = _with_metadata(self._in_current_layout(found, access.place))
        return get_path(narrow, reference.path, target, options)

    def _in_current_layout(self, column: pa.Array, place: Names) -> pa.Array:
        """Converts a Variant column of any layout to the current one."""
        draft = place in self.task.file.columns.drafts
        return to_current_layout(column, reject_conflicts=self.task.reject_conflicts) if draft else column

    def _found(self, place: Names) -> pa.Array:
        """A column or a field of structs; null if a parent struct is null."""
        top = self._columns[place[0]] = self.task.file.plain(place[0], self._columns[place[0]])
        return pc.struct_field(top, list(place[1:])) if len(place) > 1 else top


class ConstantRows:
    """Whole row groups of one file whose output columns the footer knows. Nothing is read of them."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._values: list[list[pa.Scalar]] = []
        self._ends: list[int] = []

    def add(self, rows: int, values: Sequence[pa.Scalar]) -> None:
        """Adds a row group: its number of rows, and the values that all of them have."""
        self._values.append(list(values))
        self._ends.append(self.count + rows)

    @property
    def count(self) -> int:
        return self._ends[-1] if self._ends else 0

    def filter(self) -> Rows:
        """All rows: none of them fails a condition."""
        return Rows.all(self.count)

    def batch(self) -> pa.RecordBatch:
        """The output columns, each with one run per row group."""
        ends = pa.array(self._ends, pa.int32())
        columns = [
            pa.RunEndEncodedArray.from_arrays(ends, pa.array(list(values), values[0].type))
            for values in zip(*self._values, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, names=self.task.schema.names)


def _with_metadata(column: pa.StructArray) -> pa.StructArray:
    """Adds a placeholder for `metadata` to a Variant column of which only some leaves were read."""
    if column.type.get_field_index("metadata") >= 0:
        return column
    metadata = pa.repeat(pa.scalar(EMPTY_METADATA, pa.binary()), len(column))
    children = [metadata, *(column.field(at) for at in range(column.type.num_fields))]
    fields = [pa.field("metadata", pa.binary(), nullable=False), *column.type]
    return pa.StructArray.from_arrays(children, fields=fields, mask=pc.is_null(column))


def rows_without_columns(count: int) -> pa.RecordBatch:
    """A batch with rows but without columns.

    >>> rows_without_columns(3).num_rows
    3
    """
    return pa.RecordBatch.from_struct_array(pa.array([{}] * count, pa.struct([])))


def are_indexes(type_: pa.DataType, texts: pa.DataType) -> bool:
    """Whether a type is a dictionary encoding of the given string type."""
    return bool(pa.types.is_dictionary(type_) and type_.value_type == texts)


def one_run(value: pa.Scalar, rows: int) -> pa.RunEndEncodedArray:
    """A column whose rows all have one value.

    >>> len(one_run(pa.scalar("a"), 1000))
    1000
    """
    runs = 1 if rows else 0
    return pa.RunEndEncodedArray.from_arrays(pa.array([rows][:runs], pa.int32()), pa.repeat(value, runs))


def are_runs(type_: pa.DataType, values: pa.DataType) -> bool:
    """Whether a type is a run-end encoding of the given type."""
    return bool(pa.types.is_run_end_encoded(type_) and type_.value_type == values)


def _one_array(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    if not isinstance(values, pa.ChunkedArray):
        return values
    return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()  # which copies


def _cast(array: pa.Array, type_: pa.DataType, place: str = "") -> pa.Array:
    """Casts the array to the type of the scan; `place` begins the error message."""
    if array.type == type_:
        return array
    try:
        return array.cast(type_)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise InvalidFile(
            f"{place}{array.type} can't be read as {type_}, the type in other files: {error}"
        ) from error
