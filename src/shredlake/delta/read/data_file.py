"""The rows of one data file, as the table sees them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Add, DeletionVector
from shredlake.delta.read.bind import Binding, bind
from shredlake.delta.read.conform import FILES, FILES_BY_ID, fit, renamed
from shredlake.delta.read.deletion_vectors import check_inside, live_mask, read_vector
from shredlake.delta.schema import partitions
from shredlake.delta.schema.names import resolve
from shredlake.delta.schema.types import arrow_type, physical_type
from shredlake.delta.storage.storage import decode_path
from shredlake.expr import Column, Expr, Projection, join_name
from shredlake.kernels.cast_options import DEFAULT, CastOptions
from shredlake.parquet.read.file_reader import FileReader, Finish
from shredlake.parquet.read.open_file import OpenFile
from shredlake.parquet.read.plan import make_plan
from shredlake.parquet.read.statistics import Extreme
from shredlake.parquet.read.window import Live, are_indexes, are_runs
from shredlake.runner import in_order

# Files of at least this many bytes are streamed; smaller files are read ahead as a whole.
LARGE_FILE = 64 << 20


@dataclass(frozen=True)
class Query:
    """The columns and the predicate that a scan applies to every file."""

    projections: tuple[Projection, ...]
    predicate: Expr | None
    schema: pa.Schema
    options: CastOptions = DEFAULT

    @cached_property
    def computed_types(self) -> list[pa.DataType | None]:
        """The types of computed columns; None for a column of the table, whose type in files may differ."""
        pairs = zip(self.projections, self.schema, strict=True)
        return [None if isinstance(found.expr, Column) else field.type for found, field in pairs]


@dataclass(frozen=True)
class Reading:
    """How the rows of a file are returned."""

    indexes: bool = False
    """Whether strings may be dictionary-encoded, with a dictionary per batch."""
    runs: Mapping[str, Extreme] | None = None
    """As in `Task`: if given, a column of one value may be run-end encoded."""
    first_rows: int | None = None
    """If given, the first batch has about that many rows, and later batches grow."""
    finish: Finish | None = None
    """Applied to each batch on the thread that reads it."""


WHOLE: Final = Reading()
"""As the table has them, in batches as large as memory allows."""


def partition_values(snapshot: Snapshot, add: Add) -> dict[str, Any]:
    """The typed partition values of a file, by logical name."""
    found: dict[str, Any] = {}
    for name in snapshot.metadata.partition_columns:
        field = snapshot.schema.get(name)
        assert field is not None
        found[name] = partitions.python_value(add.partition_values.get(field.physical_name), field)
    return found


class DataFile:
    """A file of a snapshot, opened."""

    def __init__(
        self, snapshot: Snapshot, add: Add, file: OpenFile | None = None, *, checksums: bool = True
    ) -> None:
        """`file` is the file itself if it is already open. `checksums` is passed on to `OpenFile`."""
        self.snapshot = snapshot
        self.add = add
        self.file = file or open_file(snapshot, add, checksums=checksums)
        self.by_id = snapshot.mapping_mode == "id"
        self.binding: Binding = bind(
            snapshot.schema,
            partition_values(snapshot, add),
            self.file.arrow_schema,
            by_id=self.by_id,
        )

    def reader(self, query: Query, reading: Reading = WHOLE) -> FileReader:
        """The windows of the file as jobs, for a caller with threads."""
        plan = make_plan(
            [self.file],
            [Projection(p.name, self.binding.expression(p.expr)) for p in query.projections],
            None if query.predicate is None else self.binding.expression(query.predicate),
            views="variant",
            options=query.options,
            live=self._live(),
            indexes=reading.indexes,
            runs=reading.runs,
            output_types=query.computed_types,
        )
        encoded, complete = reading.indexes or reading.runs is not None, reading.finish

        def finish(batch: pa.RecordBatch) -> pa.RecordBatch:
            found = self._finished(batch, query, encoded)
            return found if complete is None else complete(found)

        return FileReader(plan.tasks[0], plan.predicate, first_rows=reading.first_rows, finish=finish)

    def batches(self, query: Query, *, indexes: bool = False) -> Iterator[pa.RecordBatch]:
        """The rows that the query keeps, with its columns; a large file is read by several threads.

        With `indexes`, strings may be dictionary-encoded, with a dictionary per batch.
        """
        reader = self.reader(query, Reading(indexes=indexes))
        threads = pa.cpu_count() if is_large(self.add) else 1
        try:
            for found in in_order(reader.batches(), threads):
                if found.batch is not None:
                    yield found.batch
        finally:
            reader.close()

    def count(self, query: Query) -> int:
        """How many rows the query keeps; its columns are not read."""
        reader = self.reader(query)
        found = sum(job().rows for job in reader.counts())
        reader.close()
        return found

    def _finished(self, batch: pa.RecordBatch, query: Query, encoded: bool) -> pa.RecordBatch:
        """Casts columns to the types and nested names of the table."""
        if not query.projections:
            return batch
        columns = []
        for projection, field, column in zip(query.projections, query.schema, batch.columns, strict=True):
            kind, wanted = column.type, field.type
            as_it_is = encoded and (are_indexes(kind, wanted) or are_runs(kind, wanted))
            columns.append(column if as_it_is else self._as_table_type(projection, field, column))
        if encoded:
            return pa.RecordBatch.from_arrays(columns, names=query.schema.names)
        return pa.RecordBatch.from_arrays(columns, schema=query.schema)

    def _as_table_type(self, projection: Projection, field: pa.Field, column: pa.Array) -> pa.Array:
        if pa.types.is_run_end_encoded(column.type):
            column = pc.run_end_decode(column)
        by_id = self.by_id and pa.types.is_nested(column.type)
        if isinstance(projection.expr, Column) and (by_id or not column.type.equals(field.type)):
            kind = resolve(self.snapshot.schema, projection.expr.name)[-1].type
            rule = FILES_BY_ID if by_id else FILES
            chunked = fit(pa.chunked_array([column]), physical_type(kind), projection.name, rule)
            column = renamed(chunked, arrow_type(kind)).combine_chunks()
        return column if column.type.equals(field.type) else column.cast(field.type)

    def _live(self) -> dict[OpenFile, Live] | None:
        """The live rows of a file with a deletion vector."""
        if self.add.deletion_vector is None:
            return None
        deleted = self.deleted(self.add.deletion_vector)
        return {self.file: lambda start, stop: live_mask(deleted, start, stop - start)}

    def deleted(self, vector: DeletionVector | None) -> BitMap64:
        """The rows of this file that a vector deletes."""
        if vector is None:
            return BitMap64()
        rows = read_vector(self.snapshot.storage, vector)
        check_inside(rows, sum(self.file.chunks.row_counts), self.add.path)
        return rows


def is_large(add: Add) -> bool:
    """Whether a file is streamed; a smaller file is read as a whole."""
    return add.size > LARGE_FILE


def open_file(snapshot: Snapshot, add: Add, *, checksums: bool = True) -> OpenFile:
    """The Parquet file itself."""
    declared = [place.groups for place in snapshot.variants]
    with snapshot.storage.data_file(decode_path(add.path)) as (location, store):
        return OpenFile(location, store, variants=declared, exact=True, checksums=checksums)


def whole_rows(snapshot: Snapshot) -> Query:
    """Every column of the table."""
    projections = tuple(
        Projection(item.name, Column(join_name((item.name,)))) for item in snapshot.schema.fields
    )
    return Query(projections, None, nullable_schema(snapshot.arrow_schema))


def nullable_schema(schema: pa.Schema) -> pa.Schema:
    """Makes every field nullable: files may hold nulls where the table now forbids them."""
    return pa.schema([item.with_nullable(True) for item in schema])


def read_rows(snapshot: Snapshot, add: Add) -> pa.Table:
    """All live rows of a file."""
    query = whole_rows(snapshot)
    return pa.Table.from_batches(DataFile(snapshot, add).batches(query), query.schema)
