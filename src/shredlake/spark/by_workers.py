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

from shredlake.delta.actions import Add
from shredlake.delta.last_used import LastUsed
from shredlake.delta.read_file import DataFile, Query, open_file
from shredlake.delta.rebind import resolve, rewrite
from shredlake.delta.snapshot import Snapshot
from shredlake.expr import Column, Compare, Expr, Get, In, Projection, conjuncts, references
from shredlake.expr.types import DataType
from shredlake.parquet.file import OpenFile
from shredlake.spark import filters, plan
from shredlake.spark.frames import spark_batch, spark_type
from shredlake.spark.partials import FUNCTIONS
from shredlake.spark.paths import Service
from shredlake.spark.relations import frame_of
from shredlake.spark.scan import SparkScan, lenient, slim
from shredlake.spark.worker import settle_in

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

SMALL_FOOTER: Final = 256 << 10
"""Bytes of a footer that is worth keeping, and not too much: a worker keeps a few dozen."""

_footers: Final[LastUsed[tuple[Any, ...], OpenFile]] = LastUsed(64)


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
        if isinstance(ref, Get) and not ref.path.steps:
            raise filters.NotUnderstood("a Variant as a whole")
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


def can_not_fail(scan: SparkScan) -> bool:
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


def is_large(scan: SparkScan) -> bool:
    sizes = scan.snapshot.files.table(["size"], scan.local.verdict.keep).column(0).to_pylist()
    cores = scan.spark.sparkContext.defaultParallelism
    return bool(sizes) and sum(sizes) >= ENOUGH_BYTES and len(sizes) >= FILES_PER_CORE * cores


def looked_up(predicate: Expr | None) -> Iterator[Column | Get]:
    """What is to be equal to constants. One of many values is a lookup: Spark skips by Bloom filters too."""
    for part in conjuncts(predicate) if predicate is not None else ():
        if isinstance(part, In) or (isinstance(part, Compare) and part.op in ("=", "<=>")):
            yield from references(part)


def has_instants(scan: SparkScan) -> bool:
    """Whether times of plain columns are compared, in a zone that is not UTC.

    Older files have them without a zone, as INT96, and Arrow would take these for local times.
    """
    columns = [ref.name for ref in scan.references if isinstance(ref, Column)]
    kinds = [resolve(scan.snapshot.schema, name)[-1].type for name in columns]
    return "timestamp" in kinds and scan.timezone not in UTC


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

    snapshot = slim(scan.snapshot)
    query = without_errors(scan.local.query)
    # Statistics stay here: every task gets the list.
    adds = [replace(add, stats=None, tags=None, extra={}) for group in scan.groups for add in group.adds]
    cores = scan.spark.sparkContext.defaultParallelism
    most = -(-sum(add.size for add in adds) // TASK_BYTES)
    tasks = shares(adds, max(TASKS_PER_CORE * cores, most))
    schema = StructType([StructField(name, spark_type(kind)) for name, kind in columns.items()])

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle_in()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for part in work(_opened(snapshot, tasks[number]), query):
                    yield spark_batch(part.columns, part.schema.names)

    return scan.spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(run, schema)


def without_errors(query: Query) -> Query:
    """The query without casts that fail: it was found that none does."""
    return replace(
        query,
        projections=tuple(Projection(one.name, rewrite(one.expr, lenient)) for one in query.projections),
        predicate=None if query.predicate is None else rewrite(query.predicate, lenient),
    )


def _opened(snapshot: Snapshot, adds: Iterable[Add]) -> Iterator[DataFile]:
    """Files, one after the other. A worker remembers their footers: files of a table do not change."""
    for add in adds:
        key = snapshot.storage, add.path, add.size, add.modification_time
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
