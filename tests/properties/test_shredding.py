"""Shredding, for any values and any schema: kernels equal the reference, and nothing is lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shredlake.kernels import reshred, shred, shredded_type, unshred, variant
from shredlake.kernels.arrow.buffers import column_of, validity_of
from shredlake.kernels.arrow.flat_schema import plan_of
from shredlake.kernels.arrow.rows import to_shredded
from shredlake.kernels.fallback.shred import shred as reference_shred
from shredlake.kernels.fallback.unshred import unshred as reference_unshred
from shredlake.shredding import ShreddingSchema
from shredlake.shredding.reference import Shredded
from shredlake.variant import Variant
from strategies import schemas_for, shreddable_columns, wide_variants


def arrow(rows: Sequence[Variant | None]) -> pa.StructArray:
    return pa.array([row and {"metadata": row.metadata, "value": row.value} for row in rows], variant())


def variants(column: pa.Array | pa.ChunkedArray) -> list[Variant | None]:
    return [row and Variant(row["metadata"], row["value"]).validate() for row in column.to_pylist()]


def by_reference(
    column: pa.StructArray, schema: ShreddingSchema, exact_types: bool = False
) -> pa.StructArray:
    metadata, value, validity = column.field("metadata"), column.field("value"), validity_of(column)
    rest, typed = reference_shred(metadata, value, validity, plan_of(schema.root), exact_types, 0)
    return column_of(metadata, rest, typed, validity)


@pytest.mark.slow
@given(shreddable_columns(), st.booleans())
def test_shredding_loses_nothing(
    case: tuple[list[Variant | None], ShreddingSchema], exact_types: bool
) -> None:
    rows, schema = case
    shredded = shred(arrow(rows), schema, exact_types=exact_types)
    shredded.validate(full=True)
    assert shredded.type == shredded_type(schema)
    assert shredded.equals(by_reference(arrow(rows), schema, exact_types))
    whole = unshred(shredded, strict=True)
    whole.validate(full=True)
    assert whole.type == variant()
    assert variants(whole) == rows
    if exact_types:
        assert [row and row.to_python(exact=True) for row in variants(whole)] == [
            row and row.to_python(exact=True) for row in rows
        ]
    (expected,) = reference_unshred(shredded, plan_of(schema.root), True, 0)
    assert variants(expected) == rows


@settings(max_examples=40)
@given(st.lists(wide_variants(), max_size=4), st.data())
def test_layouts_of_other_writers_shred_as_the_reference_does(
    wide: list[tuple[Variant, object]], data: st.DataObject
) -> None:
    rows = [row for row, _ in wide]
    schema = data.draw(schemas_for([value for _, value in wide]))
    shredded = shred(arrow(rows), schema)
    expected = by_reference(arrow(rows), schema)
    assert shredded.field("typed_value" if len(shredded.type) > 2 else "value").null_count == (
        expected.field("typed_value" if len(shredded.type) > 2 else "value").null_count
    )
    assert variants(unshred(shredded, strict=True)) == variants(unshred(expected, strict=True)) == rows


@pytest.mark.slow
@settings(max_examples=40)
@given(shreddable_columns(), st.data())
def test_slices_and_chunks_shred_alike(
    case: tuple[list[Variant | None], ShreddingSchema], data: st.DataObject
) -> None:
    rows, schema = case
    column = arrow(rows)
    whole = shred(column, schema)
    first = data.draw(st.integers(0, len(rows)))
    last = data.draw(st.integers(first, len(rows)))
    part = slice(first, last)
    assert shred(column[part], schema).equals(whole[part])
    assert variants(unshred(whole[part], strict=True)) == rows[part]
    chunked = pa.chunked_array([column[:first], column[first:last], column[last:]])
    again = shred(chunked, schema)
    assert isinstance(again, pa.ChunkedArray)
    assert again.combine_chunks().equals(whole)
    assert variants(unshred(again, strict=True)) == rows


@pytest.mark.slow
@settings(max_examples=40)
@given(shreddable_columns(), st.data())
def test_reshredding_equals_unshredding_and_shredding(
    case: tuple[list[Variant | None], ShreddingSchema], data: st.DataObject
) -> None:
    rows, before = case
    after = data.draw(schemas_for([row.to_python(exact=True) for row in rows if row is not None]))
    shredded = shred(arrow(rows), before)
    moved, fresh = reshred(shredded, after), shred(unshred(shredded), after)
    moved.validate(full=True)
    assert moved.type == shredded_type(after)
    assert meanings(moved, after) == meanings(fresh, after)
    assert variants(unshred(moved, strict=True)) == rows


def meanings(column: pa.StructArray, schema: ShreddingSchema) -> list[Any]:
    """The typed parts, and the meaning of the residuals. Their bytes may differ: reconstructing an object
    sorts its fields, and columns that are reused unchanged keep their order."""
    typed = column.field("typed_value") if len(column.type) > 2 else None
    rows = to_shredded(column.field("value"), typed, schema.root)
    return [
        meaning(row, metadata) if valid else None
        for row, metadata, valid in zip(
            rows, column.field("metadata").to_pylist(), column.is_valid().to_pylist(), strict=True
        )
    ]


def meaning(tree: Any, metadata: bytes) -> Any:
    match tree:
        case Shredded(value, typed):
            return value and Variant(metadata, value), meaning(typed, metadata)
        case list():
            return [meaning(item, metadata) for item in tree]
        case dict():
            return {name: meaning(item, metadata) for name, item in tree.items()}
    return tree
