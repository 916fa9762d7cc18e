"""Checksums of Variant columns by meaning, for comparing data before and after a copy."""

from __future__ import annotations

import pyarrow as pa

from shredlake.kernels.arrow.buffers import check_column, filled
from shredlake.kernels.arrow.types import shredding_schema
from shredlake.kernels.dispatch import dispatch
from shredlake.kernels.row_errors import parts_of, row_error
from shredlake.kernels.threads import Column, pieces, run, thread_count
from shredlake.kernels.unshred import unshred
from shredlake.variant import Variant


def checksum(column: Column, *, threads: int | None = None) -> int:
    """Returns a checksum that depends only on the Variants, not on their order, encoding or layout.

    >>> import pyarrow as pa
    >>> from shredlake.kernels import from_json, shred
    >>> from shredlake.shredding.schema import ShreddingSchema
    >>> column = from_json(pa.array(['{"a": 1, "b": [2]}', '{"b": null}']))
    >>> other = from_json(pa.array(['{"b": null}', '{"b": [2.0], "a": 1.00}']))
    >>> checksum(column) == checksum(shred(other, ShreddingSchema.parse("struct<a bigint>")))
    True
    >>> checksum(column) == checksum(column.slice(1))
    False
    """
    column = check_column(column)
    if shredding_schema(column.type) is not None:
        column = unshred(column, threads=threads)
    count = thread_count(threads)
    return sum(run(_sum, pieces(column, count), count)) % 2**64


def _sum(first_row: int, piece: pa.StructArray) -> int:
    metadata, value, validity = parts_of(piece, first_row)
    total, stopped = dispatch("checksum").checksum(metadata, filled(value, piece), validity)
    if stopped < len(piece):
        raise row_error(metadata, value, stopped, first_row, Variant.validate)
    return int(total)
