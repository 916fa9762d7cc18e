"""The rules on engines: complete, about known engines, and the first that applies decides."""

from __future__ import annotations

import string

import pytest

from shredlake.diagnosis.facts import Facts, Subject
from shredlake.diagnosis.probes import PROBES, SLOW_PROBES
from shredlake.diagnosis.rules import ANY, ENGINES, RULES, Verdict, rule_for


def test_every_rule_is_about_a_known_engine() -> None:
    assert {rule.engine for rule in RULES} <= set(ENGINES)
    assert {engine for engine, _ in [*PROBES, *SLOW_PROBES]} <= set(ENGINES)
    for rule in RULES:
        assert rule.verdict != "yes"
        assert rule.why


def test_fixes_name_nothing_but_the_address() -> None:
    for rule in RULES:
        assert {name for _, name, _, _ in string.Formatter().parse(rule.fix) if name} <= {"address"}


def test_no_rule_is_hidden_by_an_earlier_one() -> None:
    for number, rule in enumerate(RULES):
        before = [one for one in RULES[:number] if (one.engine, one.subject) == (rule.engine, rule.subject)]
        assert not {ANY, rule.need} & {one.need for one in before}, rule


@pytest.mark.parametrize(
    ("engine", "subject", "needs", "verdict"),
    [
        ("shredlake", "table", {"variant", "shredded", "feature variantShredding"}, "yes"),
        ("spark", "table", set(), "no"),
        ("spark", "file", {"variant", "annotated", "shredded", "shredded uuid"}, "no"),
        ("spark", "file", {"variant", "annotated", "shredded", "shredded bigint"}, "yes"),
        ("duckdb", "table", {"variant", "shredded"}, "no"),
        ("duckdb", "table", {"variant"}, "unknown"),
        ("duckdb", "file", {"variant", "not annotated"}, "partly"),
        ("pyarrow", "file", {"variant", "shredded", "annotated"}, "partly"),
        ("polars", "file", {"variant", "annotated"}, "no"),
        ("deltalake", "table", {"variant"}, "yes"),
        ("trino", "file", set(), "unknown"),
        ("an engine of tomorrow", "file", {"variant"}, "yes"),
    ],
)
def test_verdicts(engine: str, subject: Subject, needs: set[str], verdict: Verdict) -> None:
    assert rule_for(engine, Facts(subject, "x", frozenset(needs))).verdict == verdict


def test_of_several_needs_the_first_rule_gives_the_reason() -> None:
    both = Facts("table", "t", frozenset({"variant", "feature variantShredding"}))
    assert "reader feature" in rule_for("polars", both).why
    assert "reader feature" not in rule_for("polars", Facts("table", "t", frozenset({"variant"}))).why
