"""A table as a `pyarrow.dataset.Dataset`, which engines push columns and filters into.

DataFusion asks a dataset for the columns and rows of a query, and does not apply the filter again. The filter
is that of our scan, which skips files, row groups and pages by it; NaN is the greatest number, as in
DataFusion and DuckDB. A filter that our scan does not have is applied by Arrow to the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pad

from shredlake.delta.read.scan import TableScan
from shredlake.expr.ast import Column, Expr, Get, Projection
from shredlake.kernels.cast_options import CastOptions
from shredlake.sql.pushdown import fields_of, predicate_of
from shredlake.table import Table


class ScanDataset(pad.Dataset):  # type: ignore[misc]
    """A dataset whose scanner is a scan of a table."""

    def __init__(
        self,
        table: Table,
        columns: str | Sequence[str | Projection] | None,
        options: CastOptions,
        threads: int | None,
    ) -> None:
        self._table, self._options, self._threads = table, options, threads
        whole = self._scan(columns, None)
        self._outputs = {projection.name: projection for projection in whole.query.projections}
        self._schema = whole.schema

    @property
    def schema(self) -> pa.Schema:
        """The columns and their types."""
        return self._schema

    def scanner(
        self, columns: Sequence[str] | None = None, filter: pc.Expression | None = None, **_: Any
    ) -> ScanScanner:
        """The rows of some columns that match a filter."""
        return ScanScanner(self, self._schema.names if columns is None else list(columns), filter)

    def get_fragments(self, filter: Any = None) -> Iterator[ScanFragment]:
        """The parts that an engine scans: one, whose scan has threads of its own."""
        yield ScanFragment(self)

    def read(self, names: Sequence[str], filter_: pc.Expression | None) -> Iterator[pa.RecordBatch]:
        """The rows of some columns that match a filter."""
        where, after = self._where(filter_), None
        if filter_ is not None and where is None:
            after = filter_
        tested = set(() if after is None else self._tested(after))
        wanted = list(dict.fromkeys([*names, *sorted(tested)])) or self._schema.names[:1]
        scan = self._scan([self._outputs[name] for name in wanted], where)
        for batch in scan.to_batches():
            rows = batch if after is None else batch.filter(after)
            yield rows.select(list(names))

    def _scan(self, columns: str | Sequence[str | Projection] | None, where: Expr | None) -> TableScan:
        return TableScan(self._table.snapshot, columns, where, options=self._options, threads=self._threads)

    def _tested(self, filter_: pc.Expression) -> Iterable[str]:
        """The columns that a filter may read."""
        fields = fields_of(filter_)
        return self._outputs if fields is None else fields & set(self._outputs)

    def _where(self, filter_: pc.Expression | None) -> Expr | None:
        """The filter for our scan; None if it has no such filter."""
        columns = {
            name: one.expr for name, one in self._outputs.items() if isinstance(one.expr, Column | Get)
        }
        return None if filter_ is None else predicate_of(filter_, columns)


class ScanFragment:
    """The only part of a dataset."""

    def __init__(self, dataset: ScanDataset) -> None:
        self._dataset = dataset

    def scanner(
        self,
        schema: pa.Schema | None = None,
        columns: Sequence[str] | None = None,
        filter: pc.Expression | None = None,
        **_: Any,
    ) -> ScanScanner:
        """The rows of some columns that match a filter."""
        return self._dataset.scanner(columns, filter)


class ScanScanner:
    """The part of the interface of `pyarrow.dataset.Scanner` that engines use."""

    def __init__(self, dataset: ScanDataset, names: Sequence[str], filter_: pc.Expression | None) -> None:
        self._dataset, self._names, self._filter = dataset, names, filter_

    @property
    def projected_schema(self) -> pa.Schema:
        """The columns of the rows."""
        return pa.schema([self._dataset.schema.field(name) for name in self._names])

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, batch by batch."""
        return self._dataset.read(self._names, self._filter)

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows as a stream that can be read once."""
        return pa.RecordBatchReader.from_batches(self.projected_schema, self.to_batches())

    def to_table(self) -> pa.Table:
        """All rows."""
        return self.to_reader().read_all()
