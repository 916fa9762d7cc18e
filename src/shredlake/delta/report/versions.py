"""Growth and layouts of a table over its versions, from the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from shredlake.delta.log.files import as_adds, key_of, logged_key
from shredlake.delta.log.history import enabled_since
from shredlake.delta.log.listing import commit_timestamps, list_log
from shredlake.delta.log.snapshot import Snapshot, load_snapshot
from shredlake.delta.protocol.actions import Add, raw_lines
from shredlake.delta.protocol.layout_tag import layout_text
from shredlake.delta.stats.records import live_rows
from shredlake.parquet.variant_columns import parse_layout_json
from shredlake.shredding.schema import Scalar

MOST_VERSIONS = 1000
"""Number of versions that are read, the newest ones."""

UNKNOWN: Final = ""
"""The layout of files whose log entry does not record it."""


@dataclass(frozen=True)
class VersionFacts:
    """A table at one version."""

    version: int
    timestamp: datetime
    operation: str
    files: int
    rows: int | None
    """None if the row count of a file is unknown."""
    bytes: int
    layouts: Mapping[int, int]
    """Number of files by the number of their layout (see `Versions.layouts`)."""


@dataclass(frozen=True)
class LayoutFacts:
    """A layout that some files have or had."""

    number: int
    since: int
    """The first version with such files."""
    typed_paths: int
    """Number of typed paths; 0 if the files are not shredded, or the log does not tell."""
    known: bool


@dataclass(frozen=True)
class Versions:
    """The versions that the log still has, oldest first, and the layouts of their files."""

    versions: tuple[VersionFacts, ...]
    layouts: tuple[LayoutFacts, ...]


@dataclass(frozen=True)
class _File:
    size: int
    rows: int | None
    layout: int


class _Replay:
    """Follows the files of a table from commit to commit."""

    def __init__(self) -> None:
        self.files: dict[str, _File] = {}
        # Running totals, so that a version costs what its commit changes, not what the table holds.
        self.size = self.rows = self.without_rows = 0
        self.by_layout: Counter[int] = Counter()
        self.layouts: dict[str, LayoutFacts] = {}

    def add(self, add: Add, version: int) -> None:
        text = layout_text(add) or UNKNOWN
        if text not in self.layouts:
            known = text is not UNKNOWN
            paths = _typed_paths(text) if known else 0
            self.layouts[text] = LayoutFacts(len(self.layouts), version, paths, known)
        key = key_of(add.path, add.deletion_vector)
        self._count(self.files.pop(key, None), -1)
        self.files[key] = _File(add.size, live_rows(add), self.layouts[text].number)
        self._count(self.files[key], 1)

    def _count(self, file: _File | None, sign: int) -> None:
        if file is not None:
            self.size += sign * file.size
            self.rows += sign * (file.rows or 0)
            self.without_rows += sign * (file.rows is None)
            self.by_layout[file.layout] += sign

    def remove(self, fields: Mapping[str, Any]) -> None:
        self._count(self.files.pop(logged_key(fields), None), -1)

    def facts(self, version: int, timestamp: datetime, operation: str) -> VersionFacts:
        return VersionFacts(
            version=version,
            timestamp=timestamp,
            operation=operation,
            files=len(self.files),
            rows=None if self.without_rows else self.rows,
            bytes=self.size,
            layouts={layout: count for layout, count in sorted(self.by_layout.items()) if count},
        )


def versions_of(snapshot: Snapshot, most: int = MOST_VERSIONS) -> Versions:
    """Replays the newest commits, from the first one that a checkpoint or the start of the log leads to.

    >>> from shredlake.example import example_table
    >>> found = versions_of(example_table("versions").snapshot).versions
    >>> [(one.version, one.rows, one.files) for one in found]
    [(0, 0, 0), (1, 2, 1)]
    """
    listing = list_log(snapshot.storage)
    # A log that was cleaned up may still hold commits that came before its first checkpoint.
    first = 0 if 0 in listing.commits else min(listing.checkpoints, default=0)
    numbers = [number for number in sorted(listing.commits) if first <= number <= snapshot.version][-most:]
    times = commit_timestamps(snapshot.storage, listing, enabled_since(snapshot))
    replay = _Replay()
    found: list[VersionFacts] = []
    for number in numbers:
        path = listing.commits[number].path
        actions = list(raw_lines(snapshot.storage.get(path), path))
        if not found and number > 0:
            # The log before this commit is gone, or too long: the version itself is the start.
            adds = as_adds(load_snapshot(snapshot.storage, number).files.table())
        else:
            for fields in (fields for name, fields in actions if name == "remove"):
                replay.remove(fields)
            adds = [Add.from_json(fields) for name, fields in actions if name == "add"]
        for add in adds:
            replay.add(add, number)
        moment = datetime.fromtimestamp(times[number] / 1000, UTC)
        info = next((fields for name, fields in actions if name == "commitInfo"), {})
        operation = str(info.get("operation") or "")
        found.append(replay.facts(number, moment, operation))
    return Versions(tuple(found), tuple(replay.layouts.values()))


def _typed_paths(text: str) -> int:
    """Number of typed paths of a layout, in all Variant columns."""
    layouts = parse_layout_json(text).values()
    return sum(isinstance(node, Scalar) for layout in layouts for _, node in layout.schema.leaves())
