"""The tag of an `add` action that records how the file's Variants are shredded.

Readers of a table then know the layout of a file before they open it, and later writers keep to it.
"""

from __future__ import annotations

from typing import Final

from shredlake.delta.protocol.actions import Add
from shredlake.parquet.variant_columns import is_known_layout, parse_layout_json
from shredlake.shredding.schema import ShreddingSchema

LAYOUT_TAG: Final = "shredlake.layout"


def tagged_layout(add: Add) -> dict[str, ShreddingSchema] | None:
    """Shredding schemas of a file by physical name; None if the file has no tag that we understand.

    >>> text = '{"v":{"shredding":"struct<a bigint>","residual":[]}}'
    >>> str(tagged_layout(Add("f", 1, 1, {}, tags={LAYOUT_TAG: text}))["v"])
    'struct<a bigint>'
    """
    text = layout_text(add)
    return None if text is None else parse_layout_tag(text)


def layout_text(add: Add) -> str | None:
    """The text of a file's tag; None if there is none, or if a later version of shredlake wrote it.

    >>> layout_text(Add("f", 1, 1, {}, tags={LAYOUT_TAG: '{"version":2,"groups":[]}'})) is None
    True
    """
    text = (add.tags or {}).get(LAYOUT_TAG)
    return text if text is not None and is_known_layout(text) else None


def parse_layout_tag(text: str) -> dict[str, ShreddingSchema]:
    """Shredding schemas from the text of a tag; empty for the tag of a later version.

    >>> parse_layout_tag('{"version":2,"groups":[]}')
    {}
    """
    if not is_known_layout(text):
        return {}
    return {name: column.schema for name, column in parse_layout_json(text).items()}
