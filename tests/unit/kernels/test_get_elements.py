"""An element of a shredded array that has neither part is a Variant null, whichever way it is read."""

from __future__ import annotations

import pyarrow as pa

import shredlake as sl
from shredlake.shredding.schema import ShreddingSchema


def without_parts() -> pa.StructArray:
    """Rows [1, <nothing>] and [], shredded as array<bigint>."""
    made = sl.shred(sl.from_json(pa.array(["[1, 2]", "[]"])), ShreddingSchema.parse("array<bigint>"))
    lists = made.field("typed_value")
    kinds = lists.values.type
    elements = pa.StructArray.from_arrays(
        [pa.nulls(2, kinds.field("value").type), pa.array([1, None], kinds.field("typed_value").type)],
        fields=list(kinds),
    )
    typed = pa.ListArray.from_arrays(lists.offsets, elements, type=lists.type)
    parts = [made.field(n) if made.type.field(n).name != "typed_value" else typed for n in range(3)]
    return pa.StructArray.from_arrays(parts, fields=list(made.type))


def test_an_element_without_parts_is_a_variant_null() -> None:
    column = without_parts()
    assert sl.to_json(sl.unshred(column)).to_pylist() == ["[1,null]", "[]"]
    assert sl.to_json(sl.get(column, "$[1]")).to_pylist() == ["null", None]
    assert sl.to_json(sl.get(column, "$[0]")).to_pylist() == ["1", None]
    assert sl.get(column, "$[2]").null_count == 2
    assert sl.get(column, "$[1]", pa.int64()).to_pylist() == [None, None]
