"""`read`, `scan`, `sql`, `explain` and `register`: queries over shredded tables as ordinary DataFrames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack

from shredlake.errors import InvalidExpression
from shredlake.signatures import options_of
from shredlake.spark.query.explain import SparkSqlExplain
from shredlake.spark.query.left_to_spark import scan_of
from shredlake.spark.query.scan import SparkScan
from shredlake.spark.query.strategies.answer import BY_ANALYSIS, STRATEGIES, Strategy, answer
from shredlake.spark.query.strategies.plain_columns import PlainColumns
from shredlake.spark.query.strategies.question import Answer, Question
from shredlake.spark.query.tables.given import Given, snapshot_of
from shredlake.spark.query.tables.known import named_tables
from shredlake.spark.query.tables.registered import register_view
from shredlake.spark.query.text.sql_paths import is_query
from shredlake.spark.session import ensure_supported
from shredlake.spark.settings import is_connect, session_options, temporary_settings
from shredlake.sql.parameters import Parameters
from shredlake.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CONSTRAINTS: Final = "spark.sql.constraintPropagation.enabled"
"""Whether the optimiser adds `x IS NOT NULL` to `x = 1`, among other constraints that only help joins."""
FEW_BYTES: Final = 4 << 20
"""Bytes of files with so few rows, some 300,000, that a second test of each costs less than to avoid it."""


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
    and pages by Spark's own reader. A value that can't be cast is null, or an error with `strict`. Functions
    that shredlake lacks, as in `upper(v:kind::string)`, are left to Spark; the rest of `where` still prunes.

    >>> import tempfile, pyarrow as pa, shredlake as sl
    >>> from shredlake.spark import session
    >>> table = sl.Table.create(tempfile.mkdtemp(), pa.schema([("v", sl.variant())]))
    >>> _ = table.append([{"v": {"id": 1, "kind": "like"}}, {"v": {"id": 2, "kind": "post"}}])
    >>> read(session(), table.uri, ["v:kind::string AS kind"], where="v:id::bigint > 1").collect()
    [Row(kind='post')]
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

    >>> import tempfile, pyarrow as pa, shredlake as sl
    >>> from shredlake.spark import session
    >>> table = sl.Table.create(tempfile.mkdtemp(), pa.schema([("v", sl.variant())]))
    >>> _ = table.append([{"v": {"kind": "like"}}, {"v": {"kind": "like"}}])
    >>> sql(session(), "select v:kind::string AS kind, count(*) AS n from e group by 1", e=table).collect()
    [Row(kind='like', n=2)]
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
    ('t is answered from its paths', 'v:a::bigint > 7 rules out 1 of 1 file')
    >>> found.declined["groups by workers"]
    '... of files are too few to be worth starting workers'
    """
    found = planned(spark, query, tables, storage_options, args, BY_ANALYSIS)
    return SparkSqlExplain(
        {name: one.explain() for name, one in found.scans.items()},
        {name: tuple(found.facts.not_understood(name)) for name in found.scans},
        found.declined[PlainColumns.name] if found.reads_variants else "",
        found.by_workers,
        found.declined,
        found.sub_variants,
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
    strategies: Sequence[Strategy] = STRATEGIES,
) -> Answer:
    """The plan behind `sql`: the DataFrame, the scan of each table, and how the query is answered."""
    ensure_supported(spark)
    if not is_query(query):
        raise InvalidExpression("sql() accepts only queries; use DataFrame.write to store the result")
    named = named_tables(spark, query, tables, storage_options)
    question = Question(spark, named.sql, named.snapshots, args, named.names_views)
    # Connect shows no plan, so there is nothing that an analysis would add to the text.
    found = answer(question, STRATEGIES if is_connect(spark) else strategies)
    return replace(found, frame=_optimised(found.frame, found))


def _optimised(frame: DataFrame, found: Answer) -> DataFrame:
    """The frame, optimised now, without adding IS NOT NULL for every path.

    Evaluating a path takes a step per level for every row, so a second test adds a third to the time of the
    first. Without a join, the other constraints are of no use either. Connect has no optimiser to call.
    """
    if found.reads_variants or found.facts.joins or is_connect(frame.sparkSession):
        return frame
    if sum(scan.files.size for scan in found.scans.values()) > FEW_BYTES:
        with temporary_settings(frame.sparkSession, {CONSTRAINTS: "false"}):
            frame._jdf.queryExecution().optimizedPlan()
    return frame
