"""Sources of a file's bytes: local paths, object stores, pyarrow file systems, open files.

A `Source` reads byte ranges and counts the bytes read, so that a scan can report its cost. Ranges that are
close together are fetched in one request if requests are expensive.
"""

from __future__ import annotations

import glob as globbing
import os
import stat
import threading
import time
import weakref
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Final, TypeAlias
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.fs

from shredlake.errors import InvalidFile, ReadFailed
from shredlake.parquet.format.footer import MAGIC, TAIL, Extent, Footer, footer_length
from shredlake.parquet.format.seal import check_seal
from shredlake.parquet.io.stores import Store, open_store

Location: TypeAlias = "str | os.PathLike[str] | IO[bytes] | pa.NativeFile | Source"
"""A path or URL, or an open binary file."""

REMOTE_GAP: Final = 64 * 1024
"""Gaps up to this size are fetched, since that is cheaper than another request to an object store."""

REMOTE_TAIL: Final = 64 * 1024
"""Bytes that the first request to an object store fetches from the end of a file; most footers fit."""

SHORT_WAIT: Final = 1e-5
LONGEST_WAIT: Final = 1.0
"""Seconds between two looks at whether threads of pyarrow are done, and the most that they are waited for."""


class Source(ABC):
    """A file of known size, read by ranges. `bytes_read` and `requests` count the bytes and requests."""

    gap: int = 0
    tail: int = TAIL

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size
        self.bytes_read = 0
        self.requests = 0
        self._counting = threading.Lock()

    def read(self, extents: Sequence[Extent]) -> list[memoryview]:
        """Reads each range, in the order given."""
        if not extents:
            return []
        for offset, length in extents:
            if offset < 0 or length < 0 or offset + length > self.size:
                raise InvalidFile(
                    f"{self.name} is damaged or truncated: it refers to {length} bytes at {offset}, "
                    f"but has {self.size} bytes"
                )
        merged, places = coalesce(extents, self.gap)
        fetched = self._fetch(merged)
        with self._counting:
            self.bytes_read += sum(length for _, length in merged)
            self.requests += len(merged)
        return [
            fetched[index][start : start + length]
            for (index, start), (_, length) in zip(places, extents, strict=True)
        ]

    def footer(self) -> Footer:
        """The file's Parquet footer, compared with its seal where it has one."""
        if self.size < len(MAGIC) + TAIL:
            raise InvalidFile(f"{self.name} is not a Parquet file: it has {self.size} bytes")
        guess = min(self.size, self.tail)
        [end] = self.read([(self.size - guess, guess)])
        length = footer_length(bytes(end[-TAIL:]), self.size, self.name)
        start = self.size - TAIL - length
        if length + TAIL <= guess:
            raw = bytes(end[-TAIL - length : -TAIL])
        else:
            raw = bytes(self.read([(start, length)])[0])
        return Footer(raw, start, seal=check_seal(raw, start, self.name))

    @abstractmethod
    def _fetch(self, extents: Sequence[Extent]) -> list[memoryview]: ...

    def close(self) -> None:  # noqa: B027 (most sources have nothing to give back)
        """Closes the open file; the next read opens it again."""

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class LocalSource(Source):
    """A local file, read without a shared position, so that threads do not wait for each other."""

    def __init__(self, path: str) -> None:
        self._descriptor: int | None = None
        self._opening = threading.Lock()
        super().__init__(path, 0)
        self.name = path
        self.size = os.fstat(self._open()).st_size

    def _fetch(self, extents: Sequence[Extent]) -> list[memoryview]:
        descriptor = self._open()
        return [self._pread(descriptor, offset, length) for offset, length in extents]

    def _pread(self, descriptor: int, offset: int, length: int) -> memoryview:
        try:
            return self._pread_all(descriptor, offset, length)
        except OSError as error:
            raise ReadFailed(f"{self.name}: {length} bytes at {offset} can't be read: {error}") from error

    def _pread_all(self, descriptor: int, offset: int, length: int) -> memoryview:
        data = os.pread(descriptor, length, offset)
        if len(data) == length:
            return memoryview(data)
        parts = [data]  # one call reads at most 2 GB
        while missing := length - sum(map(len, parts)):
            part = os.pread(descriptor, missing, offset + length - missing)
            if not part:
                raise _cut_short(self.name, offset, length, length - missing)
            parts.append(part)
        return memoryview(b"".join(parts))

    def _open(self) -> int:
        with self._opening:
            if self._descriptor is None:
                self._descriptor = _open_regular(self.name)
            return self._descriptor

    def close(self) -> None:
        with self._opening:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    def __del__(self) -> None:
        self.close()


class StoreSource(Source):
    """An object in an obstore store."""

    gap = REMOTE_GAP
    tail = REMOTE_TAIL

    def __init__(self, store: Any, key: str) -> None:
        import obstore

        self._store, self._key = store, key
        try:
            size = obstore.head(store, key)["size"]
        except (FileNotFoundError, ValueError) as error:  # a ValueError for a name that no store can have
            raise InvalidFile(f"{key} can't be opened: {_first_line(error)}") from error
        except (OSError, obstore.exceptions.BaseError) as error:
            raise ReadFailed(f"{key} can't be opened: {_first_line(error)}") from error
        super().__init__(key, size)

    def _fetch(self, extents: Sequence[Extent]) -> list[memoryview]:
        import obstore

        try:
            fetched = obstore.get_ranges(
                self._store,
                self._key,
                starts=[offset for offset, _ in extents],
                lengths=[length for _, length in extents],
                coalesce=0,
            )
        except FileNotFoundError as error:
            raise InvalidFile(f"{self.name} is no longer there: {_first_line(error)}") from error
        except (OSError, obstore.exceptions.BaseError) as error:
            raise ReadFailed(f"{self.name} can't be read: {_first_line(error)}") from error
        parts = [memoryview(part) for part in fetched]
        for (offset, length), part in zip(extents, parts, strict=True):
            if len(part) != length:
                raise _cut_short(self.name, offset, length, len(part))
        return parts


class FileSource(Source):
    """An open file, from Python, pyarrow, or a pyarrow file system."""

    def __init__(self, file: Any, name: str) -> None:
        self._file = file
        self._moving = threading.Lock()
        file.seek(0, os.SEEK_END)
        super().__init__(name, file.tell())

    def _fetch(self, extents: Sequence[Extent]) -> list[memoryview]:
        with self._moving:
            return [self._seek_and_read(offset, length) for offset, length in extents]

    def _seek_and_read(self, offset: int, length: int) -> memoryview:
        try:
            self._file.seek(offset)
            data = self._file.read(length)
        except OSError as error:
            raise ReadFailed(f"{self.name}: {length} bytes at {offset} can't be read: {error}") from error
        if len(data) != length:
            raise _cut_short(self.name, offset, length, len(data))
        return memoryview(data)


class FileView:
    """The file interface that pyarrow expects, over a source. `read_buffer` avoids a copy.

    Ranges that were prefetched with `hold` are served from memory until they are released. Python owns what
    is read meanwhile, so a thread of pyarrow needs the interpreter to let go of it. It may do so a moment
    after pyarrow has returned. If the program ended in that moment, the thread would abort it. So `release`
    waits for such threads.
    """

    closed = False

    def __init__(self, source: Source) -> None:
        self._source = source
        self._position = 0
        self._held: list[tuple[Extent, memoryview]] = []
        self._given: list[weakref.ref[pa.Buffer]] | None = None

    def hold(self, extents: Sequence[Extent]) -> None:
        """Prefetches ranges that will be read next, so that neighbouring ranges share one request."""
        fetched = zip(extents, self._source.read(extents), strict=True)
        self._held = sorted(fetched, key=lambda held: held[0])
        self._given = []

    def release(self) -> None:
        """Forgets the ranges, once pyarrow's threads have let go of all that was read since `hold`."""
        self._held = []
        given, self._given = self._given or [], None
        patience = time.monotonic() + LONGEST_WAIT
        while any(buffer() is not None for buffer in given) and time.monotonic() < patience:
            time.sleep(SHORT_WAIT)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._source.size}[whence]
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def read_buffer(self, length: int = -1) -> pa.Buffer:
        buffer = pa.py_buffer(self._next(length))
        if self._given is not None:
            self._given.append(weakref.ref(buffer))
        return buffer

    def _next(self, length: int) -> memoryview:
        left = max(self._source.size - self._position, 0)
        length = left if length < 0 else min(length, left)
        start = self._position
        self._position += length
        place = bisect_right(self._held, start, key=lambda held: held[0][0]) - 1
        if place >= 0:
            (offset, size), data = self._held[place]
            if start + length <= offset + size:
                return data[start - offset : start - offset + length]
        [data] = self._source.read([(start, length)])
        return data

    def read(self, length: int = -1) -> bytes:
        return bytes(self.read_buffer(length))

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True


def open_input(location: Location, store: Store | None = None) -> Source:
    """Opens a file for reading by ranges.

    `location` is a path, a URL (`s3://bucket/key`), an open binary file, or, with `store`, a key in that
    obstore store or pyarrow file system.

    >>> import io
    >>> source = open_input(io.BytesIO(b"PAR1 some bytes"))
    >>> [bytes(part) for part in source.read([(5, 4), (10, 5)])], source.bytes_read
    ([b'some', b'bytes'], 9)
    """
    if isinstance(location, Source):
        return location
    if hasattr(location, "read") and hasattr(location, "seek"):
        return FileSource(location, str(getattr(location, "name", "the open file")))
    path = os.fspath(location)
    if isinstance(store, pyarrow.fs.FileSystem):
        try:
            return FileSource(store.open_input_file(path), path)
        except OSError as error:
            raise InvalidFile(f"{path} can't be opened: {_first_line(error)}") from error
    if store is not None:
        return StoreSource(store, path)
    if _is_url(path):
        parent, _, name = path.rpartition("/")
        return StoreSource(_store_at(parent), name)
    return LocalSource(path)


def find_files(where: Location | Sequence[Location], store: Store | None = None) -> list[Location]:
    """The sorted files at a path, a glob, a directory or a list of these.

    In directories, names that start with `_` or `.` are skipped, as in Spark.
    """
    if isinstance(where, list | tuple):
        return [file for part in where for file in find_files(part, store)]
    if not isinstance(where, str | os.PathLike):
        return [where]
    path = os.fspath(where)
    if isinstance(store, pyarrow.fs.FileSystem):
        found = _in_file_system(store, path)
    elif store is not None:
        found = _in_store(store, path)
    elif _is_url(path):
        found = [path + key for key in _in_store(_store_at(path), "")] if path.endswith("/") else [path]
    else:
        found = _in_directory(path)
    if not found:
        raise InvalidFile(f"no Parquet file at {path}")
    return list(found)


def coalesce(extents: Sequence[Extent], gap: int) -> tuple[list[Extent], list[tuple[int, int]]]:
    """Joins ranges that overlap, touch, or lie up to `gap` bytes apart.

    Returns the joined ranges, and for each given range the index of its joined range and its offset there.

    >>> coalesce([(0, 10), (100, 5), (12, 4)], gap=4)
    ([(0, 16), (100, 5)], [(0, 0), (1, 0), (0, 12)])
    """
    merged: list[list[int]] = []
    places: list[tuple[int, int]] = [(0, 0)] * len(extents)
    for position in sorted(range(len(extents)), key=extents.__getitem__):
        offset, length = extents[position]
        if merged and offset <= merged[-1][0] + merged[-1][1] + gap:
            last = merged[-1]
            last[1] = max(last[1], offset + length - last[0])
        else:
            merged.append([offset, length])
        places[position] = (len(merged) - 1, offset - merged[-1][0])
    return [(offset, length) for offset, length in merged], places


def _in_directory(path: str) -> list[str]:
    if os.path.isdir(path):
        names = (str(file.relative_to(path)) for file in Path(path).rglob("*") if file.is_file())
        return sorted(os.path.join(path, name) for name in names if _is_visible(name))
    if os.path.exists(path) or not globbing.has_magic(path):
        return [path]
    return sorted(file for match in globbing.glob(path, recursive=True) for file in _in_directory(match))


def _in_file_system(store: pyarrow.fs.FileSystem, path: str) -> list[str]:
    info = store.get_file_info(path)
    if info.type != pyarrow.fs.FileType.Directory:
        return [path]
    below = store.get_file_info(pyarrow.fs.FileSelector(path, recursive=True))
    return sorted(
        file.path for file in below if file.is_file and _is_visible(os.path.relpath(file.path, path))
    )


def _in_store(store: Any, path: str) -> list[str]:
    import obstore

    prefix = path.rstrip("/")
    try:
        keys = [entry["path"] for chunk in obstore.list(store, prefix or None) for entry in chunk]
    except (OSError, obstore.exceptions.BaseError) as error:
        raise ReadFailed(f"{path or 'the store'} can't be listed: {_first_line(error)}") from error
    if path in keys or (not keys and path):
        return [path]
    return sorted(key for key in keys if _is_visible(key.removeprefix(prefix).lstrip("/")))


def _is_visible(name: str) -> bool:
    return not any(part.startswith(("_", ".")) for part in name.split(os.sep))


def _is_url(path: str) -> bool:
    return "://" in path and len(urlsplit(path).scheme) > 1


def _store_at(url: str) -> Any:
    try:
        return open_store(url)
    except ValueError as error:
        raise InvalidFile(f"{url} can't be opened: {_first_line(error)}") from None


def _open_regular(path: str) -> int:
    """Opens a regular file. Folders are rejected, and so are pipes and devices, which may never end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError) as error:
        why = (
            "it does not exist" if isinstance(error, FileNotFoundError) else getattr(error, "strerror", error)
        )
        raise InvalidFile(f"{path} can't be opened: {why}") from error
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        is_table = os.path.isdir(os.path.join(path, "_delta_log"))
        hint = "open it as a Delta table" if is_table else "give the path of one Parquet file"
        raise InvalidFile(f"{path} is a folder, not a file: {hint}")
    raise InvalidFile(f"{path} is a pipe or device, but a Parquet file is read from its end")


def _cut_short(name: str, offset: int, length: int, found: int) -> InvalidFile:
    return InvalidFile(f"{name} is truncated: expected {length} bytes at {offset}, found {found}")


def _first_line(error: Exception) -> str:
    """The first line of a store's error; the rest is debug text."""
    return str(error).strip().partition("\n")[0]
