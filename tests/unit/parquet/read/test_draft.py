"""Draft columns seen by readers: found by name, and converted."""

from __future__ import annotations

import pyarrow as pa
import pytest

from shredlake.errors import ShreddingConflict
from shredlake.kernels import variant
from shredlake.parquet.read.draft import DRAFT_NAMES, draft_columns, to_current_layout
from shredlake.shredding.legacy import join_untyped
from shredlake.variant import Variant
from variant_columns import column_of, rows

LEVEL = pa.struct([("variant_value", pa.binary()), ("typed_value", pa.int64())])


def test_columns_are_found_where_a_name_of_the_draft_occurs() -> None:
    schema = pa.schema([("l", pa.list_(LEVEL)), ("v", variant()), ("id", pa.int64())])
    assert draft_columns(b"...variant_value...", schema) == {("l", "list", "element")}
    assert draft_columns(b"no such name", schema) == frozenset(), "the schema is not searched"
    assert draft_columns(b"object", pa.schema([("object", pa.int64())])) == frozenset()


@pytest.mark.parametrize("part", ["untyped_value", "variant_value", "object", "array"])
def test_every_draft_has_one_of_the_names(part: str) -> None:
    assert part.encode() in DRAFT_NAMES


def test_conflicts_are_rejected_if_asked() -> None:
    field = pa.struct([("untyped_value", pa.binary()), ("typed_value", pa.int64())])
    type_ = pa.struct([("untyped_value", pa.binary()), ("object", pa.struct([("a", field)]))])
    both = {"untyped_value": join_untyped(Variant.of({"a": 7})), "object": {"a": {"typed_value": 5}}}
    column = pa.array([both], type_)
    assert rows(to_current_layout(column, reject_conflicts=False)) == rows(column_of([{"a": 5}]))
    with pytest.raises(ShreddingConflict, match="row 0"):
        to_current_layout(column, reject_conflicts=True)
