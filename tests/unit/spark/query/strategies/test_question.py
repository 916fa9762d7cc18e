"""A question about tables: their Variants, and the condition that prunes their files."""

from __future__ import annotations

from typing import Any, cast

import pytest

import shredlake as sl
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.schema.types import Field, Struct
from shredlake.example import example_table
from shredlake.expr import Or, parse_predicate
from shredlake.spark.query.strategies.question import Analysis, QueryFacts, all_variants, variant_columns


def test_only_top_level_variants_count() -> None:
    schema = Struct(
        (Field("id", "long"), Field("v", "variant"), Field("s", Struct((Field("w", "variant"),))))
    )
    assert variant_columns(schema) == ["v"]


def test_the_variants_of_all_tables() -> None:
    tables = {name: sl.Table(example_table(f"question-{name}").uri).snapshot for name in "ab"}
    assert all_variants(tables) == {"v"}


def test_over_connect_the_text_prunes() -> None:
    condition = parse_predicate("v:a::int > 1")
    analysis = Analysis("", {}, cast(Any, None), QueryFacts(), {"t": condition})
    assert analysis.pruning("T") is condition
    assert analysis.pruning("other") is None


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return example_table("question-pruning").snapshot


@pytest.mark.parametrize(
    ("predicates", "expected"),
    [
        (["id > 1"], "id > 1"),
        (["id > 1", "id < 0"], "either"),
        (["id > 1", None], None),
        ([], None),
    ],
)
def test_a_row_is_needed_if_any_occurrence_of_the_table_needs_it(
    snapshot: Snapshot, predicates: list[str | None], expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = [None if one is None else parse_predicate(one) for one in predicates]
    answers = iter(parsed)
    monkeypatch.setattr(
        "shredlake.spark.query.strategies.question.filters.predicate", lambda *_: next(answers)
    )
    facts = QueryFacts(analysed=cast(Any, object()))
    monkeypatch.setattr(QueryFacts, "relations_of", lambda *_: parsed)
    found = Analysis("", {"t": snapshot}, cast(Any, None), facts).pruning("t")
    either = Or((parse_predicate("id > 1"), parse_predicate("id < 0")))
    assert found == (either if expected == "either" else None if expected is None else parsed[0])
