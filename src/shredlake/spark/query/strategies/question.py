"""A query, the tables that it names, and what Spark's analysis says about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from shredlake.caches import LruCache, of_session
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.schema.types import Struct
from shredlake.expr import Expr, Or
from shredlake.spark.arrow import spark_type
from shredlake.spark.query import catalyst as plan
from shredlake.spark.query import filters
from shredlake.spark.query.data_files import MOST_FILES
from shredlake.spark.query.frames import cached_frame
from shredlake.spark.query.scan import SparkScan
from shredlake.spark.query.tables.registered import views_to_inline
from shredlake.spark.query.text.simple import conditions_in
from shredlake.spark.query.text.sql_paths import with_views
from shredlake.spark.query.views import analysed
from shredlake.spark.query.workers.pushdown import NotApplicable
from shredlake.spark.settings import is_connect, settings, temporary_settings
from shredlake.sql.parameters import Parameters

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LONG_LISTS: Final = "spark.sql.optimizer.inSetConversionThreshold"
"""The number of constants from which on the optimiser turns an IN into a set that its plan does not show."""

ANSWERS: Final = 64
"""The most queries whose answers a session keeps: to find one again saves half of the planning."""


@dataclass(frozen=True)
class Question:
    """A query and the tables that it names."""

    spark: SparkSession
    text: str
    snapshots: Mapping[str, Snapshot]
    args: Parameters = None
    names_views: bool = False
    """Whether the query may name views of the session."""

    @cached_property
    def analysis(self) -> Analysis:
        """The meaning of the query. Spark analyses it over empty tables when this is first asked."""
        text, snapshots = self.text, self.snapshots
        stubs = {name: _stub(self.spark, one, name) for name, one in snapshots.items()}
        original = analysed(self.spark, text, stubs, self.args)
        if self.names_views:
            tables_of_views, views = views_to_inline(original, snapshots)
            if views:
                text, snapshots = with_views(text, views), {**snapshots, **tables_of_views}
                stubs |= {name: _stub(self.spark, one, name) for name, one in tables_of_views.items()}
                original = analysed(self.spark, text, stubs, self.args)
        if is_connect(self.spark):
            return Analysis(text, snapshots, original, QueryFacts(), _conditions(text, snapshots))
        return _known_or_new(replace(self, text=text, snapshots=snapshots), original)


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
class Answer:
    """A planned query: its DataFrame, the scan of each table, and the strategies that did not apply."""

    frame: DataFrame
    facts: QueryFacts
    scans: Mapping[str, SparkScan]
    by_workers: str = ""
    """The work of the workers on the rows, if they do more than read some of them."""
    reads_variants: bool = False
    """Whether Spark reads Variants by itself."""
    sub_variants: Sequence[str] = ()
    """The paths at which it rebuilds Variants; empty if it rebuilds whole ones."""
    declined: Mapping[str, str] = field(default_factory=dict)
    """By strategy that was tried before, why it does not apply."""


@dataclass(frozen=True)
class KeptResults:
    """The results of strategies for one query, kept on the session for the next that means the same."""

    answers: LruCache[object, KeptResults]
    key: object
    plan: Any
    """Spark's plan. The same text may mean something else once the session's views or functions change."""
    facts: QueryFacts
    by_strategy: dict[str, Answer | NotApplicable] = field(default_factory=dict)

    def find(self, strategy: str) -> Answer | NotApplicable | None:
        """The result of a strategy, if it was asked before."""
        return self.by_strategy.get(strategy)

    def keep(self, strategy: str, result: Answer | NotApplicable) -> None:
        """Keeps a result, by the weight of the files that its scans hold."""
        self.by_strategy[strategy] = result
        scans = result.scans.values() if isinstance(result, Answer) else ()
        self.answers.put(self.key, self, sum(len(scan.files) for scan in scans))


@dataclass(frozen=True)
class Analysis:
    """The meaning of a query, by Spark."""

    text: str
    """The query, with the views of the session that read our tables as common table expressions."""
    snapshots: Mapping[str, Snapshot]
    original: DataFrame
    """The query over empty tables: its plan and its types."""
    facts: QueryFacts
    conditions: Mapping[str, Expr] = field(default_factory=dict)
    """By table, the condition that the text sets. Used over Connect, which does not show plans."""
    kept: KeptResults | None = None
    """None over Connect, which shows no plan to tell whether a query still means the same."""

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


def _known_or_new(question: Question, original: DataFrame) -> Analysis:
    """The analysis of a query, with the results of an earlier one that means the same."""
    spark = question.spark
    versions = tuple((name, one.storage, one.segment) for name, one in question.snapshots.items())
    key = (settings(spark), question.text, versions, repr(question.args))
    answers: LruCache[object, KeptResults] = of_session(spark, "answers", ANSWERS, heaviest=MOST_FILES)
    found = plan.inline_ctes(spark, original._jdf.queryExecution().analyzed())
    kept = answers.find(key)
    if kept is None or not kept.plan.sameResult(found):
        kept = KeptResults(answers, key, found, QueryFacts.of(original, found))
    return Analysis(question.text, question.snapshots, original, kept.facts, kept=kept)


def _conditions(text: str, snapshots: Mapping[str, Snapshot]) -> Mapping[str, Expr]:
    """The conditions that the text of a query sets on each table."""
    schemas = {name.casefold(): one.schema for name, one in snapshots.items()}
    if len(schemas) < len(snapshots):  # two names differ only in case
        return {}
    return conditions_in(text, all_variants(snapshots), schemas)


def variant_columns(schema: Struct) -> list[str]:
    """The names of the top-level Variant columns."""
    return [item.name for item in schema.fields if item.type == "variant"]


def all_variants(snapshots: Mapping[str, Snapshot]) -> frozenset[str]:
    """The names of the top-level Variant columns of all tables."""
    return frozenset(name for one in snapshots.values() for name in variant_columns(one.schema))


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
