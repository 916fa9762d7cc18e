"""Lists the files in `_delta_log`, and finds those that make up a version of the table.

```
00000000000000000010.json                          a commit
00000000000000000004.00000000000000000006.compacted.json    commits 4 to 6 in one
00000000000000000010.checkpoint.parquet            a classic checkpoint
00000000000000000010.checkpoint.0000000001.0000000003.parquet   part 1 of 3
00000000000000000010.checkpoint.<uuid>.json|parquet     a v2 checkpoint
_last_checkpoint                                   where to start looking
_sidecars/<name>.parquet                           file actions of v2 checkpoints
```
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from shredlake.delta.protocol.action_types import LONG
from shredlake.delta.protocol.actions import raw_lines
from shredlake.delta.storage.storage import Entry, Storage
from shredlake.errors import CorruptLog, NotATable, TableError, VersionNotFound, WrongType

LOG = "_delta_log"
LAST_CHECKPOINT = f"{LOG}/_last_checkpoint"
SIDECARS = f"{LOG}/_sidecars"

_COMMIT = re.compile(r"([0-9]{20})\.json")
_COMPACTED = re.compile(r"([0-9]{20})\.([0-9]{20})\.compacted\.json")
_CLASSIC = re.compile(r"([0-9]{20})\.checkpoint\.parquet")
_PART = re.compile(r"([0-9]{20})\.checkpoint\.([0-9]{10})\.([0-9]{10})\.parquet")
_V2 = re.compile(r"([0-9]{20})\.checkpoint\.([0-9a-fA-F-]{36})\.(json|parquet)")


def commit_path(version: int) -> str:
    """The key of a commit.

    >>> commit_path(42)
    '_delta_log/00000000000000000042.json'
    """
    return f"{LOG}/{version:020}.json"


@dataclass(frozen=True)
class Commit:
    """A commit file, or a compaction of several: versions `first` to `version`."""

    first: int
    version: int
    entry: Entry


@dataclass(frozen=True)
class Checkpoint:
    """A complete checkpoint: its version and files."""

    version: int
    files: tuple[Entry, ...]

    @property
    def is_json(self) -> bool:
        return self.files[0].path.endswith(".json")


@dataclass(frozen=True)
class LogSegment:
    """The files to replay for one version: a checkpoint, if any, and the commits after it."""

    version: int
    checkpoint: Checkpoint | None
    commits: tuple[Commit, ...]


@dataclass(frozen=True)
class Listing:
    """The recognised files of a log, or of its newer part."""

    commits: dict[int, Entry]
    compactions: tuple[Commit, ...]
    checkpoints: dict[int, Checkpoint]

    @property
    def latest(self) -> int | None:
        """The newest version among the files."""
        versions = [*self.commits, *self.checkpoints]
        return max(versions) if versions else None


def classify(entries: Iterable[Entry]) -> Listing:
    """Sorts the files of the log by their names; other files are ignored."""
    commits: dict[int, Entry] = {}
    compactions: list[Commit] = []
    whole: dict[int, list[Checkpoint]] = {}
    parts: dict[tuple[int, int], dict[int, Entry]] = {}
    for entry in entries:
        name = entry.path.removeprefix(f"{LOG}/")
        if found := _COMMIT.fullmatch(name):
            commits[int(found[1])] = entry
        elif found := _COMPACTED.fullmatch(name):
            if int(found[1]) <= int(found[2]):
                compactions.append(Commit(int(found[1]), int(found[2]), entry))
        elif found := _CLASSIC.fullmatch(name) or _V2.fullmatch(name):
            version = int(found[1])
            whole.setdefault(version, []).append(Checkpoint(version, (entry,)))
        elif found := _PART.fullmatch(name):
            parts.setdefault((int(found[1]), int(found[3])), {})[int(found[2])] = entry
    for (version, count), present in parts.items():
        # Parts are not written atomically: an incomplete set is not a checkpoint.
        if sorted(present) == list(range(1, count + 1)):
            files = tuple(present[number] for number in range(1, count + 1))
            whole.setdefault(version, []).append(Checkpoint(version, files))
    # All checkpoints of a version are equivalent; v2 in Parquet is the cheapest to read in part.
    best = {version: max(found, key=_preference) for version, found in whole.items()}
    return Listing(commits, tuple(compactions), best)


def _preference(checkpoint: Checkpoint) -> tuple[bool, bool]:
    return not checkpoint.is_json, len(checkpoint.files) == 1


def may_name_sidecars(path: str) -> bool:
    """Whether a file of the log is a checkpoint of the second version, by its key.

    >>> may_name_sidecars("_delta_log/00000000000000000010.checkpoint.parquet")
    True
    >>> may_name_sidecars("_delta_log/00000000000000000010.json")
    False
    """
    name = path.removeprefix(f"{LOG}/")
    return any(pattern.fullmatch(name) is not None for pattern in (_V2, _CLASSIC))


def list_log(storage: Storage, start: int = 0) -> Listing:
    """The log from a version on."""
    after = None if start == 0 else f"{LOG}/{start - 1:020}.z"
    return classify(storage.list(LOG, start_after=after))


def last_checkpoint_version(storage: Storage) -> int | None:
    """The version in `_last_checkpoint`. It is only a hint: a file that can't be read is not an error."""
    try:
        version = json.loads(storage.get(LAST_CHECKPOINT))["version"]
    except (TableError, ValueError, LookupError, TypeError, RecursionError):
        return None
    known = isinstance(version, int) and not isinstance(version, bool) and 0 <= version < LONG
    return version if known else None


def find_segment(storage: Storage, version: int | None = None) -> LogSegment:
    """The files that make up a version, by default the latest."""
    hint = last_checkpoint_version(storage)
    if hint is not None and (version is None or version >= hint):
        listing = list_log(storage, hint)
        if hint in listing.checkpoints:
            return segment_of(storage, listing, version)
    return segment_of(storage, list_log(storage), version)


def with_unlisted_commits(storage: Storage, segment: LogSegment) -> LogSegment:
    """A segment of the latest version with the commits after it that a listing does not show yet."""
    found = [Commit(version, version, entry) for version, entry in unlisted_commits(storage, segment.version)]
    return LogSegment(segment.version + len(found), segment.checkpoint, (*segment.commits, *found))


def unlisted_commits(storage: Storage, latest: int) -> Iterator[tuple[int, Entry]]:
    """The commits after a version, looked up by their names.

    The listings of some stores and network file systems lag behind the files.
    """
    while (entry := storage.head(commit_path(latest + 1))) is not None:
        latest += 1
        yield latest, entry


def is_unchanged(storage: Storage, segment: LogSegment) -> bool:
    """Whether the newest file of a segment is still in the log, with its size.

    It is not if the table was moved, deleted or replaced by another one, or if its log was cleaned up.
    """
    checkpoint = () if segment.checkpoint is None else segment.checkpoint.files
    newest = (*checkpoint, *(one.entry for one in segment.commits))[-1]
    found = storage.head(newest.path)
    return found is not None and found.size == newest.size


def segment_of(storage: Storage, listing: Listing, version: int | None) -> LogSegment:
    """Chooses the checkpoint and the commits of a version from the files of the log."""
    latest = listing.latest
    if latest is None:
        raise NotATable(f"{storage.uri} is not a Delta table: {_instead_of_a_table(storage)}")
    target = latest if version is None else version
    if target > latest or target < 0:
        raise VersionNotFound(f"{storage.uri} has no version {target}; the latest is {latest}")
    usable = [number for number in listing.checkpoints if number <= target]
    checkpoint = listing.checkpoints[max(usable)] if usable else None
    start = 0 if checkpoint is None else checkpoint.version + 1
    return LogSegment(target, checkpoint, _commits_between(storage, listing, start, target))


def _instead_of_a_table(storage: Storage) -> str:
    if storage.is_local and storage.local_root.is_file():
        return "it is a file. Pass the table's folder, or read a Parquet file with scan_parquet"
    if storage.is_local and not storage.local_root.exists():
        return "the folder does not exist"
    return f"there is no {LOG} with a commit or checkpoint in it"


def _commits_between(storage: Storage, listing: Listing, start: int, end: int) -> tuple[Commit, ...]:
    """Commits that cover start..end without a gap, preferring the compactions that reach furthest."""
    chosen: list[Commit] = []
    current = start
    while current <= end:
        spans = [item for item in listing.compactions if item.first == current and item.version <= end]
        if spans:
            chosen.append(max(spans, key=lambda item: item.version))
        elif current in listing.commits:
            chosen.append(Commit(current, current, listing.commits[current]))
        else:
            oldest = min([*listing.commits, *listing.checkpoints])
            if current == start == 0 and oldest > 0 and not listing.checkpoints.get(oldest):
                raise VersionNotFound(
                    f"{storage.uri}: version {end} can't be rebuilt, "
                    f"the log was cleaned up before commit {oldest}"
                )
            raise CorruptLog(
                f"{storage.uri}: commit {current} is missing from the log, which has commits up to "
                f"{max(listing.commits, default=end)}; version {end} can't be rebuilt"
            )
        current = chosen[-1].version + 1
    return tuple(chosen)


# ── Time ────────────────────────────────────────────────────────────────────────────────────────────────


def in_commit_timestamp(storage: Storage, version: int) -> int | None:
    """The time that a commit itself records, in milliseconds, or None."""
    path = commit_path(version)
    for name, fields in raw_lines(storage.get(path), path):
        if name == "commitInfo":
            value = fields.get("inCommitTimestamp")
            return None if value is None else int(value)
    return None


def commit_timestamps(storage: Storage, listing: Listing, enabled_since: int | None) -> dict[int, int]:
    """Milliseconds of every commit in the listing.

    `enabled_since` is the version from which commits record their own time. It is used as it is: writers make
    it grow. For earlier commits, and in tables that never record it, the file's modification time is used,
    adjusted forward if the clock went back. A copy of a table has new modification times, so its earlier
    commits may seem to be younger than those that record their time.
    """
    times: dict[int, int] = {}
    previous = -1
    for version in sorted(listing.commits):
        own = in_commit_timestamp(storage, version) if _records_time(version, enabled_since) else None
        if own is not None:
            times[version] = own
        else:
            times[version] = previous = max(listing.commits[version].modified_ms, previous + 1)
    return times


def _records_time(version: int, enabled_since: int | None) -> bool:
    return enabled_since is not None and version >= enabled_since


def version_at(storage: Storage, timestamp: datetime | str | int, enabled_since: int | None) -> int:
    """The newest version not after a point in time."""
    moment = milliseconds(timestamp)
    listing = list_log(storage)
    if listing.latest is None:
        raise NotATable(f"{storage.uri} is not a Delta table: there is no {LOG} with a commit in it")
    times = commit_timestamps(storage, listing, enabled_since)
    found = [version for version, time in times.items() if time <= moment]
    if not found:
        first = min(times, default=0)
        raise VersionNotFound(
            f"{storage.uri} has no version at {timestamp}: its oldest commit, {first}, is from "
            f"{datetime.fromtimestamp(times.get(first, 0) / 1000, UTC).isoformat()}"
        )
    return max(found)


def as_version(version: Any) -> int:
    """A version as users give it: a whole number.

    >>> as_version("1")
    Traceback (most recent call last):
    ...
    shredlake.errors.WrongType: a version is a whole number such as 3, not '1'
    """
    if isinstance(version, bool) or not hasattr(version, "__index__"):
        raise WrongType(f"a version is a whole number such as 3, not {version!r}")
    return int(version)


def milliseconds(timestamp: datetime | str | int) -> int:
    """A point in time as milliseconds since 1970; text is ISO 8601, by default in UTC.

    >>> milliseconds("1970-01-01T00:00:01")
    1000
    """
    if isinstance(timestamp, int) and not isinstance(timestamp, bool):
        return timestamp
    if isinstance(timestamp, str):
        try:
            timestamp = datetime.fromisoformat(timestamp)
        except ValueError:
            raise VersionNotFound(
                f"{timestamp!r} is not a time; write it like 2026-01-31T12:00:00Z"
            ) from None
    if not isinstance(timestamp, datetime):
        raise WrongType(
            f"a timestamp is a datetime, ISO 8601 text or milliseconds since 1970, not {timestamp!r}"
        )
    if timestamp.tzinfo is None:
        timestamp = timestamp.replace(tzinfo=UTC)
    return int(timestamp.timestamp() * 1000)
