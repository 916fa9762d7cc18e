"""Profiles Variants, one row at a time."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from shredlake.errors import MalformedVariant
from shredlake.shredding.inference.profile import Profile
from shredlake.shredding.inference.profile_reference import profile_values
from shredlake.variant import Variant


def summarize(
    metadata: pa.BinaryArray,
    value: pa.BinaryArray,
    validity: pa.BooleanArray | None,
    max_paths: int,
    max_depth: int,
) -> bytes | int:
    """Returns the profile as bytes, or the number of the first malformed row."""
    valid = [True] * len(metadata) if validity is None else validity.to_pylist()
    values: list[Variant | None] = []
    for row, there in enumerate(valid):
        try:
            found = Variant(metadata[row].as_py(), value[row].as_py()).validate() if there else None
        except MalformedVariant:
            return row
        values.append(found)
    return profile_values(values, max_paths=max_paths, max_depth=max_depth).to_bytes()


def merge(parts: Iterable[bytes], max_paths: int) -> bytes:
    """Merges profiles of consecutive parts; all are bytes."""
    first, *later = [Profile.from_bytes(part) for part in parts]
    return first.merge(*later).to_bytes()
