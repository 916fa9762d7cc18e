"""The tables of a query: Delta tables, Parquet files and Arrow data, scanned in the same way."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from shredlake import kernels
from shredlake.caches import LruCache
from shredlake.delta.read.scan import TableRun, TableScan
from shredlake.errors import InvalidExpression, NotATable, WrongType
from shredlake.expr.ast import Column, Expr, Get, Projection, join_name, references
from shredlake.expr.evaluate import evaluate, matching, resolve
from shredlake.formatting import counted, kind_of
from shredlake.kernels.arrow.normalize import normal_schema, normal_table
from shredlake.kernels.arrow.types import is_variant, variant
from shredlake.kernels.cast_options import CastOptions
from shredlake.parquet.arrow_stream import ArrowData
from shredlake.parquet.read.file_reader import Finish
from shredlake.parquet.read.scan import Scan, scan_parquet, scan_with
from shredlake.parquet.read.statistics import Extreme
from shredlake.table import Table

_dictionaries: LruCache[object, bool] = LruCache(1024, "columns with dictionaries")


class Source(Protocol):
    """A table that can be scanned."""

    @property
    def schema(self) -> pa.Schema:
        """The columns; Variants have the type `variant()`."""
        ...

    @property
    def described(self) -> str:
        """Where the table is."""
        ...

    def scan(self, columns: Sequence[Projection], where: Expr | None, options: CastOptions) -> SourceScan:
        """Starts a scan."""
        ...

    def has_dictionary(self, reference: Column | Get) -> bool:
        """Whether the files have strings as indexes into a dictionary."""
        ...


class SourceScan(Protocol):
    """One scan of a table."""

    def batches(self, extremes: Mapping[str, Extreme], finish: Finish) -> Iterator[pa.RecordBatch]:
        """The rows. Strings may be dictionary-encoded, and columns of one value run-end encoded.

        Of columns in `extremes`, only the minimum or maximum of equal rows is needed. `finish` is applied to
        each batch, if possible on the thread that reads it.
        """
        ...

    def count(self) -> int:
        """How many rows match. Columns that the condition does not need are not read."""
        ...

    def report(self) -> object:
        """The cost of the scan, as text."""
        ...


QueriedTable: TypeAlias = "Table | str | os.PathLike[str] | ArrowData"
"""A table of a query as callers give it: a `Table`, its path or URI, or anything with an Arrow stream."""


def source_of(table: QueriedTable) -> Source:
    """The source for a table of a query: a `Table`, a path or URI, or Arrow data.

    >>> source_of(pa.table({"a": [1]})).schema.names
    ['a']
    """
    if isinstance(table, Table):
        return DeltaSource(table)
    if isinstance(table, str | os.PathLike):
        found = path_source(os.fspath(table))
        if found is None:
            raise NotATable(f"{os.fspath(table)!r} is neither a Delta table nor a Parquet file")
        return found
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if isinstance(table, pa.RecordBatchReader) or hasattr(table, "__arrow_c_stream__"):
        return ArrowSource(table)
    raise InvalidExpression(
        f"a table must be a Table, a path, or an object with an Arrow stream, not {type(table).__name__}"
    )


def names_a_place(table: str) -> bool:
    """Whether the name of a table in a query is a path or URI, so that it needs no definition.

    >>> names_a_place("lake/events"), names_a_place("events.parquet"), names_a_place("events")
    (True, True, False)
    """
    return "/" in table or table.endswith(".parquet") or os.path.isdir(f"{table}/_delta_log")


def path_source(path: str) -> Source | None:
    """The Delta table or the Parquet files at a path; None if there is neither."""
    suffix = path.rstrip("/").rsplit("/", 1)[-1].casefold()
    if suffix.endswith((".parquet", ".parq")) or ("*" in path and "parquet" in suffix):
        return ParquetSource(path)
    if suffix.endswith((".csv", ".json", ".ndjson", ".jsonl", ".csv.gz", ".json.gz", ".ndjson.gz")):
        return None  # DuckDB reads these
    try:
        return DeltaSource(Table(path))
    except NotATable:
        local = os.path.isdir(path) and any(name.endswith(".parquet") for name in os.listdir(path))
        return ParquetSource(path) if local else None


class DeltaSource:
    """A Delta table."""

    def __init__(self, table: Table) -> None:
        self.table = table

    @cached_property
    def schema(self) -> pa.Schema:
        return self.table.scan().schema

    @property
    def described(self) -> str:
        return f"{self.table.uri}, version {self.table.version}"

    def scan(self, columns: Sequence[Projection], where: Expr | None, options: CastOptions) -> SourceScan:
        scan = TableScan(self.table.snapshot, columns, where, options=options, checked=False)
        return DeltaScan(scan)

    def has_dictionary(self, reference: Column | Get) -> bool:
        key = (self.table.snapshot.storage.uri, self.table.version, reference)
        return _dictionaries.get(key, lambda: self._first_file_has(reference))

    def _first_file_has(self, reference: Column | Get) -> bool:
        data = self.table.scan().first_file()
        if data is None or not data.file.chunks:
            return False
        bound = data.binding.expression(reference)
        access = data.file.columns.access(bound) if isinstance(bound, Column | Get) else None
        leaf = None if access is None or access.leaf is None else access.leaf.column
        data.file.close()
        return leaf is not None and data.file.chunks.chunk(0, leaf).is_dictionary


class DeltaScan:
    """A scan of a Delta table."""

    def __init__(self, scan: TableScan) -> None:
        self._scan = scan
        self._run = TableRun()

    def batches(self, extremes: Mapping[str, Extreme], finish: Finish) -> Iterator[pa.RecordBatch]:
        return self._scan.encoded_batches(self._run, extremes, finish)

    def count(self) -> int:
        return self._scan.count()

    def report(self) -> object:
        return self._scan.summary(self._run.files)


class ParquetSource:
    """Parquet files: a path, a glob or a folder."""

    def __init__(self, path: str) -> None:
        self.path = path

    @cached_property
    def schema(self) -> pa.Schema:
        return scan_parquet(self.path).schema

    @property
    def described(self) -> str:
        return self.path

    def scan(self, columns: Sequence[Projection], where: Expr | None, options: CastOptions) -> SourceScan:
        return ParquetScan(scan_with(self.path, columns, where, options))

    def has_dictionary(self, reference: Column | Get) -> bool:
        return False


class ParquetScan:
    """A scan of Parquet files."""

    def __init__(self, scan: Scan) -> None:
        self._scan = scan

    def batches(self, extremes: Mapping[str, Extreme], finish: Finish) -> Iterator[pa.RecordBatch]:
        return map(finish, self._scan.to_batches())

    def count(self) -> int:
        return self._scan.count()

    def report(self) -> object:
        return self._scan.explain()


class ArrowSource:
    """Arrow data in memory, or a stream of it."""

    def __init__(self, data: Any) -> None:
        self._data = data
        self._used = False

    @cached_property
    def schema(self) -> pa.Schema:
        fields = [
            field.with_type(variant()).remove_metadata() if _holds_variant(field) else field
            for field in normal_schema(self._given)
        ]
        return pa.schema(fields)

    @cached_property
    def _given(self) -> pa.Schema:
        if isinstance(self._data, pa.Table | pa.RecordBatchReader):
            return self._data.schema
        try:
            if hasattr(self._data, "__arrow_c_schema__"):
                return pa.schema(self._data)
            return pa.RecordBatchReader.from_stream(self._data).schema
        except (pa.ArrowException, ValueError) as error:
            raise WrongType(
                f"the Arrow stream of {kind_of(self._data)} has no columns ({error}): pass a table"
            ) from None

    @property
    def described(self) -> str:
        return f"Arrow data ({type(self._data).__name__})"

    def keep(self) -> None:
        """Reads a stream that can be read only once into memory, for a query that scans it repeatedly."""
        if isinstance(self._data, pa.RecordBatchReader):
            self._data = self._data.read_all()

    def scan(self, columns: Sequence[Projection], where: Expr | None, options: CastOptions) -> SourceScan:
        return ArrowScan(self, columns, where, options)

    def has_dictionary(self, reference: Column | Get) -> bool:
        return False

    def batches(self) -> Iterator[pa.RecordBatch]:
        if isinstance(self._data, pa.Table):
            yield from self._data.to_batches()
            return
        if isinstance(self._data, pa.RecordBatchReader):
            if self._used:
                raise InvalidExpression(
                    "this Arrow stream was read before and can be read only once: pass a table instead"
                )
            self._used = True
            yield from self._data
            return
        yield from pa.RecordBatchReader.from_stream(self._data)


class ArrowScan:
    """A scan of Arrow data."""

    def __init__(
        self, source: ArrowSource, columns: Sequence[Projection], where: Expr | None, options: CastOptions
    ) -> None:
        self._source, self._columns, self._where, self._options = source, columns, where, options
        self._rows = 0

    def batches(self, extremes: Mapping[str, Extreme], finish: Finish) -> Iterator[pa.RecordBatch]:
        for batch in self._source.batches():
            rows = self._matching(batch)
            self._rows += rows.num_rows
            arrays = [self._value(column.expr, rows) for column in self._columns]
            yield finish(pa.RecordBatch.from_arrays(arrays, names=[column.name for column in self._columns]))

    def _matching(self, batch: pa.RecordBatch) -> pa.Table:
        rows = normal_table(pa.Table.from_batches([batch]).select(self._needed(batch.schema)))
        return rows if self._where is None else rows.filter(matching(self._where, rows, self._options))

    def _needed(self, schema: pa.Schema) -> list[int]:
        """The columns that the query reads."""
        exprs = [column.expr for column in self._columns] + ([] if self._where is None else [self._where])
        found = {reference for expr in exprs for reference in references(expr)}
        return sorted(
            {resolve(schema, each.name if isinstance(each, Column) else each.column)[0] for each in found}
        )

    def _value(self, expr: Expr, rows: pa.Table) -> pa.Array:
        if isinstance(expr, Column):
            column = rows.column(resolve(rows.schema, expr.name)[0])
            if is_variant(column.type) and column.type != variant():
                column = kernels.unshred(column)
        else:
            column = evaluate(expr, rows, self._options)
        return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column

    def count(self) -> int:
        self._rows = sum(self._matching(batch).num_rows for batch in self._source.batches())
        return self._rows

    def report(self) -> object:
        return f"{counted(self._rows, 'row')} of Arrow data"


def _holds_variant(field: pa.Field) -> bool:
    return is_variant(field.type) or getattr(field.type, "extension_name", "") == "arrow.parquet.variant"


def column_named(name: str) -> Column:
    """A column of a table, whatever characters its name has."""
    return Column(join_name((name,)))
