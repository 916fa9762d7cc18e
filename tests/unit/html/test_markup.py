"""Everything that is not markup is escaped, whatever it holds."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shredlake.formatting import escaped
from shredlake.html.markup import data, element

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script><script>alert(1)</script>",
    "<!--",
    "&lt;b&gt;",
    "a\x00b\x1b[31m\u202e\u2028",
    "' onmouseover='alert(1)",
]


class Elements(HTMLParser):
    """Collects the elements and the text of a piece of HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[dict[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.append(dict(attrs))

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(markup: str) -> Elements:
    found = Elements()
    found.feed(markup)
    found.close()
    return found


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_and_attributes(text: str) -> None:
    found = parsed(element("p", text, title=text))
    assert found.tags == ["p"]
    assert found.attributes == [{"title": escaped(text)}]
    assert found.text == escaped(text)


@given(st.text())
def test_any_text_is_one_element(text: str) -> None:
    found = parsed(element("p", text, title=text))
    assert found.tags == ["p"]
    assert found.text == escaped(text)


@pytest.mark.slow
@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_data_for_the_script_is_exact_and_stays_inside(value: object) -> None:
    markup = data(value, "x")
    assert markup.count("<") == 2
    assert json.loads(markup[markup.index(">") + 1 : markup.rindex("<")]) == value
