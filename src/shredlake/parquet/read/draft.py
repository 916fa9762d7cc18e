"""Columns in the older draft layout; the only module of `read` that uses `legacy`.

All modules above this one see only the current layout.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from shredlake.kernels.arrow.nested import Names
from shredlake.parquet.legacy.columns import from_draft
from shredlake.parquet.legacy.types import is_draft
from shredlake.parquet.nested import find_types

DRAFT_NAMES: Final = (b"untyped_value", b"variant_value", b"object", b"array")
"""Every file with a column in the draft layout contains one of these names."""


def draft_columns(schema_elements: bytes, arrow: pa.Schema) -> frozenset[Names]:
    """The columns of a file in the draft layout; the schema is searched only if one of the names occurs.

    >>> level = pa.struct([("untyped_value", pa.binary()), ("typed_value", pa.int64())])
    >>> draft_columns(b"untyped_value", pa.schema([("v", level)]))
    frozenset({('v',)})
    """
    if not any(name in schema_elements for name in DRAFT_NAMES):
        return frozenset()
    return frozenset(find_types(arrow, is_draft))


def to_current_layout(column: pa.StructArray, *, reject_conflicts: bool) -> pa.StructArray:
    """Converts a draft column to the current layout, shredded as it was.

    >>> level = pa.struct([("untyped_value", pa.binary()), ("typed_value", pa.int64())])
    >>> to_current_layout(pa.array([{"typed_value": 5}], level), reject_conflicts=False).type.names
    ['metadata', 'value', 'typed_value']
    """
    return from_draft(column, reject_conflicts=reject_conflicts)
