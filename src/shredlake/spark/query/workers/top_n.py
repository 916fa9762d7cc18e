"""Queries for the first rows in an order (top-n): workers find candidates, and Spark sorts them.

```
GlobalLimit, LocalLimit, Sort     as Spark analysed them
└─ Project                        with the expression ids that the query knows its columns by
   └─ mapInArrow                  per file: the keys of rows that pass, then rows that may be among the first
```

A worker keeps the best keys of the files it has read. Of the next file, unless statistics rule it out, it
reads the column of the first key, and whole rows only if their key is as good as the best. Of these it keeps
the first by all sort keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.read.data_file import DataFile, Query
from shredlake.errors import ShredlakeError
from shredlake.expr import Compare, Expr, IsNull, Literal, Or, all_of, from_arrow
from shredlake.expr.types import BOOLEAN, DataType
from shredlake.spark.query import catalyst as plan
from shredlake.spark.query import filters
from shredlake.spark.query.frames import cached_frame
from shredlake.spark.query.scan import SparkScan
from shredlake.spark.query.workers.partials import COMPARABLE
from shredlake.spark.query.workers.pushdown import (
    ABOVE,
    BELOW,
    NotApplicable,
    Pushed,
    Reader,
    TableQuery,
    descend,
    equality_references,
    read_by_workers,
    reason_against_workers,
    splice_under,
    without_alias,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_ROWS: Final = 1000
"""The largest limit that workers answer."""

NOT_TOP_N: Final = "the query is not ORDER BY … LIMIT over columns of the table"

ORDERED: Final = tuple(kind for kind in COMPARABLE if kind != BOOLEAN)
"""Types that Arrow orders as Spark does and can select the first of."""


@dataclass(frozen=True)
class Key:
    """A sort key."""

    column: int
    """Its index among the query's columns."""
    type: DataType
    descending: bool
    nulls_first: bool

    @property
    def direction(self) -> str:
        return "descending" if self.descending else "ascending"


@dataclass(frozen=True)
class Order:
    """The sort keys, and how many rows are wanted.

    >>> from shredlake.expr.types import STRING
    >>> order = Order((Key(0, STRING, descending=False, nulls_first=False),), 2)
    >>> order.first(pa.table({"k": ["c", "a", None, "b"]})).column("k").to_pylist()
    ['a', 'b']
    """

    keys: tuple[Key, ...]
    count: int

    def first(self, rows: pa.Table) -> pa.Table:
        """The first rows. Extra columns sort the nulls, because each key may place nulls first or last."""
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
        """The best values of the first key, without nulls, at most as many as rows are wanted."""
        found = keys.drop_null()
        if len(found) <= self.count:
            return found
        return found.take(pc.select_k_unstable(found, self.count, sort_keys=[("", self.keys[0].direction)]))

    def condition(self, by: Expr, best: pa.Array, nulls: int) -> Expr | None:
        """The condition for a row to be among the first, given the best keys and the nulls so far."""
        key = self.keys[0]
        if key.nulls_first and nulls >= self.count:
            return IsNull(by)
        if len(best) < self.count:
            return None
        last = (pc.min if key.descending else pc.max)(best)
        try:
            bound = Literal(last.as_py(), key.type)
        except (ValueError, OverflowError):  # a time that Python cannot represent
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
    """The query with one more condition."""
    return replace(query, predicate=all_of([one for one in (query.predicate, condition) if one is not None]))


@dataclass(frozen=True)
class TopN(Pushed):
    """A query whose first rows the workers find."""

    order: Order
    sources: tuple[str, ...]
    """For each column of the projection, the name of the scan's column."""

    def frame(self) -> DataFrame | NotApplicable:
        """The whole query."""
        scan, order = self.scan, self.order
        schema = scan.local.schema
        columns = dict(zip(schema.names, map(from_arrow, schema.types), strict=True))
        query = scan.local.query
        key = ("top", order, *scan.identity, query.projections, query.predicate, scan.options.timezone)
        found = cached_frame(
            scan.spark, key, lambda: read_by_workers(scan, columns, order.rows_of), len(scan.files)
        )
        return splice_under(found, self.sources, tuple(self.node.named()), self.above)


def top_n(query: TableQuery) -> TopN | NotApplicable:
    """The query, if it is for the first rows of a table in an order that the workers can compare."""
    chain, leaf = descend(query.analysed, ABOVE | BELOW)
    names = [node.name for node in chain]
    if leaf.name != plan.LEAF or "Sort" not in names:
        return NotApplicable(NOT_TOP_N)
    place = len(names) - 1 - names[::-1].index("Sort")
    limits, below = names[max(place - 2, 0) : place], names[place + 1 :]
    if limits != ["GlobalLimit", "LocalLimit"] or below[:1] != ["Project"] or not BELOW.issuperset(below[1:]):
        return NotApplicable(NOT_TOP_N)
    if not query.has_plain_filters:
        return NotApplicable("more than plain filters decides which rows are sorted")
    limit, sort, node = chain[place - 1 : place + 2]
    count = limit.limit()
    if count is None or not 0 < count <= MOST_ROWS or not sort.is_global():
        return NotApplicable(f"the query does not ask for the first 1 to {MOST_ROWS} of all rows")
    if query.too_small:
        return NotApplicable(query.too_small)
    reader = Reader(filters.Translator(query.relation, query.variants, exact=True))
    try:
        predicate = filters.whole_predicate(query.relation, query.variants)
        columns = [reader.value(without_alias(tree)) for tree in node.expressions]
        scan = SparkScan(query.spark, query.snapshot, reader.projections, predicate)
        kinds = [from_arrow(kind) for kind in scan.local.schema.types]
    except (filters.NotUnderstood, ShredlakeError) as error:
        return NotApplicable(f"only Spark can evaluate a part of the query: {error}")
    if any(column.functions for column in columns) or not all(kind in COMPARABLE for kind in kinds):
        return NotApplicable("only Spark computes a column of the result exactly")
    by = [_column(one, node) for one in sort.expressions]
    keys = tuple(
        Key(ref, kinds[ref], _has(one, "direction", "Descending"), _has(one, "nullOrdering", "NullsFirst"))
        for one, column in zip(sort.expressions, by, strict=True)
        if column is not None and kinds[ref := columns[column].ref] in ORDERED
    )
    if len(keys) < len(by):
        return NotApplicable("only Spark sorts by such a column")
    if any(equality_references(predicate)):
        return NotApplicable("the query looks up single values, which Spark finds by Bloom filters")
    if against := reason_against_workers(scan):
        return NotApplicable(against)
    sources = tuple(scan.local.schema.names[column.ref] for column in columns)
    return TopN(scan, node, chain[: place + 1], Order(keys, count), sources)


def _column(order: plan.Node, node: plan.Plan) -> int | None:
    """The index of the projected column that a sort key refers to; None if it is another expression."""
    by = order.children[0]
    identities = [tree.fields.get("exprId") for tree in node.expressions]
    if by.name != "AttributeReference" or by.fields["exprId"] not in identities:
        return None
    return identities.index(by.fields["exprId"])


def _has(order: plan.Node, field: str, name: str) -> bool:
    """Whether a sort key has this direction or null ordering; JSON has the name of a Scala object."""
    value: Any = order.fields[field]
    return name in str(value["object"] if isinstance(value, dict) else value)
