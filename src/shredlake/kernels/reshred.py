"""`reshred`: from one shredded layout to another."""

from __future__ import annotations

from shredlake.kernels.chunks import Column
from shredlake.kernels.layout import shredding_schema
from shredlake.kernels.unshred import unshred
from shredlake.shredding.schema import ShreddingSchema


def reshred(column: Column, schema: ShreddingSchema, *, threads: int | None = None) -> Column:
    """Shreds a column by another schema.

    >>> import pyarrow as pa
    >>> from shredlake.kernels import shredded_type
    >>> narrow, wide = ShreddingSchema.parse("int"), ShreddingSchema.parse("bigint")
    >>> column = pa.array([(b"\\x01\\x00\\x00", None, 34)], shredded_type(narrow))
    >>> reshred(column, wide).field("typed_value").to_pylist()
    [34]
    """
    from shredlake.kernels.shred import shred

    if shredding_schema(column.type) == schema:
        return column
    return shred(unshred(column, threads=threads), schema, threads=threads)
