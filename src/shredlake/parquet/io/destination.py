"""Destinations of a written file, which appears complete or not at all.

A file is first written under a temporary name: in the same folder on a local disk, in the temporary directory
for object stores. It gets its final name once it is complete, by one rename or one put.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import uuid
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit
from urllib.request import url2pathname

import obstore
import pyarrow.fs as pafs

from shredlake.errors import InvalidFile
from shredlake.parquet.io.stores import Store, open_store


class Destination(Protocol):
    """The destination of one file. `temporary` is the local file that is written before `commit()`."""

    name: str
    temporary: Path

    def commit(self) -> None:
        """Gives the finished file its final name."""

    def abort(self) -> None:
        """Removes the temporary file."""


def destination(where: str | os.PathLike[str], store: Store | None = None) -> Destination:
    """Returns the destination for a path or URL; `store` is an obstore store or a pyarrow filesystem.

    >>> destination("/tmp/f.parquet").name
    '/tmp/f.parquet'
    """
    path = os.fspath(where)
    if isinstance(store, pafs.LocalFileSystem):
        return LocalDestination(path)
    if isinstance(store, pafs.FileSystem):
        return ArrowDestination(path, store)
    if store is not None:
        return StoreDestination(path, store)
    parts = urlsplit(path)
    if parts.scheme == "file":
        return LocalDestination(url2pathname(parts.path))
    if "://" not in path:
        return LocalDestination(path)
    directory, _, name = path.rpartition("/")
    try:
        return StoreDestination(name, open_store(directory), path)
    except ValueError as error:
        raise InvalidFile(f"{path} can't be written: {str(error).partition(chr(10))[0]}") from None


class LocalDestination:
    """A local file: written under a hidden name in the same folder, synced, then renamed."""

    def __init__(self, path: str) -> None:
        self.name = path
        final = Path(path)
        if not final.parent.is_dir():
            raise InvalidFile(f"{path}: the directory {final.parent} does not exist. Create it first")
        # Spark and Hive ignore names that start with a dot.
        self.temporary = final.with_name(f".{final.name}.{uuid.uuid4().hex}.tmp")

    def commit(self) -> None:
        _sync(self.temporary)
        os.replace(self.temporary, self.name)
        _sync(Path(self.name).parent)

    def abort(self) -> None:
        _discard(self.temporary)


class StoreDestination:
    """An object in an obstore store, written by one atomic put (multipart if it is large)."""

    def __init__(self, path: str, store: Any, name: str | None = None) -> None:
        self.name = name or path
        self.path = path
        self.store = store
        self.temporary = _temporary_file()

    def commit(self) -> None:
        obstore.put(self.store, self.path, self.temporary)
        self.abort()

    def abort(self) -> None:
        _discard(self.temporary)


class ArrowDestination:
    """A file on a pyarrow filesystem: copied under a hidden name, then moved."""

    def __init__(self, path: str, filesystem: pafs.FileSystem) -> None:
        self.name = self.path = path
        self.filesystem = filesystem
        self.temporary = _temporary_file()

    def commit(self) -> None:
        directory, slash, name = self.path.rpartition("/")
        hidden = f"{directory}{slash}.{name}.{uuid.uuid4().hex}.tmp"
        try:
            pafs.copy_files(str(self.temporary), hidden, destination_filesystem=self.filesystem)
            self.filesystem.move(hidden, self.path)
        except BaseException:
            with contextlib.suppress(OSError):
                self.filesystem.delete_file(hidden)
            raise
        finally:
            self.abort()

    def abort(self) -> None:
        _discard(self.temporary)


def _discard(temporary: Path) -> None:
    """Removes a temporary file if possible. The caller has the file, or an error of its own to report."""
    with contextlib.suppress(OSError):
        os.unlink(temporary)


def _temporary_file() -> Path:
    handle, path = tempfile.mkstemp(suffix=".parquet", prefix="shredlake-")
    os.close(handle)
    return Path(path)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
