"""A table as DuckDB scans it: a pyarrow dataset whose scanner is ours.

DuckDB asks a dataset for the columns and the rows that a query needs, after its optimizer has pushed filters
down as far as the query's meaning allows, through joins and subqueries. So filters reach the scan only where
they may, and what DuckDB does not push down it evaluates itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pad

from shredlake.errors import InvalidExpression
from shredlake.expr.ast import Column, Get, Projection
from shredlake.kernels.arrow.extension import with_marks
from shredlake.kernels.arrow.types import variant
from shredlake.kernels.cast_options import CastOptions
from shredlake.kernels.dispatch import dispatch
from shredlake.kernels.fallback.tally import INFINITE
from shredlake.parquet.read.statistics import Extreme
from shredlake.sql.explain import RunLog, ScanRun
from shredlake.sql.pushdown import fields_of, predicate_of
from shredlake.sql.references import Reference
from shredlake.sql.runs import merge_rows, plain, unmerged
from shredlake.sql.sources import Source, column_named
from shredlake.sql.text import TimePart

DICTIONARY: Final = pa.dictionary(pa.int32(), pa.string())

SECOND: Final = 1_000_000
PARTS: Final[Mapping[TimePart, tuple[int, int]]] = {
    "hour": (3600 * SECOND, 24), "minute": (60 * SECOND, 60), "second": (SECOND, 60),
}  # fmt: skip
"""How many microseconds a unit has, and how many units there are before they start again."""


class TableDataset(pad.Dataset):  # type: ignore[misc]
    """The columns of a table, and those that one reference to it needs in addition."""

    def __init__(self, source: Source, reference: Reference, options: CastOptions, log: RunLog) -> None:
        self._source, self._reference, self._options, self._log = source, reference, options, log
        self._readers: dict[str, Column | Get] = {name: column_named(name) for name in source.schema.names}
        self._readers |= {name: get for get, name in reference.paths.items()}
        fields = [self._field(name, source.schema.field(name).type) for name in source.schema.names]
        fields += [self._field(name, _path_type(get)) for get, name in reference.paths.items()]
        if reference.weight is not None:
            fields.append(pa.field(reference.weight, pa.int64()))
        self._extremes: dict[str, tuple[Extreme, Column | Get]] = {}
        for (which, what), name in reference.extremes.items():
            read = what if isinstance(what, Get) else column_named(what)
            kind = _path_type(what) if isinstance(what, Get) else source.schema.field(what).type
            self._extremes[name] = (which, read)
            fields.append(pa.field(name, kind))
        self._time_parts: dict[str, tuple[TimePart, Get]] = {}
        for (part, get), name in reference.time_parts.items():
            self._time_parts[name] = (part, get)
            fields.append(pa.field(name, pa.int64()))
        self._schema = pa.schema(fields)

    def _field(self, name: str, kind: pa.DataType) -> pa.Field:
        if kind == pa.string() and self._source.has_dictionary(self._readers[name]):
            return pa.field(name, DICTIONARY)
        return with_marks(pa.field(name, kind))

    @property
    def schema(self) -> pa.Schema:
        return self._schema

    def scanner(self, columns: Sequence[str] | None = None, filter: Any = None) -> _Scanner:
        """Called by DuckDB."""
        names = self._schema.names if columns is None else list(columns)
        return _Scanner(pa.schema([self._schema.field(name) for name in names]), self._batches(names, filter))

    def _batches(self, names: list[str], filter_: pc.Expression | None) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._scanned(names, filter_)
        except GeneratorExit:
            raise
        except Exception as error:
            self._log.error = self._log.error or error
            raise

    def _scanned(self, names: list[str], filter_: pc.Expression | None) -> Iterator[pa.RecordBatch]:
        weight = self._reference.weight
        where = None if filter_ is None else predicate_of(filter_, self._readers)
        after = filter_ if where is None else None
        read = self._read(names, after)
        scan = self._source.scan(
            [Projection(name, expr) for name, expr in read.items()], where, self._options
        )
        run = ScanRun(
            self._reference.table, self._source.described, list(read), where,
            None if after is None else str(after), scan,
        )  # fmt: skip
        self._log.runs.append(run)
        schema = pa.schema([self._schema.field(name) for name in names])
        if after is None and set(names) <= {weight}:
            run.counted = True
            yield pa.record_batch({name: pa.array([scan.count()], pa.int64()) for name in names}, schema)
            return
        extremes = {f"{name} values": which for name, (which, _) in self._extremes.items()}

        def finish(batch: pa.RecordBatch) -> pa.RecordBatch:
            batch = self._with_time_parts(batch)
            if after is not None:
                batch = self._decoded(batch).filter(after)
            return self._finished(batch, names, schema)

        yield from scan.batches({} if after is not None else extremes, finish)

    def _read(self, names: Sequence[str], after: pc.Expression | None) -> dict[str, Column | Get]:
        """The references that the scan reads for some columns."""
        found: dict[str, Column | Get] = {}
        for name in [*names, *self._filtered(after)]:
            if name in self._extremes:
                found[f"{name} values"] = self._extremes[name][1]
            elif name in self._time_parts:
                found[f"{name} values"] = self._time_parts[name][1]
            elif name in self._readers:
                found[name] = self._readers[name]
        return found

    def _filtered(self, filter_: pc.Expression | None) -> Iterable[str]:
        """The columns that a filter reads; all if they can't be told."""
        if filter_ is None:
            return ()
        everything = [*self._readers, *self._time_parts]
        found = fields_of(filter_)
        return found if found is not None and found <= set(everything) else everything

    def _with_time_parts(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Adds the parts of moments that the batch has the microseconds of."""
        for name, (part, _) in self._time_parts.items():
            if f"{name} values" in batch.schema.names:
                batch = batch.append_column(name, time_part(part, batch.column(f"{name} values")))
        return batch

    def _decoded(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch for a filter of DuckDB: plain columns, and parts of moments in their declared type."""
        columns = [
            column.cast(pa.int64()) if name in self._time_parts else plain(column)
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, batch.schema.names)

    def _finished(self, batch: pa.RecordBatch, names: Sequence[str], schema: pa.Schema) -> pa.RecordBatch:
        """The batch with the columns that DuckDB asked for, its rows merged if that is allowed."""
        arrays: Mapping[str, pa.Array] = dict(zip(batch.schema.names, batch.columns, strict=True))
        if self._reference.weight is None:
            merged = unmerged(batch.num_rows)
        else:
            keys = [arrays[name] for name in names if name in arrays]
            values = [arrays[f"{name} values"] for name in names if name in self._extremes]
            merged = merge_rows(keys, values, batch.num_rows)
        columns = []
        for name, wanted in zip(names, schema.types, strict=True):
            if name == self._reference.weight:
                columns.append(merged.weights())
            elif name in self._extremes:
                columns.append(merged.extreme(arrays[f"{name} values"], self._extremes[name][0]))
            else:
                columns.append(_as_declared(merged.pick(arrays[name]), wanted))
        return pa.RecordBatch.from_arrays(columns, schema=schema)


class _Scanner:
    """The scanner interface that DuckDB expects of a dataset."""

    def __init__(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        self._schema, self._batches = schema, batches

    def to_reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self._schema, self._batches)


def _path_type(get: Get) -> pa.DataType:
    return variant() if get.type is None else get.type.arrow


def _as_declared(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """The array in the type that DuckDB was told."""
    if array.type == kind:
        return array
    if kind == DICTIONARY:
        if pa.types.is_dictionary(array.type):
            return array.cast(kind)
        return array.cast(pa.string()).dictionary_encode().cast(kind)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return array.cast(kind)


def time_part(part: TimePart, microseconds: pa.Array) -> pa.Array:
    """A part of each moment, as DuckDB computes it of `make_timestamp(microseconds)`; null stays null.

    >>> time_part("hour", pa.array([7_200_000_000, -1, None])).to_pylist()
    [2, 23, None]
    """
    if pa.types.is_run_end_encoded(microseconds.type):
        found = time_part(part, microseconds.values)
        return pa.RunEndEncodedArray.from_arrays(microseconds.run_ends, found)
    values = microseconds
    if values.null_count:
        values = pc.fill_null(values, 0)
    found = dispatch("tally").time_part(values, *PARTS[part])
    if found is None:
        raise InvalidExpression(f"make_timestamp: microseconds out of range: {INFINITE}")
    if not microseconds.null_count:
        return found
    return pc.if_else(microseconds.is_valid(), found, pa.scalar(None, pa.int8()))
