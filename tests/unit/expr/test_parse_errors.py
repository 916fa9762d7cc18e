"""Errors in SQL text point to the place, also in long and in several lines."""

from __future__ import annotations

import pytest

from shredlake.errors import InvalidExpression
from shredlake.expr.parse_errors import LONGEST_LINE, SourceText


def caret(message: str) -> str:
    """The character above the caret."""
    _, line, pointer = message.split("\n")
    return line[len(pointer) - 1]


def test_the_caret_is_under_the_position() -> None:
    assert SourceText("a + ! b").pointed("wrong", 4) == "wrong\n  a + ! b\n      ^"


def test_only_the_line_of_the_problem_is_shown() -> None:
    message = SourceText("first\nsec!ond\nthird").pointed("wrong", 9)
    assert message.split("\n")[1] == "  sec!ond"
    assert caret(message) == "!"


@pytest.mark.parametrize("place", [0, 60, 250, 499])
def test_a_long_line_is_cut_around_the_position(place: int) -> None:
    text = "".join("!" if n == place else "x" for n in range(500))
    message = SourceText(text).pointed("wrong", place)
    assert caret(message) == "!"
    assert len(message.split("\n")[1]) <= 2 + LONGEST_LINE + 6


def test_an_invalid_expression_is_raised() -> None:
    with pytest.raises(InvalidExpression, match="nested too deeply"):
        SourceText("((((").too_deep()
