"""A table's log as a stream: positions in it, the files of each version, and how much a batch takes.

```
version  5 (initial: all files of the snapshot)   6          7                8
files    a b c d e f                              g h        (only optimize)  i
position         ▲ version 5, index 3, initial               ▲ version 7, index 0
```

A position says which file comes next. It is the offset that Spark keeps in the query's checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from shredlake.caches import LruCache
from shredlake.delta.log.files import as_adds
from shredlake.delta.log.history import enabled_since
from shredlake.delta.log.listing import commit_path, commit_timestamps, list_log, milliseconds
from shredlake.delta.log.snapshot import Snapshot, load_snapshot
from shredlake.delta.protocol.actions import Action, Add, Metadata, Protocol, Remove, loads
from shredlake.delta.protocol.features import require_readable
from shredlake.delta.read.changes import FileChange, check_enabled, file_changes
from shredlake.errors import PipelineError, TableError, VersionNotFound
from shredlake.spark.datasource.options import SourceOptions

KEPT: Final = 256
"""The versions whose files are kept between the two questions that Spark asks about a batch."""


@dataclass(frozen=True)
class Position:
    """The next file of a stream."""

    version: int
    index: int = 0
    initial: bool = False
    """Whether the index counts the files of the snapshot that the stream started with."""

    def offset(self, table: str) -> dict[str, Any]:
        """The form in which Spark keeps it."""
        return {"table": table, "version": self.version, "index": self.index, "initial": self.initial}

    @staticmethod
    def of(offset: dict[str, Any], table: Snapshot) -> Position:
        """The position in an offset; refuses that of another table."""
        if offset.get("table") != table.metadata.id:
            raise PipelineError(
                f"{table.storage.uri} is not the table of this checkpoint: it was created again, or the "
                "query had another path. Start with a new checkpointLocation"
            )
        return Position(int(offset["version"]), int(offset["index"]), bool(offset["initial"]))


@dataclass(frozen=True)
class Limits:
    """How much one batch takes; a first file that is larger is taken all the same."""

    files: float
    bytes: float


EVERYTHING: Final = Limits(float("inf"), float("inf"))


class StreamLog:
    """The files of each version, checked by the rules of the stream."""

    def __init__(self, table: Snapshot, options: SourceOptions) -> None:
        self.table = table
        """Schema and properties as of the newest version that was looked at, without files."""
        self.feed = bool(options["readChangeFeed"])
        self._options = options
        self._as_of: Metadata | None = None
        """The definition as of the last version of the feed."""
        self._files: LruCache[Position, list[FileChange]] = LruCache(KEPT)

    def latest(self) -> int:
        """The newest version."""
        found = list_log(self.table.storage, max(self.table.version, 0)).latest
        return self.table.version if found is None else max(found, self.table.version)

    def start(self) -> Position:
        """Where a new stream begins: as the options say, by default with all rows of the table."""
        version, timestamp = self._options["startingVersion"], self._options["startingTimestamp"]
        if version is not None and timestamp is not None:
            raise PipelineError("a stream starts at startingVersion or startingTimestamp, not at both")
        latest = self.latest()
        if version == "latest":
            return Position(latest + 1)
        if timestamp is not None:
            return Position(self.version_from(timestamp))
        if version is None:
            return Position(latest, initial=True)
        if version > latest + 1:
            raise VersionNotFound(
                f"{self.table.storage.uri} has no version {version}; the latest is {latest}"
            )
        return Position(version)

    def version_from(self, timestamp: str) -> int:
        """The first version at or after a point in time; the next one if there is none yet."""
        moment = milliseconds(timestamp)
        times = commit_timestamps(self.table.storage, list_log(self.table.storage), enabled_since(self.table))
        return min((one for one, time in times.items() if time >= moment), default=max(times) + 1)

    def files(self, at: Position) -> list[FileChange]:
        """All files of the version of a position: those of the initial snapshot, or of one commit."""
        whole = replace(at, index=0)
        return self._files.get(whole, lambda: self._snapshot(at.version) if at.initial else self._commit(at))

    def advance(self, start: Position, until: int, limits: Limits) -> Position:
        """The position at which a batch that starts here ends.

        Versions of the change feed are taken as a whole, so that an update is never cut into halves.
        """
        at, files, size = start, 0, 0
        while at.version <= until:
            found = self.files(at)
            rest = found[at.index :]
            whole = self.feed and not at.initial
            for index, one in enumerate(rest):
                count, length = (len(rest), sum(f.size for f in rest)) if whole else (1, one.size)
                if files and (files + count > limits.files or size + length > limits.bytes):
                    return replace(at, index=at.index + index)
                files, size = files + count, size + length
                if whole:
                    break
            at = Position(at.version + 1)
        return at

    def between(self, start: Position, end: Position) -> Iterator[FileChange]:
        """The files from one position to another, exclusive."""
        at = start
        while (at.version, not at.initial) < (end.version, not end.initial):
            yield from self.files(at)[at.index :]
            at = Position(at.version + 1)
        if at.version == end.version and at.initial == end.initial:
            yield from self.files(at)[at.index : end.index] if end.index > at.index else ()

    def _snapshot(self, version: int) -> list[FileChange]:
        snapshot = load_snapshot(self.table.storage, version)
        adds = sorted(as_adds(snapshot.files.table()), key=lambda add: (add.modification_time, add.path))
        return [FileChange(version, self._time(version), add=add) for add in adds]

    def _commit(self, at: Position) -> list[FileChange]:
        version, storage = at.version, self.table.storage
        path = commit_path(version)
        try:
            actions = list(loads(storage.get(path), path))
        except FileNotFoundError:
            raise VersionNotFound(
                f"{storage.uri}: commit {version} is no longer in the log, so the stream can't continue. "
                "Start with a new checkpointLocation"
            ) from None
        self._take_definition(actions, version)
        if self.feed:
            self._check_feed(actions, version)
            return file_changes(actions, version, self._time(version))
        return [FileChange(version, 0, add=add) for add in self._new_files(actions, version)]

    def _check_feed(self, actions: list[Action], version: int) -> None:
        """Refuses a version that did not record its changes."""
        found = next((action for action in actions if isinstance(action, Metadata)), self._as_of)
        self._as_of = found or load_snapshot(self.table.storage, version).metadata
        check_enabled(self.table.storage.uri, self._as_of, version)

    def _take_definition(self, actions: list[Action], version: int) -> None:
        """Follows changes of the table's definition; the reader checks if its columns are still the same."""
        for action in actions:
            if isinstance(action, Protocol):
                require_readable(action, self.table.storage.uri)
            if isinstance(action, Metadata) and version > self.table.version:
                self.table = replace(self.table, metadata=action)

    def _new_files(self, actions: list[Action], version: int) -> list[Add]:
        """The files that a version added, if it only added rows, or if the options let it pass."""
        adds = [action for action in actions if isinstance(action, Add) and action.data_change]
        removes = [action for action in actions if isinstance(action, Remove) and action.data_change]
        if not removes:
            return adds
        if self._options["skipChangeCommits"]:
            return []
        if self._options["ignoreChanges"]:
            return adds
        if not adds and self._options["ignoreDeletes"]:
            return []
        what = "changed" if adds else "deleted"
        raise TableError(
            f"{self.table.storage.uri}: version {version} {what} rows, and a stream of new rows can't show "
            "that. Skip such versions with option('skipChangeCommits', 'true'), or read changes with "
            "option('readChangeFeed', 'true')"
        )

    def _time(self, version: int) -> int:
        times = commit_timestamps(
            self.table.storage, list_log(self.table.storage, version), enabled_since(self.table)
        )
        return times.get(version, 0)
