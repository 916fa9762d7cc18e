"""Reconstructs Variants with the reference, one row at a time."""

from __future__ import annotations

import pyarrow as pa

from shredlake.errors import MalformedVariant, ShredlakeError
from shredlake.kernels.arrow.buffers import column_of, metadata_of, part, validity_of
from shredlake.kernels.arrow.flat_schema import Plan
from shredlake.kernels.arrow.normalize import checked
from shredlake.kernels.arrow.rows import to_shredded
from shredlake.kernels.row_errors import check_row, in_row
from shredlake.shredding.reference import reconstruct
from shredlake.variant import Variant


def unshred(
    piece: pa.StructArray, plan: Plan, reject_conflicts: bool, first_row: int
) -> list[pa.StructArray]:
    """Reconstructs the unshredded column from a shredded one."""
    validity = validity_of(checked(piece))
    try:
        rows = to_shredded(part(piece, "value"), part(piece, "typed_value"), plan.root)
    except MalformedVariant:
        for row in range(len(piece)):
            check_row(piece.slice(row, 1), plan.root, reject_conflicts, first_row + row)
        raise
    metadata = [row or b"" for row in metadata_of(piece, first_row).to_pylist()]
    values: list[bytes | None] = []
    for row, shredded in enumerate(rows):
        if validity is not None and not validity[row].as_py():
            values.append(None)
            continue
        try:
            variant = reconstruct(
                metadata[row], shredded, plan.root, reject_conflicts=reject_conflicts
            ) or Variant.of(None)
        except ShredlakeError as error:
            raise in_row(error, first_row + row) from None
        metadata[row] = variant.metadata
        values.append(variant.value)
    return [column_of(pa.array(metadata, pa.binary()), pa.array(values, pa.binary()), None, validity)]
