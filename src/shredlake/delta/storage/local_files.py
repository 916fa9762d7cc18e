"""A table's directory on the local disk, accessed by plain system calls. Writes are atomic and durable.

A write creates a file under a hidden temporary name, syncs it, and only then gives it its final name: by a
hard link if the file must not exist yet, otherwise by a rename. Then it syncs the directory, so the file
survives a crash right afterwards. Vacuum removes the temporary files of killed writers.
"""

from __future__ import annotations

import errno
import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from shredlake.caches import LruCache

_NO_LINKS: Final = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
"""Error codes of file systems that do not support hard links."""

_CANNOT_SYNC: Final = {errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES}
"""Error codes of file systems that can't sync a directory."""

_LEADS_NOWHERE: Final = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG}
"""Error codes for a path that leads to no file. After any other error it is unknown whether there is one."""

_READ: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


_synced = LruCache[tuple[str, int], bool](4096, "directories on disk")
"""Directories, by path and inode number, whose entry this process has synced."""


@dataclass(frozen=True)
class Entry:
    """A stored object: its key relative to the root, its size in bytes, and when it was last modified."""

    path: str
    size: int
    modified: datetime
    is_link: bool = False
    """Whether it is a symbolic link; only `residents` tells."""
    identity: tuple[int, int] | None = None
    """Device and inode number of a local file, which all its names share; only `residents` tells."""

    @property
    def modified_ms(self) -> int:
        return int(self.modified.timestamp() * 1000)


class LocalFiles:
    """The files below a directory. Methods raise the operating system's errors."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)

    def _at(self, path: str) -> str:
        return os.path.join(self.root, path)

    def entries(self, prefix: str, start_after: str | None) -> Iterator[Entry]:
        """Yields the files below a directory, in any order. Links to directories are not followed."""
        waiting = [prefix]
        while waiting:
            folder = waiting.pop()
            try:
                found = os.scandir(self._at(folder))
            except (FileNotFoundError, NotADirectoryError):
                continue
            with found:
                for item in found:
                    key = f"{folder}/{item.name}" if folder else item.name
                    if item.is_dir(follow_symlinks=False):
                        waiting.append(key)
                    elif (start_after is None or key > start_after) and not item.is_dir():
                        with suppress(FileNotFoundError):  # deleted in the meantime
                            yield _entry(key, item.stat(follow_symlinks=not _is_dangling(item)))

    def residents(self) -> Iterator[Entry]:
        """Yields every file and symbolic link, sorted by name in each directory. Links are not followed."""
        waiting = [""]
        while waiting:
            folder = waiting.pop()
            try:
                with os.scandir(self._at(folder)) as found:
                    items = sorted(found, key=lambda item: item.name)
            except FileNotFoundError:
                continue
            for item in items:
                key = f"{folder}/{item.name}" if folder else item.name
                if item.is_dir(follow_symlinks=False):
                    waiting.append(key)
                    continue
                try:
                    facts = item.stat(follow_symlinks=False)
                except FileNotFoundError:  # deleted in the meantime
                    continue
                is_link = stat.S_ISLNK(facts.st_mode)
                if is_link or stat.S_ISREG(facts.st_mode):
                    yield replace(_entry(key, facts), is_link=is_link, identity=(facts.st_dev, facts.st_ino))

    def identity(self, path: str) -> tuple[int, int] | None:
        """The device and inode number of the file that a path leads to, or None if there is none."""
        try:
            facts = os.stat(self._at(path))
        except OSError as error:
            if error.errno not in _LEADS_NOWHERE:
                raise
            return None
        except ValueError:  # a NUL in the name
            return None
        return facts.st_dev, facts.st_ino

    def get(self, path: str) -> bytes:
        with open(_opened(self._at(path)), "rb", buffering=0) as file:
            return file.readall()

    def get_range(self, path: str, start: int, length: int) -> bytes:
        if start < 0 or length < 0:
            raise ValueError(f"{length} bytes at {start} is not a range")
        with open(_opened(self._at(path)), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if start + length > size:
                raise ValueError(f"it has {size} bytes; {length} at {start} were asked for")
            file.seek(start)
            return file.read(length)

    def head(self, path: str) -> Entry | None:
        try:
            facts = os.stat(self._at(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(_not_a_file(facts))
        return _entry(path, facts)

    def put(self, path: str, data: bytes) -> None:
        with _TemporaryFile(self._at(path), data) as temporary:
            os.replace(temporary.name, temporary.final)

    def create(self, path: str, data: bytes) -> None:
        with _TemporaryFile(self._at(path), data) as temporary:
            try:
                os.link(temporary.name, temporary.final)
            except OSError as error:
                if temporary.is_linked:  # a network file system lost the answer, or asked twice
                    return
                if error.errno not in _NO_LINKS:
                    raise
                _create_in_place(temporary.final, data)

    def delete(self, path: str) -> None:
        with suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(self._at(path))


class _TemporaryFile:
    """A complete, synced file under a temporary name. On success, leaving the block syncs its directory."""

    def __init__(self, final: str, data: bytes) -> None:
        self.final = final
        directory, name = os.path.split(final)
        self.directory = directory
        self.name = os.path.join(directory, f".{name}.{uuid.uuid4().hex}.tmp")
        self.data = data

    def __enter__(self) -> _TemporaryFile:
        make_directories(self.directory)
        try:
            _write(self.name, self.data)
        except BaseException:
            self._discard()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._discard()
        if kind is None:
            sync_directory(self.directory)

    @property
    def is_linked(self) -> bool:
        """Whether the file has a second name. Only its writer knows the first, so that is the final one."""
        try:
            return os.stat(self.name).st_nlink > 1
        except OSError:
            return False

    def _discard(self) -> None:
        with suppress(OSError):
            os.unlink(self.name)


def _write(path: str, data: bytes) -> None:
    """Writes a new file and syncs it to disk."""
    with open(path, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _create_in_place(path: str, data: bytes) -> None:
    """Creates a file under its final name, for file systems without hard links. A crash may truncate it."""
    try:
        _write(path, data)
    except FileExistsError:
        raise
    except BaseException:
        with suppress(OSError):
            os.unlink(path)
        raise


def make_directories(path: str | Path) -> None:
    """Creates a directory and its missing parents, and syncs each new entry to disk.

    Another process may have created the directory and not synced it yet, so the entry of one that exists is
    synced too, once per process.
    """
    missing = []
    current = os.path.abspath(path)
    while not os.path.isdir(current):
        if os.path.lexists(current) and not os.path.isdir(current):  # it may have been created just now
            raise NotADirectoryError(errno.ENOTDIR, f"{current} is not a directory")
        missing.append(current)
        current = os.path.dirname(current)
    known = current, os.stat(current).st_ino
    if _synced.find(known) is None:
        sync_directory(os.path.dirname(current))
        _synced.put(known, True)
    for directory in reversed(missing):
        with suppress(FileExistsError):  # another writer created it first
            os.mkdir(directory)
        sync_directory(os.path.dirname(directory))


def sync_directory(path: str) -> None:
    """Sync a directory's entries to disk, if the file system supports it."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise
    finally:
        os.close(handle)


def _opened(path: str) -> int:
    """Opens a regular file for reading. Pipes and devices are refused, because reading them may never end."""
    handle = os.open(path, _READ)
    facts = os.fstat(handle)
    if stat.S_ISREG(facts.st_mode):
        return handle
    os.close(handle)
    raise OSError(_not_a_file(facts))


def _not_a_file(facts: os.stat_result) -> str:
    kinds = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return f"it is {kinds.get(stat.S_IFMT(facts.st_mode), 'a device')}, not a regular file"


def _is_dangling(item: os.DirEntry[str]) -> bool:
    return item.is_symlink() and not os.path.exists(item.path)


def _entry(key: str, facts: os.stat_result) -> Entry:
    try:
        modified = datetime.fromtimestamp(facts.st_mtime, UTC)
    except (OverflowError, ValueError, OSError):  # out of range for a datetime
        modified = datetime(9999 if facts.st_mtime > 0 else 1970, 1, 1, tzinfo=UTC)
    return Entry(key, facts.st_size, modified)
