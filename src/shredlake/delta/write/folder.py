"""The files in a table's folder: those that Delta writers create, and foreign files."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from shredlake.delta.storage.storage import Storage
from shredlake.errors import TableError


class Kind(Enum):
    """The kind of a file in a table's folder, by its name."""

    DATA = "data file"
    VECTOR = "deletion vector"
    CHANGES = "change data"
    TEMPORARY = "temporary file"
    LOG = "log"
    HIDDEN = "hidden file"
    FOREIGN = "file of others"


_UUID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_RULES: Final = (
    # Left by writes that were killed before the rename: by our own, and by obstore's on a local disk.
    (re.compile(r"(?:.*/)?\.[^/]+\.[0-9a-f]{32}\.tmp"), Kind.TEMPORARY),
    (re.compile(r"(?:.*/)?[^/]+\.(?:parquet|json|crc|bin)#\d+"), Kind.TEMPORARY),
    (re.compile(rf"_staging/[^/]+/{_UUID}\.parquet"), Kind.TEMPORARY),
    (re.compile(r"_delta_log(?:/.*)?"), Kind.LOG),
    (re.compile(r"_change_data/.*\.parquet"), Kind.CHANGES),
    # A partition column may start with an underscore or a dot: `_day=1/` is data.
    (re.compile(r"(?:.*/)?[._](?![^/]*=[^/]*/)[^/]*(?:/.*)?"), Kind.HIDDEN),
    (re.compile(rf"(?:.*/)?deletion_vector_{_UUID}\.bin"), Kind.VECTOR),
    (re.compile(r".*\.parquet"), Kind.DATA),
)
"""The first pattern that matches the whole key determines the kind of the file."""

_OUR_OWN: Final = re.compile(rf"(?:.*/)?(?:part|cdc)-{_UUID}\.c\d+\.[^/]*parquet|(?:.*/)?deletion_vector_.*")


def kind_of(key: str) -> Kind:
    """Return the kind of a file, given its key in the table's folder.

    >>> [kind_of(key).name for key in ("day=1/part-1.parquet", "raw/d1.ndjson", "_mine/keep.parquet")]
    ['DATA', 'FOREIGN', 'HIDDEN']
    >>> kind_of(".part-1.parquet.0123456789abcdef0123456789abcdef.tmp").name
    'TEMPORARY'
    """
    for pattern, kind in _RULES:
        if pattern.fullmatch(key) is not None:
            return kind
    return Kind.FOREIGN


def checked_file(key: str) -> str:
    """Return the file that a Hadoop checksum file (`.name.crc`) belongs to; return any other key unchanged.

    >>> checked_file("d/.x.parquet.crc"), checked_file("d/x.parquet")
    ('d/x.parquet', 'd/x.parquet')
    """
    folder, slash, name = key.rpartition("/")
    if name.startswith(".") and name.endswith(".crc"):
        return f"{folder}{slash}{name[1:-4]}"
    return key


@dataclass(frozen=True)
class Resident:
    """A file in a table's folder, or a symbolic link."""

    key: str
    modified_ms: int
    is_link: bool = False
    identity: tuple[int, int] | None = None
    """Device and inode number of a local file, which all its names share."""


def residents(storage: Storage) -> Iterator[Resident]:
    """Yield every file in the folder. Symbolic links are listed but not followed.

    >>> storage = Storage("memory://doc/residents")
    >>> storage.create("d/x.parquet", b"")
    >>> [resident.key for resident in residents(storage)]
    ['d/x.parquet']
    """
    if storage.is_local:
        yield from _local(str(storage.local_root), "")
        return
    for entry in storage.entries():
        yield Resident(entry.path, entry.modified_ms)


def _local(root: str, folder: str) -> Iterator[Resident]:
    try:
        with os.scandir(os.path.join(root, folder)) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    except OSError as error:
        raise TableError(f"{os.path.join(root, folder)} could not be listed: {error.strerror}") from error
    for entry in entries:
        key = f"{folder}/{entry.name}" if folder else entry.name
        if entry.is_dir(follow_symlinks=False):
            yield from _local(root, key)
            continue
        try:
            facts = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue  # deleted in the meantime
        if stat.S_ISREG(facts.st_mode) or stat.S_ISLNK(facts.st_mode):
            identity = (facts.st_dev, facts.st_ino)
            yield Resident(key, int(facts.st_mtime * 1000), stat.S_ISLNK(facts.st_mode), identity)


def others_files(storage: Storage) -> Iterator[str]:
    """Yield the keys of files that prevent the creation of a table in the folder.

    These are all files except hidden files, the log, and files that our own crashed jobs left behind.

    >>> storage = Storage("memory://doc/others")
    >>> storage.create("raw/d1.ndjson", b"")
    >>> storage.create("_delta_log/_x", b"")
    >>> list(others_files(storage))
    ['raw/d1.ndjson']
    """
    harmless = (Kind.HIDDEN, Kind.LOG, Kind.TEMPORARY)
    for resident in residents(storage):
        if resident.is_link or not (
            kind_of(resident.key) in harmless or _OUR_OWN.fullmatch(resident.key) is not None
        ):
            yield resident.key


def remove(storage: Storage, keys: Iterable[str]) -> None:
    """Delete files. Missing files are not an error."""
    if not storage.is_local:
        storage.delete(keys)
        return
    for key in keys:
        path = storage.local_root / key
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise TableError(f"{path} could not be deleted: {error.strerror}") from error
