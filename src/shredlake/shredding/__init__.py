"""What of a Variant is typed and what stays binary: schema, null table, and the row-at-a-time reference."""

from shredlake.shredding.schema import (
    ARRAY_ELEMENT,
    Array,
    Node,
    Object,
    Scalar,
    ShreddingSchema,
    Untyped,
)

__all__ = ["ARRAY_ELEMENT", "Array", "Node", "Object", "Scalar", "ShreddingSchema", "Untyped"]
