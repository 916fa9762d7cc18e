"""Paths of `variant_get` are read as Spark 4.3 reads them."""

from __future__ import annotations

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.errors import InvalidExpression, InvalidPath
from shredlake.expr import evaluate, parse_columns
from shredlake.variant.path import Path


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("$", ()),
        ("$.fb:testid", ("fb:testid",)),
        ("$.a b. c ", ("a b", " c ")),
        ("$.a*", ("a*",)),
        ("$.*", ("*",)),
        ("$.a]", ("a]",)),
        ("$.it's", ("it's",)),
        ('$.say"x"', ('say"x"',)),
        ("$['']", ("",)),
        ("$['a.b']['c[0]']", ("a.b", "c[0]")),
        ("$['a\\\\b']", ("a\\\\b",)),
        ("$['a?b']", ("a?b",)),
        ('$["it\'s"]', ("it's",)),
        ("$[007]", (7,)),
        ("$[0][1].a", (0, 1, "a")),
        ("$.a\nb", ("a\nb",)),
    ],
)
def test_what_spark_accepts(text: str, steps: tuple[str | int, ...]) -> None:
    assert Path.parse_spark(text).steps == steps


@pytest.mark.parametrize(
    "text", ["", "a", "v:a", "$a", "$.", "$..a", "$.a.", "$[", "$[]", "$[-1]", "$[a]", "$['a", "$['a'b']",
             " $.a", "$ .a", "$[ 0 ]", "$[2147483648]", "$[*]"]
)  # fmt: skip
def test_what_spark_refuses(text: str) -> None:
    with pytest.raises(InvalidPath):
        Path.parse_spark(text)
    with pytest.raises(InvalidExpression):
        parse_columns([f"try_variant_get(v, {chr(34)}{text}{chr(34)}) AS x"])


@pytest.mark.parametrize("text", ["$.fb:testid", "$['fb:testid']", '$["fb:testid"]'])
def test_get_takes_names_with_colons(text: str) -> None:
    column = sl.from_json(pa.array(['{"fb:testid": 7}']))
    assert sl.get(column, text, pa.int64()).to_pylist() == [7]
    quoted = text.replace('"', '\\"')
    [projection] = parse_columns([f'try_variant_get(v, "{quoted}", "bigint") AS x'])
    assert evaluate(projection.expr, pa.table({"v": column})).to_pylist() == [7]


def test_wildcards_are_still_told_apart_outside_spark() -> None:
    for text in ("$.*", "$.*.a", "$[*]"):
        with pytest.raises(InvalidPath, match="no wildcards"):
            Path.parse(text)
