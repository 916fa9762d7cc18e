"""The journal of a conversion: a plan and one entry per finished task, in a folder of the target table.

```
TABLE/_shredlake_convert/<job>/plan.json             the layout, and which files each task reads
                               <task>.json           what the task wrote
                               <task>.parquet        the rows that it could not parse
```

Readers ignore folders that start with an underscore. Each entry is written atomically after the data files
that it names, so an entry is either there with its files or not there. The commit ends the journal; `vacuum`
removes one that was left behind, like the data files that it names.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from shredlake.delta.protocol.actions import Add
from shredlake.delta.storage.storage import Storage, decode_path
from shredlake.errors import FileMissing
from shredlake.jobs.data_files import adds_from_json, adds_to_json

_log = logging.getLogger(__name__)

FOLDER: Final = "_shredlake_convert"

PLAN: Final = "plan.json"


def digest(*parts: str) -> str:
    """A name made of texts, equal where all of them are."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]


@dataclass(frozen=True)
class Task:
    """Files of the source that are read and written together."""

    adds: tuple[Add, ...]

    @property
    def name(self) -> str:
        """Names the task by what it reads: a file that changed makes it another task."""
        return digest(*(file_name(add) for add in self.adds))


def file_name(add: Add) -> str:
    """The name of a source file in the journal."""
    path, vector = add.key
    return f"{path}|{vector}|{add.size}|{add.modification_time}"


@dataclass(frozen=True)
class Entry:
    """The result of a finished task."""

    adds: tuple[Add, ...]
    read: int
    rows: int
    sum: int
    rejected: int
    staged: str | None
    typed_bytes: int = 0
    """Bytes of the first converted column in typed columns, and in all."""
    total_bytes: int = 0

    def to_json(self) -> str:
        return json.dumps({**self.__dict__, "adds": adds_to_json(self.adds)})

    @staticmethod
    def from_json(text: str | bytes) -> Entry:
        raw = json.loads(text)
        return Entry(**{**raw, "adds": adds_from_json(raw["adds"])})


@dataclass(frozen=True)
class Journal:
    """The folder of one job."""

    target: Storage
    job: str

    @property
    def folder(self) -> Storage:
        return Storage(f"{self.target.uri}/{FOLDER}/{self.job}", self.target.options)

    def plan(self) -> tuple[dict[str, str], list[list[str]]] | None:
        """The layout and the files of each task, as an earlier run planned them; None if there was none."""
        try:
            raw = json.loads(self.folder.get(PLAN))
        except (FileMissing, ValueError):
            return None
        return raw["layout"], raw["tasks"]

    def write_plan(self, layout: Mapping[str, str], tasks: Sequence[Task]) -> None:
        named = [[file_name(add) for add in task.adds] for task in tasks]
        self.folder.put(PLAN, json.dumps({"layout": dict(layout), "tasks": named}).encode())

    def record(self, task: Task, entry: Entry) -> None:
        """Records a task as finished."""
        self.folder.put(f"{task.name}.json", entry.to_json().encode())

    def finished(self, tasks: Iterable[Task]) -> dict[str, Entry]:
        """The entries of tasks that an earlier run finished, if everything that they name is still there."""
        there = {entry.path for entry in self.folder.entries()}
        found = {}
        for task in tasks:
            if f"{task.name}.json" in there:
                entry = Entry.from_json(self.folder.get(f"{task.name}.json"))
                if self._is_intact(entry) and (entry.staged is None or entry.staged in there):
                    found[task.name] = entry
        return found

    def _is_intact(self, entry: Entry) -> bool:
        heads = [(self.target.head(decode_path(add.path)), add.size) for add in entry.adds]
        return all(head is not None and head.size == size for head, size in heads)

    def close(self) -> None:
        """Removes the journal: the work is committed, so a failure here is not one of the conversion."""
        try:
            self.folder.delete([entry.path for entry in self.folder.list()])
        except Exception as error:
            _log.warning("%s is of no more use and stays until vacuum: %s", self.folder.uri, error)
