"""Shredding: which parts of a Variant become typed columns, and which stay binary.

In reading order:

- `schema`: the shredding schema; `ddl`: its text form; `request`: the argument `shredding=`.
- `null_table`: the joint meaning of `value` and `typed_value`.
- `reference`: shreds and reconstructs one value at a time, the oracle of the kernels.
- `legacy`: the older draft.
- `inference/`: chooses what to shred.
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
