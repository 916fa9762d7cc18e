"""The journal of a conversion: a plan and one entry per finished task, in a folder of the target table.

```
TABLE/_shredlake_convert/<job>/plan.json             the layout, and which files each task reads
                               <task>.json           what the task wrote
                               <task>.parquet        the rows that it could not parse
```

Readers ignore folders that start with an underscore. Each entry is written atomically after the data files
that it names, so an entry is either there with its files or not there. The commit ends the journal; `vacuum`
removes one that was left behind, like the data files that it names.

Others may have written to the table's folder. What a task can't have recorded is not believed, and the files
that an entry names are compared with the source before they are committed (`task.confirmed`): where they
differ, the task runs again. So a damaged or hostile journal costs work, and adds or hides no row.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from shredlake.delta.protocol.action_types import TEXTS, problem_of
from shredlake.delta.protocol.actions import Add
from shredlake.delta.storage.storage import Storage, decode_path, is_absolute
from shredlake.errors import CorruptLog, FileMissing, InvalidSchema, PathRefused
from shredlake.jobs.data_files import adds_from_json, adds_to_json
from shredlake.shredding.schema import ShreddingSchema

_log = logging.getLogger(__name__)

FOLDER: Final = "_shredlake_convert"

PLAN: Final = "plan.json"

FIELDS: Final = frozenset(
    ("path", "partitionValues", "size", "modificationTime", "dataChange", "stats", "tags")
)
"""The fields of a file that a conversion records."""


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

    @staticmethod
    def recorded(text: bytes, task: Task) -> Entry | None:
        """An entry of the journal; None if the task can't have recorded it."""
        try:
            if not all(map(_is_new_file, json.loads(text)["adds"])):
                return None
            entry = Entry.from_json(text)
        except (ValueError, LookupError, TypeError, RecursionError):
            return None
        counts = (entry.read, entry.rows, entry.sum, entry.rejected, entry.typed_bytes, entry.total_bytes)
        sound = (
            all(isinstance(count, int) and 0 <= count < 1 << 64 for count in counts)
            and entry.read == entry.rows + entry.rejected
            and entry.staged in (None, f"{task.name}.parquet")
        )
        return entry if sound else None

    @property
    def keys(self) -> set[str]:
        """The files that it names."""
        return {decode_path(add.path) for add in self.adds}


def _is_new_file(add: Any) -> bool:
    """Whether an action can be that of a file that a conversion wrote: one of rows, in the table's folder."""
    if problem_of("add", add) is not None or not set(add) <= FIELDS or not add["dataChange"]:
        return False
    try:
        folder = "" if is_absolute(add["path"]) else decode_path(add["path"]).split("/")[0]
    except CorruptLog:
        return False
    return folder != "" and (folder[0] not in "._" or "=" in folder)


@dataclass(frozen=True)
class Journal:
    """The folder of one job."""

    target: Storage
    job: str

    @property
    def folder(self) -> Storage:
        """Where the journal is. A link that leads out of the table is refused."""
        for path in (FOLDER, f"{FOLDER}/{self.job}"):
            self.target.require_inside(path)
        return Storage(f"{self.target.uri}/{FOLDER}/{self.job}", self.target.options)

    def plan(self) -> tuple[dict[str, str], list[list[str]]] | None:
        """The layout and the files of each task, as an earlier run planned them.

        None if there was none, or if it is damaged.
        """
        try:
            raw = json.loads(self.folder.get(PLAN))
            layout, tasks = raw["layout"], raw["tasks"]
            for ddl in layout.values():
                ShreddingSchema.parse(ddl)
        except (FileMissing, InvalidSchema, ValueError, LookupError):
            return None
        except (TypeError, AttributeError, RecursionError):
            return None
        sound = isinstance(tasks, list) and all(map(TEXTS.fits, tasks))
        return (layout, tasks) if sound and len(set(chain(*tasks))) == sum(map(len, tasks)) else None

    def write_plan(self, layout: Mapping[str, str], tasks: Sequence[Task]) -> None:
        named = [[file_name(add) for add in task.adds] for task in tasks]
        self.folder.put(PLAN, json.dumps({"layout": dict(layout), "tasks": named}).encode())

    def record(self, task: Task, entry: Entry) -> None:
        """Records a task as finished."""
        self.folder.put(f"{task.name}.json", entry.to_json().encode())

    def finished(self, tasks: Sequence[Task]) -> dict[str, Entry]:
        """The entries of tasks that an earlier run finished, if everything that they name is still there."""
        folder = self.folder
        there = {entry.path for entry in folder.entries()}
        recorded = [task for task in tasks if f"{task.name}.json" in there]
        entries = {task.name: Entry.recorded(folder.get(f"{task.name}.json"), task) for task in recorded}
        known = {name: entry for name, entry in entries.items() if entry is not None}
        # How many name each file, of the entries and of the files that the table has already.
        named = Counter(decode_path(add.path) for entry in known.values() for add in entry.adds)
        if known:
            named.update(decode_path(add.path) for task in tasks for add in task.adds)
        return {
            name: entry
            for name, entry in known.items()
            if all(named[key] == 1 for key in entry.keys)
            and (entry.staged is None or entry.staged in there)
            and self._is_intact(entry)
        }

    def _is_intact(self, entry: Entry) -> bool:
        """Whether the files that an entry names are there. A link out of the table does not count."""
        try:
            if entry.staged is not None:
                self.folder.require_inside(entry.staged)
            for key in entry.keys:
                self.target.require_inside(key)
        except PathRefused:
            return False
        heads = [(self.target.head(decode_path(add.path)), add.size) for add in entry.adds]
        return all(head is not None and head.size == size for head, size in heads)

    def close(self) -> None:
        """Removes the journal: the work is committed, so a failure here is not one of the conversion."""
        try:
            self.folder.delete([entry.path for entry in self.folder.list()])
        except Exception as error:
            place = f"{self.target.uri}/{FOLDER}/{self.job}"
            _log.warning("%s is of no more use and stays until vacuum: %s", place, error)
