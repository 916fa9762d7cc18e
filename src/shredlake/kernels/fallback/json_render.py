"""Renders Variants as JSON text, row by row, with `shredlake.variant.json.render`."""

from __future__ import annotations

import pyarrow as pa

from shredlake.errors import ShredlakeError
from shredlake.variant import Variant


def render(
    metadata: pa.Array, value: pa.Array, validity: pa.Array | None, from_row: int
) -> tuple[pa.Array, int, bool]:
    """As in the compiled module."""
    texts: list[str | None] = []
    for row in range(from_row, len(metadata)):
        if validity is not None and not validity[row].as_py():
            texts.append(None)
            continue
        encoded = value[row].as_py()
        try:
            texts.append("null" if encoded is None else Variant(metadata[row].as_py(), encoded).to_json())
        except ShredlakeError:
            return pa.array(texts, pa.string()), row, False
    return pa.array(texts, pa.string()), len(metadata), False
