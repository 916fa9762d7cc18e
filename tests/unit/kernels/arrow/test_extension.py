"""Variants have the extension type wherever they are, and all else stays as it is."""

from __future__ import annotations

import pyarrow as pa
import pytest

from shredlake.kernels.arrow.extension import MARK, with_marks, without_marks
from shredlake.kernels.arrow.types import variant

V = pa.field("v", variant(), nullable=False, metadata={"k": "x"})
NESTED = {
    "struct": pa.struct([pa.field("id", pa.int8(), nullable=False), V]),
    "list": pa.list_(V),
    "large list": pa.large_list(V),
    "fixed list": pa.list_(V, 3),
    "map": pa.map_(pa.field("key", pa.string(), nullable=False), V),
    "sorted map": pa.map_(pa.field("key", pa.string(), nullable=False), V, keys_sorted=True),
}


@pytest.mark.parametrize("name", NESTED)
def test_a_nested_variant_is_marked_and_the_mark_removed(name: str) -> None:
    field = pa.field("f", NESTED[name], nullable=False)
    made = with_marks(field)
    position = made.type.num_fields - 1
    inner = made.type.item_field if pa.types.is_map(made.type) else made.type.field(position)
    assert inner.metadata == {b"k": b"x", **MARK}
    assert not inner.nullable
    assert getattr(made.type, "keys_sorted", None) == getattr(field.type, "keys_sorted", None)
    assert without_marks(made).type == field.type


@pytest.mark.parametrize(
    "type_", [pa.int8(), pa.list_(pa.int8()), pa.uuid(), pa.struct([]), pa.list_view(pa.int8())]
)
def test_a_type_without_variants_stays(type_: pa.DataType) -> None:
    field = pa.field("f", type_)
    assert with_marks(field).equals(field, check_metadata=True)
