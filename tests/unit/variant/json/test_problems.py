"""The wording of the compiled parser's errors equals that of the reference."""

from __future__ import annotations

import pytest

import shredlake as sl
from shredlake.errors import InvalidJson
from shredlake.variant.json.parse import parse

TEXTS = [
    "",
    " ",
    "{",
    "[",
    "[1",
    "[1,",
    "[1,]",
    '{"a"',
    '{"a" 1}',
    '{"a":',
    '{"a": 1',
    '{"a": 1,}',
    "{a: 1}",
    "1 2",
    '"abc',
    '"a\nb"',
    '"\\x"',
    '"\\u12g4"',
    '"\\ud800"',
    "-",
    "01",
    "-01",
    "1.",
    "1e",
    "1.5.2",
    "NaN",
    "None",
    "-Infinity",
    "True",
    "undefined",
    "tru",
    "\ufeff1",
    "[1}",
    '{"a": 1]',
    '{"a": 1 "b": 2}',
    "[1 2]",
    "nul",
]


@pytest.mark.parametrize("text", TEXTS)
def test_the_same_words_and_the_same_place(text: str) -> None:
    with pytest.raises(InvalidJson) as reference:
        parse(text)
    with pytest.raises(InvalidJson) as compiled:
        sl.from_json([text])
    assert str(reference.value) == str(compiled.value).replace("row 0, ", "")
