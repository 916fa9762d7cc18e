"""The operations and observations of racing processes, and a checker: does one order explain them all?

Every process writes a line of JSON for each operation: what it did, when it began and ended, and the version
that it was told. The order of versions is the only order that can be right, so the checker applies the
operations to a plain dict in that order and compares every version with the table:

1. each version was made by exactly one operation, and each operation that was told a version made it;
2. each version of the table holds what the model holds;
3. an operation that ended before another began has the lower version;
4. a reader saw a version of the model, and none that is older than one acknowledged before it began.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import shredlake as sl

Rows = dict[int, int]
"""The group of each row, by its id."""


class NotSerialisable(AssertionError):
    """An observation that no order of the operations explains."""


@dataclass(frozen=True)
class Record:
    """One operation of one process."""

    process: str
    kind: str
    """append, delete, overwrite, optimize, property, restore; or read."""
    began: float
    ended: float
    version: int | None
    """The version that the caller was told; None after an error."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def read_records(folder: Path) -> list[Record]:
    return [
        Record(**json.loads(line))
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]


@dataclass(frozen=True)
class Summary:
    """The counts of what the checker confirmed."""

    versions: int
    operations: Mapping[str, int]
    conflicts: int
    reads: int

    def __str__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.operations.items()))
        return f"{self.versions} versions ({kinds}), {self.conflicts} conflicts, {self.reads} reads"


OPERATION_NAMES = {
    "append": "WRITE",
    "overwrite": "WRITE",
    "delete": "DELETE",
    "optimize": "OPTIMIZE",
    "property": "SET TBLPROPERTIES",
    "restore": "RESTORE",
}


def check(table: sl.Table, records: Iterable[Record], first: int = 0) -> Summary:
    """Raises `NotSerialisable` if no order explains the records; `first` is the version before them."""
    records = list(records)
    history = {entry["version"]: entry for entry in table.history()}
    makers = _makers(records, history, first)
    states = {first: rows_of(table, first)}
    for version in range(first + 1, table.version + 1):
        maker = makers.get(version)
        if maker is None:
            raise NotSerialisable(f"no process made version {version}: {history[version]}")
        states[version] = _applied(maker, states, version)
        found = rows_of(table, version)
        if found != states[version]:
            raise NotSerialisable(
                f"version {version}, {maker}, holds {_difference(found, states[version])} than the model"
            )
    _check_times(makers)
    reads = [record for record in records if record.kind == "read"]
    for read in reads:
        _check_read(read, states, makers)
    kinds: dict[str, int] = {}
    for maker in makers.values():
        kinds[maker.kind] = kinds.get(maker.kind, 0) + 1
    conflicts = sum(record.error is not None for record in records)
    return Summary(len(makers), kinds, conflicts, len(reads))


def rows_of(table: sl.Table, version: int) -> Rows:
    """The rows of a version; an id that is there twice is an error."""
    opened = sl.Table(table.uri, version, storage_options=table.snapshot.storage.options)
    found = opened.scan(["id", "g"], threads=1).to_arrow()
    pairs = list(zip(found["id"].to_pylist(), found["g"].to_pylist(), strict=True))
    if len(pairs) != len(dict(pairs)):
        raise NotSerialisable(f"version {version} holds a row twice")
    return dict(pairs)


def _makers(
    records: Iterable[Record], history: Mapping[int, Mapping[str, Any]], first: int
) -> dict[int, Record]:
    """The operation that made each version. One that changed nothing was told a version that was there."""
    makers: dict[int, Record] = {}
    for record in records:
        version = record.version
        if record.kind == "read" or version is None:
            continue
        entry = history.get(version)
        if entry is None:
            raise NotSerialisable(f"{record} was told version {version}, which is not in the history")
        if record.kind in ("delete", "optimize") and str(record.arguments["tag"]) not in str(entry):
            continue  # it had nothing to do
        if version <= first or entry["operation"] != OPERATION_NAMES[record.kind]:
            raise NotSerialisable(f"{record} was told version {version}, which is {entry['operation']}")
        if version in makers:
            raise NotSerialisable(f"two operations were told version {version}: {record}, {makers[version]}")
        makers[version] = record
    return makers


def _applied(maker: Record, states: Mapping[int, Rows], version: int) -> Rows:
    """The rows after an operation, by the model."""
    before, given = states[version - 1], maker.arguments
    new = {int(row): given.get("group", 0) for row in given.get("ids", ())}
    match maker.kind:
        case "append":
            return before | new
        case "delete":
            return {row: group for row, group in before.items() if group != given["group"]}
        case "overwrite":
            return {row: group for row, group in before.items() if group != given["group"]} | new
        case "restore":
            return states[given["to"]]
        case _:
            return before


def _check_times(makers: Mapping[int, Record]) -> None:
    latest = float("-inf")
    for version in sorted(makers):
        if makers[version].ended < latest:
            raise NotSerialisable(
                f"version {version} was acknowledged before an operation with a lower version began"
            )
        latest = max(latest, makers[version].began)


def _check_read(read: Record, states: Mapping[int, Rows], makers: Mapping[int, Record]) -> None:
    assert read.version is not None
    seen = {int(row): group for row, group in read.arguments["rows"].items()}
    if seen != states[read.version]:
        raise NotSerialisable(
            f"{read.process} read version {read.version} and saw {_difference(seen, states[read.version])}"
        )
    known = [version for version, maker in makers.items() if maker.ended < read.began]
    if known and max(known) > read.version:
        raise NotSerialisable(
            f"{read.process} read version {read.version}, but {max(known)} was acknowledged before"
        )


def _difference(found: Rows, expected: Rows) -> str:
    more = sorted(set(found.items()) - set(expected.items()))
    less = sorted(set(expected.items()) - set(found.items()))
    return f"other rows (more: {more[:5]}, less: {less[:5]})"
