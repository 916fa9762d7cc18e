"""Text in Spark SQL: tokens, lists, and names of types."""

from __future__ import annotations

import pytest

from shredlake.errors import InvalidExpression
from shredlake.expr.tokens import parts_between_commas, read_type, spark_tokens


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("'it''s'", ["it's"]),
        ("'a" + "'" * 4 + "b'", ["a''b"]),
        ("'a' 'b'", ["a", "b"]),
        ("'a'\"b\"", ["a", "b"]),
        ("x = ''", ["x", "=", ""]),
    ],
)
def test_doubled_quotes_and_strings_side_by_side(text: str, wanted: list[str]) -> None:
    assert [token.text for token in spark_tokens(text)] == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a, b", ["a", "b"]),
        ("f(a, b), v:x[0], 'c,d'", ["f(a, b)", "v:x[0]", "'c,d'"]),
        ("a", ["a"]),
        ("a,", ["a", ""]),
    ],
)
def test_lists(text: str, wanted: list[str]) -> None:
    assert parts_between_commas(text) == wanted


def test_a_string_that_is_not_closed() -> None:
    with pytest.raises(InvalidExpression, match="not a list of columns"):
        parts_between_commas("a, 'b")


@pytest.mark.parametrize("text", ["decimal(a,b)", "interval", "decimal(3.5)", "decimal(²)"])
def test_types_that_are_refused(text: str) -> None:
    with pytest.raises(InvalidExpression):
        read_type(text)
