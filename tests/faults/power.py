"""A disk that forgets what was not synced: the state of a folder after a power cut, at any moment.

    disk = Disk(folder)
    with disk.watched():
        table.append(rows)
    for moment in disk.moments: ...     # before each call that changes or syncs something

A file has the content that it had when it was last synced, and a folder the names. A rename, a link or a new
folder is lost until the folder that holds the name is synced; content that was never synced is empty.
`Moment.leave` writes this to another folder. With `names`, the disk has kept every name, but still only the
content that was synced: file systems may do either.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

Names = dict[str, int]
"""The names in a folder, with inode numbers."""

CALLS = ("fsync", "link", "replace", "unlink", "mkdir")


@dataclass(frozen=True)
class Moment:
    """The state that a power cut would leave now."""

    root: int
    files: dict[int, bytes]
    """The synced content of files, by inode number."""
    synced: dict[int, Names]
    """The synced names of folders, by inode number."""
    current: dict[int, Names]
    """The names that programs see."""

    def leave(self, target: Path, *, names: bool) -> None:
        """Writes what is left to a folder."""
        self._leave(target, self.root, self.current if names else self.synced)

    def _leave(self, target: Path, folder: int, kept: dict[int, Names]) -> None:
        target.mkdir()
        for name, inode in kept.get(folder, {}).items():
            if inode in self.current:
                self._leave(target / name, inode, kept)
            else:
                (target / name).write_bytes(self.files.get(inode, b""))


class Disk:
    """Watches what this process does to a folder that exists."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files: dict[int, bytes] = {}
        self._synced: dict[int, Names] = self._folders()
        self._held: list[int] = []
        self.moments: list[Moment] = []

    def note(self) -> None:
        """Records the state that a power cut would leave at this moment."""
        root = os.stat(self._root).st_ino
        self.moments.append(Moment(root, dict(self._files), dict(self._synced), self._folders()))

    def _folders(self) -> dict[int, Names]:
        return {os.stat(folder).st_ino: _names(folder) for folder, _, _ in os.walk(self._root)}

    def _sync(self, handle: int) -> None:
        self._held.append(os.dup(handle))  # so that no other file gets its inode number
        facts = os.fstat(handle)
        place = f"/proc/self/fd/{handle}"
        if stat.S_ISDIR(facts.st_mode):
            self._synced[facts.st_ino] = _names(place)
        else:
            self._files[facts.st_ino] = Path(place).read_bytes()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Notes a moment before each call; a call to `os.fsync` puts something on the disk."""
        real = {name: getattr(os, name) for name in CALLS}

        def watch(name: str) -> Any:
            def call(*given: Any, **how: Any) -> Any:
                self.note()
                if name == "fsync":
                    self._sync(given[0])
                return real[name](*given, **how)

            return call

        with pytest.MonkeyPatch.context() as patch:
            for name in CALLS:
                patch.setattr(os, name, watch(name))
            yield
        self.note()
        for handle in self._held:
            os.close(handle)
        self._held.clear()


def _names(folder: str) -> Names:
    with os.scandir(folder) as found:
        return {item.name: item.inode() for item in found}
