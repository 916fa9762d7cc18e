"""Paths: every way to write one, the one way to print it, and errors that point."""

from __future__ import annotations

import pickle

import pytest

from shredlake import InvalidPath, Path

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
