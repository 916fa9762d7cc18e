"""Adds a version to the log by put-if-absent, and checks for conflicts if another writer was first.

A writer reads a snapshot, plans, writes its data files, and tries to create the next commit. If that version
already exists, the commits in between are checked against the reads and writes of this one. If they do not
conflict, the writer tries the version after them; otherwise it raises `CommitConflict`.

| another commit                              | conflicts with us if                           |
|---------------------------------------------|------------------------------------------------|
| changed the protocol or the metadata        | always                                         |
| removed a file                              | we read or remove that file                    |
| added rows                                  | our plan read rows that its files may hold     |
| moved the same transaction id or domain     | we set it too                                  |
"""

from __future__ import annotations

import json
import random
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shredlake import __version__
from shredlake.delta.log.listing import commit_path, in_commit_timestamp, is_unchanged
from shredlake.delta.log.snapshot import Snapshot, actions_of
from shredlake.delta.protocol.actions import (
    COUNT_TAG,
    Action,
    Add,
    CommitInfo,
    DomainMetadata,
    Metadata,
    Protocol,
    Remove,
    Transaction,
    dumps,
    loads,
)
from shredlake.delta.protocol.features import require_writable
from shredlake.delta.protocol.properties import APPEND_ONLY, TableProperties
from shredlake.delta.storage.storage import Storage
from shredlake.errors import CommitConflict, CommitUncertain, FileMissing, StoreRefused, TableError

MAX_ATTEMPTS = 50
READ_BACK_WAITS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Seconds between the checks for a commit whose response was lost."""

FileKey = tuple[str, str | None]


@dataclass(frozen=True)
class Reads:
    """The dependencies of a plan: the files it read, and which added files would have changed it."""

    files: frozenset[FileKey] = frozenset()
    affected_by: Callable[[Sequence[Add]], bool] | None = None
    """Tells whether concurrently added files matter; None if no added row can matter."""
    removals: bool = False
    """Whether the removal of any file matters, even of a file that was not read."""


def _any(added: Sequence[Add]) -> bool:
    """Every added file matters."""
    return bool(added)


NOTHING = Reads()
"""The plan depends on no row and no file, like that of an append."""
WHOLE_TABLE = Reads(affected_by=_any)
"""The plan depends on all rows: any row that another commit adds matters."""
WHOLE_VERSION = Reads(affected_by=_any, removals=True)
"""The plan depends on the version as it is: any file that another commit adds or removes matters."""


@dataclass(frozen=True)
class Operation:
    """The operation of a commit, as `history()` shows it."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)


def add_version(
    snapshot: Snapshot,
    actions: Sequence[Action],
    operation: Operation,
    reads: Reads = NOTHING,
    *,
    max_attempts: int = MAX_ATTEMPTS,
) -> int:
    """Adds a version to the table and returns its number.

    `snapshot` is what the actions were planned on; what it only plans, a table or columns, is created. Raises
    `CommitConflict` if another commit since then conflicts with this one, and after `max_attempts` lost
    races; `CommitUncertain` if the store does not tell whether the version was added. Any other error
    means that it was not. See `commit`, which also does what follows a commit.

    >>> from shredlake.example import example_table
    >>> snapshot = example_table("add-version").snapshot
    >>> add_version(snapshot, [Transaction("app", 1)], Operation("NOTE")), snapshot.version
    (2, 1)
    """
    require_writable(snapshot.protocol, snapshot.storage.uri)
    if any(isinstance(action, Remove) and action.data_change for action in actions):
        require_removable(snapshot)
    _check_log(snapshot)
    planned = snapshot.planned if snapshot.version >= 0 else actions_of(snapshot)
    actions = [*planned, *actions]
    identity = str(uuid.uuid4())
    version = snapshot.version + 1
    for attempt in range(max_attempts):
        info = commit_info(
            actions,
            operation,
            reads,
            identity=identity,
            read_version=snapshot.version,
            in_commit_time=_in_commit_time(snapshot, actions, version),
        )
        if _is_committed(snapshot.storage, version, dumps([info, *actions])):
            return version
        for winner, theirs in _commits_from(snapshot.storage, version):
            check_conflict(theirs, winner, actions, reads)
            version = winner + 1
        time.sleep(random.uniform(0, min(0.005 * 2 ** min(attempt, 7), 0.5)))
    raise CommitConflict(
        f"{snapshot.storage.uri}: gave up after {max_attempts} attempts to commit, the last at version "
        f"{version}; other writers were faster each time. Nothing was changed: try again"
    )


def _is_committed(storage: Storage, version: int, data: bytes) -> bool:
    """Whether the commit is in the log after this attempt. Raises `CommitUncertain` if that can't be known.

    A store may write a commit and fail before it responds. The log then decides: it holds our bytes, which
    contain a unique id, or those of another writer, or nothing.
    """
    path = commit_path(version)
    try:
        if try_commit(storage, version, data):
            return True
        problem: Exception | None = None
    except StoreRefused:
        raise
    except Exception as error:
        problem = error
    try:
        found = _read_back(storage, path)
    except Exception as error:
        raise _uncertain(storage, version, problem or error) from error
    if found == data:
        if problem is not None and storage.is_local:
            raise _unsynced(storage, version, problem) from problem
        return True
    if problem is None or (found is not None and not data.startswith(found)):
        return False  # another writer has the version
    if found is None and storage.is_local:
        raise problem
    raise _uncertain(storage, version, problem) from problem


def try_commit(storage: Storage, version: int, data: bytes) -> bool:
    """Creates one version of the log; False if it exists."""
    try:
        storage.create(commit_path(version), data)
    except FileExistsError:
        return False
    return True


def _read_back(storage: Storage, path: str) -> bytes | None:
    """The bytes in the log, or None. If the store fails, the read is retried for a few seconds."""
    for wait in READ_BACK_WAITS:
        try:
            return storage.get(path)
        except FileMissing:
            return None
        except TableError:
            time.sleep(wait)
    try:
        return storage.get(path)
    except FileMissing:
        return None


def _uncertain(storage: Storage, version: int, problem: Exception) -> CommitUncertain:
    return CommitUncertain(
        f"{storage.uri}: version {version} may have been committed or not ({problem}). Its files were "
        "kept; check in history() whether it is there before you try again, or use transaction=..."
    )


def _unsynced(storage: Storage, version: int, problem: Exception) -> CommitUncertain:
    return CommitUncertain(
        f"{storage.uri}: version {version} is in the log, but the disk did not confirm it ({problem}), so a "
        "power cut may lose it. Its files were kept; see in history() whether it is there before trying again"
    )


def check_conflict(theirs: Sequence[Action], version: int, ours: Sequence[Action], reads: Reads) -> None:
    """Raises `CommitConflict` if a commit that came first conflicts with ours.

    >>> theirs = ours = [Transaction("app", 1)]
    >>> check_conflict(theirs, 7, ours, NOTHING)
    Traceback (most recent call last):
    ...
    shredlake.errors.CommitConflict: version 7, committed meanwhile, also set Transaction 'app'
    """
    for action in theirs:
        if isinstance(action, Protocol | Metadata):
            what = "protocol" if isinstance(action, Protocol) else "metadata"
            raise CommitConflict(
                f"version {version}, committed meanwhile, changed the table's {what}; "
                "open the table again and retry"
            )
    touched = {action.key for action in ours if isinstance(action, Remove)} | reads.files
    for action in theirs:
        if isinstance(action, Remove) and (reads.removals or action.key in touched):
            raise CommitConflict(
                f"version {version}, committed meanwhile, removed {action.path}, which this operation read "
                "or rewrites; open the table again and retry"
            )
    added = [action for action in theirs if isinstance(action, Add) and action.data_change]
    if added and reads.affected_by is not None and reads.affected_by(added):
        raise CommitConflict(
            f"version {version}, committed meanwhile, added rows that this operation would have had to read; "
            "open the table again and retry"
        )
    for kind, name in ((Transaction, "app_id"), (DomainMetadata, "domain")):
        mine = {getattr(action, name) for action in ours if isinstance(action, kind)}
        both = mine & {getattr(action, name) for action in theirs if isinstance(action, kind)}
        if both:
            raise CommitConflict(
                f"version {version}, committed meanwhile, also set {kind.__name__} {sorted(both)[0]!r}"
            )


def _commits_from(storage: Storage, version: int) -> Iterator[tuple[int, list[Action]]]:
    """The commits from a version on, read by name, because a listing may lag behind."""
    while True:
        path = commit_path(version)
        try:
            text = storage.get(path)
        except FileMissing:
            return
        yield version, list(loads(text, path))
        version += 1


def require_removable(snapshot: Snapshot) -> None:
    """Refuses to remove or replace rows of a table that is append-only."""
    if snapshot.settings.append_only:
        raise TableError(
            f"{snapshot.storage.uri} is append-only ({APPEND_ONLY.name}=true): rows can't be removed "
            "from it. Set the property to false first"
        )


def _check_log(snapshot: Snapshot) -> None:
    """Refuses a commit on a log that is not the one that was read: it would be lost there, or damage it."""
    storage, version = snapshot.storage, snapshot.version
    if version >= 0 and not is_unchanged(storage, snapshot.segment):
        raise CommitConflict(
            f"{storage.uri}: the log no longer has version {version} as it was read: the table was moved, "
            "deleted or replaced, or its log was cleaned up. Nothing was changed; open the table again"
        )


def commit_info(
    actions: Sequence[Action],
    operation: Operation,
    reads: Reads,
    *,
    identity: str,
    read_version: int,
    in_commit_time: int | None,
) -> CommitInfo:
    """The first action of a commit: who did what, in the fields that other writers use."""
    now = int(time.time() * 1000)
    fields: dict[str, Any] = {}
    if in_commit_time is not None:
        now = fields["inCommitTimestamp"] = in_commit_time
    fields |= {
        "timestamp": now,
        "operation": operation.name,
        "operationParameters": _texts(operation.parameters),
        "isolationLevel": "Serializable",
        "isBlindAppend": is_blind_append(actions, reads),
        "operationMetrics": {key: str(value) for key, value in operation.metrics.items()},
        "engineInfo": f"shredlake/{__version__}",
        "txnId": identity,
        "tags": {COUNT_TAG: str(len(actions) + 1)},
    }
    if read_version >= 0:
        fields["readVersion"] = read_version
    return CommitInfo(fields)


def properties_after(snapshot: Snapshot, actions: Sequence[Action]) -> TableProperties:
    """The properties of the table once the actions are committed."""
    metadata = next((action for action in actions if isinstance(action, Metadata)), snapshot.metadata)
    return TableProperties(metadata.configuration)


def _in_commit_time(snapshot: Snapshot, actions: Sequence[Action], version: int) -> int | None:
    """The timestamp of this commit, which is later than the previous one even if the clock went back."""
    if not properties_after(snapshot, actions).commit_times:
        return None
    now = int(time.time() * 1000)
    try:
        previous = in_commit_timestamp(snapshot.storage, version - 1) if version else None
    except FileMissing:  # the log was cleaned up to its checkpoint
        previous = None
    return now if previous is None else max(now, previous + 1)


def is_blind_append(actions: Sequence[Action], reads: Reads) -> bool:
    """Whether a commit only adds files and read none."""
    only_adds = all(isinstance(action, Add | Transaction | CommitInfo) for action in actions)
    return only_adds and reads == NOTHING and any(isinstance(action, Add) for action in actions)


def _texts(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as other writers store them: everything except text is JSON inside a string."""
    return {
        key: value if value is None or isinstance(value, str) else json.dumps(value)
        for key, value in parameters.items()
    }
