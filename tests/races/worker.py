"""One process of a race: a writer, a reader, or one that vacuums. It records all that it does.

python tests/races/worker.py '{"role": "writer", "uri": ..., "log": ..., "commits": 25, "seed": 3}'
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import pyarrow as pa

import shredlake as sl
from races.history import Record
from waiting import wait_until

SCHEMA = pa.schema([("id", pa.int64()), ("g", pa.int64())])
GROUPS = 4
WEIGHTS = {"append": 8, "delete": 2, "overwrite": 4, "optimize": 2, "property": 1, "restore": 1}
CALM = 20
"""A writer gives up after this many attempts per commit."""


@dataclass
class Worker:
    """The parts that all roles have: a table, a log, and a random generator."""

    name: str
    uri: str
    log: str
    seed: int = 0
    options: dict[str, Any] = field(default_factory=dict)
    commits: int = 0
    done: str = ""
    """A file that is there once the writers are done."""
    hours: float = 0.0
    made: int = 0

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        self._file = Path(self.log, f"{self.name}.jsonl").open("a")  # noqa: SIM115 - as long as the process

    def table(self) -> sl.Table:
        return sl.Table(self.uri, storage_options=self.options)

    def note(self, kind: str, act: Callable[[], int], **arguments: Any) -> bool:
        """Runs an operation and records it; a conflict is recorded, too."""
        began, version, problem = time.monotonic(), None, None
        try:
            version = act()
        except sl.CommitConflict as error:
            problem = str(error)
        record = Record(self.name, kind, began, time.monotonic(), version, arguments, problem)
        self._file.write(record.to_json() + "\n")
        self._file.flush()
        return problem is None

    def write(self) -> None:
        """Commits of every kind, at random. Those that may find nothing to do are not counted."""
        done = 0
        for _ in range(CALM * self.commits):
            [kind] = self.dice.choices(list(WEIGHTS), list(WEIGHTS.values()))
            done += getattr(self, kind)() and kind not in ("delete", "optimize")
            if done >= self.commits:
                return
        raise SystemExit(f"{self.name} made {done} commits in {CALM * self.commits} attempts")

    def _new(self, most: int) -> list[int]:
        count = self.dice.randint(1, most)
        self.made += count
        return [self.seed * 1_000_000 + self.made - n for n in range(count)]

    def append(self) -> bool:
        ids, group = self._new(3), self.dice.randrange(GROUPS)
        rows = pa.table({"id": ids, "g": [group] * len(ids)}, SCHEMA)
        return self.note("append", lambda: self.table().append(rows), ids=ids, group=group)

    def overwrite(self) -> bool:
        ids, group = self._new(2), self.dice.randrange(GROUPS)
        rows = pa.table({"id": ids, "g": [group] * len(ids)}, SCHEMA)
        where = f"g = {group}"
        return self.note("overwrite", lambda: self.table().overwrite(rows, where=where), ids=ids, group=group)

    def _tag(self) -> int:
        """A number that no row has, and that names this operation in the history."""
        self.made += 1
        return -(self.seed * 1_000_000 + self.made)

    def delete(self) -> bool:
        group, tag = self.dice.randrange(GROUPS), self._tag()
        where = f"g = {group} AND id <> {tag}"
        return self.note("delete", lambda: self.table().delete(where), group=group, tag=tag)

    def optimize(self) -> bool:
        tag = self._tag()
        where = f"id <> {tag}"
        return self.note("optimize", lambda: self.table().optimize(where=where, threads=1).version, tag=tag)

    def property(self) -> bool:
        value = {f"mine.{self.name}": str(self._tag())}
        return self.note("property", lambda: self.table().set_properties(value))

    def restore(self) -> bool:
        table = self.table()
        to = max(0, table.version - self.dice.randrange(4))
        return self.note("restore", lambda: table.restore(to), to=to)

    def read(self) -> None:
        """Opens the table and reads it in small steps."""
        while not Path(self.done).exists():
            began = time.monotonic()
            table = self.table()
            rows: dict[int, int] = {}
            if self.dice.random() < 0.3:  # a long reader: its files are removed meanwhile, but kept
                wait_until(lambda: False, seconds=self.hours * 3600 / 4)
            for batch in table.scan(["id", "g"], threads=1).to_batches():
                rows.update(zip(batch["id"].to_pylist(), batch["g"].to_pylist(), strict=True))
                wait_until(lambda: False, seconds=0.01)  # a slow reader
            self.note_read(began, table.version, rows)

    def note_read(self, began: float, version: int, rows: dict[int, int]) -> None:
        record = Record(self.name, "read", began, time.monotonic(), version, {"rows": rows})
        self._file.write(record.to_json() + "\n")
        self._file.flush()

    def vacuum(self) -> None:
        """Repeatedly deletes files that no process may still need."""
        deleted = 0
        while not Path(self.done).exists():
            keep = self.table().snapshot.storage
            archive(keep, Path(self.log))
            deleted += len(
                self.table().vacuum(retention_hours=self.hours, enforce_retention=False, dry_run=False)
            )
        Path(self.log, "vacuumed").write_text(str(deleted))


def archive(storage: Any, folder: Path) -> None:
    """Keeps a copy of every data file, so that old versions can be checked after a vacuum."""
    for entry in storage.list():
        kept = folder / "archive" / entry.path
        if entry.path.endswith(".parquet") and "_delta_log" not in entry.path and not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # the file of a write that failed
                kept.write_bytes(storage.get(entry.path))


def bring_back(storage: Any, folder: Path) -> None:
    """Restores archived files that were deleted."""
    there = {entry.path for entry in storage.list()}
    for kept in (folder / "archive").rglob("*.parquet"):
        key = str(kept.relative_to(folder / "archive"))
        if key not in there:
            storage.put(key, kept.read_bytes())


def main() -> None:
    given = json.loads(sys.argv[1])
    role = given.pop("role")
    worker = Worker(**given)
    {"writer": worker.write, "reader": worker.read, "vacuum": worker.vacuum}[role]()


if __name__ == "__main__":
    main()
