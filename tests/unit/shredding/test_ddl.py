"""Shredding schemas as text: what is printed parses again, and errors point to the place."""

from __future__ import annotations

import pytest

from shredlake.errors import InvalidSchema
from shredlake.shredding.schema import ShreddingSchema


@pytest.mark.parametrize(
    "text",
    [
        "variant",
        "bigint",
        "decimal(9,2)",
        "array<array<string>>",
        "struct<a bigint, b struct<c array<variant>, d date>>",
        "struct<`odd key` int, `tick``` string, `a.b` boolean>",
    ],
)
def test_what_is_printed_parses_again(text: str) -> None:
    assert str(ShreddingSchema.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("STRUCT < a : BIGINT , b : STRING >", "struct<a bigint, b string>"),
        ("struct<`plain` int>", "struct<plain int>"),
        ("decimal(5)", "decimal(5,0)"),
    ],
)
def test_spellings(text: str, printed: str) -> None:
    assert str(ShreddingSchema.parse(text)) == printed


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "expected a type"),
        ("struct<>", "without fields"),
        ("struct<a int, a string>", "field a occurs twice"),
        ("struct<a>", "expected"),
        ("struct<a int", "expected"),
        ("array<int", "expected '>'"),
        ("int int", "expected the end"),
        ("no_such", "unknown type 'no_such', at position 0"),
        ("decimal(39,0)", "38"),
        ("decimal(x)", "expected a number"),
        ("array<" * 5000, "nested deeper than 200 levels"),
    ],
)
def test_texts_that_are_not_schemas(text: str, problem: str) -> None:
    with pytest.raises(InvalidSchema, match=problem):
        ShreddingSchema.parse(text)


def test_an_error_names_the_path() -> None:
    with pytest.raises(InvalidSchema, match=r"node \$\['a'\]\['b'\]"):
        ShreddingSchema.parse("struct<a struct<b no_such>>")
