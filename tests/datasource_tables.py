"""The table of the tests of `format("shredlake")`, in this process and on Spark."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

import shredlake as sl

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("f", pa.float32()),
        ("d", pa.decimal128(10, 2)),
        ("tags", pa.list_(pa.string())),
        ("s", pa.struct([("x", pa.int32()), ("t.u", pa.string())])),
        ("v", sl.variant()),
    ]
)
FILES, ROWS = 4, 50
PATHS = "v:u::bigint AS u, v:k::string AS k, v:w::double AS w, day, at, f, d, s, id"


def four_days(place: Path) -> str:
    """Four days of rows. Numbers grow, `w` is NaN once a day, and the last row of a day has no document."""
    made = sl.Table.create(
        place, SCHEMA, partition_by=["day"], properties={"delta.enableVariantShredding": "true"}
    )
    for number in range(FILES):
        ids = range(number * ROWS, (number + 1) * ROWS)
        texts = [f'{{"u": {n}, "k": "k{n % 3}%", "w": {n}.5}}' for n in ids]
        rows = {
            "id": list(ids),
            "day": [date(2026, 1, 1 + number)] * ROWS,
            "at": [datetime(2026, 1, 1 + number, n % 24, tzinfo=UTC) for n in ids],
            "f": [float("nan") if n % ROWS == 0 else n / 2 for n in ids],
            "d": [Decimal(n) / 4 for n in ids],
            "tags": [["a", None]] * ROWS,
            "s": [{"x": n % 5, "t.u": "x"} for n in ids],
            "v": sl.from_json(pa.array([*texts[:-1], None])),
        }
        made.append(pa.table(rows, schema=SCHEMA))
    return str(place)
