"""Parses JSON text to Variants, row by row, with `shredlake.variant.json.parse`."""

from __future__ import annotations

import pyarrow as pa

from shredlake.errors import InvalidJson
from shredlake.variant.json import parse


def encode(
    array: pa.Array,
    last_wins: bool,
    max_depth: int,
    max_size: int,
    stop_at_first: bool,
    variant_type: pa.DataType,
) -> tuple[pa.Array | None, list[tuple[int, InvalidJson]]]:
    """As in the compiled module."""
    rows: list[dict[str, bytes] | None] = []
    rejects: list[tuple[int, InvalidJson]] = []
    for row, text in enumerate(array.to_pylist()):
        if text is None:
            rows.append(None)
            continue
        try:
            variant = parse(
                text,
                duplicate_keys="last_wins" if last_wins else "error",
                max_depth=max_depth,
                max_size=max_size,
            )
        except InvalidJson as error:
            rejects.append((row, error))
            if stop_at_first:
                return None, rejects
            rows.append(None)
        else:
            rows.append({"metadata": variant.metadata, "value": variant.value})
    return variants(rows, variant_type), rejects


def variants(rows: list[dict[str, bytes] | None], variant_type: pa.DataType) -> pa.Array:
    """Builds a Variant column from rows; the required metadata of a null row is empty."""
    return pa.StructArray.from_arrays(
        [
            pa.array([b"" if row is None else row["metadata"] for row in rows], pa.binary()),
            pa.array([None if row is None else row["value"] for row in rows], pa.binary()),
        ],
        fields=list(variant_type),
        mask=pa.array([row is None for row in rows], pa.bool_()),
    )
