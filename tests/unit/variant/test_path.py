"""Paths: every way to write one, the one way to print it, and errors that point."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake import InvalidPath, Path
from shredlake.errors import InvalidExpression
from shredlake.expr import evaluate, parse_columns

SPELLINGS = [
    ("$", (), "$", "$"),
    ("$.a.b[0]", ("a", "b", 0), "$.a.b[0]", "$['a']['b'][0]"),
    ("$['odd key']", ("odd key",), "$['odd key']", "$['odd key']"),
    ('$["x"]', ("x",), "$.x", "$['x']"),
    ("a.b[0]", ("a", "b", 0), "$.a.b[0]", "$['a']['b'][0]"),
    ("v:a.b[0]", ("a", "b", 0), "$.a.b[0]", "$['a']['b'][0]"),
    ("`odd column`:a", ("a",), "$.a", "$['a']"),
    ("v:['a.b'].c", ("a.b", "c"), "$['a.b'].c", "$['a.b']['c']"),
    ("$[0][1]", (0, 1), "$[0][1]", "$[0][1]"),
    ("$.first name", ("first name",), "$['first name']", "$['first name']"),
    ("$.été", ("été",), "$.été", "$['été']"),
    ("$.0", ("0",), "$['0']", "$['0']"),
    ("$['0']", ("0",), "$['0']", "$['0']"),
    ("$['']", ("",), "$['']", "$['']"),
    (r"$['it\'s']", ("it's",), r"$['it\'s']", r"$['it\'s']"),
    ('$["it\'s"]', ("it's",), r"$['it\'s']", r"$['it\'s']"),
    (r'$["\"\\\/\b\f"]', ('"\\/\b\f',), r"""$['"\\/\b\f']""", r"""$['"\\/\b\f']"""),
    (r"$['\n\r\t\u00e9']", ("\n\r\té",), r"$['\n\r\té']", r"$['\n\r\té']"),
    (r"$['\ud83d\ude00']", ("😀",), "$['😀']", "$['😀']"),
    ("$['\x0b\x1f']", ("\x0b\x1f",), r"$['\u000b\u001f']", r"$['\u000b\u001f']"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "steps", "short", "normalized"), SPELLINGS)
def test_parse_and_print(text: str, steps: tuple[str | int, ...], short: str, normalized: str) -> None:
    path = Path.parse(text)
    assert path.steps == steps
    assert str(path) == short
    assert path.normalized() == normalized
    assert Path.parse(short) == Path.parse(normalized) == path


MALFORMED = [
    ("", 0, "expected a path"),
    ("$.", 2, "expected a name after the dot"),
    ("$..a", 2, "expected a name after the dot"),
    ("$a", 1, "expected '.' or '['"),
    ("$[0]]", 4, "expected '.' or '['"),
    ("$[", 2, "expected an index or a quoted key"),
    ("$[]", 2, "expected an index or a quoted key"),
    ("$[-1]", 2, "never negative"),
    ("$[01]", 2, "expected an index"),
    ("$[1", 2, "expected an index"),
    ("$[99999999999]", 2, "expected an index"),
    ("$[a]", 2, "expected an index or a quoted key"),
    ("$['a'", 5, "expected ']'"),
    ("$['a", 2, "never closed"),
    ("$['a'x]", 5, "expected ']'"),
    (r"$['\x']", 3, "not an escape"),
    (r"$['\ud800']", 3, "surrogate"),
    ("$.*", 2, "no wildcards"),
    ("$[*]", 2, "no wildcards"),
    ("a:b:c", 3, "quote a key with special characters"),
    (".a", 0, "expected a path"),
]


@pytest.mark.parametrize(("text", "position", "problem"), MALFORMED)
def test_errors_point_at_the_character(text: str, position: int, problem: str) -> None:
    with pytest.raises(InvalidPath) as caught:
        Path.parse(text)
    assert caught.value.position == position
    assert problem in caught.value.problem
    lines = str(caught.value).splitlines()
    assert lines[1:] == [f"  {text}", "  " + " " * position + "^"]
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_leading_column_is_dropped() -> None:
    assert Path.parse("v:a.b[0]") == Path(("a", "b", 0))
    assert Path.parse("`a``b`:['x y']") == Path(("x y",))


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
