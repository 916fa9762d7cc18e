"""Writes the golden table of this version: `python tests/golden/make_table.py [FOLDER]`.

It lies in a folder named by its version and stays as it is: later versions must read it. It has
partitions, shredded Variants, column mapping, a deletion vector, a checkpoint, and commits after it. A
profile of its Variants lies beside it. `0.1.0` was written before files had seals; `0.1.0-sealed` has them.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pyarrow as pa
from pyroaring import BitMap64

import shredlake as sl
from shredlake.delta.stats import z85

FOLDER = Path(__file__).parent

ROWS: list[dict[str, object]] = [
    {"id": 1, "day": "mon", "v": '{"a":1,"t":["x","y"]}'},
    {"id": 2, "day": "mon", "v": '{"a":"odd","deep":{"b":2.5}}'},
    {"id": 3, "day": "tue", "v": '{"a":3,"t":[]}'},
    {"id": 4, "day": "tue", "v": "null"},
    {"id": 5, "day": None, "v": None},
    {"id": 6, "day": "wed", "v": "[1,2,null]"},
]
DELETED = 2
SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.string()), ("v", sl.variant())])
PROPERTIES = {
    "delta.checkpoint.writeStatsAsStruct": "false",
    "delta.columnMapping.mode": "name",
    "delta.enableDeletionVectors": "true",
    "delta.enableVariantShredding": "true",
    "shredlake.shredding.v": "struct<a bigint, t array<string>>",
}


def arrow(rows: list[dict[str, object]]) -> pa.Table:
    texts = pa.array([row["v"] for row in rows], pa.string())
    columns = [pa.array([row[name] for row in rows], SCHEMA.field(name).type) for name in ("id", "day")]
    return pa.table([*columns, sl.from_json(texts)], names=SCHEMA.names)


def delete_by_vector(root: Path, partition: str, row: int) -> None:
    """Commits a deletion vector for the file of a partition, as other engines write it."""
    log = root / "_delta_log"
    actions = [json.loads(line) for line in (log / f"{1:020}.json").read_text().splitlines()]
    [add] = [one["add"] for one in actions if one.get("add", {}).get("path", "").startswith(partition)]
    data = (1681511377).to_bytes(4, "little") + BitMap64([row]).serialize()
    padded = data + bytes(-len(data) % 4)
    vector = {
        "storageType": "i",
        "pathOrInlineDv": z85.encode(padded),
        "sizeInBytes": len(data),
        "cardinality": 1,
    }
    remove = {name: add[name] for name in ("path", "partitionValues", "size")}
    remove |= {"dataChange": True, "deletionTimestamp": add["modificationTime"], "extendedFileMetadata": True}
    info = {"timestamp": add["modificationTime"], "operation": "DELETE"}
    lines = [{"commitInfo": info}, {"remove": remove}, {"add": add | {"deletionVector": vector}}]
    (log / f"{2:020}.json").write_text("".join(json.dumps(line) + "\n" for line in lines))


def main() -> None:
    folder = FOLDER / (sys.argv[1] if len(sys.argv) > 1 else sl.__version__)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    table = sl.Table.create(str(folder / "table"), SCHEMA, partition_by=["day"], properties=PROPERTIES)
    table.append(arrow(ROWS[:4]))
    delete_by_vector(folder / "table", "day=mon", row=1)
    table = sl.Table(str(folder / "table"))
    table.checkpoint()
    table.append(arrow(ROWS[4:]))
    left = [row for row in ROWS if row["id"] != DELETED]
    (folder / "rows.json").write_text(json.dumps(left, indent=1) + "\n")
    (folder / "profile.bin").write_bytes(sl.profile(table.scan(["v"]).to_arrow()["v"]).to_bytes())


if __name__ == "__main__":
    main()
