"""Delta logs: commits, checkpoints of every kind, and the hint to the last one.

A table lies in memory. An input is one or more files of its log; the table is opened, listed, pruned, read.
"""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any

import pyarrow as pa

import shredlake as sl
from delta_tables import PROTOCOL, metadata, numbered
from fuzz.contract import Budget, Door
from fuzz.damage import change_json, change_parts, pack, unpack
from fuzz.doors.files import change_file
from shredlake import CorruptLog, Table, check_table
from shredlake.delta.protocol.actions import CommitInfo, dumps, loads
from shredlake.delta.storage.storage import Storage, is_absolute
from shredlake.delta.write.checkpoint import write_checkpoint

_URI = "memory://fuzz/table"
_STORE = Storage(_URI)
_LOG = "_delta_log/"
_CHECKPOINT = f"{_LOG}{2:020}.checkpoint.parquet"
_MANIFEST = f"{_LOG}{2:020}.checkpoint.00000000-0000-0000-0000-000000000001.json"
_SIDECAR = f"{_LOG}_sidecars/side.parquet"
_HINT = f"{_LOG}_last_checkpoint"
_PREDICATES = [
    ("id > 3", {"id"}),
    ("v:a::bigint = 5 AND id IS NOT NULL", {"v", "id"}),
    ("v:s::string LIKE 's1%'", {"v"}),
    ("p = 'one' OR p IS NULL", {"p"}),
    ("x > 0.5 OR isnan(x)", {"x"}),
]


def _put(files: dict[str, bytes]) -> None:
    """Replaces the log with these files."""
    _STORE.delete([entry.path for entry in _STORE.list(_LOG.rstrip("/")) if entry.path not in files])
    for path, data in files.items():
        _STORE.put(path, data)


def _use(choice: int) -> None:
    """Opens the table and runs one read of each kind."""
    table = Table(_URI)
    _ = table.schema, table.properties, table.partition_columns, table.snapshot.transactions
    if choice % 8 == 0:
        table.history()
        table.snapshot.tombstones()
    where, needed = _PREDICATES[choice % len(_PREDICATES)]
    if needed <= set(table.schema.names):
        table.scan(where=where).files()
    if choice % 8 == 1 and not any(
        is_absolute(path or "") for path in table.files().column("path").to_pylist()
    ):
        table.scan(threads=1).count()
        table.scan(threads=1).to_arrow().validate(full=True)


def enter_lines(data: bytes) -> None:
    """The lines of a commit alone, and its actions, but for the free-form one, written again."""
    actions = [action for action in loads(data, "commit") if not isinstance(action, CommitInfo)]
    again = list(loads(dumps(actions), "commit")) if actions else []
    assert len(again) == len(actions)


def _put_commits(data: bytes) -> int:
    """Puts commits behind a good commit 0, or in its place. Returns a number made of the first part."""
    head, *commits = unpack(data) or [b""]
    choice = sum(head)
    files = dict(_good_commits()[:1] if choice % 3 else [])
    for number, commit in enumerate(commits[:3], start=len(files)):
        files[f"{_LOG}{number:020}.json"] = commit
    _put(files)
    return choice


def enter_commit(data: bytes) -> None:
    """Commits 1 and 2 behind a good commit 0; the first part says whether commit 0 is replaced instead."""
    choice = _put_commits(data)
    _use(choice)


def enter_check(data: bytes) -> None:
    """The same log, and a check of the whole table, which reports damage in place of raising."""
    choice = _put_commits(data)
    report = check_table(_URI, quick=choice % 2 == 0, repair=True, dry_run=True, threads=1)
    str(report)
    json.dumps(report.to_dict())
    if not report.ok:
        raise CorruptLog("the check found damage")


def enter_checkpoint(data: bytes) -> None:
    """A classic checkpoint of version 2, with commit 3 behind it in half of the cases."""
    files = {_CHECKPOINT: data[1:]}
    if data and data[0] % 2:
        files[f"{_LOG}{3:020}.json"] = _good_commits()[1][1]
    _put(files)
    _use(data[0] if data else 0)


def enter_manifest(data: bytes) -> None:
    """A v2 checkpoint: a manifest in JSON and a sidecar."""
    manifest, sidecar = (*unpack(data), b"", b"")[:2]
    _put({_MANIFEST: manifest, _SIDECAR: sidecar[1:]})
    _use(0)


def enter_hint(data: bytes) -> None:
    """`_last_checkpoint` is a hint: whatever it says, the table opens at its latest version."""
    head, hint = (*unpack(data), b"", b"")[:2]
    files = dict(_good_commits())
    if sum(head) % 2:
        files[_CHECKPOINT] = checkpoint_seeds()[0][1:]
    _put(files | {_HINT: hint})
    assert Table(_URI).version == 2


# ── Logs to start from ──────────────────────────────────────────────────────────────────────────────────

_SCHEMA = pa.schema(
    [
        ("id", pa.int64()), ("p", pa.string()), ("x", pa.float64()), ("v", sl.variant()),
    ]
)  # fmt: skip


def _rows(start: int, stop: int) -> pa.Table:
    table = numbered(start, stop)
    count = table.num_rows
    columns = {
        "id": table["id"],
        "p": pa.array([["one", "two/%=", None][n % 3] for n in range(count)]),
        "x": pa.array([n / 4 for n in range(count)]),
        "v": table["v"],
    }
    return pa.table(columns, schema=_SCHEMA)


@cache
def _written() -> tuple[list[tuple[str, bytes]], list[bytes]]:
    """The commits of a table whose data files stay in memory, and two checkpoints of it."""
    _STORE.delete([entry.path for entry in _STORE.list()])
    table = Table.create(_URI, _SCHEMA, ["p"], {"delta.enableVariantShredding": "true"})
    table.append(_rows(0, 9))
    table.append(_rows(9, 12), transaction=("loader", 7))
    commits = [(path, _STORE.get(path)) for path in (f"{_LOG}{n:020}.json" for n in range(3))]
    checkpoints = [_STORE.get(write_checkpoint(table.snapshot))]
    table.set_properties({"delta.checkpoint.writeStatsAsStruct": "true", "delta.appendOnly": "true"})
    checkpoints.append(_STORE.get(write_checkpoint(table.snapshot)))
    return commits, checkpoints


def _good_commits() -> list[tuple[str, bytes]]:
    return _written()[0]


def _lines(*actions: dict[str, Any]) -> bytes:
    return "".join(json.dumps(action) + "\n" for action in actions).encode()


@cache
def commit_seeds() -> list[bytes]:
    first, second, third = (data for _, data in _good_commits())
    add = next(json.loads(line) for line in second.splitlines() if b'"add"' in line)
    vector = {
        "storageType": "i", "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
        "sizeInBytes": 40, "cardinality": 6,
    }  # fmt: skip
    removed = {"remove": {"path": add["add"]["path"], "dataChange": True, "deletionTimestamp": 1}}
    with_vector = {"add": add["add"] | {"deletionVector": vector}}
    others = [
        {"txn": {"appId": "loader", "version": 3}},
        {"domainMetadata": {"domain": "delta.clustering", "configuration": "{}", "removed": False}},
        {"cdc": {"path": "_change_data/c.parquet", "partitionValues": {}, "size": 1, "dataChange": False}},
        {"commitInfo": {"timestamp": 1, "operation": "WRITE", "inCommitTimestamp": 5,
        "tags": {"shredlake.actions": "2"}}},
    ]  # fmt: skip
    mapped = [
        {"name": "id", "type": "long", "nullable": True,
         "metadata": {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}},
    ]  # fmt: skip
    mapping = metadata(
        json.dumps({"type": "struct", "fields": mapped}),
        configuration={"delta.columnMapping.mode": "id", "delta.columnMapping.maxColumnId": "1"},
    )
    return [
        pack(b"\1", second, third),
        pack(b"\0", first, second, third),
        pack(b"\1", second, _lines(removed, with_vector)),
        pack(b"\1", second, _lines(removed, *others)),
        pack(b"\0", _lines(PROTOCOL, metadata(), {"add": {"path": "f", "partitionValues": {}, "size": 1}})),
        pack(b"\0", _lines(PROTOCOL, mapping)),
    ]


def line_seeds() -> list[bytes]:
    return [part for seed in commit_seeds() for part in unpack(seed)[1:]]


def checkpoint_seeds() -> list[bytes]:
    return [bytes([number]) + data for number, data in enumerate(_written()[1])]


@cache
def manifest_seeds() -> list[bytes]:
    classic = checkpoint_seeds()[0][1:]
    small = [json.loads(line) for _, data in _good_commits() for line in data.splitlines()]
    kept = [action for action in small if "metaData" in action or "protocol" in action or "txn" in action]
    sidecar = {"sidecar": {"path": "side.parquet", "sizeInBytes": len(classic), "modificationTime": 1}}
    inside = [action for action in small if "add" in action]
    return [
        pack(_lines({"checkpointMetadata": {"version": 2}}, *kept, sidecar), b"\0" + classic),
        pack(_lines({"checkpointMetadata": {"version": 2}}, *kept, *inside), b"\0"),
    ]


def hint_seeds() -> list[bytes]:
    hints: list[Any] = [
        {"version": 2, "size": 5}, {"version": 2, "size": 5, "parts": 3, "checksum": "x"}, {"version": 1},
        {}, [], None,
        {"version": 2, "v2Checkpoint": {"path": "x.json", "sidecarFiles": []}}, {"version": 9},
        {"version": -1},
    ]  # fmt: skip
    return [pack(bytes([n]), json.dumps(hint).encode()) for n, hint in enumerate(hints)]


def change_commits(data: bytes, dice: random.Random) -> bytes:
    return change_parts(lambda head, roll: roll.randbytes(1), change_json)(data, dice)


_BUDGET = Budget(seconds=3.0, megabytes=512)

DOORS = [
    Door("delta-lines", "delta", line_seeds, enter_lines, change_json),
    Door("delta-commit", "delta", commit_seeds, enter_commit, change_commits, _BUDGET),
    Door("delta-check", "delta", commit_seeds, enter_check, change_commits, _BUDGET),
    Door("delta-checkpoint", "delta", checkpoint_seeds, enter_checkpoint, change_file, _BUDGET),
    Door(
        "delta-manifest",
        "delta",
        manifest_seeds,
        enter_manifest,
        change_parts(change_json, change_file),
        _BUDGET,
    ),
    Door("delta-hint", "delta", hint_seeds, enter_hint, change_commits),
]
