"""Small tables whose changes streams read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import shredlake as sl

FEED = {"delta.enableChangeDataFeed": "true", "delta.enableVariantShredding": "true"}
SCHEMA = pa.schema([("id", pa.int64()), ("v", sl.variant())])


def some(*ids: int) -> pa.Table:
    return pa.table({"id": list(ids), "v": sl.from_json(pa.array([f'{{"n": {n}}}' for n in ids]))})


def made(place: Path, *batches: tuple[int, ...]) -> sl.Table:
    table = sl.Table.create(place, SCHEMA, properties=FEED)
    for batch in batches:
        table.append(some(*batch))
    return table
