"""Groups and top-n by workers: they reduce the rows of one table, and Spark merges what they send."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shredlake.spark.query.strategies.question import Answer, Question, variant_columns
from shredlake.spark.query.workers.aggregate import Aggregated
from shredlake.spark.query.workers.pushdown import NotApplicable, TableQuery
from shredlake.spark.query.workers.top_n import TopN


@dataclass(frozen=True)
class ByWorkers:
    """The workers reduce the rows of one table, and Spark merges what they send."""

    name: str
    verb: str
    """The work of the workers on the rows, for `explain`."""
    find: Callable[[TableQuery], Aggregated | TopN | NotApplicable]

    def plan(self, question: Question) -> Answer | NotApplicable:
        """The answer, or why workers can't reduce the rows."""
        analysis = question.analysis
        facts = analysis.facts
        if facts.whole:
            return NotApplicable(facts.whole)
        if facts.delicate:
            return NotApplicable(facts.delicate)
        if facts.analysed is None:
            return NotApplicable("Spark Connect does not show plans")
        if len(facts.relations) != 1 or facts.relations[0].table not in analysis.snapshots:
            return NotApplicable("the query does not read exactly one table")
        [relation] = facts.relations
        snapshot = analysis.snapshots[relation.table]
        variants = variant_columns(snapshot.schema)
        found = self.find(TableQuery(question.spark, snapshot, relation, facts.analysed, tuple(variants)))
        if isinstance(found, NotApplicable):
            return found
        frame = found.frame()
        if isinstance(frame, NotApplicable):
            return frame
        if not analysis.has_types_of(frame):
            return NotApplicable("the result would have other types")
        return Answer(frame, facts, {relation.table: found.scan}, by_workers=self.verb)
