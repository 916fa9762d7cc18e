"""Filters of Spark's plans as shredlake's expressions: what can't be translated prunes nothing."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from shredlake.delta.read.bind import rewrite
from shredlake.expr import Expr, Get, references
from shredlake.expr.parse import parse_predicate
from shredlake.spark.query.catalyst import Node, Relation
from shredlake.spark.query.filters import (
    NotUnderstood,
    Translator,
    not_understood,
    predicate,
    shown,
    whole_predicate,
)

COLUMNS = {1: ("id", "long"), 2: ("day", "string"), 3: ("v", "variant"), 4: ("odd.name", "long")}


def column(name: str) -> Node:
    [(number, kind)] = [(number, kind) for number, (one, kind) in COLUMNS.items() if one == name]
    return Node("AttributeReference", {"name": name, "dataType": kind, "exprId": {"id": number}})


def literal(value: str | None, kind: str = "integer", **fields: Any) -> Node:
    return Node("Literal", {"value": value, "dataType": kind, **fields})


def node(name: str, *children: Node, **fields: Any) -> Node:
    return Node(name, fields, children)


def path(text: str, kind: str, *, fails: bool = True, cast: str | None = None) -> Node:
    got = node("VariantGet", column("v"), literal(text, "string"), targetType=kind, failOnError=fails)
    return got if cast is None else node("Cast", got, dataType=cast)


def relation(*conditions: Node) -> Relation:
    return Relation("t", list(conditions), names={number: name for number, (name, _) in COLUMNS.items()})


def translated(condition: Node) -> Expr | None:
    return predicate(relation(condition), {"v"})


ID_OVER_1 = node("GreaterThan", column("id"), literal("1"))
STRANGE = node("LessThan", node("Rand"), literal("1"))

TRANSLATED = [
    (node("EqualTo", column("id"), literal("1")), "id = 1"),
    (node("EqualNullSafe", column("day"), literal("x", "string")), "day <=> 'x'"),
    (node("LessThan", literal("1"), column("id")), "1 < id"),
    (node("LessThanOrEqual", column("id"), literal("1")), "id <= 1"),
    (node("GreaterThanOrEqual", column("id"), column("odd.name")), "id >= `odd.name`"),
    (node("In", column("id"), literal("1"), literal("2")), "id in (1, 2)"),
    (node("IsNull", column("id")), "id is null"),
    (node("IsNotNull", column("id")), "not id is null"),
    (node("Not", ID_OVER_1), "not id > 1"),
    (node("Or", ID_OVER_1, node("IsNull", column("day"))), "id > 1 or day is null"),
    (node("StartsWith", column("day"), literal("2026", "string")), "day like '2026%'"),
    (node("StartsWith", column("day"), literal(r"5%_\x", "string")), r"day like '5\\%\\_\\\\x%'"),
    (node("EqualTo", path("$.a.b", "int"), literal("1")), "v:a.b::int = 1"),
    (node("EqualTo", path("$.a", "variant", cast="string"), literal("x", "string")), "v:a::string = 'x'"),
]  # fmt: skip


def lenient(text: str) -> Expr:
    """The condition, with NULL for values that do not cast."""
    return rewrite(
        parse_predicate(text), lambda ref: replace(ref, strict=False) if isinstance(ref, Get) else ref
    )


@pytest.mark.parametrize(("condition", "expected"), TRANSLATED, ids=[text for _, text in TRANSLATED])
def test_translation(condition: Node, expected: str) -> None:
    assert translated(condition) == lenient(expected)


def test_what_is_not_understood_prunes_nothing_and_the_rest_still_does() -> None:
    assert translated(node("And", STRANGE, ID_OVER_1)) == parse_predicate("id > 1")
    assert predicate(relation(STRANGE, ID_OVER_1), {"v"}) == parse_predicate("id > 1")
    assert translated(STRANGE) is None
    assert predicate(relation(), {"v"}) is None


def test_half_of_an_or_prunes_nothing() -> None:
    assert translated(node("Or", STRANGE, ID_OVER_1)) is None
    assert translated(node("Not", node("And", STRANGE, ID_OVER_1))) is None


@pytest.mark.parametrize(
    "condition",
    [
        node("EqualTo", column("v"), literal("1")),
        node("EqualTo", node("Cast", column("id"), dataType="string"), literal("1", "string")),
        node("EqualTo", node("Cast", path("$.a", "int"), dataType="string"), literal("1", "string")),
        node("EqualTo", path("$.a", "array<int>x"), literal("1")),
        node("EqualTo", path("$['a", "int"), literal("1")),
        node("EqualTo", column("id"), literal(None)),
        node("EqualTo", column("id"), node("ScalarSubquery")),
        node("EqualTo", column("id"), literal("1", "interval")),
        node("EqualTo", column("id"), literal("1", {"type": "udt"})),  # type: ignore[arg-type]
        node("EqualTo", column("day"), literal("\ufffd", "string")),
        node("EqualTo", column("day"), literal("10000", "date", count=10**9)),
        node("In", column("id"), literal("1"), node("Rand")),
        node("StartsWith", column("day"), column("day")),
        node("Contains", column("day"), literal("x", "string")),
        node("EqualTo", Node("AttributeReference", {"name": "id", "exprId": {"id": 99}}), literal("1")),
    ],
    ids=lambda condition: shown(condition),
)
def test_not_translated(condition: Node) -> None:
    assert translated(condition) is None
    with pytest.raises(NotUnderstood):
        whole_predicate(relation(ID_OVER_1, condition), {"v"})


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (literal("-7", "byte"), -7),
        (literal("9223372036854775807", "long"), 2**63 - 1),
        (literal("true", "boolean"), True),
        (literal("false", "boolean"), False),
        (literal("1.50", "decimal(10,2)"), Decimal("1.50")),
        (literal("0.1", "float"), 0.10000000149011612),
        (literal("0.1", "double"), 0.1),
        (literal("1582-10-04", "date", count=-141428), date(1582, 10, 14)),
        (literal("?", "timestamp", count=-1), datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)),
        (literal("?", "timestamp_ntz", count=1), datetime(1970, 1, 1, 0, 0, 0, 1)),
        (literal("", "string"), ""),
    ],
)
def test_constants(found: Node, expected: Any) -> None:
    value = Translator(relation(), {"v"}).literal(found).value
    assert (value, type(value)) == (expected, type(expected))


def test_an_exact_translation_keeps_whether_a_cast_may_fail() -> None:
    for fails, cast in itertools.product((True, False), (None, "string")):
        got = path("$.a", "string" if cast is None else "variant", fails=fails, cast=cast)
        condition = node("EqualTo", got, literal("x", "string"))
        [strict] = {ref.strict for ref in _gets(whole_predicate(relation(condition), {"v"}))}
        # The plan does not say whether a cast may fail, so it counts as one that must not.
        assert strict is (fails or cast is not None)
        assert {ref.strict for ref in _gets(translated(condition))} == {False}


def _gets(expr: Expr | None) -> list[Get]:
    assert expr is not None
    return [ref for ref in references(expr) if isinstance(ref, Get)]


def test_an_exact_translation_has_no_variant_as_a_whole() -> None:
    whole = node("EqualTo", path("$", "string"), literal("x", "string"))
    assert translated(whole) is not None
    with pytest.raises(NotUnderstood, match="as a whole"):
        whole_predicate(relation(whole), {"v"})


def test_an_exact_translation_leaves_out_only_what_the_optimiser_adds() -> None:
    there = node("IsNotNull", column("v"))
    assert whole_predicate(relation(there, ID_OVER_1), {"v"}) == parse_predicate("id > 1")
    assert whole_predicate(relation(there), {"v"}) is None
    found = whole_predicate(relation(node("IsNotNull", column("id"))), {"v"})
    assert found == parse_predicate("not id is null")


def test_filters_that_only_spark_evaluates_are_shown() -> None:
    odd = node("EqualTo", node("Upper", column("day")), literal("X", "string"))
    under_cast = node("Contains", path("$.k", "variant", cast="string"), literal("a", "string"))
    conditions = node(
        "And", node("And", ID_OVER_1, odd), node("And", node("IsNotNull", node("Rand")), under_cast)
    )
    assert list(not_understood(relation(conditions))) == ["(upper(day) = 'X')", "contains(v:k::string, 'a')"]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (ID_OVER_1, "(id > 1)"),
        (path("$.a[0]", "int"), "v:a[0]::int"),
        (
            node("Cast", node("Add", column("id"), literal("1")), dataType="string"),
            "cast((id + 1) AS string)",
        ),
        (node("Or", ID_OVER_1, node("Not", ID_OVER_1)), "((id > 1) OR not((id > 1)))"),
        (node("Rand"), "rand()"),
        (literal(None, "string"), "NULL"),
    ],
)
def test_conditions_close_to_sql(found: Node, expected: str) -> None:
    assert shown(found) == expected
