"""The one door to storage: a table's directory, wherever it lies.

A `Storage` is an address and the options to reach it. It opens its connection when first used and again
after it was pickled, so workers get the same door as the driver. Paths inside are plain (decoded) keys
relative to the root; what the log writes is percent-encoded and goes through `decode_path`/`encode_path`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import obstore
import pyarrow as pa
from obstore.exceptions import AlreadyExistsError, BaseError, NotFoundError, PreconditionError
from obstore.store import LocalStore, MemoryStore, from_url

from shredlake.errors import CorruptLog, TableError
from shredlake.parquet.source import FileView, open_input

_memory_stores: dict[str, MemoryStore] = {}
_memory_lock = threading.Lock()

# What a URI path may hold unescaped (RFC 2396), less the comma: Hadoop's own writers escape nothing else.
_UNESCAPED = "/!'()*=$&+:@,;~"


@dataclass(frozen=True)
class Entry:
    """One stored object: key relative to the root, size in bytes, when it was last written."""

    path: str
    size: int
    modified: datetime

    @property
    def modified_ms(self) -> int:
        return int(self.modified.timestamp() * 1000)


def normalized_uri(uri: str | os.PathLike[str]) -> str:
    """The address as a URI with a scheme and without a trailing slash.

    >>> normalized_uri("s3a://bucket/events/")
    's3a://bucket/events'
    >>> normalized_uri("/data/events")
    'file:///data/events'
    """
    text = os.fspath(uri)
    scheme = urlsplit(text).scheme
    if len(scheme) < 2:  # none, or a drive letter
        return Path(text).expanduser().absolute().as_uri().rstrip("/")
    if scheme == "file":
        return Path(unquote(urlsplit(text).path)).as_uri().rstrip("/")
    return text.rstrip("/")


def decode_path(path: str) -> str:
    """The key that a path of the log stands for; a path that climbs out of the table is refused.

    >>> decode_path("date=2017-12-10/./part%20one.parquet")
    'date=2017-12-10/part one.parquet'
    """
    if is_absolute(path):
        return path
    decoded = unquote(path)
    if ".." in decoded.split("/") or "\x00" in decoded:
        raise CorruptLog(
            f"the log names the file {path!r}, which lies outside the table; "
            "a relative path may not contain '..'"
        )
    key = "/".join(part for part in decoded.split("/") if part not in ("", "."))
    if not key:
        raise CorruptLog(f"the log names the file {path!r}, which is the table's folder itself")
    return key


def encode_path(path: str) -> str:
    """A key as the log spells it.

    >>> encode_path("test%file one.parquet")
    'test%25file%20one.parquet'
    """
    return quote(path, safe=_UNESCAPED)


def is_absolute(path: str) -> bool:
    """Whether a path of the log is an address of its own rather than relative to the table."""
    return path.startswith(("/", "file:")) or "://" in path


@dataclass(frozen=True)
class Storage:
    """A directory in a store.

    >>> storage = Storage("memory://example/table")
    >>> storage.create("_delta_log/00000000000000000000.json", b"{}")
    >>> storage.get("_delta_log/00000000000000000000.json")
    b'{}'
    >>> [entry.path for entry in storage.list("_delta_log")]
    ['_delta_log/00000000000000000000.json']
    """

    uri: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "uri", normalized_uri(self.uri))
        object.__setattr__(self, "options", dict(self.options))

    def __reduce__(self) -> tuple[object, ...]:
        return Storage, (self.uri, dict(self.options))

    def __hash__(self) -> int:
        return hash((self.uri, tuple(sorted(self.options))))

    @property
    def is_local(self) -> bool:
        return self.uri.startswith("file://")

    @property
    def local_root(self) -> Path:
        """The directory, for a table on the local disk."""
        return Path(unquote(urlsplit(self.uri).path))

    @cached_property
    def store(self) -> Any:
        """The obstore handle that does the work."""
        if self.is_local:
            return LocalStore(self.local_root, mkdir=True) if self.local_root.exists() else None
        if self.uri.startswith("memory://"):
            return _memory_store(self.uri)
        try:
            return from_url(self.uri, **self.options)
        except (BaseError, ValueError, TypeError) as error:
            raise TableError(f"{self.uri} can't be opened: {_first_line(error)}") from error

    @cached_property
    def _prefix(self) -> str:
        """In-memory stores are shared by host, so the table's path goes in front of each key."""
        if not self.uri.startswith("memory://"):
            return ""
        path = urlsplit(self.uri).path.strip("/")
        return f"{path}/" if path else ""

    def _connected(self) -> Any:
        """The handle for writing: a local directory is made when the first file comes."""
        if self.store is None:
            self.local_root.mkdir(parents=True, exist_ok=True)
            del self.__dict__["store"]
        return self.store

    def list(self, prefix: str = "", start_after: str | None = None) -> list[Entry]:
        """Every object below `prefix`, sorted by key; only those after `start_after` where given."""
        return sorted(self.entries(prefix, start_after), key=lambda entry: entry.path)

    def entries(self, prefix: str = "", start_after: str | None = None) -> Iterator[Entry]:
        """The same as the store sends them, page by page, in any order."""
        if self.store is None:
            return
        full = self._prefix + prefix
        offset = None if start_after is None else self._prefix + start_after
        skip = len(self._prefix)
        try:
            for chunk in obstore.list(self.store, full or None, offset=offset):
                for meta in chunk:
                    yield Entry(meta["path"][skip:], meta["size"], meta["last_modified"])
        except (FileNotFoundError, NotFoundError):
            return
        except BaseError as error:
            raise self._failed("listed", prefix, error) from error

    def get(self, path: str) -> bytes:
        """The whole object. FileNotFoundError where there is none."""
        if self.store is None:
            raise FileNotFoundError(f"{self.uri}/{path}")
        try:
            return bytes(obstore.get(self.store, self._prefix + path).bytes())
        except (FileNotFoundError, NotFoundError):
            raise FileNotFoundError(f"{self.uri}/{path}") from None
        except BaseError as error:
            raise self._failed("read", path, error) from error

    def get_range(self, path: str, start: int, length: int) -> bytes:
        """Part of an object."""
        if self.store is None:
            raise FileNotFoundError(f"{self.uri}/{path}")
        try:
            return bytes(obstore.get_range(self.store, self._prefix + path, start=start, length=length))
        except (FileNotFoundError, NotFoundError):
            raise FileNotFoundError(f"{self.uri}/{path}") from None
        except BaseError as error:
            raise self._failed("read", path, error) from error

    def put(self, path: str, data: bytes) -> None:
        """Writes an object, replacing what was there."""
        try:
            obstore.put(self._connected(), self._prefix + path, data)
        except (BaseError, OSError) as error:
            raise self._failed("written", path, error) from error

    def create(self, path: str, data: bytes) -> None:
        """Writes an object that is not there yet, atomically. FileExistsError where it is."""
        try:
            obstore.put(self._connected(), self._prefix + path, data, mode="create")
        except (AlreadyExistsError, PreconditionError):
            raise FileExistsError(f"{self.uri}/{path}") from None
        except (BaseError, OSError) as error:
            raise self._failed("written", path, error) from error

    def delete(self, paths: Iterable[str]) -> None:
        """Removes objects; those already gone are no error."""
        for path in paths:
            try:
                obstore.delete(self._connected(), self._prefix + path)
            except (FileNotFoundError, NotFoundError):
                continue
            except BaseError as error:
                raise self._failed("deleted", path, error) from error

    def head(self, path: str) -> Entry | None:
        """What is stored at a key, or None."""
        if self.store is None:
            return None
        try:
            meta = obstore.head(self.store, self._prefix + path)
        except (FileNotFoundError, NotFoundError):
            return None
        except BaseError as error:
            raise self._failed("read", path, error) from error
        return Entry(path, meta["size"], meta["last_modified"])

    def open_input(self, path: str) -> pa.NativeFile:
        """A file as pyarrow reads it."""
        if self.head(path) is None:
            raise FileNotFoundError(f"{self.uri}/{path}")
        location, store = self.source(path)
        if self.is_local:
            return pa.memory_map(location)
        return pa.PythonFile(FileView(open_input(location, store)), mode="r")

    def source(self, path: str) -> tuple[str, Any]:
        """Where the Parquet layer finds a file: a path or key, and the store it is in."""
        if is_absolute(path):
            storage, key = locate(path, self.options)
            return storage.source(key)
        if self.is_local:
            return str(self.local_root / path), None
        return self._prefix + path, self._connected()

    def destination(self, path: str) -> tuple[str, Any]:
        """Where the Parquet layer puts a new file; local directories are made."""
        if self.is_local:
            (self.local_root / path).parent.mkdir(parents=True, exist_ok=True)
        return self.source(path)

    def _failed(self, verb: str, path: str, error: Exception) -> TableError:
        return TableError(f"{self.uri}/{path} could not be {verb}: {_first_line(error)}")


def locate(path: str, options: Mapping[str, Any]) -> tuple[Storage, str]:
    """The store and key of an absolute path of the log."""
    uri = path if "://" in path else normalized_uri(unquote(path.removeprefix("file:")))
    parent, _, name = uri.rpartition("/")
    return Storage(parent, options), unquote(name)


def _memory_store(uri: str) -> MemoryStore:
    with _memory_lock:
        return _memory_stores.setdefault(urlsplit(uri).netloc, MemoryStore())


def _first_line(error: Exception) -> str:
    """Store errors come with pages of debug text; the first line says it."""
    return str(error).strip().partition("\n")[0]
