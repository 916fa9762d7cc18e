"""A query on paths as a Spark DataFrame: planned by us, executed by Spark's own Parquet reader.

```
files left by the log ─ grouped by layout ─┬─ typed rows:   plain columns, filters pushed down    (JVM)
                                           ├─ mixed rows:   those with something in `value`       (kernels)
                                           └─ other layouts: read by the workers with pyarrow     (kernels)
                                                   all united, filtered exactly, projected
```

The typed and the mixed read of a group are disjoint by the leaf's `value` being null or not, and together
they are all rows. The predicate is applied again above the union, so pruning can only save work.
"""

from __future__ import annotations

import hashlib
import operator
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.caches import LruCache
from shredlake.delta.log.files import as_adds
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Add
from shredlake.delta.read.bind import rewrite
from shredlake.delta.read.data_file import DataFile, Query, partition_values
from shredlake.delta.read.deletion_vectors import read_vector
from shredlake.delta.read.scan import TableScan
from shredlake.delta.schema.names import resolve
from shredlake.delta.storage.storage import decode_path
from shredlake.expr import (
    And,
    Column,
    Expr,
    Get,
    IsNull,
    Literal,
    Not,
    Projection,
    all_of,
    conjuncts,
    from_arrow,
    join_name,
    name_parts,
    references,
)
from shredlake.expr.ast import IsVariantNull, walk
from shredlake.expr.types import BOOLEAN
from shredlake.jobs.packing import pack
from shredlake.kernels.get import get_path
from shredlake.spark.arrow import SCHEMA_NAMES, from_tasks, spark_batch, spark_type
from shredlake.spark.columns import Names, at, column_of, combined, constant
from shredlake.spark.query.cache import parquet_files
from shredlake.spark.query.explain import SparkExplain, explain
from shredlake.spark.query.layouts import FileLayouts
from shredlake.spark.query.path_columns import (
    Served,
    Service,
    is_false_of_null,
    is_narrowed,
    read_schema,
    serve,
)
from shredlake.spark.settings import session_options
from shredlake.spark.worker import settle_in
from shredlake.variant.path import Path

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

_groups: LruCache[Hashable, list[Group]] = LruCache(128, "groups of files")
"""The plans of the last queries: data files never change, so the next query like one of them has its plan."""

WORKER_TASK_BYTES = 64 << 20
"""How much of its files a worker task reads, at most, unless one file is larger."""


@dataclass(frozen=True)
class Group:
    """Files that are read the same way."""

    adds: tuple[Add, ...]
    served: Mapping[Get, Served]
    partition: Mapping[str, Any]
    worker: str = ""
    """Why the workers read these files; empty where Spark does."""
    never_null: frozenset[Names] = frozenset()
    """Groups of columns that no row of these files lacks."""

    @property
    def mixed(self) -> list[Served]:
        return [one for one in self.served.values() if one.service is Service.MIXED]


Part = tuple["DataFrame", Mapping[str, "SparkColumn"]]
"""Rows, and for each column that the query reads what it is of them; of those that tell where a value does
not cast, only the ones where that can be."""


class SparkScan:
    """A query over one version of a table. Planning reads the log, running the frame reads rows."""

    def __init__(
        self,
        spark: SparkSession,
        snapshot: Snapshot,
        columns: str | Sequence[str | Projection] | None,
        where: str | Expr | None,
        *,
        strict: bool = False,
        prune_only: bool = False,
        native: bool = False,
    ) -> None:
        """With `prune_only`, `where` decides which files are read; the caller filters the rows.

        With `native`, whole Variants are read by Spark, which takes paths from them without rebuilding all.
        """
        self.spark = spark
        self.prune_only = prune_only
        self.native = native
        self.options = session_options(spark, strict=strict)
        self.local = TableScan(snapshot, columns, where, options=self.options, checked=False)
        self.snapshot = snapshot

    @cached_property
    def references(self) -> dict[Column | Get, str]:
        """Everything that the query reads of a row, and the name it has between scan and projection."""
        query = self.local.query
        expressions = [projection.expr for projection in query.projections]
        if query.predicate is not None and not self.prune_only:
            expressions.append(query.predicate)
        found: dict[Column | Get, str] = {}
        for expression in expressions:
            for ref in sorted(references(expression), key=str):
                found.setdefault(ref, f"c{len(found)}")
        return found

    @cached_property
    def strict_paths(self) -> dict[Get, str]:
        """Paths whose value must cast, and the name of the column that tells where one does not.

        Workers evaluate whole batches, also rows that a filter above them drops, so they may not raise by
        themselves: they tell, and Spark raises when such a row is really asked for.
        """
        found: dict[Get, str] = {}
        for ref, name in self.references.items():
            if isinstance(ref, Get) and ref.type is not None and self._must_cast(ref):
                found[ref] = f"failed_{name}"
        return found

    def _must_cast(self, ref: Get) -> bool:
        """Whether a value on the path that does not cast is an error."""
        return self.options.overridden_by(ref.strict).raises

    @cached_property
    def identity(self) -> tuple[Hashable, ...]:
        """What decides which files are read, and how: the same for a query that asks for the same again."""
        kept = hashlib.blake2b(self.local.verdict.keep.tobytes()).digest()
        asked = tuple(self.references)
        return self.snapshot.storage, self.snapshot.segment, kept, asked, self.options.raises, self.native

    @property
    def frame_identity(self) -> tuple[Hashable, ...]:
        """The same of the frame: the predicate counts only where the reading of files depends on it."""
        matters = any(group.worker or self._implied(group) is not None for group in self.groups)
        return *self.identity, self.local.query.predicate if matters else None, self.options.timezone

    @cached_property
    def groups(self) -> list[Group]:
        """The files that the log can't rule out, by how they are read."""
        return _groups.get(self.identity, self._grouped)

    def _grouped(self) -> list[Group]:
        layouts = FileLayouts(self.spark, self.snapshot)
        adds = as_adds(self.local.files())
        gathered: dict[tuple[Any, ...], tuple[Group, list[Add], list[frozenset[Names]]]] = {}
        names: Counter[str] = Counter()
        for add, layout in zip(adds, layouts.of(adds), strict=True):
            served: dict[Get, Served] = {}
            for ref in self.references:
                if isinstance(ref, Get):
                    physical = self._physical(ref.column)
                    asked = replace(ref, strict=self._must_cast(ref))
                    served[ref] = serve(asked, physical, layout.get(physical))
            worker = next((one.reason for one in served.values() if one.service is Service.WORKER), "")
            worker = worker or self._needs_worker(add)
            partition = {} if worker else self._partition(add)
            # Deleted rows are known by the file's name, so files of one name are read apart.
            name = file_name(add)
            names[name] += 1
            key = (worker, tuple(served.values()), tuple(sorted(partition.items(), key=str)), names[name])
            _, of_group, never_null = gathered.setdefault(key, (Group((), served, partition, worker), [], []))
            of_group.append(add)
            never_null.append(frozenset().union(*(one.never_null for one in served.values())))
        return [
            replace(group, adds=tuple(of_group), never_null=frozenset.intersection(*never_null))
            for group, of_group, never_null in gathered.values()
        ]

    def _needs_worker(self, add: Add) -> str:
        """Why plain columns, or the file's name, keep Spark from reading a file by itself, if they do."""
        mapping = self.snapshot.settings.mapping_mode
        if mapping == "id" and self.references:
            return "columns are found by id"
        if is_hidden(add):
            return "Spark hides files of such names"
        for ref in self.references:
            if isinstance(ref, Column):
                kind = resolve(self.snapshot.schema, ref.name)[-1].type
                if not isinstance(kind, str) and not (self.native and mapping == "none"):
                    return f"{ref.name} is nested"
                if kind == "variant" and not self.native:
                    return f"{ref.name} is asked for as a Variant"
        return ""

    def _partition(self, add: Add) -> dict[str, Any]:
        used = {resolve(self.snapshot.schema, _column_of(ref))[0].name for ref in self.references}
        return {name: value for name, value in partition_values(self.snapshot, add).items() if name in used}

    def _physical(self, name: str) -> str:
        return join_name(tuple(field.physical_name for field in resolve(self.snapshot.schema, name)))

    def frame(
        self, select: Callable[[Sequence[SparkColumn]], Sequence[SparkColumn]] | None = None
    ) -> DataFrame:
        """The query as a DataFrame. `select` makes other columns of its projections."""
        query = self.local.query
        parts = [part for group in self.groups for part in self._group(group)]
        if len(parts) == 1:  # in one step: every one takes Spark milliseconds to analyse
            [(rows, columns)] = parts
        else:
            rows, columns = self._united(parts)
        if any(failed in columns for failed in self.strict_paths.values()):
            # A step of its own: with others, Spark would raise the errors of rows that a CASE passes over.
            rows = rows.select(*self._raising(columns))
            columns = self._as_they_are()

        def over(expr: Expr) -> SparkColumn:
            return column_of(expr, refs=lambda ref: columns[self.references[ref]])

        if query.predicate is not None and not self.prune_only:
            rows = rows.where(over(query.predicate))
        values = [over(projection.expr) for projection in query.projections]
        if select is not None:
            return rows.select(*select(values))
        named = zip(values, query.projections, strict=True)
        return rows.select(*(value.alias(projection.name) for value, projection in named))

    def _as_they_are(self) -> dict[str, SparkColumn]:
        """The columns of `_row_type` in rows that have them."""
        return {name: at((name,)) for name in self._row_type.names}

    def _united(self, parts: Sequence[Part]) -> Part:
        from pyspark.sql import functions as F

        if not parts:
            return self.spark.createDataFrame([], self._row_type), self._as_they_are()
        frames = [
            rows.select(*(columns.get(name, F.lit(False)).alias(name) for name in self._row_type.names))
            for rows, columns in parts
        ]
        may_fail = {name for _, columns in parts for name in columns}
        named = {name: column for name, column in self._as_they_are().items() if name in may_fail}
        return reduce(lambda left, right: left.unionAll(right), frames), named

    def _raising(self, columns: Mapping[str, SparkColumn]) -> Iterator[SparkColumn]:
        """Every column, those that must cast guarded by an error for the rows where one did not."""
        from pyspark.sql import functions as F

        for ref, name in self.references.items():
            value = columns[name]
            failed = self.strict_paths.get(ref, "") if isinstance(ref, Get) else ""
            if isinstance(ref, Get) and failed in columns:
                value = F.when(columns[failed], F.raise_error(F.lit(_problem(ref)))).otherwise(value)
            yield value.alias(name)

    def explain(self) -> SparkExplain:
        """What the query will read, of how much, and why anything is not a plain column."""
        return explain(self)

    # ── one group ───────────────────────────────────────────────────────────────────────────────────────

    def _group(self, group: Group) -> Iterator[Part]:
        if group.worker:
            yield self._worker_read(group), self._as_they_are()
            return
        columns: dict[Names, Any] = {}
        for ref in self.references:
            if isinstance(ref, Get):
                served = group.served[ref]
                if served.typed:
                    columns[served.typed] = SCHEMA_NAMES.get(served.typed_ddl, served.typed_ddl)
                if served.residual:
                    columns[served.residual] = "binary"
            elif not self.is_partition(ref):
                columns[self._way(ref)] = self._spark_kind(ref).jsonValue()
        plain = self._plain_read(group, columns)
        implied = self._implied(group)
        if implied is not None:
            plain = plain.where(column_of(implied))
        mixed = group.mixed
        if not mixed:
            yield plain, self._typed_columns(group)
            return
        typed = combined(operator.and_, [at(one.residual).isNull() for one in mixed])
        yield plain.where(typed), self._typed_columns(group)
        for ref, served in group.served.items():
            if served.service is Service.MIXED:
                columns[*name_parts(self._physical(ref.column)), "metadata"] = "binary"
        raw = self._plain_read(group, columns)
        yield self._mixed_read(group, raw.where(~typed)), self._as_they_are()

    def _implied(self, group: Group) -> Expr | None:
        """What the predicate says of integer leaves that are read as narrower integers.

        Spark can't push a filter through such a cast. Where a value casts it stays the same, so that a
        comparison that holds of it holds of the leaf.
        """
        predicate = self.local.query.predicate
        if predicate is None:
            return None

        def leaf(ref: Column | Get) -> Expr:
            return (
                Column(join_name(tuple(map(str, group.served[ref].typed)))) if isinstance(ref, Get) else ref
            )

        found = [
            rewrite(part, leaf)
            for part in conjuncts(predicate)
            if all(is_false_of_null(node) for node in walk(part))
            and all(is_narrowed(ref, group.served) for ref in references(part))
        ]
        return all_of(found)

    def _plain_read(self, group: Group, columns: Mapping[Names, Any]) -> DataFrame:
        """The file's own columns, nothing else read; rows of deletion vectors left out."""
        from pyspark.sql.types import StructType

        # Rows are counted even without columns.
        schema = StructType.fromJson(read_schema(columns or {("\u0000",): "integer"}, group.never_null))
        declare = bool(group.never_null)
        rows = parquet_files(self.spark, schema, self.snapshot.storage, group.adds, declare=declare)
        deleted = self._deleted(group.adds)
        if deleted is None:
            return rows
        from pyspark.sql import functions as F

        rows = rows.select(
            "*",
            F.col("_metadata.file_name").alias("\u0000file"),
            F.col("_metadata.row_index").alias("\u0000row"),
        )
        return rows.join(F.broadcast(deleted), ["\u0000file", "\u0000row"], "left_anti")

    def _deleted(self, adds: Sequence[Add]) -> DataFrame | None:
        """The deleted rows of these files, as (file, row)."""
        files: list[str] = []
        numbers: list[int] = []
        for add in adds:
            if add.deletion_vector is not None:
                found = read_vector(self.snapshot.storage, add.deletion_vector)
                numbers.extend(found)
                files.extend([file_name(add)] * (len(numbers) - len(files)))
        if not files:
            return None
        table = pa.table({"\u0000file": files, "\u0000row": pa.array(numbers, pa.int64())})
        return self.spark.createDataFrame(table)

    def _typed_columns(self, group: Group) -> dict[str, SparkColumn]:
        """The columns of `_row_type` that the columns of the files make."""
        from pyspark.sql import functions as F

        found: dict[str, SparkColumn] = {}
        for ref, name in self.references.items():
            if not isinstance(ref, Get):
                partition = self.is_partition(ref)
                found[name] = self._partition_value(ref, group) if partition else at(self._way(ref))
                continue
            served, kind = group.served[ref], self._spark_kind(ref)
            if not served.typed:
                found[name] = F.lit(None).cast(kind)
                continue
            leaf = at(served.typed)
            found[name] = getattr(leaf, served.cast)(kind.simpleString()) if served.cast else leaf
            if ref in self.strict_paths and served.may_fail:
                found[self.strict_paths[ref]] = leaf.isNotNull() & found[name].isNull()
        return found

    def _mixed_read(self, group: Group, rows: DataFrame) -> DataFrame:
        """Rows with something in `value`: the kernels decide what it is, on the same narrow columns."""
        from pyspark.sql import functions as F

        # Columns that need no kernel go along as they are.
        typed = self._typed_columns(group)
        asked: dict[str, tuple[str, Get]] = {}
        for ref, name in self.references.items():
            if isinstance(ref, Get) and group.served[ref].service is Service.MIXED:
                asked[name] = (self._physical(ref.column), ref)
        failing = {
            self.strict_paths[ref]: name for name, (_, ref) in asked.items() if ref in self.strict_paths
        }
        plain = [
            typed.get(name, F.lit(False)).alias(name)
            for name in self._row_type.names
            if name not in asked and name not in failing
        ]
        variants = {
            physical: f"v{n}" for n, physical in enumerate(dict.fromkeys(p for p, _ in asked.values()))
        }
        inputs = [at(name_parts(physical)).alias(name) for physical, name in variants.items()]
        order, options = self._row_type.names, self.options.overridden_by(False)

        def evaluate(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            settle_in()
            for batch in batches:
                made: dict[str, pa.Array] = {}
                for name, (physical, ref) in asked.items():
                    assert ref.type is not None
                    column = batch.column(variants[physical])
                    made[name] = get_path(column, ref.path, ref.type.arrow, options)
                for failed, name in failing.items():
                    physical, ref = asked[name]
                    made[failed] = does_not_cast(batch.column(variants[physical]), ref.path, made[name])
                columns = [made[name] if name in made else batch.column(name) for name in order]
                yield spark_batch(columns, order)

        return rows.select(*plain, *inputs).mapInArrow(evaluate, self._row_type)

    def _worker_read(self, group: Group) -> DataFrame:
        """Files that only our own reader understands, or reads better: a few per task."""
        from pyspark.sql.types import BooleanType, StructField, StructType

        snapshot = self.snapshot.without_files()
        projections = tuple(Projection(name, lenient(ref)) for ref, name in self.references.items())
        projections += tuple(Projection(name, _failed(ref)) for ref, name in self.strict_paths.items())
        row_type = self._row_type
        if not projections:  # rows are counted even without columns
            projections = (Projection("row", Literal(True, BOOLEAN)),)
            row_type = StructType([StructField("row", BooleanType())])
        options = self.options.overridden_by(False)
        kinds = TableScan(snapshot, projections, None, options=options).schema
        predicate = self.local.query.predicate
        if predicate is not None:
            predicate = None if self.strict_paths else rewrite(predicate, lenient)
        query = Query(projections, predicate, kinds, options)

        def rows_of(adds: Sequence[Add]) -> Iterator[pa.RecordBatch]:
            for add in adds:
                data = DataFile(snapshot, add)
                try:
                    yield from data.batches(query)
                finally:
                    data.file.close()

        return from_tasks(self.spark, list(_packed(group.adds)), rows_of, row_type)

    # ── names and types ─────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def _row_type(self) -> StructType:
        """What every branch gives: one column per reference."""
        from pyspark.sql.types import BooleanType, StructField, StructType

        columns = [StructField(name, self._spark_kind(ref)) for ref, name in self.references.items()]
        return StructType([*columns, *(StructField(n, BooleanType()) for n in self.strict_paths.values())])

    def _spark_kind(self, ref: Column | Get) -> DataType:
        return spark_type(self._kind(ref))

    def _kind(self, ref: Column | Get) -> Any:
        """The type of a reference: an expression's, or a Delta schema's."""
        if isinstance(ref, Get):
            return ref.type if ref.type is not None else "variant"
        return resolve(self.snapshot.schema, ref.name)[-1].type

    def is_partition(self, ref: Column | Get) -> bool:
        """Whether it is a column whose values the log has, not the files."""
        field = resolve(self.snapshot.schema, _column_of(ref))[0]
        return field.name in self.snapshot.metadata.partition_columns

    def _partition_value(self, ref: Column, group: Group) -> SparkColumn:
        field = resolve(self.snapshot.schema, ref.name)[0]
        arrow = self.snapshot.arrow_schema.field(field.name).type
        value = Literal(group.partition[field.name], from_arrow(arrow))
        return constant(value).cast(spark_type(field.type))

    def _way(self, ref: Column) -> Names:
        return tuple(field.physical_name for field in resolve(self.snapshot.schema, ref.name))


def file_name(add: Add) -> str:
    """The last part of a file's path, as `_metadata.file_name` has it."""
    return decode_path(add.path).rsplit("/", 1)[-1]


def is_hidden(add: Add) -> bool:
    """Whether Spark would leave the file out of its listing without a word."""
    return file_name(add).startswith(("_", ".")) or file_name(add).endswith("._COPYING_")


def does_not_cast(column: pa.Array, path: Path, cast: pa.Array) -> pa.Array:
    """Where there is a value, not the Variant null, and yet its cast is null."""
    there = get_path(column, path, None)
    value = pc.binary_length(there.field("value"))
    is_null = pc.and_(pc.equal(value, 1), pc.equal(pc.binary_slice(there.field("value"), 0, 1), b"\x00"))
    present = pc.and_(there.is_valid(), pc.invert(pc.fill_null(is_null, False)))
    return pc.and_(present, cast.is_null())


def _problem(ref: Get) -> str:
    """What to say of a value that must cast and does not."""
    path = str(ref.path).removeprefix("$").removeprefix(".")
    return (
        f"{ref.column}:{path}::{ref.type}: a value does not cast to {ref.type}. To get NULL for it, use "
        f"try_variant_get({ref.column}, {str(ref.path)!r}, '{ref.type}') in sql, or read without strict"
    )


def lenient(ref: Column | Get) -> Column | Get:
    """The reference, null where a value does not cast."""
    return replace(ref, strict=False) if isinstance(ref, Get) else ref


def _failed(ref: Get) -> Expr:
    """The same as `does_not_cast`, for our own reader."""
    raw = replace(ref, type=None, strict=False)
    return And((Not(IsNull(raw)), Not(IsVariantNull(raw)), IsNull(replace(ref, strict=False))))


def _column_of(ref: Column | Get) -> str:
    return ref.column if isinstance(ref, Get) else ref.name


def _packed(adds: Sequence[Add]) -> Iterator[tuple[Add, ...]]:
    """Files in the order given, as many together as make a good task."""
    return pack(adds, lambda add: add.size, WORKER_TASK_BYTES)
