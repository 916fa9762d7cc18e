"""The tag with a file's layout: ours, of a later version, or none."""

from __future__ import annotations

import pytest

from shredlake.delta.protocol.actions import Add
from shredlake.delta.protocol.layout_tag import LAYOUT_TAG, layout_text, parse_layout_tag, tagged_layout

TEXT = '{"v":{"shredding":"struct<a bigint>","residual":[]},"w":{"shredding":"variant","residual":[]}}'


def add(tags: dict[str, str] | None) -> Add:
    return Add("f", 1, 1, {}, tags=tags)


def test_a_layout_per_column() -> None:
    found = tagged_layout(add({LAYOUT_TAG: TEXT, "other": "x"}))
    assert found is not None
    assert {name: str(schema) for name, schema in found.items()} == {"v": "struct<a bigint>", "w": "variant"}


@pytest.mark.parametrize("tags", [None, {}, {"other": "x"}, {LAYOUT_TAG: '{"version":2}'}])
def test_files_without_a_tag_that_we_know(tags: dict[str, str] | None) -> None:
    assert layout_text(add(tags)) is None
    assert tagged_layout(add(tags)) is None


def test_the_tag_of_a_later_version_is_empty() -> None:
    assert parse_layout_tag('{"version":2,"groups":[]}') == {}
