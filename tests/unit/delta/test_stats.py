"""NaN, infinities and zeros: no file, row group or page that holds one is skipped."""

from __future__ import annotations

import math
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import variants

NAN = math.nan
IS_NAN = [
    "isnan(v:a::double)",
    "v:a::double = double('NaN')",
    "v:a::double >= double('NaN')",
    "v:a::double IN (double('NaN'))",
    "v:a::double IN (1D, double('NaN'))",
    "v:a::double <=> double('NaN')",
    "v:a::float = float('NaN')",
    "v:a::double > 7",
    "NOT (v:a::double <= 7)",
    "v:a::double > double('Infinity')",
]


def made(files: list[list[Any]]) -> sl.Table:
    schema = pa.schema([("v", sl.variant())])
    properties = {"delta.enableVariantShredding": "true"}
    table = sl.Table.create(f"memory://nan/{uuid4()}", schema, properties=properties)
    for values in files:
        table.append(pa.table({"v": variants({"a": value} for value in values)}))
    return table


@pytest.mark.parametrize(
    "files", [[[5], [NAN]], [[5, NAN]], [[5.0], [NAN]], [[5.0, NAN]], [[NAN], [5], ["x"]]]
)
@pytest.mark.parametrize("where", IS_NAN)
def test_nan_is_found_and_deleted(files: list[list[Any]], where: str) -> None:
    table = made(files)
    assert table.scan(where=where).count() == 1
    before = table.scan().count()
    table.delete(where)
    assert table.scan().count() == before - 1
    assert table.scan(where="isnan(v:a::double)").count() == 0


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("v:a::double = 0", 2),
        ("v:a::double = -0.0D", 2),
        ("v:a::double = double('Infinity')", 1),
        ("v:a::double < -1e308", 1),
        ("v:a::double IN (0D, double('-Infinity'))", 3),
    ],
)
def test_infinities_and_zeros_are_found(where: str, found: int) -> None:
    for files in ([[0.0], [-0.0], [math.inf], [-math.inf]], [[0.0, -0.0, math.inf, -math.inf]]):
        assert made(files).scan(where=where).count() == found


def test_bounds_still_skip_where_no_nan_can_be() -> None:
    table = made([[5], [7], [NAN]])
    assert table.scan(where="isnan(v:a::double)").files().num_rows == 1
    assert table.scan(where="v:a::double IN (5D)").files().num_rows == 2  # the file of NaN has no bounds
