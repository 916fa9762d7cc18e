"""`read`, `scan`, `sql`, `explain` and `register`: queries over shredded tables as ordinary DataFrames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack

from shredlake.caches import of_session
from shredlake.delta.log.snapshot import Snapshot
from shredlake.errors import InvalidExpression
from shredlake.signatures import options_of
from shredlake.spark.arrow import spark_type
from shredlake.spark.query import catalyst as plan
from shredlake.spark.query.data_files import MOST_FILES
from shredlake.spark.query.explain import SparkSqlExplain
from shredlake.spark.query.frames import cached_frame
from shredlake.spark.query.left_to_spark import scan_of
from shredlake.spark.query.scan import SparkScan
from shredlake.spark.query.strategies import (
    Answer,
    PlainColumns,
    QueryFacts,
    Question,
    all_variants,
    answer,
    answer_from_text,
)
from shredlake.spark.query.tables.given import Given, snapshot_of
from shredlake.spark.query.tables.known import named_tables
from shredlake.spark.query.tables.registered import register_view, views_to_inline
from shredlake.spark.query.text.simple import conditions_in
from shredlake.spark.query.text.sql_paths import is_query, with_views
from shredlake.spark.query.views import analysed
from shredlake.spark.session import ensure_supported
from shredlake.spark.settings import is_connect, session_options, settings, temporary_settings
from shredlake.sql.parameters import Parameters
from shredlake.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CONSTRAINTS: Final = "spark.sql.constraintPropagation.enabled"
"""Whether the optimiser adds `x IS NOT NULL` to `x = 1`, among other constraints that only help joins."""

ANSWERS: Final = 64
"""The most answers that a session keeps: to find one again saves half of the planning."""


class ReadArguments(TypedDict, total=False):
    """The keyword arguments of `read` and `scan`."""

    version: int | None
    timestamp: datetime | str | int | None
    strict: bool
    storage_options: Mapping[str, Any] | None


def scan(
    spark: SparkSession,
    table: Given,
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
    snapshot = snapshot_of(table, storage_options, version=version, timestamp=timestamp)
    return scan_of(spark, snapshot, columns, where, session_options(spark, strict=strict))


@options_of(scan)
def read(
    spark: SparkSession,
    table: Given,
    columns: str | Sequence[str] | None = None,
    where: str | None = None,
    **options: Unpack[ReadArguments],
) -> DataFrame:
    """Reads columns and paths of a table as an ordinary DataFrame.

    `columns` and `where` are Spark SQL (`v:user.id::bigint AS user`). Files are pruned by the log, row groups
    and pages by Spark's own reader. A value that does not cast is null, or an error with `strict`. Functions
    that shredlake lacks, as in `upper(v:kind::string)`, are left to Spark; the rest of `where` still prunes.
    """
    return scan(spark, table, columns, where, **options).frame()


def sql(
    spark: SparkSession,
    query: str,
    /,
    args: Parameters = None,
    *,
    storage_options: Mapping[str, Any] | None = None,
    **tables: Given,
) -> DataFrame:
    """Runs a query over tables given by name: `sql(spark, "select ... from events", events=uri)`.

    Registered tables, Delta tables of the session's catalog and ``delta.`/path` `` need not be given. `args`
    are the values of markers in the query, as in `spark.sql`: a dict for `:name`, a list for `?`.

    Spark analyses the query. Paths are read as plain columns wherever possible; for a query that needs whole
    Variants, Spark reads the files by itself. `explain` shows which way is taken, and why.
    """
    return planned(spark, query, tables, storage_options, args).frame


def explain(
    spark: SparkSession,
    query: str,
    /,
    args: Parameters = None,
    *,
    storage_options: Mapping[str, Any] | None = None,
    **tables: Given,
) -> SparkSqlExplain:
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
    '... of files are too few to be worth starting workers'
    """
    found = planned(spark, query, tables, storage_options, args, in_full=True)
    return SparkSqlExplain(
        {name: one.explain() for name, one in found.scans.items()},
        {name: tuple(found.facts.not_understood(name)) for name in found.scans},
        found.declined[PlainColumns.name] if found.reads_variants else "",
        found.by_workers,
        found.declined,
    )


def register(
    spark: SparkSession,
    name: str,
    table: Given,
    *,
    version: int | None = None,
    timestamp: datetime | str | int | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> None:
    """Gives a table a name in a session: a temporary view with real Variants, for `sql` and `spark.sql`.

    `sql` prunes as if the table had been given with the query. It reads the newest version and renews the
    view, unless the table is registered at a version or time. Spark alone plans queries of `spark.sql`: it
    reads shredded paths, but skips no row group, and no file by Variant statistics, and the version stays.

    >>> import tempfile, pyarrow as pa, shredlake as sl
    >>> from shredlake.spark import session, sql
    >>> table = sl.Table.create(tempfile.mkdtemp(), pa.schema([("v", sl.variant())]))
    >>> _ = table.append(pa.table({"v": sl.from_json(pa.array(['{"a": 1}', '{"a": 2}']))}))
    >>> register(session(), "numbers", table.uri)
    >>> sql(session(), "select max(v:a::int) AS a from numbers").first()
    Row(a=2)
    """
    ensure_supported(spark)
    snapshot = snapshot_of(table, storage_options, version=version, timestamp=timestamp)
    pinned = version is not None or timestamp is not None or (isinstance(table, Table) and table.is_pinned)
    register_view(spark, name, snapshot, follows=not pinned)


def planned(
    spark: SparkSession,
    query: str,
    tables: Mapping[str, Given],
    storage_options: Mapping[str, Any] | None = None,
    args: Parameters = None,
    *,
    in_full: bool = False,
) -> Answer:
    """The plan behind `sql`: the DataFrame, the scan of each table, and how the query is answered.

    With `in_full`, also for queries that need no analysis by Spark: `explain` shows what Spark's plan says.
    Connect does not show Spark's plan. There, the filters come from the text of the query.
    """
    ensure_supported(spark)
    if not is_query(query):
        raise InvalidExpression("sql() accepts only queries; use DataFrame.write to store the result")
    named = named_tables(spark, query, tables, storage_options)
    query, snapshots = named.sql, named.snapshots
    if not args and (is_connect(spark) or not in_full):
        at_once = answer_from_text(spark, query, snapshots)
        if at_once is not None:
            return replace(at_once, frame=_optimised(at_once.frame, at_once))
    stubs = {name: _stub(spark, one, name) for name, one in snapshots.items()}
    original = analysed(spark, query, stubs, args)
    if named.names_views:
        tables_of_views, views = views_to_inline(original, snapshots)
        if views:
            query, snapshots = with_views(query, views), {**snapshots, **tables_of_views}
            stubs |= {name: _stub(spark, one, name) for name, one in tables_of_views.items()}
            original = analysed(spark, query, stubs, args)
    found = _cached_answer(query, snapshots, original, args)
    # New columns under the names that Spark gives: frames over files are shared by all queries.
    frame = found.frame.toDF(*original.columns)
    return replace(found, frame=_optimised(frame, found))


def _cached_answer(
    query: str, snapshots: Mapping[str, Snapshot], original: DataFrame, args: Parameters
) -> Answer:
    """The cached answer to this query if it still means the same, or a new one.

    The same text may mean something else once the session's views or functions change. A plan does not.
    """
    spark = original.sparkSession
    if is_connect(spark):
        schemas = {name.casefold(): one.schema for name, one in snapshots.items()}
        distinct = len(schemas) == len(snapshots)  # otherwise two names differ only in case
        conditions = conditions_in(query, all_variants(snapshots), schemas) if distinct else {}
        return answer(Question(query, snapshots, original, QueryFacts(), args, conditions))
    versions = tuple((name, one.storage, one.segment) for name, one in snapshots.items())
    key = (settings(spark), query, versions, repr(args))
    answers = of_session(spark, "answers", ANSWERS, heaviest=MOST_FILES)
    found = plan.inline_ctes(spark, original._jdf.queryExecution().analyzed())
    known: tuple[Any, Answer] | None = answers.find(key)
    if known is None or not known[0].sameResult(found):
        question = Question(query, snapshots, original, QueryFacts.of(original, found), args)
        made = answer(question)
        files = sum(len(scan.files) for scan in made.scans.values())
        known = answers.put(key, (found, made), files)
    return known[1]


def _optimised(frame: DataFrame, found: Answer) -> DataFrame:
    """The frame, optimised now, without adding IS NOT NULL for every path.

    Evaluating a path takes a step per level for every row, so a second test adds a third to the time of the
    first. Without a join, the other constraints are of no use either. Connect has no optimiser to call.
    """
    if not (found.reads_variants or found.facts.joins or is_connect(frame.sparkSession)):
        with temporary_settings(frame.sparkSession, {CONSTRAINTS: "false"}):
            frame._jdf.queryExecution().optimizedPlan()
    return frame


# ── tables ──────────────────────────────────────────────────────────────────────────────────────────────


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
