"""Plain columns: Spark runs the query over structs of paths, which it reads as plain columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shredlake.expr import Expr, Get
from shredlake.expr.types import PRESENT
from shredlake.spark.query.strategies.path_scans import paths_frame, paths_scan, slower_by_workers
from shredlake.spark.query.strategies.question import Analysis, Answer, QueryFacts, Question, all_variants
from shredlake.spark.query.text.sql_paths import (
    Rewritten,
    depends_on_generated_names,
    may_take_whole,
    rewrite,
)
from shredlake.spark.query.views import AnalysisFailure, analysed_or_failure
from shredlake.spark.query.workers.pushdown import NotApplicable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType


@dataclass(frozen=True)
class PlainColumns:
    """Spark runs the query over structs of paths, which it reads as plain columns (`text/sql_paths.py`)."""

    name: str = "plain columns"

    def plan(self, question: Question) -> Answer | NotApplicable:
        """The answer, or why the query needs whole Variants."""
        analysis = question.analysis
        facts = analysis.facts
        if facts.whole:
            return NotApplicable(facts.whole)
        if any(_holds_variant(item.dataType) for item in analysis.original.schema):
            return NotApplicable("the query gives a Variant")
        names = all_variants(analysis.snapshots)
        tested = frozenset() if facts.delicate == "" else names
        every, some = (rewrite(analysis.text, variants, tested) for variants in (None, names))
        # Paths into columns of other names may be paths of our Variants under new names, or not ours at all:
        # only Spark's analysis tells.
        for rewritten in [every] if every.sql == some.sql else [every, some]:
            reason = self._reason_against(rewritten, names, facts)
            if reason:
                return NotApplicable(reason)
            scans = {
                table: paths_scan(_TablePaths(question.spark, analysis, table), snapshot, rewritten)
                for table, snapshot in analysis.snapshots.items()
            }
            if whole := next((one for scan, _ in scans.values() for one in slower_by_workers(scan)), ""):
                return NotApplicable(whole)
            frames = {table: paths_frame(*found) for table, found in scans.items()}
            found = analysed_or_failure(question.spark, rewritten.sql, frames, question.args)
            if isinstance(found, AnalysisFailure):
                continue
            if not analysis.has_types_of(found):
                return NotApplicable("the query names fields of a struct after paths")
            return Answer(found, facts, {table: scan for table, (scan, _) in scans.items()})
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


@dataclass(frozen=True)
class _TablePaths:
    """The parts of a table that a query needs, by Spark's plan."""

    spark: SparkSession
    analysis: Analysis
    table: str

    def uses(self, column: str) -> bool:
        found = self.analysis.facts.relations_of(self.table)
        return not found or any(column in one.used for one in found)

    def takes(self, column: str, get: Get) -> bool:
        if get.type == PRESENT:
            return self.uses(column)
        found = self.analysis.facts.relations_of(self.table)
        return not found or any(one.takes(column, get) for one in found)

    def pruning(self) -> Expr | None:
        return self.analysis.pruning(self.table)
