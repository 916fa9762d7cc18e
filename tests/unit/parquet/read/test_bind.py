"""References become slots: the same one once, whatever it is used for."""

from __future__ import annotations

import pytest

from shredlake.expr.ast import Column, Get, IsNull, Projection, references
from shredlake.expr.parse import parse_columns, parse_predicate
from shredlake.parquet.read.bind import Binder, Presence, Viewed, column_of, prunable
from shredlake.variant.path import Path


def test_the_same_path_is_one_slot() -> None:
    binder = Binder()
    [condition] = binder.predicate(parse_predicate("v:a::int > 1 or v:a::int + 1 = 0"))
    [projection] = parse_columns(["v:a::int * 2 AS double"])
    output = binder.projection(projection, "variant")
    assert list(binder.slots.values()) == ["v:a::int"]
    assert condition.references == output.references
    assert condition.written == parse_predicate("v:a::int > 1 or v:a::int + 1 = 0")


def test_conjuncts_of_the_same_references_are_evaluated_together() -> None:
    binder = Binder()
    found = binder.predicate(
        parse_predicate("v:a::int > 1 and id = 5 and v:a::int < 9 and id + v:a::int > 0")
    )
    assert [len(one.references) for one in found] == [1, 1, 2]
    assert found[0].written == parse_predicate("v:a::int > 1 and v:a::int < 9")
    assert Binder().predicate(None) == ()


def test_a_null_test_of_a_column_needs_its_presence_alone() -> None:
    binder = Binder()
    present, path = (binder.predicate(parse_predicate(text))[0] for text in ("v is null", "v:a is null"))
    assert present.references == {Presence("v")}
    [reference] = path.references
    assert isinstance(reference, Get)
    assert isinstance(present.expr, IsNull)


def test_a_whole_column_has_the_form_that_is_asked_for() -> None:
    binder = Binder()
    forms = [binder.projection(Projection("v", Column("v")), view) for view in ("variant", "json", "struct")]
    assert [one.references for one in forms] == [
        {Viewed("v", view)} for view in ("variant", "json", "struct")
    ]
    assert list(binder.slots.values()) == ["v", "v'", "v''"]


@pytest.mark.parametrize(
    "text",
    [
        "v:a::int in (1, 2)",
        "v:s::string like 'x%'",
        "not (v:a::int = 1)",
        "isnan(v:d::double)",
        "cast(id as string) = '1'",
        "`odd.name` = 1",
        "v:a[0]['b c']::int between 1 and 2",
    ],
)
def test_every_expression_keeps_its_form_over_slots(text: str) -> None:
    binder = Binder()
    expr = parse_predicate(text)
    for bound in binder.predicate(expr):
        assert bound.written is not None
        assert type(bound.expr) is type(bound.written)
        assert all(isinstance(reference, Column) for reference in references(bound.expr))
    assert len(binder.slots) == 1


def test_the_column_of_a_reference() -> None:
    assert column_of(Get("s.v", Path.parse("$.a"))) == "s.v"
    assert column_of(Viewed("v", "json")) == column_of(Presence("v")) == column_of(Column("v")) == "v"
    expr = parse_predicate("v:a::int = 1 and id is null")
    assert {column_of(reference) for reference in prunable([expr])} == {"v", "id"}
    assert prunable([]) == frozenset()
