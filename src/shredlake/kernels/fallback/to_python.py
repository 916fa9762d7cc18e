"""Converts Variants to Python objects, row by row, with `Variant.to_python`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from shredlake.errors import MalformedVariant
from shredlake.variant import Variant


def to_python(metadata: pa.Array, value: pa.Array, validity: pa.Array | None) -> tuple[list[Any], int]:
    """As in the compiled module."""
    objects: list[Any] = []
    for row in range(len(metadata)):
        encoded = value[row].as_py()
        if encoded is None or (validity is not None and not validity[row].as_py()):
            objects.append(None)
            continue
        try:
            objects.append(Variant(metadata[row].as_py(), encoded).to_python())
        except MalformedVariant:
            return objects, row
    return objects, len(metadata)
