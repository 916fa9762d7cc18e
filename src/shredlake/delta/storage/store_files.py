"""A table's directory in an object store, or in memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, NotFoundError, PreconditionError
from obstore.store import MemoryStore

from shredlake.delta.storage.boundary import store_options
from shredlake.delta.storage.local_files import Entry
from shredlake.parquet.io.stores import open_store

_memory_stores: dict[str, MemoryStore] = {}
_memory_lock = threading.Lock()


class StoreFiles:
    """The objects below a prefix. Methods raise obstore's errors."""

    def __init__(self, store: Any, prefix: str = "") -> None:
        self.store = store
        self.prefix = prefix

    @staticmethod
    def at(uri: str, options: Mapping[str, Any]) -> StoreFiles:
        """The objects at an address. In-memory stores are shared by host."""
        if not uri.startswith("memory://"):
            return StoreFiles(open_store(uri, **store_options(options)))
        with _memory_lock:
            store = _memory_stores.setdefault(urlsplit(uri).netloc, MemoryStore())
        path = urlsplit(uri).path.strip("/")
        return StoreFiles(store, f"{path}/" if path else "")

    def entries(self, prefix: str, start_after: str | None) -> Iterator[Entry]:
        full = self.prefix + prefix
        offset = None if start_after is None else self.prefix + start_after
        skip = len(self.prefix)
        try:
            for chunk in obstore.list(self.store, full or None, offset=offset):
                for meta in chunk:
                    yield Entry(meta["path"][skip:], meta["size"], meta["last_modified"])
        except (FileNotFoundError, NotFoundError):
            return

    def residents(self) -> Iterator[Entry]:
        """Yields every object below the prefix."""
        return self.entries("", None)

    def get(self, path: str) -> bytes:
        return bytes(obstore.get(self.store, self.prefix + path).bytes())

    def get_range(self, path: str, start: int, length: int) -> bytes:
        if start < 0 or length < 0:
            raise ValueError(f"{length} bytes at {start} is not a range")
        return bytes(obstore.get_range(self.store, self.prefix + path, start=start, length=length))

    def head(self, path: str) -> Entry | None:
        try:
            meta = obstore.head(self.store, self.prefix + path)
        except (FileNotFoundError, NotFoundError):
            return None
        return Entry(path, meta["size"], meta["last_modified"])

    def put(self, path: str, data: bytes) -> None:
        obstore.put(self.store, self.prefix + path, data)

    def create(self, path: str, data: bytes) -> None:
        try:
            obstore.put(self.store, self.prefix + path, data, mode="create")
        except (AlreadyExistsError, PreconditionError):
            raise FileExistsError(path) from None

    def delete(self, path: str) -> None:
        try:
            obstore.delete(self.store, self.prefix + path)
        except (FileNotFoundError, NotFoundError):
            return
