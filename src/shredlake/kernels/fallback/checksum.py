"""Checksums by meaning, row by row, from the hash of `Variant`."""

from __future__ import annotations

import hashlib

import pyarrow as pa

from shredlake.errors import MalformedVariant
from shredlake.variant import Variant


def checksum(metadata: pa.Array, value: pa.Array, validity: pa.Array | None) -> tuple[int, int]:
    """As in the compiled module, but the sums differ from it."""
    total = 0
    for row in range(len(metadata)):
        encoded = value[row].as_py()
        if encoded is None or (validity is not None and not validity[row].as_py()):
            continue
        try:
            digest = hashlib.blake2b(_text(Variant(metadata[row].as_py(), encoded)).encode(), digest_size=8)
        except MalformedVariant:
            return total, row
        total = (total + int.from_bytes(digest.digest(), "little")) % 2**64
    return total, len(metadata)


def _text(variant: Variant) -> str:
    """Returns a text that is equal for equal values: sorted names, numbers without trailing zeros."""
    kind = variant.type.name
    if kind == "OBJECT":
        return "{" + ",".join(f"{key!r}:{_text(value)}" for key, value in sorted(variant.items())) + "}"
    if kind == "ARRAY":
        return "[" + ",".join(_text(element) for element in variant) + "]"
    if kind.startswith(("INT", "DECIMAL")):
        text = format(variant.to_python(), "f")
        return f"number {text.rstrip('0').rstrip('.') if '.' in text else text}"
    return f"{kind} {variant.to_python()!r}"
