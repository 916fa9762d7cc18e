"""Queries for the first few rows in an order, with the candidates found where the files are read.

```
GlobalLimit, LocalLimit, Sort     as Spark analysed them
└─ Project                        under the identities that the query knows its columns by
   └─ mapInArrow                  per file: the keys of rows that pass, then rows that may be among the first
```

A worker remembers the best keys of the files it has read. Of the next file it reads the key's column, where
statistics do not rule that out, and whole rows only where the key is as good as the best; of these it keeps
the first by everything that the query orders by. Spark sorts what comes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.read.data_file import DataFile, Query
from shredlake.errors import ShredlakeError
from shredlake.expr import Compare, Expr, IsNull, Literal, Or, all_of, from_arrow
from shredlake.expr.types import BOOLEAN, DataType
from shredlake.spark.query import catalyst as plan
from shredlake.spark.query import filters
from shredlake.spark.query.cache import remembered
from shredlake.spark.query.partials import COMPARABLE
from shredlake.spark.query.pushdown import (
    ABOVE,
    BELOW,
    Reader,
    can_and_should,
    down,
    grafted,
    is_straight,
    parts,
    sought,
    unnamed,
)
from shredlake.spark.query.scan import SparkScan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST_ROWS: Final = 1000
"""Up to so many first rows are few."""

ORDERED: Final = tuple(kind for kind in COMPARABLE if kind != BOOLEAN)
"""Types whose order is Spark's, and of which Arrow finds the first."""


@dataclass(frozen=True)
class Key:
    """One of the columns that rows are ordered by."""

    column: int
    """Its place among the query's columns."""
    type: DataType
    descending: bool
    nulls_first: bool

    @property
    def direction(self) -> str:
        return "descending" if self.descending else "ascending"


@dataclass(frozen=True)
class Order:
    """What rows are ordered by, and how many of them are wanted.

    >>> from shredlake.expr.types import STRING
    >>> order = Order((Key(0, STRING, descending=False, nulls_first=False),), 2)
    >>> order.first(pa.table({"k": ["c", "a", None, "b"]})).column("k").to_pylist()
    ['a', 'b']
    """

    keys: tuple[Key, ...]
    count: int

    def first(self, rows: pa.Table) -> pa.Table:
        """The first rows. Nulls are sorted by columns of their own, for each key may place its nulls."""
        if len(rows) <= self.count:
            return rows
        columns: dict[str, pa.ChunkedArray] = {}
        by: list[tuple[str, str]] = []
        for number, key in enumerate(self.keys):
            values = rows.column(key.column)
            columns |= {f"null {number}": values.is_null(), f"key {number}": values}
            by.append((f"null {number}", "descending" if key.nulls_first else "ascending"))
            by.append((f"key {number}", key.direction))
        return rows.take(pc.sort_indices(pa.table(columns), sort_keys=by)[: self.count])

    def best(self, keys: pa.Array) -> pa.Array:
        """The best of the first key, without nulls, and only as many as rows are wanted."""
        found = keys.drop_null()
        if len(found) <= self.count:
            return found
        return found.take(pc.select_k_unstable(found, self.count, sort_keys=[("", self.keys[0].direction)]))

    def condition(self, by: Expr, best: pa.Array, nulls: int) -> Expr | None:
        """What a row must satisfy to be among the first, where such keys and so many nulls are known."""
        key = self.keys[0]
        if key.nulls_first and nulls >= self.count:
            return IsNull(by)
        if len(best) < self.count:
            return None
        last = (pc.min if key.descending else pc.max)(best)
        try:
            bound = Literal(last.as_py(), key.type)
        except (ValueError, OverflowError):  # a time that Python does not have
            return None
        good = Compare(">=" if key.descending else "<=", by, bound)
        return Or((IsNull(by), good)) if key.nulls_first else good

    def rows_of(self, files: Iterable[DataFile], query: Query) -> Iterator[pa.RecordBatch]:
        """The first rows of the files."""
        key = self.keys[0]
        best, nulls = pa.nulls(0, key.type.arrow), 0
        by = query.projections[key.column]
        keys = replace(query, projections=(by,), schema=pa.schema([query.schema.field(key.column)]))
        rows = query.schema.empty_table()
        for data in files:
            seen = 0
            for batch in data.batches(_with(keys, self.condition(by.expr, best, nulls))):
                found = batch.column(0)
                seen += len(found)
                nulls += found.null_count
                best = self.best(pa.concat_arrays([best, found]))
            if seen:
                for batch in data.batches(_with(query, self.condition(by.expr, best, nulls))):
                    rows = self.first(pa.concat_tables([rows, pa.Table.from_batches([batch])]))
        yield from rows.combine_chunks().to_batches()


def _with(query: Query, condition: Expr | None) -> Query:
    """The query, with one more condition."""
    return replace(query, predicate=all_of([one for one in (query.predicate, condition) if one is not None]))


@dataclass(frozen=True)
class Top:
    """A query whose first rows the workers look for, and how the rest of it goes on."""

    scan: SparkScan
    order: Order
    sources: tuple[str, ...]
    """Per column of the projection, the one of the scan."""
    node: plan.Plan
    above: tuple[plan.Plan, ...]
    """The plans over the projection, from the top."""
    how: ClassVar[str] = "searched for the first rows"

    def frame(self) -> DataFrame:
        """The whole query."""
        scan, order = self.scan, self.order
        schema = scan.local.schema
        columns = dict(zip(schema.names, map(from_arrow, schema.types), strict=True))
        query = scan.local.query
        key = ("top", order, *scan.identity, query.projections, query.predicate, scan.options.timezone)
        found = remembered(scan.spark, key, lambda: parts(scan, columns, order.rows_of))
        return grafted(found, self.sources, self.node.named(), self.above)


def top(
    spark: SparkSession,
    snapshot: Snapshot,
    relation: plan.Relation,
    analysed: plan.Plan,
    variants: Sequence[str],
) -> Top | None:
    """The query, if it is for the first rows of this table in an order that the workers know."""
    chain, leaf = down(analysed, ABOVE | BELOW)
    names = [node.name for node in chain]
    if leaf.name != plan.LEAF or "Sort" not in names or not is_straight(relation, analysed):
        return None
    place = len(names) - 1 - names[::-1].index("Sort")
    limits, below = names[max(place - 2, 0) : place], names[place + 1 :]
    if limits != ["GlobalLimit", "LocalLimit"] or below[:1] != ["Project"] or not BELOW.issuperset(below[1:]):
        return None
    limit, sort, node = chain[place - 1 : place + 2]
    count = limit.limit()
    if count is None or not 0 < count <= MOST_ROWS or not sort.is_global():
        return None
    reader = Reader(filters.Translator(relation, variants, strict=True))
    try:
        predicate = filters.whole_predicate(relation, variants)
        columns = [reader.value(unnamed(tree)) for tree in node.expressions]
        scan = SparkScan(spark, snapshot, reader.projections, predicate)
        kinds = [from_arrow(kind) for kind in scan.local.schema.types]
    except (filters.NotUnderstood, ShredlakeError):
        return None
    if any(column.functions for column in columns) or not all(kind in COMPARABLE for kind in kinds):
        return None
    by = [_column(one, node) for one in sort.expressions]
    keys = tuple(
        Key(ref, kinds[ref], _is(one, "direction", "Descending"), _is(one, "nullOrdering", "NullsFirst"))
        for one, column in zip(sort.expressions, by, strict=True)
        if column is not None and kinds[ref := columns[column].ref] in ORDERED
    )
    if len(keys) < len(by) or any(sought(predicate)) or not can_and_should(scan):
        return None
    sources = tuple(scan.local.schema.names[column.ref] for column in columns)
    return Top(scan, Order(keys, count), sources, node, chain[: place + 1])


def _column(order: plan.Node, node: plan.Plan) -> int | None:
    """Which column of the projection a sort goes by."""
    by = order.children[0]
    identities = [tree.fields.get("exprId") for tree in node.expressions]
    if by.name != "AttributeReference" or by.fields["exprId"] not in identities:
        return None
    return identities.index(by.fields["exprId"])


def _is(order: plan.Node, field: str, name: str) -> bool:
    """What a sort says of its direction, or of nulls: the name of an object of Scala's."""
    value: Any = order.fields[field]
    return name in str(value["object"] if isinstance(value, dict) else value)
