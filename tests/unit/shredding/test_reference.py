"""The reference shreds and reconstructs one value; nothing is lost, whatever the schema."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from shredlake.errors import ShreddingConflict
from shredlake.shredding.reference import Shredded, reconstruct, shred_value
from shredlake.shredding.schema import ShreddingSchema
from shredlake.variant.value import Variant

VALUES: list[Any] = [
    None,
    5,
    Decimal("1.50"),
    "text",
    [],
    [1, "x", None],
    {},
    {"a": 1, "b": {"c": [1]}, "z": None},
    {"a": "not a number", "b": 5},
]
SCHEMAS = ["variant", "bigint", "decimal(9,2)", "array<bigint>", "struct<a bigint, b struct<c array<int>>>"]


@pytest.mark.parametrize("ddl", SCHEMAS)
@pytest.mark.parametrize("value", VALUES, ids=str)
def test_nothing_is_lost(value: Any, ddl: str) -> None:
    variant, node = Variant.of(value), ShreddingSchema.parse(ddl).root
    shredded = shred_value(variant, node)
    assert reconstruct(variant.metadata, shredded, node, reject_conflicts=True) == variant


def test_what_fits_is_typed_and_the_rest_stays_binary() -> None:
    node = ShreddingSchema.parse("struct<a bigint>").root
    both = shred_value(Variant.of({"a": 1, "b": 2}), node)
    assert both.value is not None
    assert both.typed_value == {"a": Shredded(None, 1)}
    alone = shred_value(Variant.of({"a": 1}), node)
    assert alone.value is None
    other = shred_value(Variant.of(5), node)
    assert (other.value, other.typed_value) == (Variant.of(5).value, None)


def test_types_may_have_to_be_exact() -> None:
    node = ShreddingSchema.parse("bigint").root
    assert shred_value(Variant.of(5), node).typed_value == 5
    assert shred_value(Variant.of(5), node, exact_types=True).typed_value is None, "5 is written as an int8"


def test_a_field_in_both_parts_is_a_conflict() -> None:
    variant, node = Variant.of({"a": 1}), ShreddingSchema.parse("struct<a bigint>").root
    both = Shredded(variant.value, {"a": Shredded(None, 2)})
    found = reconstruct(variant.metadata, both, node)
    assert found is not None
    assert found.to_python() == {"a": 2}
    with pytest.raises(ShreddingConflict):
        reconstruct(variant.metadata, both, node, reject_conflicts=True)
