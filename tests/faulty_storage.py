"""Faults at the one door to storage: any of its calls fails before or after its work, once or for a while.

```
with faults(Fault(call=3, when="after")) as door:
    table.append(rows)
door.calls  # what went through the door, in order
```
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal
from uuid import uuid4

import pytest

from shredlake.delta.storage.storage import Storage
from shredlake.parquet.io.destination import LocalDestination

OPERATIONS = ("entries", "get", "get_range", "head", "put", "create", "delete")
DATA = "data"
"""A data file or checkpoint gets its name; what goes through the Parquet writer."""


@dataclass(frozen=True)
class Fault:
    """The `call`-th call fails: before its work, after it (the answer is lost), or halfway."""

    call: int
    """Counted from 0, among all calls or among those of one operation."""
    when: Literal["before", "after", "torn"] = "before"
    calls: int = 1
    """How many calls fail from then on; those after the first always before their work."""
    error: int = errno.EIO
    operation: str | None = None


@dataclass
class Door:
    """What went through, and what fails."""

    fault: Fault | None
    calls: list[tuple[str, str]] = field(default_factory=list)
    _passed: int = 0
    _failed: int = 0

    def through(self, operation: str, path: str, work: Callable[[], Any], tear: Callable[[], None]) -> Any:
        self.calls.append((operation, path))
        if self.fault is None or not (self._begins(operation) or 0 < self._failed < self.fault.calls):
            return work()
        self._failed += 1
        if self._failed == 1 and self.fault.when == "after":
            work()
        if self._failed == 1 and self.fault.when == "torn":
            tear()
        raise OSError(self.fault.error, "injected: the disk says no")

    def _begins(self, operation: str) -> bool:
        assert self.fault is not None
        if self._failed or self.fault.operation not in (None, operation):
            return False
        self._passed += 1
        return self._passed == self.fault.call + 1


class FaultyFiles:
    """What is behind the door, with faults in front of it."""

    def __init__(self, files: Any, door: Door) -> None:
        self._files = files
        self._door = door

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._files, name)
        if name not in OPERATIONS:
            return real

        def call(path: str, *arguments: Any) -> Any:
            work = partial(real, path, *arguments)
            if name == "entries":
                return self._door.through(name, path, lambda: list(real(path, *arguments)), lambda: None)
            tear = partial(self._tear, path, *arguments) if name in ("put", "create") else lambda: None
            return self._door.through(name, path, work, tear)

        return call

    def _tear(self, path: str, data: bytes) -> None:
        """Half of a write, as a writer that dies leaves it: under the temporary name."""
        folder, slash, name = path.rpartition("/")
        self._files.put(f"{folder}{slash}.{name}.{uuid4().hex}.tmp", data[: len(data) // 2])


@contextmanager
def faults(fault: Fault | None = None) -> Iterator[Door]:
    """All storages of this process go through one door while the block runs."""
    door = Door(fault)
    real_files = Storage.__dict__["files"]
    real_commit = LocalDestination.commit

    def files(storage: Storage) -> FaultyFiles:
        return FaultyFiles(real_files.func(storage), door)

    def commit(destination: LocalDestination) -> None:
        door.through(DATA, destination.name, lambda: real_commit(destination), lambda: None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Storage, "files", property(files))
        patch.setattr(LocalDestination, "commit", commit)
        yield door
