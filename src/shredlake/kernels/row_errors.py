"""Errors that name the row: a kernel finds the bad row, and the reference explains the problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NoReturn

import pyarrow as pa

from shredlake.errors import MalformedVariant, ShreddingConflict, ShredlakeError
from shredlake.kernels.arrow.buffers import metadata_of, part, validity_of
from shredlake.kernels.arrow.normalize import as_binary
from shredlake.kernels.arrow.rows import to_shredded
from shredlake.shredding.reference import reconstruct, shred_value
from shredlake.shredding.schema import Node
from shredlake.variant import Variant

OVERLAP_OR_TOO_LARGE: Final = "the value's parts overlap, or exceed 2 GiB"
"""The problem of a row that a kernel rejects but the reference accepts."""


def parts_of(piece: pa.StructArray, first_row: int) -> tuple[pa.Array, pa.Array, pa.Array | None]:
    """Returns the metadata, value and validity of an unshredded piece, in the form that kernels expect."""
    return metadata_of(piece, first_row), as_binary(part(piece, "value")), validity_of(piece)


def in_row(error: ShredlakeError, row: int) -> ShredlakeError:
    """Returns the same error with the row number in its message."""
    if isinstance(error, MalformedVariant):
        return MalformedVariant(
            f"row {row}: {error.problem}", part=error.part, offset=error.offset, path=error.path
        )
    return ShreddingConflict(f"row {row}, {error}")


def row_error(
    metadata: pa.Array, value: pa.Array, row: int, first_row: int, attempt: Callable[[Variant], object]
) -> ShredlakeError:
    """Returns the error of a row: `attempt` repeats the failed operation on the reference."""
    number = first_row + row
    try:
        attempt(Variant(metadata[row].as_py() or b"", value[row].as_py()))
    except MalformedVariant as error:
        return in_row(error, number)
    except ShredlakeError as error:
        return type(error)(f"row {number}: {error}")
    return MalformedVariant(f"row {number}: {OVERLAP_OR_TOO_LARGE}")


def explain_shredding(metadata: bytes, value: bytes, node: Node, row: int) -> NoReturn:
    """Raises the error of a Variant that could not be shredded."""
    try:
        shred_value(Variant(metadata, value), node)
    except ShredlakeError as error:
        raise in_row(error, row) from None
    raise MalformedVariant(f"row {row}: {OVERLAP_OR_TOO_LARGE}")


def explain_reconstruction(
    row_alone: pa.StructArray, node: Node, reject_conflicts: bool, row: int
) -> NoReturn:
    """Raises the error of a shredded row, an array of length one, that could not be reconstructed."""
    check_row(row_alone, node, reject_conflicts, row)
    raise MalformedVariant(f"row {row}: {OVERLAP_OR_TOO_LARGE}")


def check_row(row_alone: pa.StructArray, node: Node, reject_conflicts: bool, row: int) -> None:
    """Raises an error if a shredded row, given as an array of length one, is not valid."""
    try:
        (shredded,) = to_shredded(part(row_alone, "value"), part(row_alone, "typed_value"), node)
        reconstruct(
            metadata_of(row_alone, row)[0].as_py() or b"", shredded, node, reject_conflicts=reject_conflicts
        )
    except ShredlakeError as error:
        raise in_row(error, row) from None
