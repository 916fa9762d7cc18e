"""The strategy that always applies: Spark reads Variant columns by itself."""

from __future__ import annotations

from dataclasses import dataclass

from shredlake.spark.query.strategies.question import Answer, Question
from shredlake.spark.query.strategies.whole_variants import variants_frame, variants_scan
from shredlake.spark.query.views import analysed


@dataclass(frozen=True)
class SparkReading:
    """Spark reads Variant columns by itself. Files are pruned by the log."""

    name: str = "Spark's reading"

    def plan(self, question: Question) -> Answer:
        """The answer."""
        analysis = question.analysis
        scans = {
            table: variants_scan(question.spark, snapshot, analysis.pruning(table))
            for table, snapshot in analysis.snapshots.items()
        }
        frames = {table: variants_frame(scan) for table, scan in scans.items()}
        frame = analysed(question.spark, analysis.text, frames, question.args)
        return Answer(frame, analysis.facts, scans, reads_variants=True)
