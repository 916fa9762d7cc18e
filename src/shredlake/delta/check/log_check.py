"""Checks a log: replays its commits forwards, and compares checkpoints and checksums with the state.

Readers replay a log backwards from its end (`Snapshot`). The check goes forwards and keeps the state after
each commit, so an error in either shows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from shredlake.delta.check.findings import Finding
from shredlake.delta.log.files import logged_key
from shredlake.delta.log.listing import (
    LAST_CHECKPOINT,
    LOG,
    Checkpoint,
    Listing,
    LogSegment,
    classify,
    segment_of,
    unlisted_commits,
)
from shredlake.delta.log.snapshot import Replay, Snapshot, replay
from shredlake.delta.protocol.actions import (
    DomainMetadata,
    Metadata,
    Protocol,
    Transaction,
    raw_lines,
)
from shredlake.delta.protocol.properties import TableProperties
from shredlake.delta.storage.storage import Entry, Storage
from shredlake.errors import NotATable, ShredlakeError
from shredlake.formatting import counted

_CHECKSUM: Final = re.compile(rf"{LOG}/([0-9]{{20}})\.crc")

FileFact = tuple[int, int, tuple[tuple[str, str | None], ...]]
"""Size, modification time and partition values of a file."""


@dataclass
class LogState:
    """The state of a table after a commit."""

    protocol: Protocol | None = None
    metadata: Metadata | None = None
    transactions: dict[str, Transaction] = field(default_factory=dict)
    domains: dict[str, DomainMetadata] = field(default_factory=dict)
    files: dict[str, FileFact] = field(default_factory=dict)

    @staticmethod
    def of(snapshot: Snapshot) -> LogState:
        """The state that a checkpoint describes."""
        return LogState(
            snapshot.protocol,
            snapshot.metadata,
            dict(snapshot.transactions),
            dict(snapshot.domains),
            _facts(snapshot.files.table(list(_FIELDS)).to_pylist(maps_as_pydicts="strict")),
        )

    def apply(self, path: str, data: bytes) -> None:
        """Moves on by one commit. Raises `CorruptLog` for a commit that breaks the rules of replay."""
        commit = Replay(path)
        commit.commit(path, raw_lines(data, path))
        self.protocol = commit.protocol or self.protocol
        self.metadata = commit.metadata or self.metadata
        self.transactions |= commit.transactions
        for name, domain in commit.domains.items():
            if domain.removed:
                self.domains.pop(name, None)
            else:
                self.domains[name] = domain
        for fields in commit.removes:
            self.files.pop(logged_key(fields), None)
        for table in commit.adds:
            self.files |= _facts(table.select(list(_FIELDS)).to_pylist(maps_as_pydicts="strict"))


_FIELDS: Final = ("path", "size", "modificationTime", "partitionValues", "deletionVector")


def _facts(rows: list[dict[str, Any]]) -> dict[str, FileFact]:
    return {
        logged_key(row): (
            row["size"],
            row["modificationTime"] or 0,
            tuple(sorted((name, value or None) for name, value in (row["partitionValues"] or {}).items())),
        )
        for row in rows
    }


class LogCheck:
    """The log of one table, and what is wrong with it."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        entries = storage.list(LOG)
        listing = classify(entries)
        if listing.latest is None:
            segment_of(storage, listing, None)  # raises, and says what the folder has instead
            raise NotATable(f"{storage.uri} is not a Delta table")
        commits = listing.commits | dict(unlisted_commits(storage, listing.latest))
        self.listing: Listing = replace(listing, commits=commits)
        self.latest: int = max(listing.latest, *commits)
        self.checksums: dict[int, Entry] = {
            int(found[1]): entry for entry in entries if (found := _CHECKSUM.fullmatch(entry.path))
        }
        self.damaged: set[int] = set()
        """The versions whose checkpoint can't be read, or differs from the commits."""

    def findings(self) -> Iterator[Finding]:
        """Goes through the log once, from its start to its end."""
        state: LogState | None = LogState() if 0 in self.listing.commits else None
        start = 0 if state is not None else min([*self.listing.checkpoints, self.latest + 1])
        if state is None and start > self.latest:
            yield Finding(
                "log-gap", LOG, f"the log starts at commit {min(self.listing.commits)}, without a checkpoint"
            )
        for version in range(start, self.latest + 1):
            if version in self.listing.commits and state is not None:
                path = self.listing.commits[version].path
                try:
                    state.apply(path, self.storage.get(path))
                except ShredlakeError as error:
                    yield Finding("commit", path, _without(error, path))
                    state = None
            elif state is not None or self._is_gap(version, start):
                yield Finding("log-gap", LOG, f"commit {version} is missing")
                state = None
            if version in self.listing.checkpoints:
                problem, found = self._compared(self.listing.checkpoints[version], state)
                if problem is not None:
                    self.damaged.add(version)
                    yield Finding("checkpoint", self.listing.checkpoints[version].files[0].path, problem)
                elif state is None:
                    state = found  # the commits before it are gone or damaged; the checkpoint replaces them
            if version in self.checksums and state is not None:
                yield from self._checksum(self.checksums[version], state)
        yield from self._hint()

    def _is_gap(self, version: int, start: int) -> bool:
        """Whether a commit is missing behind one that was already reported as unreadable."""
        return version > start and version not in self.listing.commits and version - 1 in self.listing.commits

    def snapshot(self) -> Snapshot:
        """The latest version, without the checkpoints that are damaged."""
        return self.snapshot_at(self.latest)

    def snapshot_at(self, version: int) -> Snapshot:
        """A version of the table, from commits and sound checkpoints."""
        sound = {
            number: checkpoint
            for number, checkpoint in self.listing.checkpoints.items()
            if number not in self.damaged
        }
        listing = replace(self.listing, checkpoints=sound)
        return replay(self.storage, segment_of(self.storage, listing, version))

    def _compared(self, checkpoint: Checkpoint, state: LogState | None) -> tuple[str | None, LogState | None]:
        """The problem of a checkpoint, if any, and the state that it describes."""
        try:
            snapshot = replay(self.storage, LogSegment(checkpoint.version, checkpoint, ()))
            found = LogState.of(snapshot)
            _ = snapshot.tombstones()
        except ShredlakeError as error:
            return f"can't be read: {_without(error, checkpoint.files[0].path)}", None
        return (None if state is None else _difference(found, state)), found

    def _checksum(self, entry: Entry, state: LogState) -> Iterator[Finding]:
        """A version checksum against the state; fields that other writers add are not looked at."""
        try:
            raw = json.loads(self.storage.get(entry.path))
            recorded = {name: raw[name] for name in ("numFiles", "tableSizeBytes")}
        except (ShredlakeError, ValueError, LookupError, TypeError, RecursionError):
            yield Finding("version-checksum", entry.path, "is not a version checksum; it may be deleted")
            return
        actual = {
            "numFiles": len(state.files),
            "tableSizeBytes": sum(fact[0] for fact in state.files.values()),
        }
        wrong = [
            f"{name} is {recorded[name]}, the log has {actual[name]}"
            for name in actual
            if recorded[name] != actual[name]
        ]
        if wrong:
            yield Finding("version-checksum", entry.path, "; ".join(wrong))

    def _hint(self) -> Iterator[Finding]:
        try:
            raw = self.storage.get(LAST_CHECKPOINT)
        except ShredlakeError:
            return  # optional
        try:
            version = json.loads(raw)["version"]
        except (ValueError, LookupError, TypeError, RecursionError):
            yield Finding("last-checkpoint", LAST_CHECKPOINT, "is not JSON with a version")
            return
        if (
            isinstance(version, bool)
            or not isinstance(version, int)
            or version not in self.listing.checkpoints
        ):
            yield Finding(
                "last-checkpoint",
                LAST_CHECKPOINT,
                f"names version {str(version)[:40]}, which has no checkpoint",
            )


def _difference(found: LogState, state: LogState) -> str | None:
    """How a checkpoint differs from the commits up to it; None if it does not."""
    problems = []
    if _features(found.protocol) != _features(state.protocol):
        problems.append("another protocol")
    if _identity(found.metadata) != _identity(state.metadata):
        problems.append("other metadata")
    kept = state.transactions if _keeps_transactions(state.metadata) else found.transactions
    if any(
        found.transactions.get(name) != state.transactions.get(name) for name in {*kept, *found.transactions}
    ):
        problems.append("other transactions")
    if found.domains != state.domains:
        problems.append("other domain metadata")
    lacking, more = state.files.keys() - found.files.keys(), found.files.keys() - state.files.keys()
    differing = {
        key for key in state.files.keys() & found.files.keys() if state.files[key] != found.files[key]
    }
    for keys, text in ((lacking, "lacks"), (more, "has too many:"), (differing, "differs in")):
        if keys:
            example = min(keys).partition("\0")[0]
            problems.append(f"{text} {counted(len(keys), 'file')} (such as {example})")
    return f"differs from the commits up to it: {'; '.join(problems)}" if problems else None


def _features(protocol: Protocol | None) -> tuple[object, ...] | None:
    if protocol is None:
        return None
    features = (sorted(names or ()) for names in (protocol.reader_features, protocol.writer_features))
    return protocol.min_reader_version, protocol.min_writer_version, *features


def _identity(metadata: Metadata | None) -> tuple[object, ...] | None:
    if metadata is None:
        return None
    return metadata.id, metadata.schema_string, metadata.partition_columns, dict(metadata.configuration)


def _keeps_transactions(metadata: Metadata | None) -> bool:
    """Whether a checkpoint keeps every transaction; with a retention, it may leave old ones out."""
    return metadata is None or TableProperties(metadata.configuration).transaction_retention_ms is None


def _without(error: ShredlakeError, path: str) -> str:
    """A message without the name of the file, which the finding has already."""
    text = str(error)
    start = text.find(path)
    return text[start + len(path) :].lstrip(":, ") if start >= 0 else text
