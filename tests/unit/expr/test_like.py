"""LIKE: each shape of a pattern is matched like the regular expression that it stands for."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from shredlake.expr.like import ANY, ONE, has_stray_escape, like_mask, pattern_parts

TEXTS = ["", "a", "ab", "abc", "aba", "abab", "é", "aéa", "50%", "a_b", "line\nbreak", None]


def regex_of(pattern: str) -> str:
    wild = {"%": ".*", "_": "."}
    return "".join(wild.get(char) or re.escape(char) for char in pattern)


@pytest.mark.parametrize(
    "pattern", ["", "a", "a%", "%a", "%b%", "a%a", "ab%ab", "_", "a_", "%_%", "a%b%a", "%"]
)
def test_patterns(pattern: str) -> None:
    expected = [None if t is None else bool(re.fullmatch(regex_of(pattern), t, re.DOTALL)) for t in TEXTS]
    assert like_mask(pa.array(TEXTS), pattern, "\\").to_pylist() == expected


def test_a_prefix_and_a_suffix_do_not_overlap() -> None:
    assert like_mask(pa.array(["aba", "ababa"]), "aba%ba", "\\").to_pylist() == [False, True]


def test_escaped_wildcards_are_literal() -> None:
    assert pattern_parts("50!%_!_", "!") == ["50%", ONE, "_"]
    assert pattern_parts("a%", "a") == ["%"]
    assert like_mask(pa.array(["50%", "500"]), "50!%", "!").to_pylist() == [True, False]
    assert pattern_parts("%%", "!") == [ANY, ANY]


def test_a_scalar_is_matched_too() -> None:
    assert like_mask(pa.scalar("abc"), "a%", "!").as_py() is True
    assert like_mask(pa.scalar(None, pa.string()), "a%", "!").as_py() is None


@pytest.mark.parametrize(
    ("pattern", "stray"), [("a!!b", False), ("a!", True), ("!_", False), ("!x", True), ("x", False)]
)
def test_stray_escapes(pattern: str, stray: bool) -> None:
    assert has_stray_escape(pattern, "!") is stray
