"""The text alone: plain columns for queries of which the text says everything (`text/simple.py`).

Where plain columns do not hold the objects or arrays that such a query casts as a whole, Spark reads its own
Variants. The text tells that too, so the query is planned once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shredlake.expr import Expr, Get
from shredlake.spark.query.scan import SparkScan
from shredlake.spark.query.strategies.path_scans import paths_frame, paths_scan, slower_by_workers
from shredlake.spark.query.strategies.question import Answer, QueryFacts, Question, all_variants
from shredlake.spark.query.strategies.whole_variants import variants_frame, variants_scan
from shredlake.spark.query.text.needs import Need
from shredlake.spark.query.text.simple import SimpleQuery, simple_query
from shredlake.spark.query.views import analysed
from shredlake.spark.query.workers.pushdown import NotApplicable, too_small
from shredlake.spark.settings import is_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class TextAlone:
    """Spark analyses and optimises the query once, over structs of paths or over Variants.

    Aggregates and top-n over a table that is large enough for workers are left to the other strategies.
    """

    name: str = "the text alone"

    def plan(self, question: Question) -> Answer | NotApplicable:
        """The answer, or what the text does not say."""
        spark, snapshots = question.spark, question.snapshots
        if question.args:
            return NotApplicable("the query has parameters")
        query = simple_query(question.text, all_variants(snapshots))
        by_name = {name.casefold(): name for name in snapshots}
        if query is None:
            return NotApplicable("the text does not tell what the query needs")
        if len(by_name) < len(snapshots):
            return NotApplicable("the names of two tables differ only in case")
        needs = query.needs({name: snapshots[known].schema for name, known in by_name.items()})
        if needs is None:
            return NotApplicable("the text does not tell what each table must give")
        scans = {
            known: paths_scan(_TextPaths(spark, query, needs[name]), snapshots[known], query.rewritten)
            for name, known in by_name.items()
            if name in needs
        }
        for_workers = query.may_be_reduced and not is_connect(spark)
        for scan, _ in scans.values():
            if for_workers and not too_small(spark, scan.files.table.column("size")):
                return NotApplicable("workers may reduce the rows")
        whole = next((one for scan, _ in scans.values() for one in slower_by_workers(scan)), "")
        if whole and (is_connect(spark) or query.reads_maps):
            return NotApplicable(whole)
        if whole:
            variants = {
                known: variants_scan(spark, snapshots[known], needs[known.casefold()].where)
                for known in scans
            }
            frames = {known: variants_frame(scan) for known, scan in variants.items()}
            return _answer(spark, query, variants, frames, whole)
        frames = {known: paths_frame(*found) for known, found in scans.items()}
        return _answer(spark, query, {known: scan for known, (scan, _) in scans.items()}, frames)


def _answer(
    spark: SparkSession,
    query: SimpleQuery,
    scans: Mapping[str, SparkScan],
    frames: Mapping[str, DataFrame],
    whole: str = "",
) -> Answer | NotApplicable:
    """The query over frames with structs of paths or, if it needs whole Variants, with Variants."""
    from pyspark.errors import AnalysisException

    frames = {name.casefold(): frame for name, frame in frames.items()}
    text, over = (query.text, query.over_variants) if whole else (query.rewritten.sql, query.over)
    try:
        found = analysed(spark, text, frames, over=over)
    except AnalysisException as error:  # another strategy raises it for the user's own text
        return NotApplicable(str(error))
    facts = QueryFacts(whole=whole, joins=not query.reads_one_table)
    return Answer(found, facts, scans, reads_variants=bool(whole))


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
