"""Small Delta tables for tests: rows from Python objects, logs from actions as JSON."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

import shredlake as sl
from shredlake.delta.protocol.actions import dumps
from waiting import wait_until

ID_AND_VARIANT = pa.schema([("id", pa.int64()), ("v", sl.variant())])
SHREDDED = {"delta.enableVariantShredding": "true", "shredlake.shredding.v": "struct<a bigint, s string>"}

FEED = {"delta.enableChangeDataFeed": "true"}

PROTOCOL = {
    "protocol": {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["variantType"],
        "writerFeatures": ["variantType", "appendOnly", "invariants"],
    }
}


def variants(values: Iterable[Any]) -> pa.Array:
    """A Variant column; a Python None is a Variant null, `...` a missing (SQL NULL) one."""
    rows = [None if value is ... else sl.Variant.of(value) for value in values]
    return pa.array(
        [None if row is None else {"metadata": row.metadata, "value": row.value} for row in rows],
        sl.variant(),
    )


def rows_of(ids: Sequence[int], values: Iterable[Any]) -> pa.Table:
    """A table of the schema `ID_AND_VARIANT`."""
    return pa.table({"id": pa.array(ids, pa.int64()), "v": variants(values)})


def numbered(start: int, stop: int) -> pa.Table:
    """Rows `{"a": n, "s": "sn"}`."""
    return rows_of(range(start, stop), [{"a": n, "s": f"s{n}"} for n in range(start, stop)])


def python(table: pa.Table) -> list[dict[str, Any]]:
    """Rows as Python objects, top-level Variants decoded; a Variant null reads as the text "null"."""

    def plain(name: str, value: Any) -> Any:
        if value is None or not sl.is_variant(table.schema.field(name).type):
            return value
        found = sl.Variant(value["metadata"], value["value"]).to_python()
        return "null" if found is None else found

    return [{name: plain(name, value) for name, value in row.items()} for row in table.to_pylist()]


def set_by_another_writer(path: Path, properties: dict[str, str]) -> None:
    """Commits properties without validating them."""
    snapshot = sl.Table(path).snapshot
    changed = replace(snapshot.metadata, configuration={**snapshot.properties, **properties})
    (path / "_delta_log" / f"{snapshot.version + 1:020}.json").write_bytes(dumps([changed]))


def metadata(schema: str | None = None, **fields: Any) -> dict[str, Any]:
    """A metaData action."""
    columns = [
        {"name": "id", "type": "long", "nullable": True, "metadata": {}},
        {"name": "v", "type": "variant", "nullable": True, "metadata": {}},
    ]
    return {
        "metaData": {
            "id": "00000000-0000-0000-0000-000000000001",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": schema or json.dumps({"type": "struct", "fields": columns}),
            "partitionColumns": [],
            "configuration": {},
            **fields,
        }
    }


def add(path: str, **fields: Any) -> dict[str, Any]:
    """An add action of a file that need not exist."""
    required = {"path": path, "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    return {"add": required | fields}


def remove(path: str, **fields: Any) -> dict[str, Any]:
    """A remove action."""
    return {"remove": {"path": path, "dataChange": True, "deletionTimestamp": 1} | fields}


def write_commit(root: Path, version: int, actions: Iterable[dict[str, Any]]) -> Path:
    """Writes a commit file directly, as another writer would."""
    path = root / "_delta_log" / f"{version:020}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(action) + "\n" for action in actions))
    return path


def paths(table: sl.Table) -> list[str]:
    """The paths of the live files, sorted."""
    return sorted(table.files().column("path").to_pylist())


def ids(table: sl.Table) -> list[int]:
    """The ids of a table's rows, sorted."""
    return sorted(table.scan(["id"]).to_arrow().column("id").to_pylist())


def age(root: Path, days: float) -> None:
    """Sets the modification time of every data file to the past."""
    started = time.time()
    moment = started - days * 86_400
    for file in root.rglob("*"):
        if file.is_file() and "_delta_log" not in file.parts:
            os.utime(file, (moment, moment))
    # What was removed in this millisecond counts as removed within any period.
    assert wait_until(lambda: time.time() > started + 0.002, seconds=10)
