"""Columns come over from the draft layout and back; rows that differ by the reference."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from draft_values import LEAF
from shredlake.kernels import shred, unshred
from shredlake.parquet.inspect.check import check
from shredlake.parquet.legacy.columns import from_draft, to_draft
from shredlake.parquet.legacy.types import draft_array, draft_rows, draft_schema, draft_type
from shredlake.shredding.legacy import (
    DraftNode,
    DraftValue,
    current_node,
    draft_node,
    reconstruct_draft,
    shred_draft,
)
from shredlake.shredding.schema import Scalar, ShreddingSchema
from shredlake.variant.types import VariantType
from shredlake.variant.value import Variant
from strategies import shreddable_columns
from variant_columns import column, column_of, rows


def test_several_alternatives_at_one_level() -> None:
    """A level may offer an object, an array and a scalar; the current layout keeps the first."""
    node = DraftNode(
        "untyped_value",
        object={"a": LEAF},
        array=DraftNode("untyped_value"),
        typed=Scalar(VariantType.STRING),
    )
    values = [{"a": 1, "b": 2}, [1, {"c": 2}], "text", 5, None]
    shredded = [shred_draft(Variant.of(value), node) for value in values]
    assert [value.untyped is None for value in shredded] == [False, True, True, False, False]
    array = draft_array(shredded, node)
    assert draft_schema(array.type) == node
    assert rows(from_draft(array, reject_conflicts=True)) == rows(column_of(values))
    assert str(ShreddingSchema(current_node(node))) == "struct<a bigint>"


def test_a_missing_variant_reads_as_null(tmp_path: Path) -> None:
    array = draft_array(
        [DraftValue(), None, DraftValue(typed=1)], draft_node(ShreddingSchema.parse("bigint"))
    )
    assert rows(from_draft(array)) == [None, None, Variant.of(1)]
    file = tmp_path / "f.parquet"
    pq.write_table(pa.table({"v": array}), file)
    assert [(breach.rule, breach.row) for breach in check(file)] == [("draft-missing", 0)]


@pytest.mark.slow
@settings(max_examples=50)
@given(shreddable_columns())
def test_columns_and_reference_agree(case: Any) -> None:
    variants, schema = case
    node = draft_node(schema)
    array = to_draft(column(variants), node)
    assert array.type == draft_type(node)
    by_reference = [reconstruct_draft(row, node, reject_conflicts=True) for row in draft_rows(array, node)]
    assert by_reference == variants
    today = from_draft(array, reject_conflicts=True)
    assert rows(today) == variants
    assert unshred(today, strict=True) is not None


def test_values_shredded_today_and_by_the_draft_are_typed_alike() -> None:
    """Both documents' rules on numbers are one: the same values are typed."""
    values = [1, Decimal("1.50"), 1.5, "1", None, [1], {"a": 1}]
    schema = ShreddingSchema.parse("decimal(9,2)")
    today = shred(column_of(values), schema).field("typed_value").is_valid().to_pylist()
    draft = to_draft(column_of(values), draft_node(schema)).field("typed_value").is_valid().to_pylist()
    assert today == draft == [True, True, False, False, False, False, False]
