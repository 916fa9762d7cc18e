"""`read`, `sql` and `register`: queries over shredded tables as ordinary DataFrames."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from shredlake.delta.files import as_adds
from shredlake.delta.scan import TableScan
from shredlake.delta.schema import Struct
from shredlake.delta.snapshot import Snapshot
from shredlake.delta.table import Table
from shredlake.errors import InvalidExpression
from shredlake.expr import Column, Expr, Get, Or, Projection, join_name
from shredlake.spark import plan
from shredlake.spark.engine import is_connect
from shredlake.spark.frames import spark_type
from shredlake.spark.relations import parquet_files
from shredlake.spark.rewrite import Rewritten, is_query, may_take_whole, rewrite, with_views
from shredlake.spark.scan import SparkScan, is_hidden
from shredlake.spark.session import fit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

Address = str | os.PathLike[str]

INNER = "__shredlake_"
"""Begins the names of the columns that paths have before they become fields of a struct."""

LONG_LISTS = "spark.sql.optimizer.inSetConversionThreshold"
"""From how many constants on the optimiser turns an IN into a set that it does not show."""


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
    if not is_query(query):
        raise InvalidExpression("sql takes a query, no command: write what it gives with DataFrame.write")
    snapshots = {
        name: Table(address, storage_options=storage_options).snapshot for name, address in tables.items()
    }
    stubs = {name: _stub(spark, _marked(_native_type(one.schema), name)) for name, one in snapshots.items()}
    with _views(spark, stubs):
        original = spark.sql(query)
    answered = _from_paths(spark, query, snapshots, original)
    if answered is not None:
        return answered
    pruning = _native_pruning(original, snapshots)
    with _views(spark, {name: native(spark, one, pruning.get(name)) for name, one in snapshots.items()}):
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
    spark: SparkSession, query: str, snapshots: Mapping[str, Snapshot], original: DataFrame
) -> DataFrame | None:
    """The query over structs of paths, or None where it would not mean the same."""
    from pyspark.errors import AnalysisException

    connect = is_connect(spark)
    wanted = original.schema
    variants = {name for one in snapshots.values() for name in _variants(one.schema)}
    if not connect:
        analysed = plan.Plan.of(spark, original._jdf.queryExecution().analyzed())
        if plan.takes_variants_whole(analysed):
            return None
        query = with_views(query, analysed.views())
    for names in (None, variants):  # all paths; if some are not of our tables, those that may be
        rewritten = rewrite(query, names)
        if not rewritten.fields or (connect and may_take_whole(rewritten, variants)):
            return None
        stubs = {name: _stub(spark, _struct_type(one, rewritten, name)) for name, one in snapshots.items()}
        try:
            with _views(spark, stubs):
                frame = spark.sql(rewritten.sql)
                kinds = [field.dataType for field in frame.schema]
        except AnalysisException:
            continue
        if kinds != [field.dataType for field in wanted]:
            return None
        found = _relations(frame)
        frames = {}
        for name, snapshot in snapshots.items():
            # A table that the optimiser did away with may be needed after all: then all of it is.
            mine = [one for one in found or () if one.table == name] or None
            frames[name] = _paths_view(spark, snapshot, rewritten, mine)
        with _views(spark, frames):
            return spark.sql(rewritten.sql).toDF(*wanted.names)
    return None


def _native_pruning(original: DataFrame, snapshots: Mapping[str, Snapshot]) -> dict[str, Expr | None]:
    """Which rows of each table matter to a query that reads its Variants as such."""
    found = _relations(original) or []
    return {
        name: _pruning(original.sparkSession, snapshot, {}, [one for one in found if one.table == name])
        for name, snapshot in snapshots.items()
    }


def _relations(frame: DataFrame) -> list[plan.Relation] | None:
    """What the optimiser says of the tables in a query; None where there is no JVM to ask."""
    if is_connect(frame.sparkSession):
        return None
    spark = frame.sparkSession
    before = spark.conf.get(LONG_LISTS)
    spark.conf.set(LONG_LISTS, 10_000)
    try:
        optimised = frame._jdf.queryExecution().optimizedPlan()
    finally:
        spark.conf.set(LONG_LISTS, before)
    return plan.relations(plan.Plan.of(spark, optimised))


def _paths_view(
    spark: SparkSession,
    snapshot: Snapshot,
    rewritten: Rewritten,
    found: list[plan.Relation] | None,
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
            unused = found is not None and not any(
                column in one.whole or position in one.taken.get(column, ()) for one in found
            )
            if not unused:
                projections.append(Projection(f"{INNER}{column}.{field}", get))
            structs.setdefault(column, []).append((field, "" if unused else f"{INNER}{column}.{field}"))
    where = _pruning(spark, snapshot, fields, found)
    rows = SparkScan(spark, snapshot, projections, where, prune_only=True).frame()
    columns: list[str] = []
    for item in snapshot.schema.fields:  # in this order: a query may go by position
        if item.name in structs:
            kinds = dict(fields[item.name])
            values = [
                f"'{field}', {_quoted(source) if source else _null(_kind(kinds[field]))}"
                for field, source in structs[item.name]
            ]
            columns.append(f"named_struct({', '.join(values)}) AS {_quoted(item.name)}")
        else:
            value = _quoted(item.name) if item in plain else _null(item.type)
            columns.append(f"{value} AS {_quoted(item.name)}")
    return rows.selectExpr(*columns)


def _null(kind: Any) -> str:
    return f"CAST(NULL AS {spark_type(kind).simpleString()})"


def _kind(get: Get) -> Any:
    return get.type


def _pruning(
    spark: SparkSession,
    snapshot: Snapshot,
    fields: Mapping[str, list[tuple[str, Get]]],
    found: list[plan.Relation] | None,
) -> Expr | None:
    """What every row that matters satisfies: the filters of the table's occurrences, any of them."""
    if not found:
        return None
    zone = str(spark._jvm.java.util.TimeZone.getDefault().getID())
    plain = {item.name for item in snapshot.schema.fields if item.type != "variant"}

    def resolve(name: str, position: int | None) -> Column | Get | None:
        if position is not None:
            return fields[name][position][1] if name in fields else None
        return Column(join_name((name,))) if name in plain else None

    predicates = [plan.predicate(one, resolve, zone) for one in found]
    kept = [one for one in predicates if one is not None]
    if len(kept) < len(predicates):
        return None
    return kept[0] if len(kept) == 1 else Or(tuple(kept))


def _fields(schema: Struct, rewritten: Rewritten) -> dict[str, list[tuple[str, Get]]]:
    """Per Variant column, the fields of the struct that stands in for it: the same for all of them."""
    return {
        name: [(field, replace(get, column=join_name((name,)))) for get, field in rewritten.fields.items()]
        for name in _variants(schema)
    }


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
    from pyspark.sql.types import StructField, StructType

    fields = _fields(snapshot.schema, rewritten)
    columns = []
    for item in snapshot.schema.fields:
        kind: Any = spark_type(item.type)
        if item.name in fields:
            parts = [StructField(field, spark_type(_kind(get))) for field, get in fields[item.name]]
            kind = StructType(parts)
        columns.append(StructField(item.name, kind))
    return _marked(StructType(columns), name)


def _marked(schema: StructType, name: str) -> StructType:
    """The schema with the name of its table on every column, where plans show it and queries don't."""
    from pyspark.sql.types import StructField, StructType

    return StructType(
        [StructField(item.name, item.dataType, item.nullable, {plan.MARK: name}) for item in schema.fields]
    )


def native(spark: SparkSession, snapshot: Snapshot, where: Expr | None = None) -> DataFrame:
    """A table as Spark reads it by itself, with Variant columns; `where` only prunes files."""
    simple = (
        not snapshot.metadata.partition_columns
        and snapshot.properties.get("delta.columnMapping.mode", "none") == "none"
    )
    adds = as_adds(TableScan(snapshot, [], where).files()) if simple else []
    if adds and not any(add.deletion_vector or is_hidden(add) for add in adds):
        return parquet_files(spark, _native_type(snapshot.schema), snapshot.storage, adds)
    return SparkScan(spark, snapshot, None, where, prune_only=True, native=True).frame()


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
