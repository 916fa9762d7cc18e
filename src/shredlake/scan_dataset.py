"""A table as a `pyarrow.dataset.Dataset`, which engines push columns and filters into.

DataFusion asks a dataset for the columns and rows of a query, and does not apply the filter again. The filter
is that of our scan, which skips files, row groups and pages by it; NaN is the greatest number, as in
DataFusion and DuckDB. A filter that our scan does not have is applied by Arrow to the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pad

from shredlake.delta.read.scan import TableScan
from shredlake.errors import InvalidExpression, UnsupportedFeature, WrongType
from shredlake.expr.ast import Column, Expr, Get, Projection
from shredlake.kernels.cast_options import CastOptions
from shredlake.sql.pushdown import fields_of, predicate_of
from shredlake.table import Table


class ScanDataset(pad.Dataset):  # type: ignore[misc]
    """A dataset whose scanner is a scan of a table.

    Methods of pyarrow's own dataset that are not overridden here would end the process, because there is no
    dataset of Arrow behind this one.
    """

    def __init__(
        self,
        table: Table,
        columns: str | Sequence[str | Projection] | None,
        options: CastOptions,
        threads: int | None,
        condition: pc.Expression | None = None,
    ) -> None:
        self._table, self._columns, self._options, self._threads = table, columns, options, threads
        self._condition = condition
        whole = self._scan(columns, None)
        self._outputs = {projection.name: projection for projection in whole.query.projections}
        self._schema = whole.schema

    @property
    def schema(self) -> pa.Schema:
        """The columns and their types."""
        return self._schema

    @property
    def partition_expression(self) -> pc.Expression:
        """True, because no column has the same value in all rows."""
        return pc.scalar(True)

    def filter(self, expression: pc.Expression) -> ScanDataset:
        """The dataset of the rows that match a filter."""
        return ScanDataset(
            self._table, self._columns, self._options, self._threads, self._restricted(expression)
        )

    def scanner(
        self, columns: Sequence[str] | None = None, filter: pc.Expression | None = None, **_: Any
    ) -> ScanScanner:
        """The rows of some columns that match a filter."""
        if isinstance(columns, Mapping | str):
            raise WrongType(f"columns={columns!r}: pass a list of the names of columns")
        names = self._schema.names if columns is None else list(columns)
        for name in names:
            if name not in self._outputs:
                raise InvalidExpression(
                    f"the dataset has no column {name!r}; it has: {', '.join(self._outputs)}"
                )
        return ScanScanner(self, names, self._restricted(filter))

    def get_fragments(self, filter: Any = None) -> Iterator[ScanFragment]:
        """The parts that an engine scans: one, whose scan has threads of its own."""
        yield ScanFragment(self)

    def sort_by(self, sorting: Any, **options: Any) -> pad.Dataset:
        """The sorted rows, in memory."""
        return pad.InMemoryDataset(self.to_table()).sort_by(sorting, **options)

    def join(self, right_dataset: pad.Dataset, *arguments: Any, **options: Any) -> pad.Dataset:
        """A join of the rows, in memory."""
        return pad.InMemoryDataset(self.to_table()).join(_in_memory(right_dataset), *arguments, **options)

    def join_asof(self, right_dataset: pad.Dataset, *arguments: Any, **options: Any) -> pad.Dataset:
        """A join by the nearest key, in memory."""
        mine = pad.InMemoryDataset(self.to_table())
        return mine.join_asof(_in_memory(right_dataset), *arguments, **options)

    def replace_schema(self, schema: pa.Schema) -> pad.Dataset:
        """Raises an error, because paths have types of their own."""
        raise UnsupportedFeature(
            "the schema of a dataset of shredlake can't be replaced: name other types in columns="
        )

    def _restricted(self, filter_: pc.Expression | None) -> pc.Expression | None:
        """A filter, and the condition of the dataset."""
        if filter_ is None or self._condition is None:
            return self._condition if filter_ is None else filter_
        return self._condition & filter_

    def count(self, filter_: pc.Expression | None) -> int:
        """How many rows match a filter. Columns that the filter does not need are not read."""
        where = self._where(filter_)
        if filter_ is not None and where is None:
            return sum(batch.num_rows for batch in self.read(self._schema.names[:1], filter_))
        return self._scan([], where).count()

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

    def head(self, num_rows: int) -> pa.Table:
        """The first rows. Files behind them are not read."""
        found: list[pa.RecordBatch] = []
        for batch in self.to_batches() if num_rows > 0 else ():
            found.append(batch.slice(0, num_rows - sum(one.num_rows for one in found)))
            if sum(one.num_rows for one in found) >= num_rows:
                break
        return pa.Table.from_batches(found, self.projected_schema)

    def take(self, indices: Any) -> pa.Table:
        """The rows at some places, from all rows in memory."""
        return self.to_table().take(indices)

    def count_rows(self) -> int:
        """How many rows there are."""
        return self._dataset.count(self._filter)


def _in_memory(dataset: pad.Dataset) -> pad.Dataset:
    """The dataset, or its rows if Arrow can't read it."""
    return pad.InMemoryDataset(dataset.to_table()) if isinstance(dataset, ScanDataset) else dataset
