"""Shreds Variants with the reference, one row at a time."""

from __future__ import annotations

import pyarrow as pa

from shredlake.errors import ShredlakeError
from shredlake.kernels.arrow.flat_schema import Plan
from shredlake.kernels.arrow.rows import from_shredded
from shredlake.kernels.row_errors import in_row
from shredlake.shredding.reference import MISSING, Shredded, shred_value
from shredlake.variant import Variant


def shred(
    metadata: pa.Array,
    value: pa.Array,
    validity: pa.Array | None,
    plan: Plan,
    exact_types: bool,
    first_row: int,
) -> tuple[pa.Array, pa.Array | None]:
    """Shreds a column of Variants, given as its parts, into `value` and `typed_value` arrays."""
    null = Variant.of(None).value
    rows: list[Shredded] = []
    for row in range(len(metadata)):
        if validity is not None and not validity[row].as_py():
            rows.append(MISSING)
            continue
        try:
            encoded = value[row].as_py()
            variant = Variant(metadata[row].as_py() or b"", null if encoded is None else encoded)
            rows.append(shred_value(variant, plan.root, exact_types=exact_types))
        except ShredlakeError as error:
            raise in_row(error, first_row + row) from None
    return from_shredded(rows, plan.root)
