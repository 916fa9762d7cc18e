"""`read`, `scan`, `sql`, `explain` and `register`: queries over shredded tables as ordinary DataFrames."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from shredlake.caches import LruCache, of_session
from shredlake.delta.log.snapshot import Snapshot, load_snapshot, newest
from shredlake.delta.storage.storage import Storage
from shredlake.errors import InvalidExpression
from shredlake.spark.arrow import spark_type
from shredlake.spark.engine import is_connect
from shredlake.spark.query import catalyst as plan
from shredlake.spark.query.explain import SqlExplain
from shredlake.spark.query.frames import cached_frame
from shredlake.spark.query.scan import SparkScan
from shredlake.spark.query.sql_paths import is_query, with_views
from shredlake.spark.query.strategies import (
    Answer,
    PlainColumns,
    QueryFacts,
    Question,
    answer,
    variants_frame,
    variants_scan,
)
from shredlake.spark.query.views import analysed, is_registered, remember_registered
from shredlake.spark.session import ensure_supported
from shredlake.spark.settings import settings, temporary_settings
from shredlake.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Address = str | os.PathLike[str]

CONSTRAINTS: Final = "spark.sql.constraintPropagation.enabled"
"""Whether the optimiser adds `x IS NOT NULL` to `x = 1`, among other constraints that only help joins."""

_snapshots: Final[LruCache[Storage, Snapshot]] = LruCache(16, "snapshots")
"""The tables of recent queries, at the version that was the newest then."""
ANSWERS: Final = 64
"""The number of answers that a session keeps: to find one again saves half of the planning."""


def read(
    spark: SparkSession,
    table: Address,
    columns: str | Sequence[str] | None = None,
    where: str | None = None,
    *,
    version: int | None = None,
    timestamp: datetime | str | int | None = None,
    strict: bool = False,
    storage_options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """Reads columns and paths of a table as an ordinary DataFrame.

    `columns` and `where` are Spark SQL (`v:user.id::bigint AS user`). Files are pruned by the log, row groups
    and pages by Spark's own reader. A value that does not cast is null, or an error with `strict`.
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
    columns: str | Sequence[str] | None = None,
    where: str | None = None,
    *,
    version: int | None = None,
    timestamp: datetime | str | int | None = None,
    strict: bool = False,
    storage_options: Mapping[str, Any] | None = None,
) -> SparkScan:
    """The plan behind `read`: `.frame()` is the DataFrame, `.groups` says how each file is read."""
    ensure_supported(spark)
    if version is None and timestamp is None:
        snapshot = _latest(table, storage_options)
    else:
        snapshot = Table(table, version, timestamp, storage_options=storage_options).snapshot
    return SparkScan(spark, snapshot, columns, where, strict=strict)


def sql(
    spark: SparkSession,
    query: str,
    /,
    *,
    storage_options: Mapping[str, Any] | None = None,
    **tables: Address,
) -> DataFrame:
    """Runs a query over tables given by name: `sql(spark, "select ... from events", events=uri)`.

    Spark analyses the query. Paths are read as plain columns wherever possible; for a query that needs whole
    Variants, Spark reads the files by itself. `explain` shows which way is taken, and why.
    """
    return planned(spark, query, tables, storage_options).frame


def explain(
    spark: SparkSession,
    query: str,
    /,
    *,
    storage_options: Mapping[str, Any] | None = None,
    **tables: Address,
) -> SqlExplain:
    """Describes what `sql` will read of each table, how it is read, and why anything is not a plain column.

    >>> import tempfile, pyarrow as pa, shredlake as sl
    >>> from shredlake.spark import explain, session
    >>> place, shredded = tempfile.mkdtemp(), {"delta.enableVariantShredding": "true"}
    >>> table = sl.Table.create(place, pa.schema([("v", sl.variant())]), properties=shredded)
    >>> table.append(pa.table({"v": sl.from_json(pa.array(['{"a": 1}', '{"a": 2}']))}))
    1
    >>> found = explain(session(), "select count(*) from t where v:a::bigint > 7", t=place)
    >>> found.tables["t"].files, found.tables["t"].files_total
    (0, 1)
    >>> lines = str(found).splitlines()
    >>> lines[0], lines[4]
    ('t is answered from its paths', 'v:a::bigint > 7 rules out 1 of 1 files')
    >>> found.declined["groups by workers"]
    '0.0 MB of files are too little to start workers for'
    """
    found = planned(spark, query, tables, storage_options)
    return SqlExplain(
        {name: one.explain() for name, one in found.scans.items()},
        {name: tuple(found.facts.not_understood(name)) for name in tables},
        found.declined[PlainColumns.name] if found.reads_variants else "",
        found.by_workers,
        found.declined,
    )


def register(
    spark: SparkSession, name: str, table: Address, *, storage_options: Mapping[str, Any] | None = None
) -> None:
    """Creates a temporary view of a table for `spark.sql`, with real Variant columns.

    Spark alone plans queries on the view: it reads shredded paths, but skips no row group, and no file by
    Variant statistics. Use `sql` for that.
    """
    from pyspark.errors import AnalysisException

    ensure_supported(spark)
    snapshot = _latest(table, storage_options)
    frame = variants_frame(variants_scan(spark, snapshot))
    try:
        frame.createOrReplaceTempView(name)
    except AnalysisException as error:
        raise InvalidExpression(
            f"{name!r} can't be the name of a view: use one name, in backticks unless it is a plain word"
        ) from error
    remember_registered(spark, name, snapshot)


def planned(
    spark: SparkSession,
    query: str,
    tables: Mapping[str, Address],
    storage_options: Mapping[str, Any] | None = None,
) -> Answer:
    """The plan behind `sql`: the DataFrame, the scan of each table, and how the query is answered."""
    ensure_supported(spark)
    if not is_query(query):
        raise InvalidExpression("sql() accepts only queries; use DataFrame.write to store the result")
    snapshots = {name: _latest(address, storage_options) for name, address in tables.items()}
    stubs = {name: _stub(spark, one, name) for name, one in snapshots.items()}
    original = analysed(spark, query, stubs)
    inlined = _views_to_inline(original, snapshots)
    if inlined:
        query = with_views(query, inlined)
        original = analysed(spark, query, stubs)
    found = _cached_answer(query, snapshots, original)
    # New columns under the names that Spark gives: frames over files are shared by all queries.
    frame = found.frame.toDF(*original.columns)
    return replace(found, frame=_optimised(frame, found))


def _views_to_inline(
    original: DataFrame, snapshots: Mapping[str, Snapshot]
) -> dict[str, tuple[list[str], str]]:
    """The user's views that the query uses, if they are over views that `register` made of these tables.

    Their text can replace them without changing the query. Other views are left alone.
    """
    spark = original.sparkSession
    own = [name.casefold() for name, one in snapshots.items() if is_registered(spark, name, one)]
    if not own:
        return {}
    found = plan.Plan.of(spark, original._jdf.queryExecution().analyzed()).views()
    given = {name.casefold() for name in snapshots}
    inner = {name.casefold() for name in found} & given
    if not inner or not inner.issubset(own):
        return {}
    return {
        name: (columns, text)
        for name, (columns, text) in found.items()
        if text is not None and name.casefold() not in given
    }


def _cached_answer(query: str, snapshots: Mapping[str, Snapshot], original: DataFrame) -> Answer:
    """The cached answer to this query if it still means the same, or a new one.

    The same text may mean something else once the session's views or functions change. A plan does not.
    """
    spark = original.sparkSession
    if is_connect(spark):
        return answer(Question(query, snapshots, original, QueryFacts()))
    versions = tuple((name, one.storage, one.segment) for name, one in snapshots.items())
    key = (settings(spark), query, versions)
    answers = of_session(spark, "answers", ANSWERS)
    found = plan.inline_ctes(spark, original._jdf.queryExecution().analyzed())
    known: tuple[Any, Answer] | None = answers.find(key)
    if known is None or not known[0].sameResult(found):
        question = Question(query, snapshots, original, QueryFacts.of(original, found))
        known = answers.put(key, (found, answer(question)))
    return known[1]


def _optimised(frame: DataFrame, found: Answer) -> DataFrame:
    """The frame, optimised now, without adding IS NOT NULL for every path.

    Evaluating a path takes a step per level for every row, so a second test adds a third to the time of the
    first. Without a join, the other constraints are of no use either.
    """
    if not found.reads_variants and not found.facts.joins:
        with temporary_settings(frame.sparkSession, {CONSTRAINTS: "false"}):
            frame._jdf.queryExecution().optimizedPlan()
    return frame


# ── tables ──────────────────────────────────────────────────────────────────────────────────────────────


def _latest(address: Address, storage_options: Mapping[str, Any] | None) -> Snapshot:
    """The newest version of a table, read only if it is not the version that was read before."""
    storage = Storage(os.fspath(address), storage_options or {})
    known = _snapshots.find(storage)
    return _snapshots.put(storage, load_snapshot(storage) if known is None else newest(known))


def _stub(spark: SparkSession, snapshot: Snapshot, name: str) -> DataFrame:
    """An empty table that the optimiser knows nothing about.

    The metadata of each column holds the table's name, which plans show and queries do not. All columns are
    nullable, because a view has NULL in columns that the query does not need.
    """
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField, StructType

    def make() -> DataFrame:
        fields = [
            StructField(item.name, spark_type(item.type), True, {plan.MARK: name})
            for item in snapshot.schema.fields
        ]
        if is_connect(spark):
            return spark.createDataFrame([], StructType(fields))
        # An empty RDD of the JVM: one of Python takes ten times as long to create.
        java = spark._jsparkSession
        empty = spark.sparkContext._jsc.emptyRDD()
        return DataFrame(java.createDataFrame(empty, java.parseDataType(StructType(fields).json())), spark)

    return cached_frame(spark, ("stub", name, snapshot.metadata.schema_string), make)
