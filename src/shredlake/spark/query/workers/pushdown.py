"""Shared code for queries that Python workers answer in parts and Spark merges.

```
Sort, Limit, HAVING          as Spark analysed them
└─ Project                   with the expression ids that the query knows its columns by
   └─ …                      merges the parts
      └─ mapInArrow          a few files per task: only the columns needed, filtered
```

Spark reads a path row by row and level by level; the workers read it as an array. It pays off if the workers
send little: groups (`aggregate.py`), or the first rows in an order (`top_n.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.caches import LruCache
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Add
from shredlake.delta.read.bind import rewrite
from shredlake.delta.read.data_file import DataFile, Query, open_file
from shredlake.delta.schema.names import resolve
from shredlake.expr import Column, Compare, Expr, Get, In, Projection, conjuncts, references
from shredlake.expr.types import DataType
from shredlake.formatting import bytes_text
from shredlake.jobs.packing import split_evenly
from shredlake.parquet.read.open_file import OpenFile
from shredlake.spark.arrow import spark_type
from shredlake.spark.engine import from_tasks
from shredlake.spark.query import catalyst as plan
from shredlake.spark.query import filters
from shredlake.spark.query.file_index import frame_of
from shredlake.spark.query.path_columns import Service
from shredlake.spark.query.scan import SparkScan, lenient
from shredlake.spark.query.workers.partials import FUNCTIONS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ENOUGH_BYTES: Final = 256 << 20
"""Bytes of files from which on it pays off to start Python workers."""
FILES_PER_CORE: Final = 2
"""With fewer files, cores would idle: unlike Spark, the workers do not split a file among them."""
TASKS_PER_CORE: Final = 2
"""A task takes about 20 ms to start. Two per core even out differences between files and between cores."""
TASK_BYTES: Final = 1 << 30
"""The most bytes that a task reads, unless a single file is larger."""
ABOVE: Final = frozenset({"Filter", "GlobalLimit", "LocalLimit", "Project", "Sort", "SubqueryAlias"})
BELOW: Final = frozenset({"Filter", "SubqueryAlias", "View"})
"""The plan nodes that may stand between an aggregate and the result, and between it and the table."""

UTC: Final = ("UTC", "Etc/UTC", "Z", "GMT", "+00:00")

SMALL_FOOTER: Final = 64 << 10
"""The largest footer, in bytes, that a worker caches. It caches a few dozen; parsed, each takes about ten
times its size."""

_footers: Final[LruCache[tuple[Any, ...], OpenFile]] = LruCache(64, "footers on workers")


@dataclass(frozen=True)
class NotApplicable:
    """Why a strategy does not apply to a query."""

    reason: str


@dataclass(frozen=True)
class TableQuery:
    """A query that reads one table once."""

    spark: SparkSession
    snapshot: Snapshot
    relation: plan.Relation
    analysed: plan.Plan
    variants: tuple[str, ...]
    """The names of the table's Variant columns."""

    @property
    def has_plain_filters(self) -> bool:
        """Whether exactly the rows that pass the filters count, and nothing but filters decides on rows.

        The optimiser turns a subquery or a Python function in a filter into a join or a step of its own. The
        current time is not known yet.
        """
        inner = any(one.subqueries for one in self.analysed.walk())
        return self.relation.exact and not inner and not self.analysed.holds(*plan.CLOCK)

    @property
    def too_small(self) -> str:
        """Why the table is too small for workers even before files are pruned; empty if it is not."""
        return too_small(self.spark, self.snapshot.files.table(["size"]).column(0))


@dataclass(frozen=True)
class Pushed:
    """A query of which the workers compute a part, and the rest of its plan."""

    scan: SparkScan
    node: plan.Plan
    """The node whose columns the workers' columns replace."""
    above: tuple[plan.Plan, ...]
    """The plan nodes above it, the topmost first."""


@dataclass(frozen=True)
class UntypedValue:
    """A value before the types are known: the index of a reference, and the functions applied to it."""

    ref: int
    functions: tuple[str, ...]


@dataclass
class Reader:
    """Translates expressions into values, and collects the columns and paths that they refer to."""

    translator: filters.Translator
    refs: list[Column | Get] = field(default_factory=list)

    def value(self, tree: plan.Node) -> UntypedValue:
        functions: list[str] = []
        while tree.name in FUNCTIONS:
            if tree.fields.get("timeZoneId", "UTC") not in UTC:
                raise filters.NotUnderstood(tree.name)
            functions.append(tree.name)
            [tree] = tree.children
        ref = self.translator.reference(tree)
        if ref not in self.refs:
            self.refs.append(ref)
        return UntypedValue(self.refs.index(ref), tuple(reversed(functions)))

    @property
    def projections(self) -> list[Projection]:
        return [Projection(f"c{number}", ref) for number, ref in enumerate(self.refs)]


def descend(node: plan.Plan, passed: frozenset[str]) -> tuple[tuple[plan.Plan, ...], plan.Plan]:
    """The nodes from here down that have these names, and the first node that has another."""
    found: list[plan.Plan] = []
    while node.name in passed:
        found.append(node)
        [node] = node.children
    return tuple(found), node


def without_alias(tree: plan.Node) -> plan.Node:
    """The expression of a column, without its name."""
    return tree.children[0] if tree.name == "Alias" else tree


def reason_against_workers(scan: SparkScan) -> str:
    """Why the workers would not give Spark's answer or not be faster; empty if pushing down is worthwhile."""
    small = too_small(scan.spark, scan.snapshot.files.table(["size"], scan.local.verdict.keep).column(0))
    if small:
        return small
    if not _cannot_fail(scan):
        return "a value may fail to cast, which only Spark reports for the right rows"
    if not _has_proleptic_dates(scan):
        return "files of other writers may have dates of the Julian calendar"
    return ""


def _cannot_fail(scan: SparkScan) -> bool:
    """Whether every value of these files casts where a failure would be an error."""
    return not scan.strict_paths or all(
        not group.worker
        and all(
            not group.served[ref].may_fail and group.served[ref].service is not Service.MIXED
            for ref in scan.strict_paths
        )
        for group in scan.groups
    )


def too_small(spark: SparkSession, sizes: pa.ChunkedArray) -> str:
    """Why files of these sizes are too small for workers; empty if they are not."""
    total = pc.sum(sizes).as_py() or 0
    if not len(sizes) or total < ENOUGH_BYTES:
        return f"{bytes_text(total)} of files are too few to be worth starting workers"
    if len(sizes) < FILES_PER_CORE * spark.sparkContext.defaultParallelism:
        return f"{len(sizes):,} files are too few to keep all cores busy"
    return ""


def equality_references(predicate: Expr | None) -> Iterator[Column | Get]:
    """The columns and paths that must equal a constant. For such lookups Spark uses Bloom filters."""
    for part in conjuncts(predicate) if predicate is not None else ():
        if isinstance(part, In) or (isinstance(part, Compare) and part.op in ("=", "<=>")):
            yield from references(part)


def _has_proleptic_dates(scan: SparkScan) -> bool:
    """Whether dates and times of plain columns mean the same to Arrow and to Spark.

    Files of other writers may follow the Julian calendar, as their footers tell Spark.
    """
    columns = [ref for ref in scan.references if isinstance(ref, Column) and not scan.is_partition(ref)]
    kinds = [resolve(scan.snapshot.schema, ref.name)[-1].type for ref in columns]
    ours = all(group.is_ours for group in scan.groups)
    return ours or not any(kind in ("date", "timestamp", "timestamp_ntz") for kind in kinds)


def read_by_workers(
    scan: SparkScan,
    columns: Mapping[str, DataType],
    work: Callable[[Iterator[DataFile], Query], Iterator[pa.RecordBatch]],
) -> DataFrame:
    """A DataFrame of what `work` makes of the files, a share of them in each task."""
    from pyspark.sql.types import StructField, StructType

    snapshot = scan.snapshot.without_files()
    query = worker_query(scan)
    adds = [add for group in scan.groups for add in group.adds]
    cores = scan.spark.sparkContext.defaultParallelism
    most = -(-sum(add.size for add in adds) // TASK_BYTES)
    tasks = split_evenly(adds, lambda add: add.size, max(TASKS_PER_CORE * cores, most))
    schema = StructType([StructField(name, spark_type(kind)) for name, kind in columns.items()])

    return from_tasks(scan.spark, tasks, lambda adds: work(_opened(snapshot, adds), query), schema)


def worker_query(scan: SparkScan) -> Query:
    """The query of a scan as workers run it. Its casts never raise: `_cannot_fail` has ruled failures out."""
    query = scan.local.query
    return replace(
        query,
        projections=tuple(Projection(one.name, rewrite(one.expr, lenient)) for one in query.projections),
        predicate=None if query.predicate is None else rewrite(query.predicate, lenient),
    )


def _opened(snapshot: Snapshot, adds: Iterable[Add]) -> Iterator[DataFile]:
    """Opens files one after the other. A worker caches their footers: files of a table do not change."""
    for add in adds:
        schema = snapshot.metadata.schema_string
        key = snapshot.storage, schema, add.path, add.size, add.modification_time
        file = _footers.find(key) or open_file(snapshot, add)
        if file.chunks.size <= SMALL_FOOTER:
            _footers.put(key, file)
        try:
            yield DataFile(snapshot, add, file)
        finally:
            file.close()


def splice_under(
    frame: DataFrame, sources: Sequence[str], old: Sequence[Any], above: Sequence[plan.Plan]
) -> DataFrame | NotApplicable:
    """Puts a frame under the nodes of another plan.

    The frame's columns `sources` get the names and expression ids of the columns `old`, to which the nodes
    `above` refer. The topmost node comes first.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import AnalysisException

    try:
        return _spliced(frame, sources, old, above)
    except (Py4JError, AnalysisException, TypeError) as error:  # TypeError: a class that this Spark lacks
        return NotApplicable(f"Spark does not accept the plan: {type(error).__name__}")


def _spliced(
    frame: DataFrame, sources: Sequence[str], old: Sequence[Any], above: Sequence[plan.Plan]
) -> DataFrame:
    spark = frame.sparkSession
    jvm = spark._jvm
    found = frame._jdf.queryExecution().analyzed()
    columns = {column.name(): column for column in plan.items(found.output())}
    nothing, none = jvm.scala.Option.empty(), _sequence(jvm, [])
    named = [
        jvm.org.apache.spark.sql.catalyst.expressions.Alias(
            columns[source], one.name(), one.exprId(), none, nothing, none
        )
        for source, one in zip(sources, old, strict=True)
    ]
    whole = jvm.org.apache.spark.sql.catalyst.plans.logical.Project(_sequence(jvm, named), found)
    for node in reversed(above):
        whole = node.with_children(_sequence(jvm, [whole]))
    return frame_of(spark, whole)


def _sequence(jvm: Any, items: Sequence[Any]) -> Any:
    return jvm.org.apache.spark.api.python.PythonUtils.toSeq(list(items))
