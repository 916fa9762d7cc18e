"""The first strategy that applies answers; the others say why they do not; results are kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from shredlake.caches import LruCache
from shredlake.spark.query.strategies.answer import BY_ANALYSIS, STRATEGIES, Remembered, answer
from shredlake.spark.query.strategies.question import Analysis, Answer, KeptResults, QueryFacts, Question
from shredlake.spark.query.workers.pushdown import NotApplicable


class Frame:
    """A DataFrame that knows only how often its columns were named."""

    def __init__(self, times: int = 0) -> None:
        self.times, self.columns = times, ["a"]

    def toDF(self, *names: str) -> Frame:
        return Frame(self.times + 1)


@dataclass
class Fake:
    """A strategy with a fixed result."""

    name: str
    result: Answer | NotApplicable
    asked: list[Question] = field(default_factory=list)

    def plan(self, question: Question) -> Answer | NotApplicable:
        self.asked.append(question)
        return self.result


def question(key: object = None) -> Question:
    """A question that is analysed already."""
    made = Question(cast(Any, None), "select 1", {})
    original = cast(Any, Frame())
    kept = None if key is None else KeptResults(LruCache(4), key, None, QueryFacts())
    made.__dict__["analysis"] = Analysis("select 1", {}, original, QueryFacts(), kept=kept)
    return made


def yes() -> Answer:
    return Answer(cast(Any, Frame()), QueryFacts(), {})


def test_the_first_that_applies_answers_and_the_others_say_why() -> None:
    last = Fake("last", yes())
    strategies = [Fake("one", NotApplicable("too small")), Fake("two", yes()), last]
    found = answer(question(), strategies)
    assert found.declined == {"one": "too small"}
    assert last.asked == [], "a strategy is not asked once another has answered"


def test_a_list_without_an_answer_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="always applies"):
        answer(question(), [Fake("one", NotApplicable("no"))])


def test_the_text_comes_first_and_what_always_applies_last() -> None:
    names = ["groups by workers", "top-n by workers", "plain columns", "sub-Variants", "Spark's reading"]
    assert [strategy.name for strategy in STRATEGIES] == ["the text alone", *names]
    assert STRATEGIES[1:] == BY_ANALYSIS


@pytest.mark.parametrize("result", [yes(), NotApplicable("no")])
def test_results_are_kept_with_the_analysis_and_columns_are_new(result: Answer | NotApplicable) -> None:
    fake = Fake("fake", result)
    asked = question(key="key")
    first, second = (Remembered(fake).plan(asked) for _ in range(2))
    assert len(fake.asked) == 1
    for found in (first, second):
        if isinstance(found, Answer):
            assert cast(Any, found.frame).times == 1
        else:
            assert found is result


def test_over_connect_nothing_is_kept() -> None:
    fake = Fake("fake", yes())
    asked = question(key=None)
    assert [isinstance(Remembered(fake).plan(asked), Answer) for _ in range(2)] == [True, True]
    assert len(fake.asked) == 2
