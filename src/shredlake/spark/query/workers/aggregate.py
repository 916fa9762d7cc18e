"""Queries that group a large table: workers make groups of their files, and Spark merges them.

```
Sort, Limit, HAVING          as Spark analysed them
└─ Project                   with the expression ids that the query knows its columns by
   └─ Aggregate              merges parts: the sum of counts, the minimum of minima
      └─ mapInArrow          a few files per task: only the columns needed, filtered, grouped  (partials.py)
```

Spark reads a path row by row and level by level; the workers read it as an array, and send Spark groups
instead of rows: docs/decisions/0010. The strategy applies only if the result is the same to the last digit
and there are likely to be few groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from shredlake.caches import of_session
from shredlake.delta.read.data_file import DataFile, Query
from shredlake.errors import ShredlakeError
from shredlake.expr import Column, Expr, Get, from_arrow
from shredlake.expr.types import BOOLEAN
from shredlake.spark.query import catalyst as plan
from shredlake.spark.query import filters
from shredlake.spark.query.frames import cached_frame
from shredlake.spark.query.scan import SparkScan
from shredlake.spark.query.workers.partials import (
    AGGREGATES,
    COMPARABLE,
    DISTINCT,
    FUNCTIONS,
    Grouping,
    Part,
    Value,
)
from shredlake.spark.query.workers.pushdown import (
    ABOVE,
    BELOW,
    NotApplicable,
    Pushed,
    Reader,
    TableQuery,
    UntypedValue,
    descend,
    equality_references,
    read_by_workers,
    reason_against_workers,
    splice_under,
    without_alias,
    worker_query,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SMALL_DICTIONARY: Final = 1 << 16
"""The largest dictionary, in bytes, of a column that counts as having few values."""
FEW_GROUPS: Final = 0.25
"""The most groups per row for which workers pay off: each group is sent to Spark."""


@dataclass(frozen=True)
class Aggregated(Pushed):
    """A query whose aggregate the workers compute."""

    grouping: Grouping
    outputs: tuple[str, ...]
    """For each column of the aggregate, the column of `grouping` that it comes from."""

    def frame(self) -> DataFrame | NotApplicable:
        """The whole query."""
        return splice_under(self._merged(), self.outputs, tuple(self.node.aggregates()), self.above)

    def _merged(self) -> DataFrame:
        """The parts of all tasks, merged by Spark."""
        from pyspark.sql import functions as F

        scan, grouping = self.scan, self.grouping

        def make() -> DataFrame:
            final = [
                F.expr(AGGREGATES[part.aggregate].final.format(name)).alias(name)
                for name, part in zip(grouping.part_names, grouping.parts, strict=True)
            ]
            if grouping.distinct is not None:
                final.append(F.count_distinct(DISTINCT).alias(DISTINCT))
            return _parts(scan, grouping).groupBy(*grouping.key_names).agg(*final)

        key = ("parts", grouping, *scan.identity, scan.local.query.predicate, scan.options.timezone)
        return cached_frame(scan.spark, key, make, len(scan.files))


def aggregated(query: TableQuery) -> Aggregated | NotApplicable:
    """The query, if it is one aggregate over a table that the workers can and should compute."""
    above, node = descend(query.analysed, ABOVE)
    if node.name != "Aggregate" or descend(node.children[0], BELOW)[1].name != plan.LEAF:
        return NotApplicable("the query is not a single aggregate over the table")
    if not query.has_plain_filters:
        return NotApplicable("more than plain filters decides which rows are grouped")
    if node.has_try_sum():
        return NotApplicable("try_sum is NULL where a sum overflows")
    if query.spark.conf.get("spark.sql.retainGroupColumns", "true") != "true":
        return NotApplicable("spark.sql.retainGroupColumns is false")
    if query.too_small:
        return NotApplicable(query.too_small)
    reader = _Reader(filters.Translator(query.relation, query.variants, exact=True))
    try:
        predicate = filters.whole_predicate(query.relation, query.variants)
        keys = [reader.value(tree) for tree in node.groupings()]
        columns = [reader.column(tree, node.groupings()) for tree in node.results()]
        scan = SparkScan(query.spark, query.snapshot, reader.projections, predicate)
        kinds = [from_arrow(kind) for kind in scan.local.schema.types]
    except (filters.NotUnderstood, ShredlakeError) as error:
        return NotApplicable(f"only Spark can evaluate a part of the query: {error}")

    def value(untyped: UntypedValue) -> Value:
        return Value(scan.local.schema.names[untyped.ref], kinds[untyped.ref], untyped.functions)

    def part(column: _Result) -> Part:
        return Part(column.aggregate, None if column.value is None else value(column.value))

    asked = tuple(dict.fromkeys(part(column) for column in columns if column.aggregate))
    distinct = {value(column.distinct) for column in columns if column.distinct is not None}
    if not (asked or distinct):
        return NotApplicable("the query computes no aggregate")
    if len(distinct) > 1:
        return NotApplicable("the query counts distinct values of several columns")
    grouping = Grouping(tuple(map(value, keys)), asked, *distinct)
    if None in [one.type for one in asked] or not all(key.result in COMPARABLE for key in grouping.grouped):
        return NotApplicable("only Spark computes exactly what the query asks of some type")
    if against := reason_against_workers(scan):
        return NotApplicable(against)
    if not _has_few_groups(scan, grouping):
        return NotApplicable("there may be too many groups, or too few matching rows")

    def output(column: _Result) -> str:
        if column.distinct is not None:
            return DISTINCT
        if column.aggregate:
            return grouping.part_names[asked.index(part(column))]
        return grouping.key_names[column.key]

    return Aggregated(scan, node, above, grouping, tuple(map(output, columns)))


@dataclass(frozen=True)
class _Result:
    """A column of the aggregate: a key, an aggregate of a value, or a count of distinct values."""

    key: int = -1
    aggregate: str = ""
    value: UntypedValue | None = None
    distinct: UntypedValue | None = None


class _Reader(Reader):
    """Reads the columns of an aggregate."""

    def column(self, tree: plan.Node, keys: Sequence[plan.Node]) -> _Result:
        inner = without_alias(tree)
        for number, key in enumerate(keys):
            if key == inner:
                return _Result(key=number)
        if inner.name != "AggregateExpression" or len(inner.children) != 1:
            raise filters.NotUnderstood(inner.name)
        [function] = inner.children
        if function.name not in AGGREGATES or len(function.children) != 1:
            raise filters.NotUnderstood(function.name)
        [argument] = function.children
        if inner.fields["isDistinct"]:
            if function.name != "Count":
                raise filters.NotUnderstood(function.name)
            return _Result(distinct=self.value(argument))
        if function.name == "Count" and argument.name == "Literal" and argument.fields["value"] is not None:
            return _Result(aggregate="Count")
        return _Result(aggregate=function.name, value=self.value(argument))


def _has_few_groups(scan: SparkScan, grouping: Grouping) -> bool:
    """Whether there are few groups, and few values of columns compared for equality, in the outer files."""
    adds = [add for group in scan.groups for add in group.adds]
    query = scan.local.query
    key = (scan.snapshot.storage, adds[0].path, adds[-1].path, grouping, query.projections, query.predicate)

    def find() -> bool:
        ends = [DataFile(scan.snapshot, add) for add in (adds[0], adds[-1])]
        try:
            if not all(_is_small(data, ref) for data in ends for ref in equality_references(query.predicate)):
                return False
            small = all(_has_few(data, query, key) for data in ends for key in grouping.grouped)
            return small or _groups_repeat(ends, worker_query(scan), grouping, len(adds))
        finally:
            for data in ends:
                data.file.close()

    try:
        return bool(of_session(scan.spark, "tables with few groups", 256).get(key, find))
    except (ShredlakeError, OSError, pa.ArrowException):
        return False  # the reader of the file will say what is wrong with it


def _has_few(data: DataFile, query: Query, key: Value) -> bool:
    if any(FUNCTIONS[name].few for name in key.functions) or key.type == BOOLEAN:
        return True
    [path] = (projection.expr for projection in query.projections if projection.name == key.column)
    return _is_small(data, path)


def _groups_repeat(ends: Sequence[DataFile], query: Query, grouping: Grouping, files: int) -> bool:
    """Whether groups repeat within a file or across files, so that there are far fewer groups than rows.

    The number of all groups is estimated from those of two files and the overlap, as if all groups were
    equally frequent (capture-recapture). Without an overlap, each file may have groups of its own.
    """
    rows, found = 0, []
    paths = {projection.name: projection.expr for projection in query.projections}
    for data in ends:
        if not all(_has_column(data, paths[key.column]) for key in grouping.grouped):
            return False
        batch = next(data.batches(query, indexes=True), None)
        if batch is None:
            return False
        rows += batch.num_rows
        found.append(replace(grouping, parts=(Part("Count"),)).groups_of(batch))
    first, last = map(len, found)
    both = first + last - len(pa.concat_tables(found).group_by(grouping.grouped_names).aggregate([]))
    total = files * (first + last) / len(ends)
    if both:
        total = min(total, first * last / both)
    return total <= FEW_GROUPS * files * rows / len(ends)


def _has_column(data: DataFile, ref: Expr) -> bool:
    """Whether a file has a shredded column for a path."""
    bound = data.binding.expression(ref)
    access = data.file.columns.access(bound) if isinstance(bound, Column | Get) else None
    return access is not None and access.leaf is not None


def _is_small(data: DataFile, ref: Expr) -> bool:
    bound = data.binding.expression(ref)
    if not isinstance(bound, Column | Get):
        return True  # a constant: a partition value or null
    access = data.file.columns.access(bound)
    if access is None or not data.file.chunks:
        return True
    if access.leaf is None or access.leaf.column is None:
        return False
    chunk = data.file.chunks.chunk(0, access.leaf.column)
    small = 0 < chunk.dictionary_size <= SMALL_DICTIONARY
    return chunk.is_all_null or (chunk.is_dictionary and small)


def _parts(scan: SparkScan, grouping: Grouping) -> DataFrame:
    """The groups of every task's files."""
    kinds = [*(key.result for key in grouping.grouped), *(part.type for part in grouping.parts)]
    columns = {name: kind for name, kind in zip(grouping.names, kinds, strict=True) if kind is not None}

    def work(files: Iterator[DataFile], query: Query) -> Iterator[pa.RecordBatch]:
        return grouping.parts_of(rows_of(files, query))

    return read_by_workers(scan, columns, work)


def rows_of(files: Iterable[DataFile], query: Query) -> Iterator[pa.RecordBatch]:
    """The rows to group. Strings may stay dictionary-encoded."""
    for data in files:
        if query.projections:
            yield from data.batches(query, indexes=True)
        else:  # rows are only counted
            yield pa.record_batch({"": pa.nulls(data.count(query))})
