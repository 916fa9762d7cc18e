"""`read`, `sql`, `explain` and `register`: queries over shredded tables as ordinary DataFrames."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from shredlake.caches import LruCache
from shredlake.delta.log.files import as_adds
from shredlake.delta.log.snapshot import Snapshot, load_snapshot, newest
from shredlake.delta.read.bind import rewrite as spelled
from shredlake.delta.read.scan import TableScan
from shredlake.delta.schema.types import Struct
from shredlake.delta.storage.storage import Storage
from shredlake.delta.table import Table
from shredlake.errors import InvalidExpression
from shredlake.expr import Column, Expr, Get, Or, Projection, join_name
from shredlake.spark.arrow import spark_type
from shredlake.spark.engine import is_connect
from shredlake.spark.query import catalyst as plan
from shredlake.spark.query import filters
from shredlake.spark.query.aggregate import aggregated
from shredlake.spark.query.cache import parquet_files, remembered
from shredlake.spark.query.explain import SqlExplain
from shredlake.spark.query.scan import SparkScan, is_hidden
from shredlake.spark.query.sql_paths import (
    Rewritten,
    goes_by_names,
    is_query,
    may_take_whole,
    rewrite,
    with_views,
)
from shredlake.spark.query.top_n import top
from shredlake.spark.query.views import analysed, is_registered, registered
from shredlake.spark.session import fit
from shredlake.spark.settings import set_meanwhile, settings

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

Address = str | os.PathLike[str]

LONG_LISTS = "spark.sql.optimizer.inSetConversionThreshold"
"""From how many constants on the optimiser turns an IN into a set that it does not show."""
CONSTRAINTS = "spark.sql.constraintPropagation.enabled"
"""Whether the optimiser asks `x IS NOT NULL` before `x = 1`, among other things that help joins alone."""

_snapshots: Final[LruCache[Storage, Snapshot]] = LruCache(16, "snapshots")
"""The tables of the last queries, at the version that was the newest then."""
_answers: Final[LruCache[Hashable, tuple[Any, Answer]]] = LruCache(64, "answers")
"""The last queries as Spark analysed them, and how they are answered: half of the planning."""


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
    columns: str | Sequence[str] | None = None,
    where: str | None = None,
    *,
    version: int | None = None,
    timestamp: datetime | str | int | None = None,
    strict: bool = False,
    storage_options: Mapping[str, Any] | None = None,
) -> SparkScan:
    """The plan behind `read`: `.frame()` is the DataFrame, `.groups` says how each file is read."""
    fit(spark)
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
    """Whole Spark SQL over tables given by name: `sql(spark, "select ... from events", events=uri)`.

    Spark analyses the query. The paths that it asks for are answered from plain columns wherever they can be;
    a query that needs Variants as a whole is answered by Spark's own reading of the files.
    """
    return _answer(spark, query, tables, storage_options).frame


def explain(
    spark: SparkSession,
    query: str,
    /,
    *,
    storage_options: Mapping[str, Any] | None = None,
    **tables: Address,
) -> SqlExplain:
    """What `sql` will read of each table, of how much, and why anything is not a plain column.

    >>> import tempfile, pyarrow as pa, shredlake as sl
    >>> from shredlake.spark.query import explain
    >>> from shredlake.spark import session
    >>> place, shredded = tempfile.mkdtemp(), {"delta.enableVariantShredding": "true"}
    >>> table = sl.Table.create(place, pa.schema([("v", sl.variant())]), properties=shredded)
    >>> table.append(pa.table({"v": sl.from_json(pa.array(['{"a": 1}', '{"a": 2}']))}))
    1
    >>> found = explain(session(), "select count(*) from t where v:a::bigint > 7", t=place)
    >>> found.tables["t"].files, found.tables["t"].files_total
    (0, 1)
    >>> lines = str(found).splitlines()
    >>> lines[0], lines[-1]
    ('t is answered from its paths', 'v:a::bigint > 7 rules out 1 of 1 files')
    """
    found = _answer(spark, query, tables, storage_options)
    return SqlExplain(
        {name: one.explain() for name, one in found.scans.items()},
        {name: tuple(found.asked.not_understood(name)) for name in tables},
        found.reason,
        found.by_workers,
    )


def register(
    spark: SparkSession, name: str, table: Address, *, storage_options: Mapping[str, Any] | None = None
) -> None:
    """Makes a table known to `spark.sql` under a name, with real Variant columns.

    Queries on it are planned by Spark alone: it reads shredded paths, but skips no file by Variant statistics
    and no row group. Use `sql` for that.
    """
    from pyspark.errors import AnalysisException

    fit(spark)
    snapshot = _latest(table, storage_options)
    frame = native(spark, snapshot)
    try:
        frame.createOrReplaceTempView(name)
    except AnalysisException as error:
        raise InvalidExpression(
            f"{name!r} can't be the name of a view: use one name, in backticks where it is not a plain word"
        ) from error
    registered(spark, name, snapshot)


@dataclass(frozen=True)
class Answer:
    """A query that is planned: what it was found to ask for, and how each table is read."""

    frame: DataFrame
    asked: Asked
    scans: Mapping[str, SparkScan]
    reason: str = ""
    """Why Spark reads Variants by itself, if it does."""
    by_workers: str = ""
    """What the workers do with the rows; empty: at the most, they read some."""


def _answer(
    spark: SparkSession,
    query: str,
    tables: Mapping[str, Address],
    storage_options: Mapping[str, Any] | None,
) -> Answer:
    fit(spark)
    if not is_query(query):
        raise InvalidExpression("sql takes a query, no command: write what it gives with DataFrame.write")
    snapshots = {name: _latest(address, storage_options) for name, address in tables.items()}
    stubs = {name: _stub(spark, one, name) for name, one in snapshots.items()}
    original = analysed(spark, query, stubs)
    seen = _views_to_see_through(original, snapshots)
    if seen:
        query = with_views(query, seen)
        original = analysed(spark, query, stubs)
    answer = _remembered(query, snapshots, original)
    return replace(answer, frame=_optimised(_own_columns(answer.frame, original), answer))


def _views_to_see_through(
    original: DataFrame, snapshots: Mapping[str, Snapshot]
) -> dict[str, tuple[list[str], str]]:
    """The user's views that the query uses, where they are over views that `register` made of these tables.

    Spelled out, they mean the same. Views over anything else keep their meaning, whatever names they use.
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


def _remembered(query: str, snapshots: Mapping[str, Snapshot], original: DataFrame) -> Answer:
    """How this query was answered the last time, if it still means the same; else how it is now.

    Views and functions are the session's, so the same text may mean something else by now: the same plan does
    not.
    """
    spark = original.sparkSession
    if is_connect(spark):
        return _planned(query, snapshots, original)
    versions = tuple((name, one.storage, one.segment) for name, one in snapshots.items())
    key = (spark, settings(spark), query, versions)
    found = plan.without_ctes(spark, original._jdf.queryExecution().analyzed())
    known = _answers.find(key)
    if known is None or not known[0].sameResult(found):
        known = _answers.put(key, (found, _planned(query, snapshots, original)))
    return known[1]


def _planned(query: str, snapshots: Mapping[str, Snapshot], original: DataFrame) -> Answer:
    spark, asked = original.sparkSession, _asked(original)
    answered = _from_parts(snapshots, original, asked) or _from_paths(query, snapshots, original, asked)
    if isinstance(answered, Answer):
        return answered
    pruning = {name: _pruning(one, asked.of(name)) for name, one in snapshots.items()}
    scans = {
        name: SparkScan(spark, one, None, pruning[name], prune_only=True, native=True)
        for name, one in snapshots.items()
    }
    frames = {name: native(spark, one, pruning[name]) for name, one in snapshots.items()}
    return Answer(analysed(spark, query, frames), asked, scans, answered)


def _own_columns(frame: DataFrame, original: DataFrame) -> DataFrame:
    """The frame with the names that Spark gives, and columns that no other answer has.

    Frames over files are the same for all queries.
    """
    return frame.toDF(*original.columns)


# ── what is asked ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Asked:
    """What Spark says of a query. Over Connect there is no plan to ask for, and so less to say."""

    whole: str | None = None
    """Why it needs Variants as a whole, if it does; None: unknown."""
    relations: Sequence[plan.Relation] = ()
    joins: bool = True
    analysed: plan.Plan | None = None

    def of(self, table: str) -> list[plan.Relation]:
        """The occurrences of a table. One that the optimiser did away with may be needed after all."""
        return [one for one in self.relations if one.table == table]

    def not_understood(self, table: str) -> Iterator[str]:
        """The conditions on a table that only Spark can judge."""
        for relation in self.of(table):
            yield from filters.not_understood(relation)


def _asked(original: DataFrame) -> Asked:
    spark = original.sparkSession
    if is_connect(spark):
        return Asked()
    execution = original._jdf.queryExecution()
    found = plan.Plan.of(spark, plan.without_ctes(spark, execution.analyzed()))
    # The optimiser turns a long IN into a set that it does not show.
    with set_meanwhile(spark, {LONG_LISTS: "10000"} if found.holds("In") else {}):
        optimised = plan.Plan.of(spark, execution.optimizedPlan())
    whole = ""
    if plan.takes_variants_whole(found):
        whole = "the query needs a Variant as a whole"
    elif plan.names_paths(found):
        whole = "the query names fields of a struct after paths"
    relations = plan.relations(optimised)
    if found.holds(*plan.CLOCK):
        relations = [replace(one, filters=[]) for one in relations]
    joins = any(node.name.endswith("Join") for node in optimised.walk())
    return Asked(whole, relations, joins, found)


def _pruning(snapshot: Snapshot, found: Sequence[plan.Relation]) -> Expr | None:
    """What every row that matters satisfies: the filters of the table's occurrences, any of them."""
    variants = _variants(snapshot.schema)
    predicates = [filters.predicate(one, variants) for one in found]
    kept = [one for one in predicates if one is not None]
    if not kept or len(kept) < len(predicates):
        return None
    return kept[0] if len(kept) == 1 else Or(tuple(kept))


# ── answering from groups ───────────────────────────────────────────────────────────────────────────────


def _from_parts(snapshots: Mapping[str, Snapshot], original: DataFrame, asked: Asked) -> Answer | None:
    """The query with its groups, or its first rows, found by the workers, where they can and should."""
    from py4j.protocol import Py4JError
    from pyspark.errors import AnalysisException

    if asked.whole or asked.analysed is None or len(asked.relations) != 1:
        return None
    [relation] = asked.relations
    if relation.table not in snapshots:
        return None
    spark, snapshot = original.sparkSession, snapshots[relation.table]
    question = (spark, snapshot, relation, asked.analysed, _variants(snapshot.schema))
    found = aggregated(*question) or top(*question)
    if found is None:
        return None
    try:
        frame = found.frame()
    except (Py4JError, TypeError, ValueError, AnalysisException):
        return None  # another Spark has these classes under other names, or a setting leaves columns out
    if [item.dataType for item in frame.schema] != [item.dataType for item in original.schema]:
        return None
    return Answer(frame, asked, {relation.table: found.scan}, by_workers=found.how)


# ── answering from paths ────────────────────────────────────────────────────────────────────────────────


def _from_paths(
    query: str, snapshots: Mapping[str, Snapshot], original: DataFrame, asked: Asked
) -> Answer | str:
    """The query over structs of paths, or the reason why it would not mean the same."""
    from pyspark.errors import AnalysisException

    if asked.whole:
        return asked.whole
    spark = original.sparkSession
    variants = frozenset(name for one in snapshots.values() for name in _variants(one.schema))
    for names in (None, variants):  # all paths; if some are not of our tables, those that may be
        rewritten = rewrite(query, names)
        if not rewritten.fields:
            return "the query reads no path with a type"
        if goes_by_names(rewritten):
            return "the query may depend on names that Spark makes of paths"
        if asked.whole is None and may_take_whole(rewritten, variants):
            return "the query may need a Variant as a whole"
        found = {name: _paths_view(spark, one, rewritten, asked.of(name)) for name, one in snapshots.items()}
        try:
            frame = analysed(spark, rewritten.sql, {name: frame for name, (frame, _) in found.items()})
            types = [field.dataType for field in frame.schema]
        except AnalysisException:
            continue
        if types != [field.dataType for field in original.schema]:
            return "the query gives a Variant, or names fields of a struct after paths"
        scans = {name: scan for name, (_, scan) in found.items()}
        return Answer(frame, asked, scans)
    return "Spark does not take the query with plain columns in place of its paths"


def _optimised(frame: DataFrame, answer: Answer) -> DataFrame:
    """The frame, its plan made now, and without asking every path first whether it is null.

    A path is as many steps as it has levels, for every row: one comparison takes three quarters of the time
    of two. Without a join there is nothing that the other constraints are good for.
    """
    if not answer.reason and not answer.asked.joins:
        with set_meanwhile(frame.sparkSession, {CONSTRAINTS: "false"}):
            frame._jdf.queryExecution().optimizedPlan()
    return frame


def _paths_view(
    spark: SparkSession, snapshot: Snapshot, rewritten: Rewritten, found: Sequence[plan.Relation]
) -> tuple[DataFrame, SparkScan]:
    """One table with a struct of paths in place of each Variant, its files pruned by what the query keeps."""
    from pyspark.sql import functions as F

    paths = {
        item.name: {
            name: replace(get, column=join_name((item.name,))) for get, name in rewritten.fields.items()
        }
        for item in snapshot.schema.fields
        if item.type == "variant"
    }
    # In the order of the table: a query may go by position. What it does not need is null.
    used: list[Projection] = []
    for item in snapshot.schema.fields:
        if item.name in paths:
            used += [
                Projection(f"{item.name}.{name}", get)
                for name, get in paths[item.name].items()
                if not found or any(one.takes(item.name, get) for one in found)
            ]
        elif not found or any(item.name in one.used for one in found):
            used.append(Projection(item.name, Column(join_name((item.name,)))))
    where = _pruning(snapshot, found)
    if where is not None:
        same = {(get.column, get.path, get.type): get for gets in paths.values() for get in gets.values()}
        where = spelled(
            where,
            lambda ref: same.get((ref.column, ref.path, ref.type), ref) if isinstance(ref, Get) else ref,
        )

    def columns(values: Sequence[SparkColumn]) -> list[SparkColumn]:
        by_name = {projection.name: value for projection, value in zip(used, values, strict=True)}

        def known(name: str, kind: Any) -> SparkColumn:
            return by_name[name] if name in by_name else F.lit(None).cast(spark_type(kind))

        return [
            (
                F.struct(
                    *(
                        known(f"{item.name}.{name}", get.type).alias(name)
                        for name, get in paths[item.name].items()
                    )
                )
                if item.name in paths
                else known(item.name, item.type)
            ).alias(item.name)
            for item in snapshot.schema.fields
        ]

    scan = SparkScan(spark, snapshot, used, where, prune_only=True)
    key = ("paths", tuple(used), *scan.frame_identity)
    return remembered(spark, key, lambda: scan.frame(columns)), scan


def _variants(schema: Struct) -> list[str]:
    return [item.name for item in schema.fields if item.type == "variant"]


# ── tables ──────────────────────────────────────────────────────────────────────────────────────────────


def _latest(address: Address, storage_options: Mapping[str, Any] | None) -> Snapshot:
    """The newest version of a table, read only where it is not the one that was read before."""
    storage = Storage(os.fspath(address), storage_options or {})
    known = _snapshots.find(storage)
    return _snapshots.put(storage, load_snapshot(storage) if known is None else newest(known))


def _stub(spark: SparkSession, snapshot: Snapshot, name: str) -> DataFrame:
    """An empty table that the optimiser knows nothing else about, with its name on every column, where plans
    show it and queries don't. All columns may be null, as they are in a view where they are not needed.
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
        # An empty RDD of the JVM's own: one of Python's takes ten times as long to set up.
        java = spark._jsparkSession
        empty = spark.sparkContext._jsc.emptyRDD()
        return DataFrame(java.createDataFrame(empty, java.parseDataType(StructType(fields).json())), spark)

    return remembered(spark, ("stub", name, snapshot.metadata.schema_string), make)


def native(spark: SparkSession, snapshot: Snapshot, where: Expr | None = None) -> DataFrame:
    """A table as Spark reads it by itself, with Variant columns; `where` only prunes files."""
    simple = not snapshot.metadata.partition_columns and snapshot.settings.mapping_mode == "none"
    adds = as_adds(TableScan(snapshot, [], where, checked=False).files()) if simple else []
    if adds and not any(add.deletion_vector or is_hidden(add) for add in adds):
        found: Any = spark_type(snapshot.schema)
        return parquet_files(spark, found, snapshot.storage, adds)
    return SparkScan(spark, snapshot, None, where, prune_only=True, native=True).frame()
