"""`deltalake` (delta-rs) as another reader and writer of the same tables."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, numbered, python

deltalake = pytest.importorskip(
    "deltalake", reason="deltalake is not installed: pip install 'shredlake[dev]'"
)

SCHEMA = pa.schema(
    [
        ("p", pa.string()),
        ("id", pa.int64()),
        ("i", pa.int32()),
        ("f", pa.float32()),
        ("x", pa.float64()),
        ("s", pa.string()),
        ("b", pa.binary()),
        ("o", pa.bool_()),
        ("d", pa.date32()),
        ("t", pa.timestamp("us", tz="UTC")),
        ("m", pa.decimal128(12, 3)),
        ("st", pa.struct([("y", pa.int64()), ("z", pa.string())])),
        ("l", pa.list_(pa.field("element", pa.int64()))),
    ]
)


def row(number: int) -> dict[str, object]:
    return {
        "p": ["a b", "c/d", None][number % 3],
        "id": number,
        "i": -number,
        "f": number / 4,
        "x": number / 3,
        "s": f"{number} " + "é" * 40,
        "b": bytes([number % 256]),
        "o": number % 2 == 0,
        "d": date(2026, 1, 1 + number % 28),
        "t": datetime(2026, 1, 1, 0, 0, number % 60, 123456, tzinfo=UTC),
        "m": Decimal(number) / 8,
        "st": {"y": number, "z": None},
        "l": [number, None],
    }


def rows(table: pa.Table) -> list[dict[str, object]]:
    return sorted(table.select(SCHEMA.names).to_pylist(), key=lambda found: found["id"])


@pytest.mark.parametrize("checkpointed", [False, True])
def test_deltalake_reads_what_we_write(tmp_path: Path, checkpointed: bool) -> None:
    properties = {"delta.checkpoint.writeStatsAsStruct": "true"}
    table = sl.Table.create(tmp_path, SCHEMA, ["p"], properties=properties)
    table.append(pa.Table.from_pylist([row(n) for n in range(9)], schema=SCHEMA))
    table.append(pa.Table.from_pylist([row(n) for n in range(9, 12)], schema=SCHEMA))
    table.delete("id = 4")
    if checkpointed:
        table.checkpoint()
        for version in range(3):
            (tmp_path / "_delta_log" / f"{version:020}.json").unlink()
    other = deltalake.DeltaTable(str(tmp_path))
    assert other.version() == 3
    assert rows(other.to_pyarrow_table()) == [row(n) for n in range(12) if n != 4]
    assert rows(other.to_pyarrow_table(filters=[("id", ">", 9)])) == [row(10), row(11)]
    assert rows(other.to_pyarrow_table(filters=[("p", "=", "c/d")])) == [row(n) for n in (1, 7, 10)]


def test_deltalake_reads_our_unshredded_variants(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties={"delta.enableVariantShredding": "false"})
    table.append(numbered(0, 5))
    table.delete("v:a::bigint = 3")
    table.checkpoint()
    found = deltalake.DeltaTable(str(tmp_path)).to_pyarrow_table()
    assert python(found) == [{"id": n, "v": {"a": n, "s": f"s{n}"}} for n in (0, 1, 2, 4)]


def test_we_read_what_deltalake_writes(tmp_path: Path) -> None:
    data = pa.Table.from_pylist([row(n) for n in range(12)], schema=SCHEMA)
    deltalake.write_deltalake(str(tmp_path), data.slice(0, 6), partition_by=["p"])
    deltalake.write_deltalake(str(tmp_path), data.slice(6), mode="append")
    other = deltalake.DeltaTable(str(tmp_path))
    other.delete("id = 7")
    other.create_checkpoint()
    table = sl.Table(tmp_path)
    assert table.snapshot.segment.checkpoint is not None
    assert rows(table.scan().to_arrow()) == [row(n) for n in range(12) if n != 7]
    assert rows(table.scan(where="id >= 10").to_arrow()) == [row(10), row(11)]
    assert table.scan(where="p = 'c/d' and id >= 6").explain().files_read == 1
    table.append(pa.Table.from_pylist([row(12)], schema=SCHEMA))
    table.delete("id < 2")
    assert rows(deltalake.DeltaTable(str(tmp_path)).to_pyarrow_table()) == [
        row(n) for n in range(2, 13) if n != 7
    ]
