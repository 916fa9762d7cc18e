"""Shredding: which parts of a Variant become typed columns, and which stay binary.

Modules in reading order: `schema`, `ddl` (its text form), `null_table` (the joint meaning of `value`
and `typed_value`), `reference` (one value at a time, the oracle of the kernels), `legacy` (the older draft),
`inference`.
"""

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
