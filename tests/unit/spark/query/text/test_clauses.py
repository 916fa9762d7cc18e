"""Parts of a query's text, by its tokens."""

from __future__ import annotations

import pytest

from shredlake.spark.query.text.clauses import Span, conjuncts_of, has_name, split_at_commas
from shredlake.sql.path_tokens import tokenize


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("v:a::int AS a", True),
        ("v:a::int a", False),  # may be a type of two words
        ("f(x)[0] item", True),
        ("case when a then b end c", True),
        ("case when a then b end", False),
        ("(select a AS b)", False),
        ("a::int", False),
        ("a::decimal(9,2) b", True),
        ("a", False),
        ("a + b", False),
    ],
)
def test_names_of_columns(text: str, wanted: bool) -> None:
    assert has_name(tokenize(text)) is wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a", ["a"]),
        ("a = 1 and b = 2", ["a = 1", "b = 2"]),
        ("a between 1 and 2 and b between 3 and 4", ["a between 1 and 2", "b between 3 and 4"]),
        ("not a and (b or c)", ["not a", "(b or c)"]),
        ("a and b or c and d", ["a and b or c and d"]),
        ("x['a and b'] and f(c and d)", ["x['a and b']", "f(c and d)"]),
    ],
)
def test_conjuncts(text: str, wanted: list[str]) -> None:
    assert conjuncts_of(text) == wanted


def test_items_of_a_list() -> None:
    sql = "a, f(b, c), case when d, e then f end, g[h, i]"
    tokens = tokenize(sql)
    assert [item.text(sql, tokens) for item in split_at_commas(tokens, Span(0, len(tokens)))] == [
        "a",
        "f(b, c)",
        "case when d, e then f end",
        "g[h, i]",
    ]
    assert Span(3, 3).text(sql, tokens) == ""
