"""Shredded columns as objects of the reference, and back."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.kernels.arrow.rows import from_shredded, to_shredded
from shredlake.shredding.reference import reconstruct, shred_value
from shredlake.shredding.schema import ShreddingSchema

ROWS: list[Any] = [{"a": 1, "l": [1, "x"]}, {"a": "text", "d": None}, [1, 2], None, {"a": 5, "l": []}, {}]


@pytest.mark.parametrize(
    "ddl", ["variant", "bigint", "struct<a bigint>", "struct<a bigint, l array<bigint>>", "array<int>"]
)
def test_rows_come_back(ddl: str) -> None:
    node = ShreddingSchema.parse(ddl).root
    variants = [sl.Variant.of(row) for row in ROWS]
    value, typed = from_shredded([shred_value(one, node) for one in variants], node)
    rows = to_shredded(value, typed, node)
    found = [reconstruct(one.metadata, row, node) for one, row in zip(variants, rows, strict=True)]
    assert found == variants


@pytest.mark.parametrize("ddl", ["struct<a bigint, l array<bigint>>", "array<variant>"])
def test_columns_are_those_of_the_kernel(ddl: str) -> None:
    schema = ShreddingSchema.parse(ddl)
    variants = [sl.Variant.of(row) for row in ROWS]
    stored = [{"metadata": one.metadata, "value": one.value} for one in variants]

    column = sl.shred(pa.array(stored, sl.variant()), schema)
    value, typed = from_shredded([shred_value(one, schema.root) for one in variants], schema.root)
    assert value.to_pylist() == column.field("value").to_pylist()
    assert typed is not None
    assert typed.to_pylist() == column.field("typed_value").to_pylist()
