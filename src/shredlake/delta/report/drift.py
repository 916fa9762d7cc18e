"""`drift`: which paths of a table's Variants appeared, vanished or changed type over its versions.

The layout in a file's log entry names the typed paths of the file. It says nothing about paths that are not
shredded, so a file without typed paths is read, and `read=True` reads all files. Commits that change no data,
such as those of `optimize`, are skipped.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

import pyarrow as pa

from shredlake.delta.log.files import as_adds
from shredlake.delta.log.history import enabled_since
from shredlake.delta.log.listing import as_version, commit_timestamps, list_log
from shredlake.delta.log.snapshot import Snapshot, load_snapshot
from shredlake.delta.protocol.actions import Add, raw_lines
from shredlake.delta.protocol.layout_tag import layout_text
from shredlake.delta.read.data_file import DataFile, Query
from shredlake.delta.report.paths import short_path
from shredlake.delta.schema.types import arrow_field
from shredlake.delta.schema.variants import VariantPlace, variants_at
from shredlake.delta.storage.storage import Storage, normalized_uri
from shredlake.errors import ShredlakeError, VersionNotFound
from shredlake.expr import Column, Projection, join_name
from shredlake.formatting import counted, html_text
from shredlake.kernels.profile import merge_profiles, profile_bytes
from shredlake.parquet.variant_columns import parse_layout_json
from shredlake.shredding.inference.profile import Profile
from shredlake.shredding.schema import Scalar, node_ddl, node_path

Kind = Literal["appeared", "changed", "vanished"]
Evidence = Literal["log", "data"]
Reading = Literal["all", "untyped", "none"]
"""The files that are opened: all, those for which the log names no typed paths, or none."""

FAMILIES: Final[Mapping[str, str]] = {
    "int8": "integer", "int16": "integer", "int32": "integer", "int64": "integer",
    "tinyint": "integer", "smallint": "integer", "int": "integer", "bigint": "integer",
    "decimal4": "decimal", "decimal8": "decimal", "decimal16": "decimal",
    "true": "boolean", "false": "boolean",
}  # fmt: skip
"""Families of types that differ only in size. Drift is a change from one family to another."""

OTHER: Final = "other"
"""Stands for values that do not have the type of their shredded path; the log does not name their types."""

NESTED: Final = frozenset({"object", "array", "null"})


@dataclass(frozen=True)
class Change:
    """A path that appeared, vanished or changed its types."""

    version: int
    """The version whose files show it; for a path that vanished, the last version that had it."""
    timestamp: datetime
    operation: str
    path: str
    kind: Kind
    before: tuple[str, ...]
    after: tuple[str, ...]
    evidence: Evidence

    def to_dict(self) -> dict[str, Any]:
        """The change as plain values, ready for JSON."""
        return {**vars(self), "timestamp": self.timestamp.isoformat()}


@dataclass(frozen=True)
class Drift:
    """The changes since a version, and how they are known."""

    uri: str
    since: int
    version: int
    changes: tuple[Change, ...]
    files_by_log: int
    files_read: int
    files_unknown: int
    """Files that were not read, or that can no longer be read (removed by `vacuum`, or of another schema)."""

    def __str__(self) -> str:
        known = (
            f"{self.uri}, versions {self.since} to {self.version}: {counted(len(self.changes), 'change')}; "
            f"{counted(self.files_by_log, 'file')} known from the log, {self.files_read:,} read, "
            f"{self.files_unknown:,} gone"
        )
        lines = [f"{one.version:>7}  {one.kind:<8}  {one.path}  {types_text(one)}" for one in self.changes]
        return "\n".join([known, *lines])

    def _repr_html_(self) -> str:
        return html_text(str(self))


def types_text(change: Change) -> str:
    """The types before and after, as people write them."""
    before, after = ", ".join(change.before), ", ".join(change.after)
    return f"{before} → {after}" if change.kind == "changed" else before or after


def drift(
    table: str | os.PathLike[str],
    since: int | None = None,
    *,
    read: bool = False,
    storage_options: Mapping[str, Any] | None = None,
) -> Drift:
    """Finds the paths that appeared, vanished or changed type in versions after `since`.

    `since` is a version; by default the oldest in the log that has rows. Files whose log entries name typed
    paths are not opened, unless `read` is set; then all paths count, also those that are not shredded.

    >>> from shredlake.example import example_table
    >>> t = example_table("drift")
    >>> _ = t.append([{"id": 3, "v": {"a": "x", "b": 1}}])
    >>> [(one.kind, one.path, one.before, one.after) for one in drift(t.uri, read=True).changes]
    [('changed', 'v:a', ('integer',), ('string',)), ('appeared', 'v:b', (), ('integer',))]
    """
    storage = Storage(normalized_uri(table), dict(storage_options or {}))
    return _Drift(load_snapshot(storage), "all" if read else "untyped").found(since)


def logged_drift(snapshot: Snapshot, since: int | None = None) -> Drift:
    """Finds drift in the log alone. No file is opened, so files without typed paths are unknown."""
    return _Drift(snapshot, "none").found(since)


class _Drift:
    def __init__(self, snapshot: Snapshot, read: Reading) -> None:
        self.snapshot, self.read = snapshot, read
        self.places = list(snapshot.variants)
        self.counts: Counter[str] = Counter()

    def found(self, since: int | None) -> Drift:
        snapshot = self.snapshot
        listing = list_log(snapshot.storage)
        # A checkpoint is enough to read a table, so there may be no commit.
        numbers = [number for number in sorted(listing.commits) if number <= snapshot.version] or [
            snapshot.version
        ]
        start = numbers[0] if since is None else as_version(since)
        if start not in numbers and start + 1 not in numbers:
            raise VersionNotFound(f"{snapshot.storage.uri} has the versions {numbers[0]} to {numbers[-1]}")
        times = commit_timestamps(snapshot.storage, listing, enabled_since(snapshot))
        seen: dict[str, set[str]] = {}
        last: dict[str, int] = {}
        found_by: dict[str, Evidence] = {}
        for path, (types, evidence) in self._observed(self._files_at(start)).items():
            seen[path], last[path], found_by[path] = types, start, evidence
        changes: list[Change] = []
        versions = {start: ("", datetime.fromtimestamp(times[start] / 1000, UTC))} if start in times else {}
        newest = start
        for number in (number for number in numbers if number > start):
            path = listing.commits[number].path
            actions = list(raw_lines(snapshot.storage.get(path), path))
            adds = [Add.from_json(fields) for name, fields in actions if name == "add"]
            adds = [add for add in adds if add.data_change]
            info = next((fields for name, fields in actions if name == "commitInfo"), {})
            moment = datetime.fromtimestamp(times[number] / 1000, UTC)
            versions[number] = str(info.get("operation") or ""), moment
            observed = self._observed(adds)
            if observed:
                newest = number
            is_start = since is None and not seen
            for name, (types, evidence) in sorted(observed.items()):
                before, had = seen.get(name, set()), name in seen
                if not is_start and (not had or types - before - {OTHER}):
                    kind: Kind = "changed" if had else "appeared"
                    operation, moment = versions[number]
                    changes.append(
                        Change(
                            version=number,
                            timestamp=moment,
                            operation=operation,
                            path=name,
                            kind=kind,
                            before=tuple(sorted(before)),
                            after=tuple(sorted(types)),
                            evidence=evidence,
                        )
                    )
                seen[name], last[name], found_by[name] = types, number, evidence
        changes += self._vanished(seen, last, found_by, newest, versions)
        return Drift(
            snapshot.storage.uri,
            since=start,
            version=snapshot.version,
            changes=tuple(changes),
            files_by_log=self.counts["log"],
            files_read=self.counts["data"],
            files_unknown=self.counts["unknown"],
        )

    def _vanished(
        self,
        seen: Mapping[str, set[str]],
        last: Mapping[str, int],
        found_by: Mapping[str, Evidence],
        newest: int,
        versions: Mapping[int, tuple[str, datetime]],
    ) -> Iterator[Change]:
        """Paths that the files of the newest version with data do not have."""
        for path, version in sorted(last.items()):
            if version < newest and version in versions:
                operation, moment = versions[version]
                yield Change(
                    version=version,
                    timestamp=moment,
                    operation=operation,
                    path=path,
                    kind="vanished",
                    before=tuple(sorted(seen[path])),
                    after=(),
                    evidence=found_by[path],
                )

    def _files_at(self, version: int) -> list[Add]:
        try:
            return as_adds(load_snapshot(self.snapshot.storage, version).files.table())
        except VersionNotFound:
            return []

    def _observed(self, adds: Sequence[Add]) -> dict[str, tuple[set[str], Evidence]]:
        """The paths of some files, with the families of their types."""
        found: dict[str, tuple[set[str], Evidence]] = {}
        for add in adds:
            evidence, paths = self._paths_of(add)
            self.counts[evidence] += 1
            for path, types in paths.items():
                if evidence != "unknown":
                    found.setdefault(path, (set(), evidence))[0].update(types)
        return found

    def _paths_of(self, add: Add) -> tuple[Any, dict[str, set[str]]]:
        text = None if self.read == "all" else layout_text(add)
        paths = {} if text is None else self._tagged(text)
        if paths:
            return "log", paths
        if self.read == "none":
            return "unknown", {}
        try:
            return "data", self._profiled(add)
        except (ShredlakeError, pa.ArrowException, OSError):
            return "unknown", {}

    def _tagged(self, text: str) -> dict[str, set[str]]:
        names = {place.physical: place.name for place in self.places}
        found: dict[str, set[str]] = {}
        for physical, layout in parse_layout_json(text).items():
            for steps, node in layout.schema.leaves():
                if isinstance(node, Scalar):
                    others = {OTHER} if node_path(steps) in layout.residual else set()
                    name = _name(names.get(physical, physical), short_path(steps))
                    found[name] = {_family(node_ddl(node))} | others
        return found

    def _profiled(self, add: Add) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        file = DataFile(self.snapshot, add)
        for place in self.places:
            column = next(item for item in self.snapshot.schema.fields if item.name == place.steps[0])
            query = Query(
                (Projection(column.name, Column(join_name((column.name,)))),),
                None,
                pa.schema([arrow_field(column).with_nullable(True)]),
            )
            parts = [profile_bytes(variants_at(batch, place)) for batch in file.batches(query)]
            if parts:
                found |= _types(place, Profile.from_bytes(merge_profiles(parts)))
        return found


def _types(place: VariantPlace, profile: Profile) -> dict[str, set[str]]:
    return {
        _name(place.name, short_path(steps)): families
        for steps, node in profile.paths()
        if (families := {_family(kind.value) for kind in node.types} - NESTED)
    }


def _name(column: str, path: str) -> str:
    return f"{column}:{path}" if path else column


def _family(type_: str) -> str:
    name = type_.partition("(")[0]
    return FAMILIES.get(name, name)
