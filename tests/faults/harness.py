"""Runs an operation under faults, and checks what it leaves.

After each run
1. the table opens and holds exactly what it held before, or all that the operation gives;
2. the error tells the truth: without one it is done, after `CommitUncertain` it may be, after others not;
3. every file that a commit names is there;
4. the operation, tried again, completes;
5. vacuum removes all that no version needs, temporary files too.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import obstore
import pytest

import shredlake as sl
from faults.injection import (
    BY_A_SERVER,
    IN_STORES,
    ON_DISK,
    Plan,
    Requests,
    Tap,
    local_calls,
    server_calls,
    store_calls,
)
from faults.operations import OPERATIONS, Operation, Place, fill, other_writer, write_sources
from s3_server import BUCKET, Server
from shredlake.delta.storage.store_files import StoreFiles
from shredlake.delta.write import transaction

State = tuple[Any, ...] | None


class Broken(AssertionError):
    """A broken promise."""


@dataclass(frozen=True)
class Outcome:
    """The end of a run under faults: the injected faults, the caller's outcome, and the table's state."""

    operation: str
    hits: tuple[tuple[str, str], ...]
    """The call and the fault, of each fault that happened."""
    ended: str
    """`done`, `not done` or `uncertain`, as the caller is told."""
    error: str | None = None


class World(ABC):
    """A place for tables that can be copied, with storage that can fail."""

    kinds: Mapping[str, set[str]]

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sources = folder / "sources"
        self.sources.mkdir()
        write_sources(self.sources)
        self._copies = 0
        self.template = self.new()
        fill(self.template)

    def new(self) -> Place:
        """An empty place."""
        self._copies += 1
        return Place(self._uri(self._copies), self.sources)

    def copy(self) -> Place:
        """A copy of the template."""
        place = self.new()
        self._copy(self.template, place)
        return place

    @abstractmethod
    def faulty(self, place: Place, plan: Plan) -> AbstractContextManager[Tap | Requests]:
        """Faults in the storage of a place, while the block runs."""

    @abstractmethod
    def keys(self, place: Place) -> dict[str, bytes | None]:
        """Every file at a place, with the content of commits."""

    @abstractmethod
    def drop(self, place: Place) -> None:
        """Removes a place."""

    @abstractmethod
    def _uri(self, number: int) -> str:
        """The address of a place."""

    @abstractmethod
    def _copy(self, source: Place, target: Place) -> None:
        """Copies all files."""


class LocalWorld(World):
    """Folders on a disk."""

    kinds = ON_DISK

    def _uri(self, number: int) -> str:
        return str(self.folder / "places" / str(number))

    def _copy(self, source: Place, target: Place) -> None:
        shutil.copytree(source.uri, target.uri)

    def faulty(self, place: Place, plan: Plan) -> AbstractContextManager[Tap]:
        return local_calls(Path(place.uri), plan)

    def keys(self, place: Place) -> dict[str, bytes | None]:
        root = Path(place.uri)
        return {
            str(path.relative_to(root)): path.read_bytes() if path.suffix == ".json" else None
            for path in root.rglob("*")
            if path.is_file()
        }

    def drop(self, place: Place) -> None:
        shutil.rmtree(place.uri, ignore_errors=True)


class StoreWorld(World):
    """An object store: in memory, or the one that `options` describe."""

    kinds = IN_STORES

    def __init__(self, folder: Path, address: str = "memory://faults", **options: Any) -> None:
        self.address, self.options = address, options
        super().__init__(folder)

    def new(self) -> Place:
        return replace(super().new(), options=self.options or None)

    @cached_property
    def store(self) -> Any:
        return StoreFiles.at(self.address, self.options).store

    def _prefix(self, place: Place) -> str:
        return place.uri.removeprefix(f"{self.address}/") + "/"

    def _uri(self, number: int) -> str:
        return f"{self.address}/{self.folder.name}-{number}"

    def _objects(self, place: Place) -> Iterator[str]:
        for chunk in obstore.list(self.store, self._prefix(place)):
            yield from (meta["path"] for meta in chunk)

    def _copy(self, source: Place, target: Place) -> None:
        for path in list(self._objects(source)):
            obstore.copy(self.store, path, path.replace(self._prefix(source), self._prefix(target), 1))

    def faulty(self, place: Place, plan: Plan) -> AbstractContextManager[Tap | Requests]:
        return store_calls(self._prefix(place).rstrip("/"), plan)

    def keys(self, place: Place) -> dict[str, bytes | None]:
        prefix = self._prefix(place)
        return {
            path.removeprefix(prefix): bytes(obstore.get(self.store, path).bytes())
            if path.endswith(".json")
            else None
            for path in self._objects(place)
        }

    def drop(self, place: Place) -> None:
        for path in list(self._objects(place)):
            obstore.delete(self.store, path)


class ServerWorld(StoreWorld):
    """An S3 server on loopback whose answers fail. The client of obstore repeats `retries` times."""

    kinds = BY_A_SERVER

    def __init__(self, folder: Path, server: Server, retries: int = 0) -> None:
        self.server = server
        super().__init__(folder, f"s3://{BUCKET}", **server.options(retries))

    def faulty(self, place: Place, plan: Plan) -> AbstractContextManager[Requests]:
        return server_calls(self.server, f"{BUCKET}/{self._prefix(place)}", plan)


def state(place: Place, name: str, *, exact: bool = True) -> State:
    """All that a table holds, or None where there is none."""
    try:
        table = place.open(name)
    except sl.NotATable:
        return None
    found = table.scan(threads=1).to_arrow()
    ids = found.column("id" if "id" in found.column_names else 0).to_pylist()
    held = (sorted(map(repr, ids)), table.schema.names, str(table.schema), table.properties.get("mine"))
    values = sorted(sl.to_json(found.column("v")).to_pylist(), key=repr) if "v" in found.column_names else []
    facts = (table.version, table.files().num_rows) if exact else ()
    return (*held, values, *facts)


class Trial:
    """One operation in one world, and its result without faults."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name = world, name
        self.operation: Operation = OPERATIONS[name]
        table, beside = self.operation.table, self.operation.beside
        self.before = state(world.template, table)
        place = world.copy()
        with world.faulty(place, Plan()) as tap:
            self.operation.run(place)
        self.calls = tap.calls
        self.after = state(place, table)
        self.beside = None if beside is None else state(place, beside, exact=False)

    @cached_property
    def others(self) -> tuple[State, ...]:
        """The valid states if another writer commits meanwhile."""
        name = self.operation.table
        found = []
        for order in ("only the other", "other first", "other last"):
            place = self.world.copy()
            if order == "other last":
                self.operation.run(place)
            other_writer(place, name)
            if order == "other first":
                self.operation.run(place)
            found.append(state(place, name, exact=False))
        return tuple(found)

    def run(self, faults: Mapping[int, str]) -> Outcome:
        """Runs the operation with faults; raises `Broken` where a promise is not kept."""
        place = self.world.copy()
        slow = "slow" in faults.values()
        plan = Plan(faults, lambda: other_writer(place, self.operation.table))
        error: Exception | None = None
        with self.world.faulty(place, plan) as tap, warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                self.operation.run(place)
            except Exception as caught:
                error = caught
        hits = tuple((str(call), kind) for call, kind in tap.hits)
        what = f"{self.name}, {', '.join(f'{call} fails: {kind}' for call, kind in hits)}: {error!r}"
        try:
            if error is not None and not isinstance(error, sl.ShredlakeError):
                raise Broken(f"an exception that is not ours: {error!r}") from error
            if slow and any(kind == "slow" for _, kind in hits):
                self._check_beside_another(place, error)
                self._check_commits(place)
            else:
                self._check(place, error)
            self._check_vacuum(place)
        except Exception as problem:
            raise Broken(f"{what}\n  {type(problem).__name__}: {problem}") from problem
        self.world.drop(place)
        ended = "done" if error is None else "not done"
        ended = "uncertain" if isinstance(error, sl.CommitUncertain) else ended
        return Outcome(self.name, hits, ended, None if error is None else str(error))

    def kill(self, number: int, kind: str) -> str:
        """Kills a process that does the operation at one of its calls; returns `done` or `not done`."""
        place = self.world.copy()
        process = get_context("forkserver").Process(target=_end_at, args=(place, self.name, number, kind))
        process.start()
        process.join(KILL_SECONDS)
        code = process.exitcode
        process.kill()
        what = f"{self.name}, {kind} {self.calls[number]}"
        assert code == -signal.SIGKILL, f"{what}: the process ended with {code}"
        found = state(place, self.operation.table)
        try:
            if found not in (self.before, self.after):
                raise Broken(f"neither the state before nor after: {found}")
            self._check_commits(place)
            self._check_retry(place, found, None)
            self._check_vacuum(place)
        except Exception as problem:
            raise Broken(f"{what}\n  {type(problem).__name__}: {problem}") from problem
        self.world.drop(place)
        return "done" if found == self.after != self.before else "not done"

    def _check(self, place: Place, error: Exception | None) -> None:
        found = state(place, self.operation.table)
        if found not in (self.before, self.after):
            raise Broken(f"neither the state before nor after: {found}")
        if error is None and found != self.after:
            raise Broken("no error, but it is not done")
        certain = error is not None and not isinstance(error, sl.CommitUncertain)
        if certain and found != self.before:
            raise Broken("an error, but it is done")
        self._check_commits(place)
        self._check_retry(place, found, error)

    def _check_beside_another(self, place: Place, error: Exception | None) -> None:
        found = state(place, self.operation.table, exact=False)
        if found not in self.others:
            raise Broken(f"no order of the two writers gives {found}; they give {self.others}")
        certain = error is not None and not isinstance(error, sl.CommitUncertain)
        if certain and found != self.others[0]:
            raise Broken("an error, but it is done")

    def _check_commits(self, place: Place) -> None:
        """Every file that a commit adds is there; after a vacuum, the live ones are: they were read."""
        keys = self.world.keys(place)
        if self.name == "vacuum":
            return
        for key, text in keys.items():
            table, log, name = key.partition("/_delta_log/")
            if log and text is not None and name[:20].isdigit() and len(name) == 25:
                for action in map(json.loads, text.decode().splitlines()):
                    path = next((action[kind]["path"] for kind in ("add", "cdc") if kind in action), None)
                    if path is not None and f"{table}/{unquote(path)}" not in keys:
                        raise Broken(f"{path} is committed in {name}, but gone")

    def _check_retry(self, place: Place, found: State, error: Exception | None) -> None:
        again = self.operation.beside is not None or error is not None
        if found == self.after != self.before and not (again and self.operation.repeatable):
            return
        exact = found == self.before
        self.operation.run(place)
        found = state(place, self.operation.table)
        assert self.after is not None
        if found is None or (found != self.after if exact else found[:-2] != self.after[:-2]):
            raise Broken(f"tried again, it gives {found} instead of {self.after}")
        if self.operation.beside is not None:
            found = state(place, self.operation.beside, exact=False)
            if found != self.beside:
                raise Broken(f"tried again, {self.operation.beside} is {found} instead of {self.beside}")

    def _check_vacuum(self, place: Place) -> None:
        for name in (self.operation.table, self.operation.beside):
            try:
                table = place.open(name or "none")
            except sl.NotATable:
                continue
            table.vacuum(retention_hours=0, enforce_retention=False, dry_run=False)
            live = {unquote(path) for path in table.files().column("path").to_pylist()}
            mine = [
                key.removeprefix(f"{name}/") for key in self.world.keys(place) if key.startswith(f"{name}/")
            ]
            left = [key for key in mine if key not in live and not _belongs(key)]
            if left:
                raise Broken(f"vacuum left {left}")


KILL_SECONDS = 120


def _end_at(place: Place, name: str, number: int, kind: str) -> None:
    """The process that is killed."""
    with local_calls(Path(place.uri), Plan({number: kind})):
        OPERATIONS[name].run(place)


def _belongs(key: str) -> bool:
    """Whether a file is part of a log that is kept."""
    return key.startswith("_delta_log/") and not key.endswith(".tmp")


@contextmanager
def folder_in_memory() -> Iterator[Path]:
    """A folder for tables whose syncs cost nothing: what a disk loses is tested by `power`."""
    where = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="shredlake-faults-", dir=where) as folder:
        yield Path(folder)


@contextmanager
def impatient() -> Iterator[None]:
    """Commits are looked up without waiting."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transaction, "READ_BACK_WAITS", (0.0, 0.0))
        patch.setattr("shredlake.delta.write.transaction.random.uniform", lambda *_: 0.0)
        yield


def singles(trial: Trial) -> Iterator[dict[int, str]]:
    """Every fault at every call that it can happen to."""
    for number, call in enumerate(trial.calls):
        for kind, names in trial.world.kinds.items():
            if call.name in names:
                yield {number: kind}


def triples(trial: Trial, dice: Any, count: int) -> Iterator[dict[int, str]]:
    """Three faults at random calls."""
    kinds = [kind for kind in trial.world.kinds if kind != "slow"]
    for _ in range(count):
        yield {dice.randrange(len(trial.calls) + 5): dice.choice(kinds) for _ in range(3)}
