"""Every operation that changes a table, and the tables that they are tried on.

All operations find a table `t` of four versions at the same place: partitioned, with change data, JSON text
and shredded Variants. Its next commit writes a checkpoint. Some write another table beside it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import shredlake as sl
from shredlake.delta.storage.storage import Storage
from shredlake.jobs.engine import LocalEngine
from shredlake.jobs.unshred import unshred_table

SCHEMA = pa.schema(
    [("id", pa.int64()), ("p", pa.string()), ("j", pa.string()), ("v", sl.variant())],
)
PROPERTIES = {
    "delta.enableChangeDataFeed": "true",
    "delta.checkpointInterval": "4",
    "delta.enableVariantShredding": "true",
    "delta.checkpoint.writeStatsAsStruct": "false",  # checkpoints that are read faster
}


def rows(*ids: int) -> pa.Table:
    """Rows by their ids; the text of every fifth is not JSON."""
    texts = [f'{{"n": {i}}}' for i in ids]
    cut = [text[:-1] if i % 5 == 0 else text for i, text in zip(ids, texts, strict=True)]
    return pa.table(
        {"id": list(ids), "p": [f"p{i % 2}" for i in ids], "j": cut, "v": sl.from_json(texts)}, SCHEMA
    )


@dataclass(frozen=True)
class Place:
    """The places of an operation: a folder of tables, and a local folder of source files."""

    uri: str
    sources: Path
    options: dict[str, Any] | None = None

    def at(self, name: str) -> str:
        return f"{self.uri}/{name}"

    def open(self, name: str = "t", **how: Any) -> sl.Table:
        return sl.Table(self.at(name), storage_options=self.options, **how)

    def make(self, name: str, **how: Any) -> sl.Table:
        return sl.Table.create(self.at(name), SCHEMA, storage_options=self.options, **how)


@dataclass(frozen=True)
class Operation:
    """An operation, its table, and whether it may be repeated after it was committed."""

    run: Callable[[Place], object]
    table: str = "t"
    repeatable: bool = False
    beside: str | None = None
    """Another table that it fills: rows that were rejected."""


def _vacuum(place: Place) -> object:
    return place.open().vacuum(retention_hours=0, enforce_retention=False, dry_run=False)


def _ingest(place: Place, name: str) -> object:
    source = [place.sources / "a.ndjson", place.sources / "b.ndjson"]
    return sl.ingest(
        source,
        place.at(name),
        threads=1,
        task_bytes=1,
        computed={"p": "v:id::string"},
        storage_options=place.options or {},
    )


def _convert(place: Place, target: str | None) -> object:
    where = None if target is None else place.at(target)
    return sl.convert(
        place.at("t"), ["j"], target=where, file_bytes=1, threads=1, storage_options=place.options
    )


TEXTS = ['{"id": 7}', '{"id": 8}', '{"id": ']
COMPUTED = {"p": "v:id::string"}


def _ingest_documents(place: Place) -> object:
    return sl.ingest(
        TEXTS, place.at("t"), job_id="documents", max_rejects=1, computed=COMPUTED,
        storage_options=place.options or {},
    )  # fmt: skip


def _ingest_arrow(place: Place) -> object:
    return sl.ingest(
        pa.table({"text": TEXTS}), place.at("t"), document="text", job_id="arrow", max_rejects=1,
        computed=COMPUTED, storage_options=place.options or {},
    )  # fmt: skip


def _unshred(place: Place) -> object:
    return unshred_table(LocalEngine(1), place.at("t"), place.at("new"), storage_options=place.options)


def _repair(place: Place) -> object:
    found = place.open("t3").check(repair=True)
    if not found.ok and not found.repaired:  # a report of both says which part was done
        raise sl.VerificationFailed(str(found))
    return found


def _migrate(place: Place) -> object:
    source = place.sources / "draft"
    return sl.migrate_draft(source, place.at("new"), threads=1, storage_options=place.options)


OPERATIONS: dict[str, Operation] = {
    "create": Operation(lambda place: place.make("new", partition_by=["p"]), "new"),
    "append": Operation(lambda place: place.open().append(rows(10, 11))),
    "append more columns": Operation(
        lambda place: place.open().append([{"id": 12, "p": "p0", "more": "x"}], schema_mode="merge")
    ),
    "append once": Operation(
        lambda place: place.open().append(rows(10), transaction=("job", 1)), repeatable=True
    ),
    "overwrite": Operation(lambda place: place.open().overwrite(rows(20)), repeatable=True),
    "overwrite where": Operation(
        lambda place: place.open().overwrite(rows(4), where="id >= 3"), repeatable=True
    ),
    "overwrite partitions": Operation(
        lambda place: place.open().overwrite(rows(6), partitions=True), repeatable=True
    ),
    "delete": Operation(lambda place: place.open().delete("id % 3 = 1"), repeatable=True),
    "delete all": Operation(lambda place: place.open().delete(), repeatable=True),
    "set properties": Operation(lambda place: place.open().set_properties({"mine": "x"}), repeatable=True),
    "add column": Operation(lambda place: place.open().add_column(pa.field("more", pa.string()))),
    "restore": Operation(lambda place: place.open().restore(1), repeatable=True),
    "optimize": Operation(lambda place: place.open().optimize(threads=1), repeatable=True),
    "optimize sorted": Operation(
        lambda place: place.open().optimize(sort_by="id DESC", threads=1), repeatable=True
    ),
    "checkpoint": Operation(lambda place: place.open().checkpoint(), repeatable=True),
    "checkpoint v2": Operation(lambda place: place.open("t2").checkpoint(), "t2", repeatable=True),
    "vacuum": Operation(_vacuum, repeatable=True),
    "ingest": Operation(lambda place: _ingest(place, "t"), repeatable=True, beside="t_rejects"),
    "ingest new": Operation(
        lambda place: _ingest(place, "new"), "new", repeatable=True, beside="new_rejects"
    ),
    "ingest documents": Operation(_ingest_documents, repeatable=True, beside="t_rejects"),
    "ingest Arrow": Operation(_ingest_arrow, repeatable=True, beside="t_rejects"),
    "convert": Operation(lambda place: _convert(place, None), repeatable=True, beside="t_rejects"),
    "convert to": Operation(
        lambda place: _convert(place, "new"), "new", repeatable=True, beside="new_rejects"
    ),
    "migrate": Operation(_migrate, "new", repeatable=True),
    "unshred": Operation(_unshred, "new", repeatable=True),
    "repair": Operation(_repair, "t3", repeatable=True),
}


def other_writer(place: Place, name: str) -> object:
    """A concurrent commit of another writer: an append, if the table exists."""
    if name != "new":
        return sl.Table(place.at(name), storage_options=place.options).append(rows(77))
    return None


def fill(place: Place) -> None:
    """Writes the tables that every operation finds."""
    table = place.make("t", partition_by=["p"], properties=PROPERTIES)
    table.append(rows(1, 2, 6))
    table.delete("id = 2")
    table.append(rows(3, 4, 5))
    place.make("t2", properties=PROPERTIES | {"delta.checkpointPolicy": "v2"}).append(rows(1, 2))
    place.make("t3").append(rows(1, 2))
    _falsify_statistics(Storage(place.at("t3"), place.options or {}))


def _falsify_statistics(storage: Storage) -> None:
    """Changes the greatest id that the log gives for the file of version 1."""
    path = "_delta_log/00000000000000000001.json"
    actions = [json.loads(line) for line in storage.get(path).splitlines()]
    for action in actions:
        if "add" in action:
            statistics = json.loads(action["add"]["stats"])
            statistics["maxValues"]["id"] = 1
            action["add"]["stats"] = json.dumps(statistics)
    storage.put(path, "\n".join(map(json.dumps, actions)).encode())


def write_sources(folder: Path) -> None:
    """Writes the files that are ingested and migrated."""
    (folder / "a.ndjson").write_text('{"id": 1}\n{"id": 2}\n{"id": \n')
    (folder / "b.ndjson").write_text('{"id": 3}\n')
    (folder / "draft").mkdir()
    data = pa.table({"id": [1, 2], "v": sl.from_json(['{"a": 1}', '{"a": "x"}'])})
    sl.write_draft(data, folder / "draft" / "one.parquet", {"v": "struct<a bigint>"})
