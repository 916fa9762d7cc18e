"""Deletes files that no version within the retention period needs.

Vacuum deletes only the kinds of file that Delta writers create: data files, deletion vectors, change data,
sidecars without a checkpoint, and temporary files of crashed writers. It keeps and reports all other files;
other tables within the table's folder it does not touch.
When in doubt it keeps a file: any path in the log that leads to the file protects it, even through a symbolic
link or a second mount.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.log.checkpoint_read import sidecars_of
from shredlake.delta.log.files import as_adds, file_rows
from shredlake.delta.log.listing import commit_path, may_name_sidecars
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Add, loads
from shredlake.delta.protocol.durations import FOREVER_MS
from shredlake.delta.protocol.features import require_writable
from shredlake.delta.protocol.properties import FILE_RETENTION
from shredlake.delta.read.deletion_vectors import vector_path
from shredlake.delta.storage.addresses import table_key
from shredlake.delta.storage.storage import Entry, Storage, is_absolute
from shredlake.delta.write.folder import Kind, checked_file, kind_of, other_tables
from shredlake.errors import FileMissing, TableError

HOUR_MS = 3_600_000
SIDECARS_KEPT_MS = 24 * HOUR_MS
"""Sidecars are kept for at least a day: a checkpoint whose sidecars are there may be being written."""

WRITTEN_BY_DELTA = (Kind.DATA, Kind.VECTOR, Kind.CHANGES, Kind.TEMPORARY)


@dataclass(frozen=True)
class Vacuumed:
    """The result of a vacuum, or of its dry run."""

    files: list[str]
    """Files that were deleted, or that a dry run would delete."""
    foreign: list[str]
    """Files whose names show that no Delta writer wrote them. Vacuum keeps them."""
    links: list[str]
    """Symbolic links. Vacuum keeps them and does not follow them."""


def vacuum(
    snapshot: Snapshot,
    *,
    retention_hours: float | None = None,
    dry_run: bool = True,
    enforce_retention: bool = True,
) -> Vacuumed:
    """Delete the files that are no longer needed, or only list them in a dry run.

    A file is deleted if it is not live, was not removed within the retention period, and was written before
    that period began. The last condition protects the files of writes in progress, which are younger.
    """
    require_writable(snapshot.protocol, snapshot.storage.uri)
    found = _unneeded(snapshot, _kept_for(snapshot, retention_hours, enforce_retention))
    if not dry_run:
        snapshot.storage.delete(found.files)
    return found


def _unneeded(snapshot: Snapshot, kept_for: int) -> Vacuumed:
    """The files that no version within a period of milliseconds needs."""
    horizon = int(time.time() * 1000) - kept_for
    needed = set(_needed(snapshot, horizon))
    found = list(snapshot.storage.residents())
    others = other_tables(file.path for file in found)
    files = [file for file in found if not file.is_link and not file.path.startswith(others)]
    old = [
        file
        for file in files
        if file.modified_ms < horizon and kind_of(checked_file(file.path)) in WRITTEN_BY_DELTA
    ]
    unnamed = [file for file in old if checked_file(file.path) not in needed]
    gone = {file.path for file in _without_other_names(snapshot.storage, unnamed, needed, files)}
    # A checksum file is kept as long as the file that it belongs to.
    staying = {file.path for file in files if file.path not in gone or file.path != checked_file(file.path)}
    doomed = [key for key in sorted(gone) if key == checked_file(key) or checked_file(key) not in staying]
    if doomed:
        added = _added_since(snapshot)
        doomed = [key for key in doomed if checked_file(key) not in added]
    return Vacuumed(
        files=[*doomed, *_loose_sidecars(snapshot.storage, files, horizon)],
        foreign=[
            file.path
            for file in files
            if kind_of(checked_file(file.path)) is Kind.FOREIGN and file.path not in needed
        ],
        links=[file.path for file in found if file.is_link],
    )


def _loose_sidecars(storage: Storage, files: list[Entry], horizon: int) -> list[str]:
    """The sidecars that no checkpoint names. They remain if a writer dies, or an engine cleans up the log."""
    horizon = min(horizon, int(time.time() * 1000) - SIDECARS_KEPT_MS)
    old = [
        file.path
        for file in files
        if kind_of(checked_file(file.path)) is Kind.SIDECAR and file.modified_ms < horizon
    ]
    if not old:
        return []
    try:
        checkpoints = [file.path for file in files if may_name_sidecars(file.path)]
        named = frozenset[str]().union(*(sidecars_of(storage, path) for path in checkpoints))
    except TableError:
        return []  # a checkpoint that can't be read may name any of them
    return [path for path in sorted(old) if checked_file(path) not in named]


def orphans(snapshot: Snapshot) -> list[str]:
    """The files that a vacuum with the table's own retention would delete; also for tables that only others
    can write.
    """
    return _unneeded(snapshot, snapshot.settings.file_retention_ms).files


def _added_since(snapshot: Snapshot) -> set[str]:
    """Returns the keys of files that commits after the snapshot add, e.g. a restore.

    The commits are read by name, because a listing may lag behind.
    """
    storage, version, found = snapshot.storage, snapshot.version, set[str]()
    while True:
        version += 1
        path = commit_path(version)
        try:
            text = storage.get(path)
        except FileMissing:
            return found
        adds = [action for action in loads(text, path) if isinstance(action, Add)]
        found.update(_keys(storage, file_rows([add.to_json() for add in adds])))


def _kept_for(snapshot: Snapshot, asked_hours: float | None, enforce: bool) -> int:
    """Returns the retention period in milliseconds."""
    kept_for = snapshot.settings.file_retention_ms
    if asked_hours is None:
        return kept_for
    if not (isinstance(asked_hours, int | float) and 0 <= asked_hours < math.inf):
        raise TableError(f"a retention is a number of hours, 0 or more, not {asked_hours!r}")
    asked = int(min(asked_hours * HOUR_MS, FOREVER_MS))
    if asked < kept_for and enforce:
        raise TableError(
            f"vacuum with a retention of {asked_hours:g} hours would delete files that readers and "
            f"writers may still need: the table keeps them {kept_for / HOUR_MS:g} hours "
            f"({FILE_RETENTION.name}). Pass enforce_retention=False if no one else uses the table"
        )
    return asked


def _without_other_names(
    storage: Storage, unnamed: list[Entry], needed: set[str], files: Iterable[Entry]
) -> list[Entry]:
    """Drop the files that the log names by another path: a link, another mount, or another case.

    If the listing lacks a needed path, the file system resolves the path, and the file it finds is kept.
    """
    if not storage.is_local or not unnamed:
        return unnamed
    identities = {storage.identity(key) for key in needed.difference(file.path for file in files)}
    return [file for file in unnamed if file.identity not in identities]


def _needed(snapshot: Snapshot, horizon: int) -> Iterator[str]:
    """Yields the keys of all files that the log names for readers, now or within the retention period."""
    live = snapshot.files.table(["path", "deletionVector"])
    tombstones = snapshot.tombstones()
    fresh = pc.greater_equal(pc.fill_null(tombstones.column("deletionTimestamp"), 0), horizon)
    recent = tombstones.filter(fresh).select(["path", "deletionVector"])
    for table in (live, recent):
        yield from _keys(snapshot.storage, table)


def _keys(storage: Storage, table: pa.Table) -> Iterator[str]:
    """Yields the keys of data files and their deletion vectors."""
    for path in table.column("path").to_pylist():
        yield table_key(storage, path)
        if "%" in path:
            yield path  # some writers do not percent-encode paths
    for path in _vectors(table):
        yield table_key(storage, path) if is_absolute(path) else path


def _vectors(table: pa.Table) -> Iterator[str]:
    """Yields the files of deletion vectors."""
    with_vector = table.filter(pc.is_valid(table.column("deletionVector")))
    padded = with_vector.select(["path", "deletionVector"])
    padded = padded.append_column("size", pa.array([0] * with_vector.num_rows, pa.int64()))
    for add in as_adds(padded):
        assert add.deletion_vector is not None
        if add.deletion_vector.storage_type != "i":  # "i": stored inline, in the log
            yield vector_path(add.deletion_vector)
