"""Why a row can't be shredded or put together: a kernel says which row, the reference says what is wrong."""

from __future__ import annotations

from typing import NoReturn

import pyarrow as pa

from shredlake.errors import MalformedVariant, ShreddingConflict, ShredlakeError
from shredlake.kernels.arrow.buffers import metadata_of, part
from shredlake.kernels.arrow.rows import to_shredded
from shredlake.shredding.reference import reconstruct, shred_value
from shredlake.shredding.schema import Node
from shredlake.variant import Variant


def explain_shredding(metadata: bytes, value: bytes, node: Node, row: int) -> NoReturn:
    """Raises what is wrong with a Variant that could not be shredded."""
    try:
        shred_value(Variant(metadata, value), node)
    except ShredlakeError as error:
        raise in_row(error, row) from None
    raise MalformedVariant(f"row {row}: the value's parts overlap, or exceed 2 GiB")


def explain_reconstruction(row_alone: pa.StructArray, node: Node, strict: bool, row: int) -> NoReturn:
    """Raises what is wrong with a shredded row, given as an array of its own, that can't be put together."""
    check_row(row_alone, node, strict, row)
    raise MalformedVariant(f"row {row}: the value's parts overlap, or exceed 2 GiB")


def check_row(row_alone: pa.StructArray, node: Node, strict: bool, row: int) -> None:
    """Raises what is wrong with a shredded row, if anything is."""
    try:
        (shredded,) = to_shredded(part(row_alone, "value"), part(row_alone, "typed_value"), node)
        reconstruct(metadata_of(row_alone, row)[0].as_py() or b"", shredded, node, strict=strict)
    except ShredlakeError as error:
        raise in_row(error, row) from None


def in_row(error: ShredlakeError, row: int) -> ShredlakeError:
    """The same error, naming the row."""
    if isinstance(error, MalformedVariant):
        return MalformedVariant(
            f"row {row}: {error.problem}", part=error.part, offset=error.offset, path=error.path
        )
    return ShreddingConflict(f"row {row}, {error}")
