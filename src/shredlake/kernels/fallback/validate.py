"""Full validation, row by row, with `Variant.validate`."""

from __future__ import annotations

import pyarrow as pa

from shredlake.errors import MalformedVariant
from shredlake.variant import Variant


def invalid_rows(metadata: pa.Array, value: pa.Array, validity: pa.Array | None) -> list[int]:
    """As in the compiled module."""
    found = []
    for row in range(len(metadata)):
        encoded = value[row].as_py()
        if encoded is None or (validity is not None and not validity[row].as_py()):
            continue
        try:
            Variant(metadata[row].as_py(), encoded).validate()
        except MalformedVariant:
            found.append(row)
    return found
