"""The draft of shredding, one value at a time: every example of its document, and its rules."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from draft_values import FIRST_EXAMPLE, OBJECT, python
from shredlake.errors import ShreddingConflict
from shredlake.parquet.legacy.columns import from_draft
from shredlake.parquet.legacy.types import draft_array
from shredlake.shredding.legacy import (
    DraftNode,
    DraftValue,
    draft_node,
    reconstruct_draft,
    shred_draft,
    split_untyped,
)
from shredlake.shredding.schema import Scalar, ShreddingSchema
from shredlake.variant.scalars import Float32, Int8, Int32
from shredlake.variant.types import VariantType
from shredlake.variant.value import Variant
from variant_columns import rows


def filled(value: DraftValue | None) -> str | None:
    if value is None or value.is_missing:
        return None
    return "typed" if value.typed is not None else "untyped"


@pytest.mark.parametrize(("value", "top", "in_b", "in_a", "in_c"), FIRST_EXAMPLE)
def test_the_first_example(value: Any, top: Any, in_b: Any, in_a: str | None, in_c: str | None) -> None:
    shredded = shred_draft(Variant.of(value), OBJECT)
    assert python(shredded.untyped) == top
    fields = shredded.object or {}
    b = fields.get("b")
    assert python(b.untyped if b else None) == in_b
    assert filled(fields.get("a")) == in_a
    assert filled((b.object or {}).get("c") if b else None) == in_c
    assert reconstruct_draft(shredded, OBJECT, reject_conflicts=True) == Variant.of(value)


def test_the_diagram_of_a_binary() -> None:
    """One name of two bytes: six bytes of metadata, the rest is the value."""
    piece = bytes([0x01, 0x01, 0x00, 0x02]) + b"hi" + bytes([0x02, 0x01, 0x00, 0x00, 0x02, 0x0C, 0x05])
    variant = split_untyped(piece)
    assert (len(variant.metadata), variant.to_python()) == (6, {"hi": 5})


def test_the_fields_that_are_left() -> None:
    """{"c": 1, "d": 2} for field b: d stays in untyped_value, c is shredded."""
    b = shred_draft(Variant.of({"b": {"c": "1", "d": 2}}), OBJECT).object["b"]  # type: ignore[index]
    assert b is not None
    assert python(b.untyped) == {"d": 2}
    assert b.object is not None
    assert b.object["c"] == DraftValue(typed="1")


NUMBERS: list[tuple[str, Any, Any]] = [
    ("bigint", Int32(123), 123),
    ("decimal(9,2)", 123, 12300),
    ("decimal(9,2)", Decimal("1.5"), 150),
    ("bigint", Decimal("123.00"), 123),
    ("bigint", Decimal("1.23"), None),
    ("tinyint", 128, None),
    ("tinyint", Int8(-128), -128),
    ("decimal(3,2)", 10, None),
    ("bigint", "123", None),
    ("bigint", 123.0, None),
    ("double", Float32(1.5), None),
    ("float", 1.5, None),
    ("double", 1, None),
    ("string", 123, None),
    ("timestamp", "2024-01-01", None),
]


@pytest.mark.parametrize(("ddl", "value", "typed"), NUMBERS)
def test_numbers_move_between_exact_types_and_nothing_else_does(ddl: str, value: Any, typed: Any) -> None:
    node = draft_node(ShreddingSchema.parse(ddl))
    shredded = shred_draft(Variant.of(value), node)
    assert shredded.typed == typed
    assert (shredded.untyped is None) == (typed is not None)
    assert reconstruct_draft(shredded, node) == Variant.of(value)


def test_parts_may_be_left_out() -> None:
    """Without untyped_value, all values are of the type or missing; without typed_value, all are binary."""
    typed_only = DraftNode(typed=Scalar(VariantType.INT64))
    assert reconstruct_draft(shred_draft(Variant.of(5), typed_only), typed_only) == Variant.of(5)
    with pytest.raises(ShreddingConflict, match="no untyped_value"):
        shred_draft(Variant.of("x"), typed_only)
    untyped_only = DraftNode("variant_value")
    array = draft_array([shred_draft(Variant.of({"x": 1}), untyped_only), None], untyped_only)
    assert rows(from_draft(array)) == [Variant.of({"x": 1}), None]
