"""Converts statistics back to JSON, for files whose checkpoint stores them only as typed columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.log.checkpoint_read import Mask
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.stats.collect import Leaf, json_bound, put, render
from shredlake.delta.stats.columns import TIGHT_BOUNDS, ParsedPiece, Piece, Side
from shredlake.delta.stats.parsed import SIDES, StatsColumns
from shredlake.delta.stats.z85 import encode_variants


def with_stats(snapshot: Snapshot, table: pa.Table, keep: Mask) -> pa.Table:
    """Fill in `stats` in rows of `Files.table(keep=...)` whose statistics are only in `stats_parsed`."""
    texts = table.column("stats")
    if texts.null_count == 0:
        return table
    columns = StatsColumns.of(snapshot)
    made: list[str | None] = []
    start = 0
    live = snapshot.files.live
    chosen = keep if live is None else keep & live
    for part in snapshot.files.parts:
        wanted = chosen[start : start + part.num_adds]
        start += part.num_adds
        if part.has("add.stats_parsed.numRecords"):
            made.extend(texts_of(columns, ParsedPiece(part, wanted)))
        else:
            made.extend([None] * int(wanted.sum()))
    made.extend([None] * (table.num_rows - len(made)))
    filled = pc.coalesce(texts, pa.array(made, pa.string()))
    return table.set_column(table.schema.get_field_index("stats"), "stats", filled)


def texts_of(columns: StatsColumns, piece: Piece) -> list[str | None]:
    """Returns one JSON string per file of a piece."""
    counts = piece.num_records().to_pylist()
    found: list[dict[str, Any]] = [{"numRecords": count} for count in counts]
    for row, tight in zip(found, piece.tight_bounds().to_pylist(), strict=True):
        put(row, (TIGHT_BOUNDS,), tight)
    for side in SIDES:
        for leaf in columns.bounded:
            for row, value in zip(found, _texts(piece, side, leaf), strict=True):
                put(row, (side, *leaf.physical), value)
    for leaf in columns.counted:
        for row, value in zip(found, piece.null_count(leaf).to_pylist(), strict=True):
            put(row, ("nullCount", *leaf.physical), value)
    return [None if count is None else render(row) for count, row in zip(counts, found, strict=True)]


def _texts(piece: Piece, side: Side, leaf: Leaf) -> Iterable[Any]:
    """The bounds of a column in their JSON form."""
    if leaf.type == "variant":
        return list(encode_variants(piece.variant_bounds(side, leaf)).to_pylist())
    return [_json(value, upper=side == "maxValues") for value in piece.bound(side, leaf)]


def _json(value: pa.Scalar, *, upper: bool) -> Any:
    # Bounds were truncated when they were first written, so they are kept unchanged.
    is_text = value.is_valid and pa.types.is_string(value.type)
    return json_bound(value, len(value.as_py()) if is_text else 0, upper=upper)
