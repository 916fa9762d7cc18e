"""Queries that group a large table, with the groups made where the files are read.

```
Sort, Limit, HAVING          as Spark analysed them
└─ Project                   under the identities that the query knows its columns by
   └─ Aggregate              merges parts: sum of counts, least of minima
      └─ mapInArrow          a few files per task, read by the leaf, filtered, grouped     (partials.py)
```

Spark reads a path row by row and level by level; the workers read it as an array, and send Spark some groups
instead of all rows: docs/decisions/0010. It is done only where the answer is the same to the last digit and
the groups are likely to be few; every other query goes its usual way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pyarrow as pa

from shredlake.caches import LruCache
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.read.data_file import DataFile, Query
from shredlake.errors import ShredlakeError
from shredlake.expr import Column, Expr, Get, from_arrow
from shredlake.expr.types import BOOLEAN
from shredlake.spark.query import catalyst as plan
from shredlake.spark.query import filters
from shredlake.spark.query.cache import remembered
from shredlake.spark.query.partials import AGGREGATES, COMPARABLE, DISTINCT, FUNCTIONS, Grouping, Part, Value
from shredlake.spark.query.pushdown import (
    ABOVE,
    BELOW,
    Draft,
    Reader,
    can_and_should,
    down,
    for_spark,
    grafted,
    is_straight,
    parts,
    sought,
    unnamed,
)
from shredlake.spark.query.scan import SparkScan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SMALL_DICTIONARY: Final = 1 << 16
"""Bytes up to which a dictionary tells that a column has few values."""
FEW_GROUPS: Final = 0.25
"""Groups for each row up to which it pays to make them here; each must travel to Spark."""

_few: Final[LruCache[tuple[Any, ...], bool]] = LruCache(256, "few groups")


@dataclass(frozen=True)
class Aggregated:
    """A query whose aggregate the workers compute: what they read, and how the rest of it goes on."""

    scan: SparkScan
    grouping: Grouping
    outputs: tuple[str, ...]
    """Per column of the aggregate, the one of `grouping` that it comes from."""
    node: plan.Plan
    above: tuple[plan.Plan, ...]
    """The plans over the aggregate, from the top."""
    how: ClassVar[str] = "grouped"

    def frame(self) -> DataFrame:
        """The whole query."""
        return grafted(self._merged(), self.outputs, self.node.aggregates(), self.above)

    def _merged(self) -> DataFrame:
        """The parts of all tasks, and what Spark makes of them."""
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
        return remembered(scan.spark, key, make)


def aggregated(
    spark: SparkSession,
    snapshot: Snapshot,
    relation: plan.Relation,
    analysed: plan.Plan,
    variants: Sequence[str],
) -> Aggregated | None:
    """The query, if it is one aggregate over this table that the workers can and should compute."""
    above, node = down(analysed, ABOVE)
    if node.name != "Aggregate" or down(node.children[0], BELOW)[1].name != plan.LEAF:
        return None
    if not is_straight(relation, analysed) or node.tries():  # a sum that tries may be null
        return None
    reader = _Reader(filters.Translator(relation, variants, strict=True))
    try:
        predicate = filters.whole_predicate(relation, variants)
        keys = [reader.value(tree) for tree in node.groupings()]
        columns = [reader.column(tree, node.groupings()) for tree in node.results()]
        scan = SparkScan(spark, snapshot, reader.projections, predicate)
        kinds = [from_arrow(kind) for kind in scan.local.schema.types]
    except (filters.NotUnderstood, ShredlakeError):
        return None

    def value(draft: Draft) -> Value:
        return Value(scan.local.schema.names[draft.ref], kinds[draft.ref], draft.functions)

    def part(column: _Result) -> Part:
        return Part(column.aggregate, None if column.value is None else value(column.value))

    asked = tuple(dict.fromkeys(part(column) for column in columns if column.aggregate))
    distinct = {value(column.distinct) for column in columns if column.distinct is not None}
    if not (asked or distinct) or len(distinct) > 1:  # several would make groups of all their pairs
        return None
    grouping = Grouping(tuple(map(value, keys)), asked, *distinct)
    if None in [one.type for one in asked] or not all(key.result in COMPARABLE for key in grouping.grouped):
        return None
    if not can_and_should(scan) or not _has_few_groups(scan, grouping):
        return None

    def output(column: _Result) -> str:
        if column.distinct is not None:
            return DISTINCT
        if column.aggregate:
            return grouping.part_names[asked.index(part(column))]
        return grouping.key_names[column.key]

    return Aggregated(scan, grouping, tuple(map(output, columns)), node, above)


@dataclass(frozen=True)
class _Result:
    """A column of the aggregate: one of the keys, an aggregate of a value, or a count of distinct ones."""

    key: int = -1
    aggregate: str = ""
    value: Draft | None = None
    distinct: Draft | None = None


class _Reader(Reader):
    """Reads the columns of an aggregate."""

    def column(self, tree: plan.Node, keys: Sequence[plan.Node]) -> _Result:
        inner = unnamed(tree)
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
    """Whether what is looked up has few values, and the groups are few: the first and the last file tell."""
    adds = [add for group in scan.groups for add in group.adds]
    query = scan.local.query
    key = (scan.snapshot.storage, adds[0].path, adds[-1].path, grouping, query.projections, query.predicate)

    def find() -> bool:
        ends = [DataFile(scan.snapshot, add) for add in (adds[0], adds[-1])]
        try:
            if not all(_is_small(data, ref) for data in ends for ref in sought(query.predicate)):
                return False
            small = all(_has_few(data, query, key) for data in ends for key in grouping.grouped)
            return small or _come_back(ends, for_spark(scan), grouping, len(adds))
        finally:
            for data in ends:
                data.file.close()

    try:
        return _few.get(key, find)
    except (ShredlakeError, OSError, pa.ArrowException):
        return False  # whoever reads the file will say what is wrong with it


def _has_few(data: DataFile, query: Query, key: Value) -> bool:
    if any(FUNCTIONS[name].few for name in key.functions) or key.type == BOOLEAN:
        return True
    [path] = (projection.expr for projection in query.projections if projection.name == key.column)
    return _is_small(data, path)


def _come_back(ends: Sequence[DataFile], query: Query, grouping: Grouping, files: int) -> bool:
    """Whether groups come back, within a file or in the next, so that there are far fewer than rows.

    Of so many in one file and so many in another, some are in both: were all equally frequent, their number
    would follow. If none is, each file may have its own.
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
    there = files * (first + last) / len(ends)
    if both:
        there = min(there, first * last / both)
    return there <= FEW_GROUPS * files * rows / len(ends)


def _has_column(data: DataFile, ref: Expr) -> bool:
    """Whether a file has a column for a path, not just Variants to look for it in."""
    bound = data.binding.expression(ref)
    access = data.file.columns.access(bound) if isinstance(bound, Column | Get) else None
    return access is not None and access.leaf is not None


def _is_small(data: DataFile, ref: Expr) -> bool:
    bound = data.binding.expression(ref)
    if not isinstance(bound, Column | Get):
        return True  # a constant: a partition's value, or null
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

    return parts(scan, columns, work)


def rows_of(files: Iterable[DataFile], query: Query) -> Iterator[pa.RecordBatch]:
    """What is to be grouped; texts may be indexes."""
    for data in files:
        if query.projections:
            yield from data.batches(query, indexes=True)
        else:  # only rows are counted
            yield pa.record_batch({"": pa.nulls(data.count(query))})
