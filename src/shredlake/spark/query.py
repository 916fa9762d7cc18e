"""`read`, `sql` and `register`: queries over shredded tables as ordinary DataFrames."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from shredlake.delta.files import as_adds
from shredlake.delta.schema import Struct
from shredlake.delta.snapshot import Snapshot
from shredlake.delta.table import Table
from shredlake.expr import Column, Expr, Get, Or, Projection, join_name
from shredlake.spark import plan
from shredlake.spark.engine import is_connect
from shredlake.spark.frames import hadoop_path, spark_type
from shredlake.spark.relations import parquet_files
from shredlake.spark.rewrite import Rewritten, rewrite
from shredlake.spark.scan import SparkScan
from shredlake.spark.session import fit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

Address = str | os.PathLike[str]


def read(
    spark: SparkSession,
    table: Address,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    *,
    version: int | None = None,
    timestamp: datetime | str | int | None = None,
    strict: bool = False,
    storage_options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """A query on paths of a table as a DataFrame, which can be joined, grouped and cached like any other.

    `columns` and `where` are Spark SQL (`v:user.id::bigint AS user`). Files are pruned by the log, row groups
    and pages by Spark's own reader. A value that does not cast is null, unless `strict` makes it an error.
    """
    return scan(
        spark,
        table,
        columns,
        where,
        version=version,
        timestamp=timestamp,
        strict=strict,
        storage_options=storage_options,
    ).frame()


def scan(
    spark: SparkSession,
    table: Address,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    *,
    version: int | None = None,
    timestamp: datetime | str | int | None = None,
    strict: bool = False,
    storage_options: Mapping[str, Any] | None = None,
) -> SparkScan:
    """The plan behind `read`: `.frame()` is the DataFrame, `.groups` says how each file is read."""
    fit(spark)
    opened = Table(table, version, timestamp, storage_options=storage_options)
    return SparkScan(spark, opened.snapshot, columns, where, strict=strict)


def sql(
    spark: SparkSession,
    query: str,
    /,
    *,
    storage_options: Mapping[str, Any] | None = None,
    **tables: Address,
) -> DataFrame:
    """Whole Spark SQL over tables given by name: `sql(spark, "select ... from events", events=uri)`.

    Spark analyses the query. The paths that it asks for are answered from plain columns wherever they can be;
    a query that needs Variants as a whole is answered by Spark's own reading of the files.
    """
    fit(spark)
    snapshots = {
        name: Table(address, storage_options=storage_options).snapshot for name, address in tables.items()
    }
    rewritten = rewrite(query, {name for one in snapshots.values() for name in _variants(one.schema)})
    with _views(spark, {name: _stub(spark, _native_type(one.schema)) for name, one in snapshots.items()}):
        wanted = spark.sql(query).schema
    answered = _from_paths(spark, rewritten, snapshots, wanted) if rewritten.fields else None
    if answered is not None:
        return answered
    with _views(spark, {name: native(spark, one) for name, one in snapshots.items()}):
        return spark.sql(query)


def register(
    spark: SparkSession, name: str, table: Address, *, storage_options: Mapping[str, Any] | None = None
) -> None:
    """Makes a table known to `spark.sql` under a name, with real Variant columns.

    Queries on it are planned by Spark alone: it reads shredded paths, but skips no file by Variant statistics
    and no row group. Use `sql` for that.
    """
    fit(spark)
    native(spark, Table(table, storage_options=storage_options).snapshot).createOrReplaceTempView(name)


# ── answering from paths ────────────────────────────────────────────────────────────────────────────────


def _from_paths(
    spark: SparkSession, rewritten: Rewritten, snapshots: Mapping[str, Snapshot], wanted: StructType
) -> DataFrame | None:
    """The rewritten query over structs of paths, or None where it does not mean the same."""
    from pyspark.errors import AnalysisException

    stubs = {name: _stub(spark, _struct_type(one, rewritten, name)) for name, one in snapshots.items()}
    try:
        with _views(spark, stubs):
            frame = spark.sql(rewritten.sql)
            if [field.dataType for field in frame.schema] != [field.dataType for field in wanted]:
                return None
            found = _relations(frame)
    except AnalysisException:
        return None
    frames = {}
    for name, snapshot in snapshots.items():
        mine = None if found is None else [one for one in found if one.marker == plan.MARK + name]
        frames[name] = _paths_view(spark, snapshot, rewritten, mine, name)
    with _views(spark, frames):
        return spark.sql(rewritten.sql).toDF(*wanted.names)


def _relations(frame: DataFrame) -> list[plan.Relation] | None:
    """What the optimiser says of the tables in a query; None where there is no JVM to ask."""
    if is_connect(frame.sparkSession):
        return None
    return plan.relations(frame._jdf.queryExecution().optimizedPlan().toJSON(), leaf="LogicalRDD")


def _paths_view(
    spark: SparkSession,
    snapshot: Snapshot,
    rewritten: Rewritten,
    found: list[plan.Relation] | None,
    name: str,
) -> DataFrame:
    """One table with a struct of paths in place of each Variant, its files pruned by what the query keeps."""
    fields = _fields(snapshot.schema, rewritten)
    used = None if found is None else {column for one in found for column in one.used}
    plain = [
        item
        for item in snapshot.schema.fields
        if item.type != "variant" and (used is None or item.name in used)
    ]
    projections = [Projection(item.name, Column(join_name((item.name,)))) for item in plain]
    structs: dict[str, list[tuple[str, str]]] = {}
    for column, parts in fields.items():
        for position, (field, get) in enumerate(parts):
            unused = found is not None and not any(position in one.taken.get(column, ()) for one in found)
            if not unused:
                projections.append(Projection(f"{column}.{field}", get))
            structs.setdefault(column, []).append((field, "" if unused else f"{column}.{field}"))
    rows = SparkScan(spark, snapshot, projections, _pruning(snapshot, fields, found), prune_only=True).frame()
    columns = [_quoted(item.name) for item in plain]
    for column, parts_of in structs.items():
        kinds = dict(fields[column])
        values = [
            f"'{field}', "
            + (
                _quoted(source)
                if source
                else f"CAST(NULL AS {spark_type(_kind(kinds[field])).simpleString()})"
            )
            for field, source in parts_of
        ]
        columns.append(f"named_struct({', '.join(values)}) AS {_quoted(column)}")
    missing = [
        f"CAST(NULL AS {spark_type(item.type).simpleString()}) AS {_quoted(item.name)}"
        for item in snapshot.schema.fields
        if item not in plain and item.name not in structs
    ]
    return rows.selectExpr(*columns, *missing, f"0 AS {plan.MARK}{name}")


def _kind(get: Get) -> Any:
    return get.type


def _pruning(
    snapshot: Snapshot, fields: Mapping[str, list[tuple[str, Get]]], found: list[plan.Relation] | None
) -> Expr | None:
    """What every row that matters satisfies: the filters of the table's occurrences, any of them."""
    if not found:
        return None
    plain = {item.name for item in snapshot.schema.fields if item.type != "variant"}

    def resolve(name: str, position: int | None) -> Column | Get | None:
        if position is not None:
            return fields[name][position][1] if name in fields else None
        return Column(join_name((name,))) if name in plain else None

    predicates = [plan.predicate(one, resolve) for one in found]
    kept = [one for one in predicates if one is not None]
    if len(kept) < len(predicates):
        return None
    return kept[0] if len(kept) == 1 else Or(tuple(kept))


def _fields(schema: Struct, rewritten: Rewritten) -> dict[str, list[tuple[str, Get]]]:
    """Per Variant column, the fields of the struct that stands in for it, in order."""
    by_name = {name.casefold(): name for name in _variants(schema)}
    fields: dict[str, list[tuple[str, Get]]] = {}
    for get, field in rewritten.fields.items():
        column = by_name.get(get.column.casefold())
        if column is not None:
            fields.setdefault(column, []).append((field, Get(column, get.path, get.type, get.strict)))
    return fields


def _variants(schema: Struct) -> list[str]:
    return [item.name for item in schema.fields if item.type == "variant"]


# ── views ───────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def _views(spark: SparkSession, frames: Mapping[str, DataFrame]) -> Iterator[None]:
    """Makes frames known by name while a query is analysed; the user's own views of these names come back."""
    before = {name: spark.table(name) for name in frames if _is_view(spark, name)}
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    try:
        yield
    finally:
        # Connect looks names up when the query runs, so there they have to stay.
        if not is_connect(spark):
            for name in frames:
                spark.catalog.dropTempView(name)
            for name, frame in before.items():
                frame.createOrReplaceTempView(name)


def _is_view(spark: SparkSession, name: str) -> bool:
    if not is_connect(spark):
        # Listing all tables takes a third of a second.
        catalog = spark._jsparkSession.sessionState().catalog()
        return bool(catalog.getRawTempView(name).isDefined())
    return any(one.name == name.lower() and one.isTemporary for one in spark.catalog.listTables())


def _stub(spark: SparkSession, schema: StructType) -> DataFrame:
    """A table of this schema that the optimiser knows nothing else about."""
    from pyspark.sql import DataFrame

    if is_connect(spark):
        return spark.createDataFrame([], schema)
    # An empty RDD of the JVM's own: one of Python's takes ten times as long to set up.
    java = spark._jsparkSession
    found = java.createDataFrame(spark.sparkContext._jsc.emptyRDD(), java.parseDataType(schema.json()))
    return DataFrame(found, spark)


def _native_type(schema: Struct) -> StructType:
    found: Any = spark_type(schema)
    return found


def _struct_type(snapshot: Snapshot, rewritten: Rewritten, name: str) -> StructType:
    """The table's columns with a struct of paths for each Variant, and a mark that says which table it is."""
    from pyspark.sql.types import IntegerType, StructField, StructType

    fields = _fields(snapshot.schema, rewritten)
    columns = []
    for item in snapshot.schema.fields:
        kind: Any = spark_type(item.type)
        if item.name in fields:
            parts = [StructField(field, spark_type(_kind(get))) for field, get in fields[item.name]]
            kind = StructType(parts)
        columns.append(StructField(item.name, kind))
    return StructType([*columns, StructField(plan.MARK + name, IntegerType())])


def native(spark: SparkSession, snapshot: Snapshot) -> DataFrame:
    """A table as Spark reads it by itself, with Variant columns; through our reader where Spark can't."""
    simple = (
        not snapshot.metadata.partition_columns
        and snapshot.properties.get("delta.columnMapping.mode", "none") == "none"
    )
    adds = as_adds(snapshot.files.table()) if simple else []
    if adds and not any(add.deletion_vector for add in adds):
        paths = [hadoop_path(snapshot.storage, add.path) for add in adds]
        return parquet_files(spark, _native_type(snapshot.schema), paths)
    return SparkScan(spark, snapshot, None, None).frame()


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
