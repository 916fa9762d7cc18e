"""What queries have in common that the workers answer, in parts that Spark puts together.

```
Sort, Limit, HAVING          as Spark analysed them
└─ Project                   under the identities that the query knows its columns by
   └─ …                      what Spark makes of the parts
      └─ mapInArrow          a few files per task, read by the leaf, filtered
```

Spark reads a path row by row and level by level; the workers read it as an array. What they send must be
little: groups (`aggregate.py`), or the first rows in an order (`top.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from shredlake.caches import LruCache
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Add
from shredlake.delta.protocol.layout_tag import LAYOUT_TAG
from shredlake.delta.read.bind import rewrite
from shredlake.delta.read.data_file import DataFile, Query, open_file
from shredlake.delta.schema.names import resolve
from shredlake.expr import Column, Compare, Expr, Get, In, Projection, conjuncts, references
from shredlake.expr.types import DataType
from shredlake.parquet.read.open_file import OpenFile
from shredlake.spark.arrow import from_tasks, spark_type
from shredlake.spark.query import catalyst as plan
from shredlake.spark.query import filters
from shredlake.spark.query.cache import frame_of
from shredlake.spark.query.partials import FUNCTIONS
from shredlake.spark.query.path_columns import Service
from shredlake.spark.query.scan import SparkScan, lenient

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ENOUGH_BYTES: Final = 256 << 20
"""From this size of its files on a table is worth starting Python for."""
FILES_PER_CORE: Final = 2
"""With fewer, cores would idle: Spark divides a file among them, the workers do not."""
TASKS_PER_CORE: Final = 2
"""Starting one takes some 20 ms; two make up for files, and cores, that take longer than others."""
TASK_BYTES: Final = 1 << 30
"""What a task reads at most, unless one file is larger."""
ABOVE: Final = frozenset({"Filter", "GlobalLimit", "LocalLimit", "Project", "Sort", "SubqueryAlias"})
BELOW: Final = frozenset({"Filter", "SubqueryAlias", "View"})
"""What may stand between an aggregate and the result, and between it and the table."""

UTC: Final = ("UTC", "Etc/UTC", "Z", "GMT", "+00:00")

SMALL_FOOTER: Final = 64 << 10
"""Bytes of a footer that is worth keeping, and not too much: a worker keeps a few dozen, with what is parsed
of them, some ten times as much."""

_footers: Final[LruCache[tuple[Any, ...], OpenFile]] = LruCache(64, "footers on workers")


def is_straight(relation: plan.Relation, analysed: plan.Plan) -> bool:
    """Whether just the rows that pass the filters count, and filters are what they seem.

    A subquery, or a function of Python's, is a filter where it is analysed, and a join or a step of its own
    when it is optimised. A time is not yet.
    """
    inner = any(one.subqueries for one in analysed.walk())
    return relation.exact and not inner and not analysed.holds(*plan.CLOCK)


@dataclass(frozen=True)
class Draft:
    """A value before the columns have their types: which reference, under which functions."""

    ref: int
    functions: tuple[str, ...]


@dataclass
class Reader:
    """Makes values of expressions, and gathers what they refer to."""

    translator: filters.Translator
    refs: list[Column | Get] = field(default_factory=list)

    def value(self, tree: plan.Node) -> Draft:
        functions: list[str] = []
        while tree.name in FUNCTIONS:
            if tree.fields.get("timeZoneId", "UTC") not in UTC:
                raise filters.NotUnderstood(tree.name)
            functions.append(tree.name)
            [tree] = tree.children
        ref = self.translator.reference(tree)
        if ref not in self.refs:
            self.refs.append(ref)
        return Draft(self.refs.index(ref), tuple(reversed(functions)))

    @property
    def projections(self) -> list[Projection]:
        return [Projection(f"c{number}", ref) for number, ref in enumerate(self.refs)]


def down(node: plan.Plan, passed: frozenset[str]) -> tuple[tuple[plan.Plan, ...], plan.Plan]:
    """The plans of these names in a row, and the one below them."""
    found: list[plan.Plan] = []
    while node.name in passed:
        found.append(node)
        [node] = node.children
    return tuple(found), node


def unnamed(tree: plan.Node) -> plan.Node:
    """What a column is, whatever it is called."""
    return tree.children[0] if tree.name == "Alias" else tree


def can_and_should(scan: SparkScan) -> bool:
    """Whether the workers read what Spark would, and it is worth starting them."""
    return _is_large(scan) and _can_not_fail(scan) and _has_todays_times(scan)


def _can_not_fail(scan: SparkScan) -> bool:
    """Whether no value of these files fails to cast where that would be an error."""
    return not scan.strict_paths or all(
        not group.worker
        and all(
            not group.served[ref].may_fail and group.served[ref].service is not Service.MIXED
            for ref in scan.strict_paths
        )
        for group in scan.groups
    )


def _is_large(scan: SparkScan) -> bool:
    sizes = scan.snapshot.files.table(["size"], scan.local.verdict.keep).column(0).to_pylist()
    cores = scan.spark.sparkContext.defaultParallelism
    return bool(sizes) and sum(sizes) >= ENOUGH_BYTES and len(sizes) >= FILES_PER_CORE * cores


def sought(predicate: Expr | None) -> Iterator[Column | Get]:
    """What is to be equal to constants. One of many values is a lookup: Spark skips by Bloom filters too."""
    for part in conjuncts(predicate) if predicate is not None else ():
        if isinstance(part, In) or (isinstance(part, Compare) and part.op in ("=", "<=>")):
            yield from references(part)


def _has_todays_times(scan: SparkScan) -> bool:
    """Whether dates and times of plain columns mean to Arrow what they mean to Spark.

    Other writers' files may have them by the Julian calendar, of which their footers tell Spark.
    """
    columns = [ref for ref in scan.references if isinstance(ref, Column) and not scan.is_partition(ref)]
    kinds = [resolve(scan.snapshot.schema, ref.name)[-1].type for ref in columns]
    ours = all(LAYOUT_TAG in (add.tags or {}) for group in scan.groups for add in group.adds)
    return ours or not any(kind in ("date", "timestamp", "timestamp_ntz") for kind in kinds)


def shares(adds: Sequence[Add], count: int) -> list[tuple[Add, ...]]:
    """Files in the order given, in so many shares of about the same size; none is empty."""
    total = sum(add.size for add in adds)
    found: list[list[Add]] = [[] for _ in range(count)]
    before = 0
    for add in adds:
        found[(2 * before + add.size) * count // (2 * total + 1)].append(add)
        before += add.size
    return [tuple(share) for share in found if share]


def parts(
    scan: SparkScan,
    columns: Mapping[str, DataType],
    work: Callable[[Iterator[DataFile], Query], Iterator[pa.RecordBatch]],
) -> DataFrame:
    """What the workers make of their shares of the files, with these columns."""
    from pyspark.sql.types import StructField, StructType

    snapshot = scan.snapshot.without_files()
    query = for_spark(scan)
    # Statistics stay here: every task gets the list.
    adds = [replace(add, stats=None, tags=None, extra={}) for group in scan.groups for add in group.adds]
    cores = scan.spark.sparkContext.defaultParallelism
    most = -(-sum(add.size for add in adds) // TASK_BYTES)
    tasks = shares(adds, max(TASKS_PER_CORE * cores, most))
    schema = StructType([StructField(name, spark_type(kind)) for name, kind in columns.items()])

    return from_tasks(scan.spark, tasks, lambda adds: work(_opened(snapshot, adds), query), schema)


def for_spark(scan: SparkScan) -> Query:
    """The query of a scan as workers run it, without casts that fail: it was found that none does."""
    query = scan.local.query
    return replace(
        query,
        projections=tuple(Projection(one.name, rewrite(one.expr, lenient)) for one in query.projections),
        predicate=None if query.predicate is None else rewrite(query.predicate, lenient),
    )


def _opened(snapshot: Snapshot, adds: Iterable[Add]) -> Iterator[DataFile]:
    """Files, one after the other. A worker remembers their footers: files of a table do not change."""
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


def grafted(
    frame: DataFrame, sources: Sequence[str], old: Iterable[Any], above: Sequence[plan.Plan]
) -> DataFrame:
    """Columns of a frame under the names and identities of others, and the plans over these, from the top."""
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
        whole = node.over(_sequence(jvm, [whole]))
    return frame_of(spark, whole)


def _sequence(jvm: Any, items: Sequence[Any]) -> Any:
    return jvm.org.apache.spark.api.python.PythonUtils.toSeq(list(items))
