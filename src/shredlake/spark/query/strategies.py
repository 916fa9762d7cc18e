"""The ways to answer a query in SQL, in the order in which they are tried.

| strategy          | Python workers                         | Spark                                        |
|-------------------|----------------------------------------|----------------------------------------------|
| groups by workers | read and group the rows of their files | merges the groups                            |
| top-n by workers  | find the first rows of their files     | merges and sorts these rows                  |
| plain columns     | read only what is not a plain column   | reads paths as plain columns, runs the query |
| Spark's reading   |                                        | reads whole Variants, runs the query         |

Every strategy says whether it applies to a query, and if not, why not: `explain` shows the reasons. A
strategy plans at most one scan of each table, once it has checked everything that does not need one. The last
strategy always applies.

The text of many queries says everything (`text/simple.py`). They are answered from plain columns at once
(`answer_from_text`), unless workers may reduce the rows of a large table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

import pyarrow.compute as pc

from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.read.bind import rewrite as rewrite_references
from shredlake.delta.schema.types import Struct
from shredlake.expr import Column, Expr, Get, Or, Projection, join_name
from shredlake.expr.types import PRESENT
from shredlake.spark.arrow import spark_type
from shredlake.spark.query import catalyst as plan
from shredlake.spark.query import filters
from shredlake.spark.query.frames import cached_frame, table_rows
from shredlake.spark.query.path_columns import Service
from shredlake.spark.query.scan import SparkScan
from shredlake.spark.query.text.needs import Need
from shredlake.spark.query.text.selects import NotSimple
from shredlake.spark.query.text.simple import SimpleQuery, simple_query
from shredlake.spark.query.text.sql_paths import (
    FIELD,
    Rewritten,
    depends_on_generated_names,
    may_take_whole,
    rewrite,
)
from shredlake.spark.query.views import AnalysisFailure, analysed, analysed_or_failure
from shredlake.spark.query.workers.aggregate import Aggregated, aggregated
from shredlake.spark.query.workers.pushdown import NotApplicable, TableQuery, too_small
from shredlake.spark.query.workers.top_n import TopN, top_n
from shredlake.spark.settings import is_connect, temporary_settings
from shredlake.sql.parameters import Parameters

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

LONG_LISTS: Final = "spark.sql.optimizer.inSetConversionThreshold"
"""The number of constants from which on the optimiser turns an IN into a set that its plan does not show."""


# ── the question ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class QueryFacts:
    """Facts about a query, taken from Spark's plan. Over Connect there is no plan, and most are unknown."""

    whole: str | None = None
    """Why the query needs whole Variants; empty if it does not, None if unknown."""
    relations: Sequence[plan.Relation] = ()
    joins: bool = True
    delicate: str | None = None
    """A use of Variants whose details only the text of the query tells; empty if none, None if unknown."""
    analysed: plan.Plan | None = None

    @classmethod
    def of(cls, original: DataFrame, inlined: Any) -> QueryFacts:
        """The facts about an analysed query. `inlined` is its plan without common table expressions."""
        spark = original.sparkSession
        execution = original._jdf.queryExecution()
        found = plan.Plan.of(spark, inlined)
        with temporary_settings(spark, {LONG_LISTS: "10000"} if found.holds("In") else {}):
            optimised = plan.Plan.of(spark, execution.optimizedPlan())
        whole = "the query needs a Variant as a whole" if plan.takes_variants_whole(found) else ""
        delicate = ""
        if plan.asks_for_presence(found):
            delicate = "the query asks whether a Variant is NULL"
        elif plan.names_paths(found):
            delicate = "the query names fields of a struct after paths"
        relations = plan.relations(optimised)
        if found.holds(*plan.CLOCK):
            relations = [replace(one, filters=[]) for one in relations]
        joins = any(node.name.endswith("Join") for node in optimised.walk())
        return cls(whole, relations, joins, delicate, found)

    def relations_of(self, table: str) -> list[plan.Relation]:
        """The occurrences of a table. A table that the optimiser removed has none."""
        return [one for one in self.relations if one.table == table]

    def not_understood(self, table: str) -> Iterator[str]:
        """The conditions on a table that only Spark can evaluate."""
        for relation in self.relations_of(table):
            yield from filters.not_understood(relation)


@dataclass(frozen=True)
class Question:
    """A query, the tables that it names, and what Spark says about it."""

    text: str
    snapshots: Mapping[str, Snapshot]
    original: DataFrame
    """The query over empty tables: its plan and its types."""
    facts: QueryFacts
    args: Parameters = None
    conditions: Mapping[str, Expr] = field(default_factory=dict)
    """By table, the condition that the text sets. Used over Connect, which does not show plans."""

    @property
    def spark(self) -> SparkSession:
        return self.original.sparkSession

    def pruning(self, table: str) -> Expr | None:
        """A condition that every row needed of a table satisfies: the filters of any of its occurrences."""
        if self.facts.analysed is None:
            return self.conditions.get(table.casefold())
        variants = variant_columns(self.snapshots[table].schema)
        predicates = [filters.predicate(one, variants) for one in self.facts.relations_of(table)]
        kept = [one for one in predicates if one is not None]
        if not kept or len(kept) < len(predicates):
            return None
        return kept[0] if len(kept) == 1 else Or(tuple(kept))

    def has_types_of(self, frame: DataFrame) -> bool:
        """Whether a frame has the types of the query's columns."""
        return [item.dataType for item in frame.schema] == [item.dataType for item in self.original.schema]


def variant_columns(schema: Struct) -> list[str]:
    """The names of the top-level Variant columns."""
    return [item.name for item in schema.fields if item.type == "variant"]


def all_variants(snapshots: Mapping[str, Snapshot]) -> frozenset[str]:
    """The names of the top-level Variant columns of all tables."""
    return frozenset(name for one in snapshots.values() for name in variant_columns(one.schema))


# ── the answer ──────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Answer:
    """A planned query: its DataFrame, the scan of each table, and the strategies that did not apply."""

    frame: DataFrame
    facts: QueryFacts
    scans: Mapping[str, SparkScan]
    by_workers: str = ""
    """The work of the workers on the rows, if they do more than read some of them."""
    reads_variants: bool = False
    """Whether Spark reads whole Variants."""
    declined: Mapping[str, str] = field(default_factory=dict)
    """By strategy that was tried before, why it does not apply."""


class Strategy(Protocol):
    """A way to answer queries."""

    @property
    def name(self) -> str: ...

    def plan(self, question: Question) -> Answer | NotApplicable:
        """The answer, or why this strategy does not apply. Reads the log and footers, but no rows."""
        ...


def answer(question: Question) -> Answer:
    """The answer of the first strategy that applies."""
    declined: dict[str, str] = {}
    for strategy in STRATEGIES:
        found = strategy.plan(question)
        if isinstance(found, Answer):
            return replace(found, declined=declined)
        declined[strategy.name] = found.reason
    raise AssertionError("the last strategy always applies")


# ── groups and top-n by workers ─────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class ByWorkers:
    """The workers reduce the rows of one table, and Spark merges what they send."""

    name: str
    verb: str
    """The work of the workers on the rows, for `explain`."""
    find: Callable[[TableQuery], Aggregated | TopN | NotApplicable]

    def plan(self, question: Question) -> Answer | NotApplicable:
        facts = question.facts
        if facts.whole:
            return NotApplicable(facts.whole)
        if facts.delicate:
            return NotApplicable(facts.delicate)
        if facts.analysed is None:
            return NotApplicable("Spark Connect does not show plans")
        if len(facts.relations) != 1 or facts.relations[0].table not in question.snapshots:
            return NotApplicable("the query does not read exactly one table")
        [relation] = facts.relations
        snapshot = question.snapshots[relation.table]
        variants = variant_columns(snapshot.schema)
        found = self.find(TableQuery(question.spark, snapshot, relation, facts.analysed, tuple(variants)))
        if isinstance(found, NotApplicable):
            return found
        frame = found.frame()
        if isinstance(frame, NotApplicable):
            return frame
        if not question.has_types_of(frame):
            return NotApplicable("the result would have other types")
        return Answer(frame, facts, {relation.table: found.scan}, by_workers=self.verb)


# ── plain columns ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class PlainColumns:
    """Spark runs the query over structs of paths, which it reads as plain columns (`text/sql_paths.py`)."""

    name: str = "plain columns"

    def plan(self, question: Question) -> Answer | NotApplicable:
        if question.facts.whole:
            return NotApplicable(question.facts.whole)
        if any(_holds_variant(item.dataType) for item in question.original.schema):
            return NotApplicable("the query gives a Variant")
        names = all_variants(question.snapshots)
        tested = frozenset() if question.facts.delicate == "" else names
        every, some = (rewrite(question.text, variants, tested) for variants in (None, names))
        # Paths into columns of other names may be paths of our Variants under new names, or not ours at all:
        # only Spark's analysis tells.
        for rewritten in [every] if every.sql == some.sql else [every, some]:
            reason = self._reason_against(rewritten, names, question.facts)
            if reason:
                return NotApplicable(reason)
            scans = {
                table: _paths_scan(_TablePaths(question, table), snapshot, rewritten)
                for table, snapshot in question.snapshots.items()
            }
            if whole := next((one for scan, _ in scans.values() for one in _slower_by_workers(scan)), ""):
                return NotApplicable(whole)
            frames = {table: _paths_frame(*found) for table, found in scans.items()}
            found = analysed_or_failure(question.spark, rewritten.sql, frames, question.args)
            if isinstance(found, AnalysisFailure):
                continue
            if not question.has_types_of(found):
                return NotApplicable("the query names fields of a struct after paths")
            return Answer(found, question.facts, {table: scan for table, (scan, _) in scans.items()})
        return NotApplicable("Spark does not accept the query with plain columns in place of its paths")

    def _reason_against(self, rewritten: Rewritten, variants: frozenset[str], facts: QueryFacts) -> str:
        if not rewritten.fields:
            return "the query reads no path with a type"
        if depends_on_generated_names(rewritten):
            return "the query may depend on the names that Spark gives to columns of paths"
        if facts.delicate == "" and facts.whole is not None:
            return ""
        if may_take_whole(rewritten, variants) or rewritten.listed:
            return facts.delicate or "the query may need a Variant as a whole"
        return ""


def _holds_variant(kind: DataType) -> bool:
    from pyspark.sql.types import ArrayType, MapType, StructType, VariantType

    match kind:
        case StructType():
            return any(_holds_variant(item.dataType) for item in kind)
        case ArrayType():
            return _holds_variant(kind.elementType)
        case MapType():
            return _holds_variant(kind.keyType) or _holds_variant(kind.valueType)
        case _:
            return isinstance(kind, VariantType)


Paths = Mapping[str, Mapping[str, Get]]
"""By Variant column, the path of each field of the struct that replaces it."""


def _slower_by_workers(scan: SparkScan) -> Iterator[str]:
    """Why workers would do what Spark does faster: cast objects and arrays as a whole, or look for values."""
    for group in scan.groups:
        for ref, served in group.served.items():
            if served.service is Service.WORKER and ref.type is not None and "<" in ref.type.name:
                yield served.reason
            if group.worker and ref.type == PRESENT:
                yield group.worker


class _Needs(Protocol):
    """The parts of a table that a query needs."""

    @property
    def spark(self) -> SparkSession: ...

    def uses(self, column: str) -> bool:
        """Whether the query may read a column that is not a Variant."""
        ...

    def takes(self, column: str, get: Get) -> bool:
        """Whether the query may read a path of a Variant."""
        ...

    def pruning(self) -> Expr | None:
        """A condition that every row needed satisfies."""
        ...


@dataclass(frozen=True)
class _TablePaths:
    """The parts of a table that a query needs, by Spark's plan."""

    question: Question
    table: str

    @property
    def spark(self) -> SparkSession:
        return self.question.spark

    def uses(self, column: str) -> bool:
        found = self.question.facts.relations_of(self.table)
        return not found or any(column in one.used for one in found)

    def takes(self, column: str, get: Get) -> bool:
        if get.type == PRESENT:
            return self.uses(column)
        found = self.question.facts.relations_of(self.table)
        return not found or any(one.takes(column, get) for one in found)

    def pruning(self) -> Expr | None:
        return self.question.pruning(self.table)


def _paths_scan(needs: _Needs, snapshot: Snapshot, rewritten: Rewritten) -> tuple[SparkScan, Paths]:
    """A scan of the paths that the query takes from a table. The query's filters prune its files."""
    paths = {
        name: {item: replace(get, column=join_name((name,))) for get, item in rewritten.fields.items()}
        for name in variant_columns(snapshot.schema)
    }
    # In the order of the table, because a query may go by position. Columns that it does not need are null.
    used: list[Projection] = []
    for item in snapshot.schema.fields:
        if item.name in paths:
            used += [
                Projection(f"{item.name}.{name}", get)
                for name, get in paths[item.name].items()
                if needs.takes(item.name, get)
            ]
        elif needs.uses(item.name):
            used.append(Projection(item.name, Column(join_name((item.name,)))))
    where = needs.pruning()
    if where is not None:
        same = {(get.column, get.path, get.type): get for gets in paths.values() for get in gets.values()}
        where = rewrite_references(
            where,
            lambda ref: same.get((ref.column, ref.path, ref.type), ref) if isinstance(ref, Get) else ref,
        )
    return SparkScan(needs.spark, snapshot, used, where, prune_only=True), paths


def _paths_frame(scan: SparkScan, paths: Paths) -> DataFrame:
    """The table of a scan with a struct of paths in place of each Variant."""
    from pyspark.sql import functions as F

    used = scan.local.query.projections

    def columns(values: Sequence[SparkColumn]) -> list[SparkColumn]:
        by_name = {projection.name: value for projection, value in zip(used, values, strict=True)}

        def known(name: str, kind: Any) -> SparkColumn:
            return by_name[name] if name in by_name else F.lit(None).cast(spark_type(kind))

        def column(name: str, kind: Any) -> SparkColumn:
            if name not in paths:
                return known(name, kind)
            fields = (known(f"{name}.{field}", get.type).alias(field) for field, get in paths[name].items())
            return F.struct(*fields)

        return [column(item.name, item.type).alias(item.name) for item in scan.snapshot.schema.fields]

    fields = tuple((name, tuple(gets.items())) for name, gets in paths.items())
    key = ("paths", fields, tuple(used), *scan.frame_identity)
    return cached_frame(scan.spark, key, lambda: scan.frame(columns), len(scan.files))


# ── plain columns, from the text alone ──────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _TextPaths:
    """The parts of a table that a query needs, by its text."""

    spark: SparkSession
    query: SimpleQuery
    need: Need

    def uses(self, column: str) -> bool:
        return self.query.uses(column)

    def takes(self, column: str, get: Get) -> bool:
        return get in self.need.paths

    def pruning(self) -> Expr | None:
        return self.need.where


def answer_from_text(spark: SparkSession, text: str, snapshots: Mapping[str, Snapshot]) -> Answer | None:
    """The answer from plain columns to a query of which the text says everything; None for any other.

    Spark analyses and optimises such a query once, as its own. Aggregates and top-n over a table that is
    large enough for workers are left to the strategies.
    """
    from pyspark.errors import AnalysisException

    query = simple_query(text, all_variants(snapshots))
    by_name = {name.casefold(): name for name in snapshots}
    if query is None or len(by_name) < len(snapshots):
        return None
    try:
        needs = query.needs({name: snapshots[known].schema for name, known in by_name.items()})
    except NotSimple:
        return None
    scans = {
        by_name[name]: _paths_scan(_TextPaths(spark, query, need), snapshots[by_name[name]], query.rewritten)
        for name, need in needs.items()
    }
    for_workers = query.may_be_reduced and not is_connect(spark)
    for scan, _ in scans.values():
        large = for_workers and not too_small(spark, scan.files.table.column("size"))
        if large or any(_slower_by_workers(scan)):
            return None
    try:
        frames = {name: _paths_frame(*found) for name, found in scans.items()}
        found = analysed(spark, query.rewritten.sql, frames)
    except AnalysisException:
        return None  # the strategies raise the error for the user's own text
    names_of_columns = str(found.columns) if is_connect(spark) else found._jdf.toString()
    if FIELD in names_of_columns:
        return None
    facts = QueryFacts(whole="", joins=not query.reads_one_table)
    return Answer(found, facts, {name: scan for name, (scan, _) in scans.items()})


# ── Spark's reading ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class SparkReading:
    """Spark reads Variant columns by itself. Files are pruned by the log."""

    name: str = "Spark's reading"

    def plan(self, question: Question) -> Answer:
        scans = {
            table: variants_scan(question.spark, snapshot, question.pruning(table))
            for table, snapshot in question.snapshots.items()
        }
        frames = {table: variants_frame(scan) for table, scan in scans.items()}
        frame = analysed(question.spark, question.text, frames, question.args)
        return Answer(frame, question.facts, scans, reads_variants=True)


def variants_scan(spark: SparkSession, snapshot: Snapshot, where: Expr | None = None) -> SparkScan:
    """A scan of all columns in which Spark reads whole Variants; `where` only prunes files."""
    return SparkScan(spark, snapshot, None, where, prune_only=True, native=True)


def variants_frame(scan: SparkScan) -> DataFrame:
    """The rows of such a scan; in one step where the files are all there is to read."""
    snapshot = scan.snapshot
    if not snapshot.metadata.partition_columns and snapshot.mapping_mode == "none":
        files = scan.files
        plain = not pc.any(files.invisible).as_py() and files.deleted_rows.null_count == len(files)
        if len(files) and plain:
            schema: Any = spark_type(snapshot.schema)
            return table_rows(scan.spark, schema, files)
    return scan.frame()


STRATEGIES: Final[tuple[Strategy, ...]] = (
    ByWorkers("groups by workers", "grouped", aggregated),
    ByWorkers("top-n by workers", "searched for the first rows", top_n),
    PlainColumns(),
    SparkReading(),
)
