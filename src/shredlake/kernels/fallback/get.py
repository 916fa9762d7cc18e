"""Follows a path, row by row, with `Variant.get`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from shredlake.errors import ShredlakeError
from shredlake.kernels.arrow.types import typed_value_type
from shredlake.kernels.cast_options import CastOptions
from shredlake.kernels.row_errors import in_row
from shredlake.shredding.schema import Scalar
from shredlake.variant import Path, Variant


def extract(
    metadata: pa.Array,
    value: pa.Array,
    validity: pa.Array | None,
    steps: tuple[str | int, ...],
    target: Scalar | None,
    options: CastOptions,
    *,
    first_row: int,
) -> tuple[pa.Array, pa.Array]:
    """As the compiled `extract`: Variants are extracted here, every cast is left to casts/table.py."""
    there = validity.to_pylist() if validity is not None else [True] * len(value)
    rows = range(len(value))
    if target is not None:
        deferred = [row for row in rows if there[row] and value[row].is_valid]
        return pa.nulls(len(value), typed_value_type(target)), pa.array(deferred, pa.int64())
    found = [
        value_at(metadata[row].as_py(), value[row].as_py(), steps, first_row + row)
        if there[row] and value[row].is_valid
        else None
        for row in rows
    ]
    return pa.array([v and v.value for v in found], pa.binary()), pa.array([], pa.int64())


def value_at(metadata: bytes, value: bytes, steps: tuple[str | int, ...], row: int) -> Variant | None:
    """The Variant at the steps in one row; an error names the row."""
    try:
        return Variant(metadata, value).get(Path(steps))
    except ShredlakeError as error:
        raise in_row(error, row) from None


def check_row(metadata: bytes, value: bytes, steps: tuple[str | int, ...], row: int) -> Any:
    """Raises the error of a row that the compiled kernel could not read."""
    found = value_at(metadata, value, steps, row)
    try:
        if found is not None:
            found.validate()
    except ShredlakeError as error:
        raise in_row(error, row) from None
