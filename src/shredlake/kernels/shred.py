"""`shred`: splits a column of Variants into typed columns and a binary residual."""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from shredlake.kernels.arrow.buffers import (
    check_column,
    check_schema,
    column_of,
    metadata_of,
    part,
    validity_of,
)
from shredlake.kernels.arrow.flat_schema import Kind, Plan, plan_of
from shredlake.kernels.arrow.normalize import as_binary
from shredlake.kernels.arrow.types import shredding_schema
from shredlake.kernels.dispatch import dispatch
from shredlake.kernels.reshred import reshred
from shredlake.kernels.threads import Column, map_pieces
from shredlake.kernels.unshred import unshred
from shredlake.shredding.schema import ShreddingSchema


def shred(
    column: Column, schema: ShreddingSchema, *, exact_types: bool = False, threads: int | None = None
) -> Column:
    """Shreds a column of Variants into `struct<metadata, value, typed_value>`, as `shredded_type(schema)`.

    Integers and decimals are converted between integer and decimal types if no digit is lost, unless
    `exact_types`; other types are never cast. The metadata is shared with the input, not copied. A column
    that is already shredded is converted to the new layout (`reshred`). An Array gives an Array, a
    ChunkedArray a ChunkedArray; slices and nulls are allowed.

    >>> import pyarrow as pa
    >>> from shredlake import Variant
    >>> from shredlake.kernels import variant
    >>> rows = [Variant.of({"id": 1, "note": "x"}), Variant.of("odd"), None]
    >>> column = pa.array([v and {"metadata": v.metadata, "value": v.value} for v in rows], variant())
    >>> shredded = shred(column, ShreddingSchema.parse("struct<id bigint>"))
    >>> shredded.field("typed_value").field("id").field("typed_value").to_pylist()
    [1, None, None]
    >>> shredded.field("value").to_pylist()
    [b'\\x02\\x01\\x01\\x00\\x02\\x05x', b'\\rodd', None]
    """
    column = check_column(column)
    check_schema(schema)
    if shredding_schema(column.type) is not None:
        if not exact_types:
            return reshred(column, schema, threads=threads)
        column = unshred(column, threads=threads)
    return map_pieces(partial(_shred_piece, plan_of(schema.root), exact_types), column, threads=threads)


def _shred_piece(plan: Plan, exact_types: bool, first_row: int, piece: pa.StructArray) -> pa.StructArray:
    metadata, value = metadata_of(piece, first_row), as_binary(part(piece, "value"))
    validity = validity_of(piece)
    if plan.nodes[0].kind is Kind.UNTYPED and not value.null_count:
        return column_of(metadata, value, None, validity)
    rest, typed = dispatch("shred").shred(metadata, value, validity, plan, exact_types, first_row)
    return column_of(metadata, rest, typed, validity)
