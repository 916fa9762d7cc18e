"""Faults at every call to storage: the system calls of a local table, the requests to an object store.

```
with local_calls(root, Plan({7: "after"})) as tap:
    table.append(rows)        # the eighth call does its work, and then fails
tap.calls                     # what was called, in order
```

| fault       | the call                                                          | and those after it       |
|-------------|-------------------------------------------------------------------|--------------------------|
| `before`    | fails without doing anything (`EIO`; 503 of a store)              |                          |
| `after`     | does its work and fails: the answer is lost                       |                          |
| `away`      | does its work and fails                                           | three fail               |
| `torn`      | does half of its work and fails                                   |                          |
| `full`      | does half of its work and fails: no space is left                 | every write fails        |
| `read-only` | fails                                                             | all that change fail     |
| `refused`   | fails with 403                                                    |                          |
| `412`       | fails as if the object existed, though it does not                |                          |
| `412 late`  | does its work; a repeated request then finds the object           |                          |
| `slow`      | takes so long that another writer commits meanwhile               |                          |
| `lag`       | a listing does not show the newest commit                         | so do all listings       |
"""

from __future__ import annotations

import errno
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import obstore
import pyarrow as pa
import pytest
from obstore import exceptions as store_errors

from s3_server import Server

READS: Final = {"list", "open", "read", "stat", "get", "head", "map"}
WRITES: Final = {"write", "draft", "link", "rename", "mkdir", "put", "create"}
CHANGES: Final = WRITES | {"delete", "sync"}

ON_DISK: Final[Mapping[str, set[str]]] = {
    "before": READS | CHANGES,
    "after": CHANGES,
    "away": CHANGES,
    "torn": {"write", "draft"},
    "full": WRITES,
    "read-only": CHANGES,
    "slow": {"list", "link", "draft", "rename"},
    "lag": {"list"},
}
KILLS: Final[Mapping[str, set[str]]] = {
    "killed before": CHANGES | {"list", "open"},
    "killed after": CHANGES,
    "killed halfway": {"write", "draft"},
}
"""The process itself ends, by SIGKILL, at a system call."""
IN_STORES: Final[Mapping[str, set[str]]] = {
    "before": READS | CHANGES,
    "after": {"put", "create", "delete"},
    "away": {"put", "create", "delete"},
    "torn": {"draft"},
    "full": {"draft"},
    "refused": {"list", "get", "put", "create", "delete"},
    "412": {"create"},
    "412 late": {"create"},
    "slow": {"list", "put", "create"},
    "lag": {"list"},
}
"""The calls that each fault can happen to."""
BY_A_SERVER: Final[Mapping[str, set[str]]] = {
    "503": {"list", "get", "head", "put", "delete"},
    "403": {"list", "get", "put", "delete"},
    "500": {"put", "delete"},
    "lost": {"list", "get", "put", "delete"},
    "torn": {"list", "get"},
    "412": {"put"},
    "timeout": {"put"},
    "lag": {"list"},
}
"""The faults of an S3 server, which `s3_server` describes, by request."""

_COMMIT: Final = re.compile(r"(\d{20})\.json$")
_TARGETS: Final = (
    (re.compile(r"\.[0-9a-f]{32}\.tmp$"), "temporary file"),
    (_COMMIT, "commit"),
    (re.compile(r"_last_checkpoint$"), "_last_checkpoint"),
    (re.compile(r"_delta_log/.*parquet$|\.checkpoint\."), "checkpoint"),
    (re.compile(r"_delta_log/?$"), "log"),
    (re.compile(r"_staging"), "staged rejects"),
    (re.compile(r"_shredlake_convert"), "journal"),
    (re.compile(r"_change_data/.*parquet$"), "change file"),
    (re.compile(r"\.parquet$"), "data file"),
)


@dataclass(frozen=True)
class Call:
    """One call to storage."""

    name: str
    path: str

    def __str__(self) -> str:
        kind = next((name for pattern, name in _TARGETS if pattern.search(self.path)), "folder")
        if kind == "temporary file":  # of what it will be
            final = re.sub(r"\.([^/]+)\.[0-9a-f]{32}\.tmp$", r"\1", self.path)
            kind = str(Call(self.name, final)).partition(" ")[2]
        return f"{self.name} {kind}"


@dataclass(frozen=True)
class Plan:
    """The calls that fail, counted from 0, and how they fail."""

    faults: Mapping[int, str] = field(default_factory=dict)
    meanwhile: Callable[[], object] = lambda: None
    """The work of another writer during a slow call."""


class Tap:
    """Counts the calls of all threads, and lets those of a plan fail."""

    def __init__(self, plan: Plan, kinds: Mapping[str, set[str]], error: Callable[[str], Exception]) -> None:
        self.calls: list[Call] = []
        self.hits: list[tuple[Call, str]] = []
        """The faults that happened."""
        self._plan, self._kinds, self._error = plan, kinds, error
        self._lock = threading.Lock()
        self._aside = threading.local()
        self._away = 0
        self._full = self._read_only = self._lagging = False

    def through(
        self,
        name: str,
        path: str,
        work: Callable[[], Any],
        tear: Callable[[], object] = lambda: None,
    ) -> Any:
        """Does the work of a call, or not."""
        if getattr(self._aside, "on", False):
            return work()
        call = Call(name, path)
        with self._lock:
            number = len(self.calls)
            self.calls.append(call)
            kind = self._kind(number, call)
        if kind is None:
            return self._stale(work()) if name == "list" and self._lagging else work()
        if kind in ("after", "away", "412 late", "killed after"):
            work()
        elif kind in ("torn", "full", "killed halfway"):
            tear()
        elif kind == "slow":
            self._aside.on = True
            try:
                self._plan.meanwhile()
            finally:
                self._aside.on = False
            return work()
        elif kind == "lag":
            return self._stale(work())
        raise self._error(kind)

    def _kind(self, number: int, call: Call) -> str | None:
        """The fault of this call, by the plan or by an earlier fault that lasts."""
        kind = self._plan.faults.get(number)
        if kind is not None and call.name in self._kinds[kind]:
            self.hits.append((call, kind))
            self._away = 3 if kind == "away" else self._away
            self._full |= kind == "full"
            self._read_only |= kind == "read-only"
            self._lagging |= kind == "lag"
            return kind
        if self._away:
            self._away -= 1
            return "before"
        if self._read_only and call.name in CHANGES:
            return "read-only"
        if self._full and call.name in WRITES:
            return "full"
        return None

    @staticmethod
    def _stale(found: list[Any]) -> list[Any]:
        """A listing as it was before the newest commit."""
        versions = [int(commit[1]) for entry in found if (commit := _COMMIT.search(_path(entry)))]
        newest = f"{max(versions, default=0):020}."
        return type(found)(entry for entry in found if newest not in _path(entry) or len(versions) < 2)


def _path(entry: Any) -> str:
    return str(entry["path"] if isinstance(entry, dict) else entry.path)


# ── Local files ─────────────────────────────────────────────────────────────────────────────────────────

_CODES: Final = {"full": errno.ENOSPC, "read-only": errno.EROFS}


def _os_error(kind: str) -> Exception:
    if kind in KILLS:
        os.kill(os.getpid(), signal.SIGKILL)
    code = _CODES.get(kind, errno.EIO)
    return OSError(code, f"injected: {os.strerror(code)}")


class _System:
    """The module `os`, with faults in the calls that reach below a folder."""

    def __init__(self, root: str, tap: Tap) -> None:
        self._root, self._tap = root, tap

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def _call(self, name: str, path: Any, work: Callable[[], Any]) -> Any:
        text = os.fspath(path)
        return self._tap.through(name, text, work) if text.startswith(self._root) else work()

    def open(self, path: Any, *flags: Any) -> int:
        return int(self._call("open", path, lambda: os.open(path, *flags)))

    def stat(self, path: Any) -> Any:
        return self._call("stat", path, lambda: os.stat(path))

    def mkdir(self, path: Any) -> None:
        self._call("mkdir", path, lambda: os.mkdir(path))

    def link(self, source: Any, target: Any) -> None:
        self._call("link", target, lambda: os.link(source, target))

    def replace(self, source: Any, target: Any) -> None:
        self._call("rename", target, lambda: os.replace(source, target))

    def unlink(self, path: Any) -> None:
        self._call("delete", path, lambda: os.unlink(path))

    def fsync(self, handle: int) -> None:
        self._call("sync", os.readlink(f"/proc/self/fd/{handle}"), lambda: os.fsync(handle))

    def pread(self, handle: int, length: int, offset: int) -> bytes:
        path = os.readlink(f"/proc/self/fd/{handle}")
        return bytes(self._call("read", path, lambda: os.pread(handle, length, offset)))

    def scandir(self, path: Any) -> Any:
        return self._call("list", path, lambda: _Listed(list(os.scandir(path))))


class _Arrow:
    """The module `pyarrow`, with faults where a file is mapped into memory."""

    def __init__(self, tap: Tap) -> None:
        self._tap = tap

    def __getattr__(self, name: str) -> Any:
        return getattr(pa, name)

    def memory_map(self, path: str) -> Any:
        return self._tap.through("map", path, lambda: pa.memory_map(path))


class _Listed(list[Any]):
    """The result of `os.scandir`, read at once."""

    def __enter__(self) -> _Listed:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class _File:
    """A file that is written, with a fault in the middle of it."""

    def __init__(self, path: str, file: Any, tap: Tap) -> None:
        self._path, self._file, self._tap = path, file, tap

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: bytes) -> None:
        half = data[: len(data) // 2]
        self._tap.through("write", self._path, lambda: self._file.write(data), lambda: self._file.write(half))


@contextmanager
def local_calls(root: Path, plan: Plan) -> Iterator[Tap]:
    """Faults in the system calls of all tables below a folder, while the block runs."""
    from shredlake.delta.storage import local_files, storage
    from shredlake.parquet.io import destination, source

    tap = Tap(plan, {**ON_DISK, **KILLS}, _os_error)
    system = _System(str(root), tap)

    def opened(path: Any, mode: str = "r", **more: Any) -> Any:
        file = open(path, mode, **more)  # noqa: SIM115 - the caller closes it
        return _File(path, file, tap) if "x" in mode else file

    with pytest.MonkeyPatch.context() as patch:
        for module in (local_files, destination, source):
            patch.setattr(module, "os", system)
        patch.setattr(local_files, "open", opened, raising=False)
        patch.setattr(storage, "pa", _Arrow(tap))
        _tap_drafts(patch, tap)
        yield tap


def _tap_drafts(patch: pytest.MonkeyPatch, tap: Tap) -> None:
    """Makes the writing of Parquet files fail before the footer; pyarrow writes them in C++."""
    from shredlake.parquet.write import writer

    real = writer._annotate_file

    def annotated(draft: Any, groups: Any) -> Any:
        def tear() -> None:
            os.truncate(draft, os.path.getsize(draft) // 2)

        return tap.through("draft", str(draft), lambda: real(draft, groups), tear)

    patch.setattr(writer, "_annotate_file", annotated)


# ── Object stores ───────────────────────────────────────────────────────────────────────────────────────


def _store_error(kind: str) -> Exception:
    if kind == "refused":
        return store_errors.PermissionDeniedError("injected: 403 Access Denied")
    if kind.startswith("412"):
        return store_errors.PreconditionError("injected: 412 Precondition Failed")
    if kind in ("torn", "full"):
        return _os_error(kind)
    return store_errors.GenericError("injected: 503 Slow Down")


@contextmanager
def store_calls(prefix: str, plan: Plan) -> Iterator[Tap]:
    """Faults in the requests of obstore for keys that start with a prefix, while the block runs."""
    tap = Tap(plan, IN_STORES, _store_error)

    def faulty(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(store: Any, path: Any = None, *more: Any, **options: Any) -> Any:
            text = str(path or "")
            shown = "create" if options.get("mode") == "create" else name

            def work() -> Any:
                found = real(store, path, *more, **options)
                return [meta for chunk in found for meta in chunk] if name == "list" else found

            if not text.startswith(prefix):
                return real(store, path, *more, **options)
            found = tap.through(shown, text, work)
            return [found] if name == "list" else found

        return call

    names = {"list": "list", "get": "get", "get_range": "get", "get_ranges": "get", "head": "head"}
    names |= {"put": "put", "delete": "delete"}
    with pytest.MonkeyPatch.context() as patch:
        for function, name in names.items():
            patch.setattr(obstore, function, faulty(name, getattr(obstore, function)))
        _tap_drafts(patch, tap)
        yield tap


# ── An S3 server ────────────────────────────────────────────────────────────────────────────────────────

_REQUESTS: Final = {"GET": "get", "HEAD": "head", "PUT": "put", "DELETE": "delete", "POST": "delete"}


@dataclass
class Requests:
    """The requests that a server saw, and the faults that it answered with."""

    calls: list[Call] = field(default_factory=list)
    hits: list[tuple[Call, str]] = field(default_factory=list)


@contextmanager
def server_calls(server: Server, prefix: str, plan: Plan) -> Iterator[Requests]:
    """Faults of an S3 server in the requests below a prefix, while the block runs."""
    seen = Requests()
    server.plan(prefix, plan.faults)
    try:
        yield seen
    finally:
        seen.calls = [Call(_request(method, path), path) for method, path in server.calls()]
        server.plan(None, {})
        seen.hits = [(seen.calls[n], kind) for n, kind in plan.faults.items() if n < len(seen.calls)]


def _request(method: str, path: str) -> str:
    return "list" if method == "GET" and path.endswith(("/", "_delta_log")) else _REQUESTS[method]
