"""A query on columns and paths as a DataFrame: planned here, executed by Spark's own Parquet reader.

```
files left by the log ─ grouped by layout ─┬─ typed rows:   plain columns, filters pushed down    (JVM)
                                           ├─ mixed rows:   those with something in `value`       (kernels)
                                           └─ other layouts: read by the workers with pyarrow     (kernels)
                                                   union, exact filter, projection
```

The typed and the mixed read of a group are disjoint, because the leaf's `value` is null or not, and together
they cover all rows. The predicate is applied again above the union, so pruning can only save work.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.caches import of_session
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Add
from shredlake.delta.read.bind import rewrite
from shredlake.delta.read.data_file import DataFile, Query
from shredlake.delta.read.scan import TableScan
from shredlake.delta.schema.names import resolve
from shredlake.delta.schema.types import SCHEMA_NAMES
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
    join_name,
    name_parts,
    references,
)
from shredlake.expr.ast import IsVariantNull, walk
from shredlake.expr.types import BOOLEAN
from shredlake.kernels.cast_options import CastOptions
from shredlake.kernels.get import get_path
from shredlake.spark.arrow import spark_batch, spark_type
from shredlake.spark.columns import Names, at, column_of, combined
from shredlake.spark.engine import from_tasks
from shredlake.spark.query.data_files import MOST_FILES, DataFiles, value_name
from shredlake.spark.query.explain import ADDED_FILTERS, SparkExplain, explain
from shredlake.spark.query.file_groups import (
    FileGroup,
    Grouper,
    column_name,
    must_cast,
    physical_names,
    worker_tasks,
)
from shredlake.spark.query.frames import table_rows
from shredlake.spark.query.path_columns import (
    Served,
    Service,
    is_false_of_null,
    is_narrowed,
    read_schema,
)
from shredlake.spark.settings import session_options
from shredlake.spark.worker import prepare_worker
from shredlake.variant.path import Path

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

FILES_OF_SCANS: Final = 8
GROUPS: Final = 128
"""The most lists of files, and the most scans with files by groups, that a session keeps."""

Part = tuple["DataFrame", Mapping[str, "SparkColumn"]]
"""Rows, and by name the columns that the query needs of them. A column that tells where a value can't be cast
is only there if a value can fail to cast."""


class SparkScan:
    """A query over one version of a table. Planning reads only the log; running the frame reads rows."""

    def __init__(
        self,
        spark: SparkSession,
        snapshot: Snapshot,
        columns: str | Sequence[str | Projection] | None,
        where: str | Expr | None,
        *,
        options: CastOptions | None = None,
        prune_only: bool = False,
        native: bool = False,
    ) -> None:
        """With `prune_only`, `where` only decides which files are read, and the caller filters the rows.

        With `native`, Spark reads whole Variants, and can take paths from them without rebuilding them.
        Without `options`, those of the session apply, and a value that can't be cast is null.
        """
        self.spark = spark
        self.prune_only = prune_only
        self.native = native
        self.options = session_options(spark) if options is None else options
        self.local = TableScan(snapshot, columns, where, options=self.options, checked=False)
        self.snapshot = snapshot

    @cached_property
    def references(self) -> dict[Column | Get, str]:
        """The columns and paths that the query reads, with their names between scan and projection."""
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
        """Paths whose value must cast, with the name of the column that marks failures.

        Workers evaluate whole batches, including rows that a later filter drops, so they must not raise. They
        mark failures, and Spark raises if such a row is really needed.
        """
        found: dict[Get, str] = {}
        for ref, name in self.references.items():
            if isinstance(ref, Get) and ref.type is not None and must_cast(ref, self.options):
                found[ref] = f"failed_{name}"
        return found

    @cached_property
    def identity(self) -> tuple[Hashable, ...]:
        """Everything that decides which files are read, and how."""
        kept = hashlib.blake2b(self.local.verdict.keep.tobytes()).digest()
        asked = tuple(self.references)
        return self.snapshot.storage, self.snapshot.segment, kept, asked, self.options.raises, self.native

    @property
    def frame_identity(self) -> tuple[Hashable, ...]:
        """Everything that decides the frame. The predicate counts only if reading files depends on it."""
        matters = any(group.worker or self._implied(group) is not None for group in self.groups)
        return *self.identity, self.local.query.predicate if matters else None, self.options.timezone

    @cached_property
    def files(self) -> DataFiles:
        """The files that the log can't rule out."""
        keep = self.local.verdict.keep
        key = (self.snapshot.storage, self.snapshot.segment, hashlib.blake2b(keep.tobytes()).digest())
        kept = of_session(self.spark, "files of scans", FILES_OF_SCANS, heaviest=MOST_FILES)
        count = int(keep.sum())
        found: DataFiles = kept.get(key, lambda: DataFiles.of(self.snapshot, keep), count)
        return found

    @cached_property
    def groups(self) -> list[FileGroup]:
        """The files that the log can't rule out, by the way they are read."""

        def group() -> list[FileGroup]:
            grouper = Grouper(self.spark, self.snapshot, self.references, self.options, self.native)
            return grouper.groups(self.files)

        # Data files never change, so a query that reads the same files in the same way has the same groups.
        kept = of_session(self.spark, "groups of files", GROUPS, heaviest=MOST_FILES)
        found: list[FileGroup] = kept.get(self.identity, group, len(self.files))
        return found

    def frame(
        self, select: Callable[[Sequence[SparkColumn]], Sequence[SparkColumn]] | None = None
    ) -> DataFrame:
        """The query as a DataFrame. `select` turns its projections into other columns."""
        query = self.local.query
        parts = [part for group in self.groups if not group.worker for part in self._group(group)]
        if by_worker := [group for group in self.groups if group.worker]:
            parts.append((self._worker_read(by_worker), self._row_columns()))
        if len(parts) == 1:  # in one step, because Spark takes milliseconds to analyse each
            [(rows, columns)] = parts
        else:
            rows, columns = self._union(parts)
        if any(failed in columns for failed in self.strict_paths.values()):
            # In a separate step: otherwise Spark would raise errors for rows that a CASE skips.
            rows = rows.select(*self._checked_columns(columns))
            columns = self._row_columns()

        def over(expr: Expr) -> SparkColumn:
            return column_of(expr, refs=lambda ref: columns[self.references[ref]])

        if query.predicate is not None and not self.prune_only:
            rows = rows.where(over(query.predicate))
        values = [over(projection.expr) for projection in query.projections]
        if select is not None:
            return rows.select(*select(values))
        named = zip(values, query.projections, strict=True)
        return rows.select(*(value.alias(projection.name) for value, projection in named))

    def _row_columns(self) -> dict[str, SparkColumn]:
        """The columns of rows that are already of `_row_type`."""
        return {name: at((name,)) for name in self._row_type.names}

    def _union(self, parts: Sequence[Part]) -> Part:
        from pyspark.sql import functions as F

        if not parts:
            return self.spark.createDataFrame([], self._row_type), self._row_columns()
        frames = [
            rows.select(*(columns.get(name, F.lit(False)).alias(name) for name in self._row_type.names))
            for rows, columns in parts
        ]
        may_fail = {name for _, columns in parts for name in columns}
        named = {name: column for name, column in self._row_columns().items() if name in may_fail}
        return reduce(lambda left, right: left.unionAll(right), frames), named

    def _checked_columns(self, columns: Mapping[str, SparkColumn]) -> Iterator[SparkColumn]:
        """All columns; those that must cast raise an error for rows in which they do not."""
        from pyspark.sql import functions as F

        for ref, name in self.references.items():
            value = columns[name]
            failed = self.strict_paths.get(ref, "") if isinstance(ref, Get) else ""
            if isinstance(ref, Get) and failed in columns:
                value = F.when(columns[failed], F.raise_error(F.lit(_problem(ref)))).otherwise(value)
            yield value.alias(name)

    def explain(self) -> SparkExplain:
        """Describes what the query will read, and why anything is not a plain column."""
        found = explain(self)
        return found if self.prune_only else replace(found, notes=(*found.notes, ADDED_FILTERS))

    # ── one group ───────────────────────────────────────────────────────────────────────────────────────

    def _group(self, group: FileGroup) -> Iterator[Part]:
        """The rows of a group that Spark reads."""
        columns: dict[Names, Any] = {}
        for ref in self.references:
            if isinstance(ref, Get):
                served = group.served[ref]
                for typed, ddl in served.columns():
                    columns[typed] = SCHEMA_NAMES.get(ddl, ddl)
                if served.residual:
                    columns[served.residual] = "binary"
            elif not self.is_partition(ref):
                columns[self._names(ref)] = self._spark_type_of(ref).jsonValue()
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
                columns[*name_parts(join_name(physical_names(self.snapshot, ref.column))), "metadata"] = (
                    "binary"
                )
        raw = self._plain_read(group, columns)
        yield self._mixed_read(group, raw.where(~typed)), self._row_columns()

    def _implied(self, group: FileGroup) -> Expr | None:
        """The part of the predicate that also holds for integer leaves read as narrower integers.

        Spark can't push a filter through such a cast. A cast keeps the value or fails, so a comparison that
        is true of the cast value is true of the leaf.
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

    def _plain_read(self, group: FileGroup, columns: Mapping[Names, Any]) -> DataFrame:
        """Reads only these columns of the files, without the rows that deletion vectors delete."""
        from pyspark.sql.types import StructType

        # Without columns, rows are still counted.
        schema = StructType.fromJson(read_schema(columns or {("\u0000",): "integer"}, group.never_null))
        values = any(self.is_partition(ref) for ref in self.references)
        return table_rows(self.spark, schema, group.files, values=values, declare=bool(group.never_null))

    def _typed_columns(self, group: FileGroup) -> dict[str, SparkColumn]:
        """The columns of `_row_type`, made from the columns of the files."""
        from pyspark.sql import functions as F

        found: dict[str, SparkColumn] = {}
        for ref, name in self.references.items():
            if not isinstance(ref, Get):
                found[name] = at(self._partition_name(ref) or self._names(ref))
                continue
            served, kind = group.served[ref], self._spark_type_of(ref)
            if not served.typed:
                found[name] = F.lit(None).cast(kind)
                continue
            if served.present:
                there = combined(operator.or_, [at(names).isNotNull() for names in served.present])
                found[name] = F.when(there, True)
                continue
            leaf = at(served.typed)
            found[name] = typed_column(leaf, served, kind)
            if ref in self.strict_paths and served.may_fail:
                found[self.strict_paths[ref]] = leaf.isNotNull() & found[name].isNull()
        return found

    def _mixed_read(self, group: FileGroup, rows: DataFrame) -> DataFrame:
        """Reads rows with something in `value`: the kernels evaluate the paths, on the same few columns."""
        from pyspark.sql import functions as F

        # Columns that need no kernel are passed through.
        typed = self._typed_columns(group)
        asked: dict[str, tuple[str, Get]] = {}
        for ref, name in self.references.items():
            if isinstance(ref, Get) and group.served[ref].service is Service.MIXED:
                asked[name] = (join_name(physical_names(self.snapshot, ref.column)), ref)
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
            prepare_worker()
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

    def _worker_read(self, groups: Sequence[FileGroup]) -> DataFrame:
        """Reads files with our own reader, a few per task."""
        from pyspark.sql.types import BooleanType, StructField, StructType

        snapshot = self.snapshot.without_files()
        projections = tuple(Projection(name, lenient(ref)) for ref, name in self.references.items())
        projections += tuple(Projection(name, _failed(ref)) for ref, name in self.strict_paths.items())
        row_type = self._row_type
        if not projections:  # without columns, rows are still counted
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

        return from_tasks(self.spark, list(worker_tasks(groups)), rows_of, row_type)

    # ── names and types ─────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def _row_type(self) -> StructType:
        """The schema of every branch: one column per reference."""
        from pyspark.sql.types import BooleanType, StructField, StructType

        columns = [StructField(name, self._spark_type_of(ref)) for ref, name in self.references.items()]
        return StructType([*columns, *(StructField(n, BooleanType()) for n in self.strict_paths.values())])

    def _spark_type_of(self, ref: Column | Get) -> DataType:
        return spark_type(self._kind(ref))

    def _kind(self, ref: Column | Get) -> Any:
        """The type of a reference: that of an expression, or that of a Delta schema."""
        if isinstance(ref, Get):
            return ref.type if ref.type is not None else "variant"
        return resolve(self.snapshot.schema, ref.name)[-1].type

    def is_partition(self, ref: Column | Get) -> bool:
        """Whether the values of this column are in the log, not in the files."""
        field = resolve(self.snapshot.schema, column_name(ref))[0]
        return field.name in self.snapshot.metadata.partition_columns

    def _partition_name(self, ref: Column) -> Names:
        """Where the values of a partition column are; empty for other columns."""
        return (
            (value_name(resolve(self.snapshot.schema, ref.name)[0].name),) if self.is_partition(ref) else ()
        )

    def _names(self, ref: Column) -> Names:
        return physical_names(self.snapshot, ref.name)


def typed_column(leaf: SparkColumn, served: Served, kind: DataType) -> SparkColumn:
    """A typed column, or a struct or an array of several, as the type that is asked for."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import ArrayType, StructType

    if served.element is not None:
        assert isinstance(kind, ArrayType)
        element, inner = served.element, kind.elementType
        return F.transform(leaf, lambda item: typed_column(item.getField("typed_value"), element, inner))
    if served.fields:
        assert isinstance(kind, StructType)
        values = []
        for (name, field), item in zip(served.fields, kind.fields, strict=True):
            below = leaf.getField(name).getField("typed_value") if field.typed else F.lit(None)
            value = typed_column(below, field, item.dataType) if field.typed else below.cast(item.dataType)
            values.append(value.alias(name))
        return F.when(leaf.isNotNull(), F.struct(*values))
    return getattr(leaf, served.cast)(kind.simpleString()) if served.cast else leaf


def does_not_cast(column: pa.Array, path: Path, cast: pa.Array) -> pa.Array:
    """Marks rows with a value, other than the Variant null, whose cast is null."""
    there = get_path(column, path, None)
    value = pc.binary_length(there.field("value"))
    is_null = pc.and_(pc.equal(value, 1), pc.equal(pc.binary_slice(there.field("value"), 0, 1), b"\x00"))
    present = pc.and_(there.is_valid(), pc.invert(pc.fill_null(is_null, False)))
    return pc.and_(present, cast.is_null())


def _problem(ref: Get) -> str:
    """The message for a value that must cast and does not."""
    path = str(ref.path).removeprefix("$").removeprefix(".")
    return (
        f"{ref.column}:{path}::{ref.type}: a value can't be cast to {ref.type}. To get NULL for it, use "
        f"try_variant_get({ref.column}, {str(ref.path)!r}, '{ref.type}') in sql, or read without strict"
    )


def lenient(ref: Column | Get) -> Column | Get:
    """The reference with NULL for a value that can't be cast."""
    return replace(ref, strict=False) if isinstance(ref, Get) else ref


def _failed(ref: Get) -> Expr:
    """`does_not_cast` as an expression, for our own reader."""
    raw = replace(ref, type=None, strict=False)
    return And((Not(IsNull(raw)), Not(IsVariantNull(raw)), IsNull(replace(ref, strict=False))))
