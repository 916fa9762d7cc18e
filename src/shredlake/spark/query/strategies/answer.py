"""The list of strategies, and the answer of the first that applies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from shredlake.spark.query.strategies.by_workers import ByWorkers
from shredlake.spark.query.strategies.plain_columns import PlainColumns
from shredlake.spark.query.strategies.question import Answer, Question
from shredlake.spark.query.strategies.spark_reading import SparkReading
from shredlake.spark.query.strategies.sub_variants import SubVariants
from shredlake.spark.query.strategies.text_alone import TextAlone
from shredlake.spark.query.workers.aggregate import aggregated
from shredlake.spark.query.workers.pushdown import NotApplicable
from shredlake.spark.query.workers.top_n import top_n


class Strategy(Protocol):
    """A way to answer queries."""

    @property
    def name(self) -> str: ...

    def plan(self, question: Question) -> Answer | NotApplicable:
        """The answer, or why this strategy does not apply. Reads the log and footers, but no rows."""
        ...


@dataclass(frozen=True)
class Remembered:
    """A strategy whose results are kept as long as the query means the same."""

    strategy: Strategy

    @property
    def name(self) -> str:
        return self.strategy.name

    def plan(self, question: Question) -> Answer | NotApplicable:
        """The result of the last time, or a new one. Columns are new and have the names that Spark gives."""
        analysis = question.analysis
        found = None if analysis.kept is None else analysis.kept.find(self.name)
        if found is None:
            found = self.strategy.plan(question)
            if analysis.kept is not None:
                analysis.kept.keep(self.name, found)
        if isinstance(found, NotApplicable):
            return found
        return replace(found, frame=found.frame.toDF(*analysis.original.columns))


BY_ANALYSIS: Final[tuple[Strategy, ...]] = (
    Remembered(ByWorkers("groups by workers", "grouped", aggregated)),
    Remembered(ByWorkers("top-n by workers", "searched for the first rows", top_n)),
    Remembered(PlainColumns()),
    Remembered(SubVariants()),
    Remembered(SparkReading()),
)
"""The strategies that ask Spark what a query means, so that `explain` can show it."""

STRATEGIES: Final[tuple[Strategy, ...]] = (TextAlone(), *BY_ANALYSIS)


def answer(question: Question, strategies: Sequence[Strategy] = STRATEGIES) -> Answer:
    """The answer of the first strategy that applies."""
    declined: dict[str, str] = {}
    for strategy in strategies:
        found = strategy.plan(question)
        if isinstance(found, Answer):
            return replace(found, declined=declined)
        declined[strategy.name] = found.reason
    raise AssertionError("the last strategy always applies")
