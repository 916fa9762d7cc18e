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

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from shredlake.delta.actions import Add
from shredlake.delta.last_used import LastUsed
from shredlake.delta.read_file import DataFile, Query, open_file
from shredlake.delta.rebind import rewrite
from shredlake.delta.snapshot import Snapshot
from shredlake.errors import ShredlakeError
from shredlake.expr import (
    Column,
    Compare,
    Expr,
    Get,
    In,
    Projection,
    conjuncts,
    from_arrow,
    references,
)
from shredlake.expr.types import BOOLEAN
from shredlake.parquet.file import OpenFile
from shredlake.spark import plan
from shredlake.spark.engine import keep_modules
from shredlake.spark.frames import spark_batch, spark_type
from shredlake.spark.partials import AGGREGATES, COMPARABLE, DISTINCT, FUNCTIONS, Grouping, Part, Value
from shredlake.spark.paths import Service
from shredlake.spark.relations import frame_of, remembered
from shredlake.spark.scan import SparkScan, lenient, slim

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ENOUGH_BYTES: Final = 256 << 20
"""From this size of its files on a table is worth starting Python for."""
FILES_PER_CORE: Final = 2
"""With fewer, cores would idle: Spark divides a file among them, the workers do not."""
TASKS_PER_CORE: Final = 2
"""Starting one takes some 20 ms; two make up for files, and cores, that take longer than others."""
TASK_BYTES: Final = 1 << 30
"""What a task reads at most, unless one file is larger."""
SMALL_DICTIONARY: Final = 1 << 16
"""Bytes up to which a dictionary tells that a column has few values."""
FEW_GROUPS: Final = 0.25
"""Groups for each row up to which it pays to make them here; each must travel to Spark."""

ABOVE: Final = frozenset({"Filter", "GlobalLimit", "LocalLimit", "Project", "Sort", "SubqueryAlias"})
BELOW: Final = frozenset({"Filter", "SubqueryAlias", "View"})
"""What may stand between an aggregate and the result, and between it and the table."""

UTC: Final = ("UTC", "Etc/UTC", "Z", "GMT", "+00:00")

SMALL_FOOTER: Final = 256 << 10
"""Bytes of a footer that is worth keeping, and not too much: a worker keeps a few dozen."""

_few: Final[LastUsed[tuple[Any, ...], bool]] = LastUsed(256)
_footers: Final[LastUsed[tuple[Any, ...], OpenFile]] = LastUsed(64)


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

    def frame(self) -> DataFrame:
        """The whole query."""
        spark = self.scan.spark
        jvm = spark._jvm
        merged = self._merged()._jdf.queryExecution().analyzed()
        columns = {column.name(): column for column in plan.items(merged.output())}
        nothing, none = jvm.scala.Option.empty(), _sequence(jvm, [])
        named = [
            jvm.org.apache.spark.sql.catalyst.expressions.Alias(
                columns[source], old.name(), old.exprId(), none, nothing, none
            )
            for source, old in zip(self.outputs, self.node.aggregates(), strict=True)
        ]
        whole = jvm.org.apache.spark.sql.catalyst.plans.logical.Project(_sequence(jvm, named), merged)
        for node in reversed(self.above):
            whole = node.over(_sequence(jvm, [whole]))
        return frame_of(spark, whole)

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

        key = ("parts", grouping, *scan.identity, scan.local.query.predicate, scan.timezone)
        return remembered(scan.spark, key, make)


def aggregated(
    spark: SparkSession,
    snapshot: Snapshot,
    relation: plan.Relation,
    analysed: plan.Plan,
    variants: Sequence[str],
    zone: Callable[[], str],
) -> Aggregated | None:
    """The query, if it is one aggregate over this table that the workers can and should compute."""
    above, node = _down(analysed, ABOVE)
    if node.name != "Aggregate" or _down(node.children[0], BELOW)[1].name != plan.LEAF:
        return None
    # A subquery, or a function of Python's, is a filter where it is analysed, and a join or a step of its own
    # when it is optimised. A time is not yet, and a sum that tries may be null.
    if not relation.exact or any(one.subqueries for one in analysed.walk()):
        return None
    if analysed.holds(*plan.CLOCK) or node.tries():
        return None
    reader = _Reader(plan.Translator(relation, variants, zone, strict=True))
    try:
        predicate = plan.whole_predicate(relation, variants, zone)
        keys = [reader.value(tree) for tree in node.groupings()]
        columns = [reader.column(tree, node.groupings()) for tree in node.results()]
        names = [f"c{number}" for number in range(len(reader.refs))]
        projections = [Projection(name, ref) for name, ref in zip(names, reader.refs, strict=True)]
        scan = SparkScan(spark, snapshot, projections, predicate)
        kinds = [from_arrow(kind) for kind in scan.local.schema.types]
    except (plan.NotUnderstood, ShredlakeError):
        return None

    def value(draft: _Draft) -> Value:
        return Value(names[draft.ref], kinds[draft.ref], draft.functions)

    def part(column: _Result) -> Part:
        return Part(column.aggregate, None if column.value is None else value(column.value))

    parts = tuple(dict.fromkeys(part(column) for column in columns if column.aggregate))
    distinct = {value(column.distinct) for column in columns if column.distinct is not None}
    if not (parts or distinct) or len(distinct) > 1:  # several would make groups of all their pairs
        return None
    grouping = Grouping(tuple(map(value, keys)), parts, *distinct)
    if None in [one.type for one in parts] or not all(key.result in COMPARABLE for key in grouping.grouped):
        return None
    if not _is_large(scan) or not _can_not_fail(scan) or not _has_few_groups(scan, grouping):
        return None

    def output(column: _Result) -> str:
        if column.distinct is not None:
            return DISTINCT
        if column.aggregate:
            return grouping.part_names[parts.index(part(column))]
        return grouping.key_names[column.key]

    return Aggregated(scan, grouping, tuple(map(output, columns)), node, above)


def _down(node: plan.Plan, passed: frozenset[str]) -> tuple[tuple[plan.Plan, ...], plan.Plan]:
    """The plans of these names in a row, and the one below them."""
    found: list[plan.Plan] = []
    while node.name in passed:
        found.append(node)
        [node] = node.children
    return tuple(found), node


@dataclass(frozen=True)
class _Draft:
    """A value before the columns have their types: which reference, under which functions."""

    ref: int
    functions: tuple[str, ...]


@dataclass(frozen=True)
class _Result:
    """A column of the aggregate: one of the keys, an aggregate of a value, or a count of distinct ones."""

    key: int = -1
    aggregate: str = ""
    value: _Draft | None = None
    distinct: _Draft | None = None


@dataclass
class _Reader:
    """Makes values of expressions, and gathers what they refer to."""

    translator: plan.Translator
    refs: list[Column | Get] = field(default_factory=list)

    def column(self, tree: plan.Node, keys: Sequence[plan.Node]) -> _Result:
        inner = tree.children[0] if tree.name == "Alias" else tree
        for number, key in enumerate(keys):
            if key == inner:
                return _Result(key=number)
        if inner.name != "AggregateExpression" or len(inner.children) != 1:
            raise plan.NotUnderstood(inner.name)
        [function] = inner.children
        if function.name not in AGGREGATES or len(function.children) != 1:
            raise plan.NotUnderstood(function.name)
        [argument] = function.children
        if inner.fields["isDistinct"]:
            if function.name != "Count":
                raise plan.NotUnderstood(function.name)
            return _Result(distinct=self.value(argument))
        if function.name == "Count" and argument.name == "Literal" and argument.fields["value"] is not None:
            return _Result(aggregate="Count")
        return _Result(aggregate=function.name, value=self.value(argument))

    def value(self, tree: plan.Node) -> _Draft:
        functions: list[str] = []
        while tree.name in FUNCTIONS:
            if tree.fields.get("timeZoneId", "UTC") not in UTC:
                raise plan.NotUnderstood(tree.name)
            functions.append(tree.name)
            [tree] = tree.children
        ref = self.translator.reference(tree)
        if ref not in self.refs:
            self.refs.append(ref)
        return _Draft(self.refs.index(ref), tuple(reversed(functions)))


def _can_not_fail(scan: SparkScan) -> bool:
    """Whether no value of these files fails to cast where that would be an error."""
    return all(
        not group.worker
        and all(
            group.served[ref].fails == "false" and group.served[ref].service is not Service.MIXED
            for ref in scan.strict_paths
        )
        for group in scan.groups
        if scan.strict_paths
    )


def _is_large(scan: SparkScan) -> bool:
    sizes = scan.snapshot.files.table(["size"], scan.local.verdict.keep).column(0).to_pylist()
    cores = scan.spark.sparkContext.defaultParallelism
    return bool(sizes) and sum(sizes) >= ENOUGH_BYTES and len(sizes) >= FILES_PER_CORE * cores


def _has_few_groups(scan: SparkScan, grouping: Grouping) -> bool:
    """Whether what is looked up has few values, and the groups are few: the first and the last file tell."""
    adds = [add for group in scan.groups for add in group.adds]
    query = scan.local.query
    key = (scan.snapshot.storage, adds[0].path, adds[-1].path, grouping, query.projections, query.predicate)

    def find() -> bool:
        ends = [DataFile(scan.snapshot, add) for add in (adds[0], adds[-1])]
        try:
            if not all(_is_small(data, ref) for data in ends for ref in _looked_up(query.predicate)):
                return False
            small = all(_has_few(data, query, key) for data in ends for key in grouping.grouped)
            return small or _come_back(ends, _read_by_workers(query), grouping, len(adds))
        finally:
            for data in ends:
                data.file.close()

    try:
        return _few.get(key, find)
    except (ShredlakeError, OSError):
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
    for data in ends:
        batch = next(data.batches(query, indexes=True), None)
        if batch is None:
            return False
        rows += batch.num_rows
        found.append(replace(grouping, parts=(Part("Count"),)).groups_of(batch))
    first, last = map(len, found)
    both = first + last - len(pa.concat_tables(found).group_by(found[0].column_names).aggregate([]))
    there = files * (first + last) / len(ends)
    if both:
        there = min(there, first * last / both)
    return there <= FEW_GROUPS * files * rows / len(ends)


def _looked_up(predicate: Expr | None) -> Iterator[Column | Get]:
    """What is to be equal to constants. One of many values is a lookup: Spark skips by Bloom filters too."""
    for part in conjuncts(predicate) if predicate is not None else ():
        if isinstance(part, In) or (isinstance(part, Compare) and part.op in ("=", "<=>")):
            yield from references(part)


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
    from pyspark.sql.types import StructField, StructType

    snapshot = slim(scan.snapshot)
    query = _read_by_workers(scan.local.query)
    # Statistics stay here: every task gets the list.
    adds = [replace(add, stats=None, tags=None, extra={}) for group in scan.groups for add in group.adds]
    cores = scan.spark.sparkContext.defaultParallelism
    most = -(-sum(add.size for add in adds) // TASK_BYTES)
    tasks = shares(adds, max(TASKS_PER_CORE * cores, most))
    kinds = [*(key.result for key in grouping.grouped), *(part.type for part in grouping.parts)]
    schema = StructType(
        [
            StructField(name, spark_type(kind))
            for name, kind in zip(grouping.names, kinds, strict=True)
            if kind is not None
        ]
    )

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        keep_modules()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for parts in grouping.parts_of(_rows(snapshot, tasks[number], query)):
                    yield spark_batch(parts.columns, parts.schema.names)

    return scan.spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(work, schema)


def _read_by_workers(query: Query) -> Query:
    """The query without casts that fail: it was found that none does."""
    return replace(
        query,
        projections=tuple(Projection(one.name, rewrite(one.expr, lenient)) for one in query.projections),
        predicate=None if query.predicate is None else rewrite(query.predicate, lenient),
    )


def shares(adds: Sequence[Add], count: int) -> list[tuple[Add, ...]]:
    """Files in the order given, in so many shares of about the same size; none is empty."""
    total = sum(add.size for add in adds)
    found: list[list[Add]] = [[] for _ in range(count)]
    before = 0
    for add in adds:
        found[(2 * before + add.size) * count // (2 * total + 1)].append(add)
        before += add.size
    return [tuple(share) for share in found if share]


def _rows(snapshot: Snapshot, adds: Iterable[Add], query: Query) -> Iterator[pa.RecordBatch]:
    for add in adds:
        data = DataFile(snapshot, add, _opened(snapshot, add))
        try:
            if query.projections:
                yield from data.batches(query, indexes=True)
            else:  # only rows are counted
                yield pa.record_batch({"": pa.nulls(data.count(query))})
        finally:
            data.file.close()


def _opened(snapshot: Snapshot, add: Add) -> OpenFile:
    """A file with its footer, which a worker remembers: files of a table do not change."""
    key = snapshot.storage, add.path, add.size, add.modification_time
    file = _footers.find(key) or open_file(snapshot, add)
    return _footers.put(key, file) if file.chunks.size <= SMALL_FOOTER else file


def _sequence(jvm: Any, items: Sequence[Any]) -> Any:
    return jvm.org.apache.spark.api.python.PythonUtils.toSeq(list(items))
