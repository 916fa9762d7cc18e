"""The single interface to storage: a table's directory on a local disk or in an object store.

A `Storage` is an address and the options to reach it. It connects on first use, and again after it was
unpickled, so workers use the same interface as the driver. Its paths are plain (decoded) keys relative to
the root. Paths in the log are percent-encoded; `decode_path` and `encode_path` convert them.

Local directories are reached with plain system calls (`LocalFiles`), everything else through obstore
(`StoreFiles`). All failures are raised as `TableError`, with credentials removed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote, unquote, urlsplit

import pyarrow as pa
from obstore import exceptions as store_errors

from shredlake.delta.storage.boundary import allowed_places, place_of, require_inside
from shredlake.delta.storage.local_files import Entry, LocalFiles, make_directories
from shredlake.delta.storage.secrets import StorageOptions, holds_secrets, shown_address, without_secrets
from shredlake.delta.storage.store_files import StoreFiles
from shredlake.errors import (
    CorruptLog,
    FileMissing,
    InvalidFile,
    ShredlakeError,
    StoreRefused,
    TableError,
    WrongType,
)
from shredlake.formatting import is_text, kind_of
from shredlake.parquet.io.source import FileView, open_input

__all__ = [
    "Entry",
    "Storage",
    "as_argument",
    "decode_path",
    "encode_path",
    "is_absolute",
    "locate",
    "normalized_uri",
]

_MISSING = (FileNotFoundError, NotADirectoryError, store_errors.NotFoundError)
_REFUSALS = (
    store_errors.PermissionDeniedError,
    store_errors.UnauthenticatedError,
    store_errors.InvalidPathError,
    store_errors.NotSupportedError,
    store_errors.UnknownConfigurationKeyError,
)
"""Errors after which it is certain that nothing was written."""

# Characters that a URI path may hold unescaped (RFC 2396), except the comma, as in Hadoop's writers.
_UNESCAPED = "/!'()*=$&+:@,;~"


def normalized_uri(uri: str | os.PathLike[str]) -> str:
    """The address as a URI with a scheme and without a trailing slash.

    >>> normalized_uri("s3a://bucket/events/")
    's3a://bucket/events'
    >>> normalized_uri("/data/events")
    'file:///data/events'
    """
    try:
        text = os.fspath(uri)
    except TypeError:
        raise WrongType(f"a table's address is a path or a URL, not {kind_of(uri)}") from None
    if not isinstance(text, str) or not text.strip():
        raise TableError("a table's address is a path or a URL; this one is empty or not text")
    if not is_text(text):
        raise TableError(
            f"{text!a}: the address is not UTF-8, which shredlake can't keep in a table. Rename it"
        )
    if holds_secrets(text):
        raise TableError(
            f"{shown_address(text)}: an address may not hold a password or a query; pass credentials as "
            "storage_options"
        )
    try:
        scheme = urlsplit(text).scheme
        if len(scheme) < 2:  # none, or a drive letter
            return Path(text).expanduser().absolute().as_uri().rstrip("/")
        if scheme == "file":
            return Path(as_argument(text)).as_uri().rstrip("/")
    except (ValueError, RuntimeError) as error:
        raise TableError(f"{text!r} is not an address: {error}") from None
    if not text.rstrip("/").removeprefix(f"{scheme}:"):
        raise TableError(f"{text} names no bucket or host; expected e.g. {scheme}://bucket/folder")
    return text.rstrip("/")


def as_argument(uri: str) -> str:
    """An address as a command takes it: a plain path if it is local.

    >>> as_argument("file:///data/a%20b"), as_argument("s3://bucket/a%20b")
    ('/data/a b', 's3://bucket/a%20b')
    >>> as_argument("FILE:/data")
    '/data'
    >>> as_argument("file:///data/part-?.json")  # not a query: the path may be a glob
    '/data/part-?.json'
    """
    scheme, _, path = uri.partition(":")
    if scheme.lower() != "file":
        return uri
    if path.startswith("//"):  # a host, usually none
        path = "/" + path[2:].partition("/")[2]
    return unquote(path)


def decode_path(path: str) -> str:
    """Decodes a path in the log to a key. A path that leads out of the table is refused.

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
        if not isinstance(self.options, Mapping):
            raise WrongType(f"storage_options is a dict, not {kind_of(self.options)}")
        object.__setattr__(self, "options", StorageOptions(self.options))

    def __reduce__(self) -> tuple[object, ...]:
        return Storage, (self.uri, self.options)

    def __hash__(self) -> int:
        return hash((self.uri, tuple(sorted(self.options))))

    @property
    def is_local(self) -> bool:
        return self.uri.startswith("file://")

    @property
    def local_root(self) -> Path:
        """The directory, for a table on the local disk."""
        return Path(as_argument(self.uri))

    @cached_property
    def files(self) -> LocalFiles | StoreFiles:
        """The implementation: system calls or an obstore handle."""
        if self.is_local:
            return LocalFiles(self.local_root)
        with self.doing("opened"):
            return StoreFiles.at(self.uri, self.options)

    @property
    def store(self) -> Any:
        """The obstore handle of a directory that is not local."""
        return cast(StoreFiles, self.files).store

    def list(self, prefix: str = "", start_after: str | None = None) -> list[Entry]:
        """Every object below `prefix`, sorted by key; with `start_after`, only objects after that key."""
        return sorted(self.entries(prefix, start_after), key=lambda entry: entry.path)

    def entries(self, prefix: str = "", start_after: str | None = None) -> Iterator[Entry]:
        """Like `list`, but in any order, page by page as the store sends them."""
        with self.doing("listed", prefix):
            yield from self.files.entries(prefix, start_after)

    def residents(self) -> Iterator[Entry]:
        """Every file in the directory. Symbolic links are listed, but not followed."""
        with self.doing("listed"):
            yield from self.files.residents()

    def identity(self, path: str) -> tuple[int, int] | None:
        """The device and inode number of a local file, which all its names share; None without a file."""
        if not isinstance(self.files, LocalFiles):
            return None
        with self.doing("read", path):
            return self.files.identity(path)

    @cached_property
    def _folders(self) -> tuple[str, ...]:
        """Where files that the log names may lie: in the table's folder, or where the options allow."""
        return place_of(self.uri), *allowed_places(self.options)

    @cached_property
    def _real_folders(self) -> dict[str, str]:
        """Local folders that were looked at, without symbolic links."""
        return {}

    def require_inside(self, path: str) -> None:
        """Raises `PathRefused` if a path of the log, decoded, leads out of the table; see `boundary`."""
        if not is_absolute(path):
            if self.is_local:
                require_inside(self._real(os.path.join(self.local_root, path)), self._folders, path)
            return
        storage, key = locate(path, self.options)
        if storage.is_local:
            place = storage._real(os.path.join(storage.local_root, key))
        else:
            place = f"{place_of(storage.uri).rstrip('/')}/{key}"
        require_inside(place, self._folders, path)

    def _real(self, path: str) -> str:
        """A local path without symbolic links. Most files of a table share a few folders."""
        folder, name = os.path.split(path)
        real = self._real_folders.get(folder)
        if real is None:
            real = self._real_folders[folder] = os.path.realpath(folder)
        joined = os.path.join(real, name)
        return os.path.realpath(joined) if os.path.islink(joined) else joined

    def located(self, path: str) -> tuple[Storage, str]:
        """The store and the key of a file that the log names, decoded; one outside the table is refused."""
        if not is_absolute(path):
            return self, path
        self.require_inside(path)
        return locate(path, self.options)

    def get(self, path: str) -> bytes:
        """The whole object. Raises `FileMissing`, a FileNotFoundError, if it does not exist."""
        with self.doing("read", path):
            self.require_inside(path)
            return self.files.get(path)

    def get_range(self, path: str, start: int, length: int) -> bytes:
        """Part of an object."""
        with self.doing("read", path):
            self.require_inside(path)
            return self.files.get_range(path, start, length)

    def put(self, path: str, data: bytes) -> None:
        """Writes an object atomically and replaces an existing object."""
        with self.doing("written", path):
            self.files.put(path, data)

    def create(self, path: str, data: bytes) -> None:
        """Creates an object, atomically and durably. Raises FileExistsError if it exists."""
        with self.doing("written", path):
            self.files.create(path, data)

    def delete(self, paths: Iterable[str]) -> None:
        """Removes objects. Missing objects are not an error."""
        for path in paths:
            with self.doing("deleted", path):
                self.files.delete(path)

    def head(self, path: str) -> Entry | None:
        """The object stored at a key, or None."""
        with self.doing("read", path):
            self.require_inside(path)
            return self.files.head(path)

    def open_input(self, path: str) -> pa.NativeFile:
        """A file as pyarrow reads it. Only this thread may read that of a store (see `FileView`)."""
        if self.head(path) is None:
            raise FileMissing(f"{self.uri}/{path} is not there")
        location, store = self.source(path)
        if self.is_local:
            with self.doing("read", path):
                return pa.memory_map(location)
        return pa.PythonFile(FileView(open_input(location, store)), mode="r")

    def source(self, path: str) -> tuple[str, Any]:
        """Where the Parquet layer finds a file: a path or key, and the store it is in."""
        if is_absolute(path):
            storage, key = self.located(path)
            return storage.source(key)
        self.require_inside(path)
        if self.is_local:
            return str(self.local_root / path), None
        return cast(StoreFiles, self.files).prefix + path, self.store

    @contextmanager
    def data_file(self, path: str) -> Iterator[tuple[str, Any]]:
        """The `source` of a data file, to be opened inside; the error for a missing one says what to do."""
        try:
            yield self.source(path)
        except InvalidFile as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
            raise FileMissing(
                f"{self.uri}: the data file {path} does not exist. Vacuum deletes the files of old versions; "
                "shredlake check lists the missing files of the newest version"
            ) from None

    def destination(self, path: str) -> tuple[str, Any]:
        """Where the Parquet layer puts a new file. Local directories are created."""
        if self.is_local:
            with self.doing("written", path):
                make_directories((self.local_root / path).parent)
        return self.source(path)

    @contextmanager
    def doing(self, verb: str, path: str = "") -> Iterator[None]:
        """Turns every error of the operating system or the store into one of our own errors."""
        where = f"{self.uri}/{path}" if path else self.uri
        try:
            yield
        except (ShredlakeError, FileExistsError):
            raise
        except _REFUSALS as error:
            raise StoreRefused(self._message(where, verb, error)) from None
        except (OSError, ValueError, TypeError, store_errors.BaseError) as error:
            kind = FileMissing if verb == "read" and isinstance(error, _MISSING) else TableError
            raise kind(self._message(where, verb, error)) from None
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # of Rust, for options that obstore can't take
                raise
            raise StoreRefused(self._message(where, verb, error)) from None

    def _message(self, where: str, verb: str, error: BaseException) -> str:
        """The first line of a store's error; the rest is pages of debug text."""
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        line = reason.strip().partition("\n")[0]
        return without_secrets(f"{where} could not be {verb}: {line}", self.options)


def locate(path: str, options: Mapping[str, Any]) -> tuple[Storage, str]:
    """The store and key of an absolute path of the log."""
    uri = path if "://" in path else normalized_uri(unquote(path.removeprefix("file:")))
    parent, _, name = uri.rpartition("/")
    return Storage(parent, options), unquote(name)
