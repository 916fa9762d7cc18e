"""Deleting files that no version within the retention period needs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.deletion_vectors import vector_path
from shredlake.delta.durations import DELETED_FILE_RETENTION, retention_ms
from shredlake.delta.features import require_writable
from shredlake.delta.files import as_adds
from shredlake.delta.rewrite import CHANGE_DIRECTORY
from shredlake.delta.snapshot import Snapshot
from shredlake.delta.storage import decode_path, is_absolute, locate
from shredlake.errors import TableError

HOUR_MS = 3_600_000


def vacuum(
    snapshot: Snapshot,
    *,
    retention_hours: float | None = None,
    dry_run: bool = True,
    enforce_retention: bool = True,
) -> list[str]:
    """The files that are, or in a dry run would be, deleted.

    A file goes if it is not live, was not removed within the retention period, and was written before it:
    files of writes that are under way are younger.
    """
    require_writable(snapshot.protocol, snapshot.storage.uri)
    kept_for = retention_ms(snapshot.properties, DELETED_FILE_RETENTION)
    if retention_hours is not None:
        asked = int(retention_hours * HOUR_MS)
        if asked < kept_for and enforce_retention:
            raise TableError(
                f"vacuum with a retention of {retention_hours:g} hours would delete files that readers and "
                f"writers may still need: the table keeps them {kept_for / HOUR_MS:g} hours "
                f"({DELETED_FILE_RETENTION[0]}). Pass enforce_retention=False if no one else uses the table"
            )
        kept_for = asked
    horizon = int(time.time() * 1000) - kept_for
    needed = set(_needed(snapshot, horizon))
    doomed = [
        entry.path
        for entry in snapshot.storage.list()
        if _is_candidate(entry.path) and entry.modified_ms < horizon and entry.path not in needed
    ]
    if not dry_run:
        snapshot.storage.delete(doomed)
    return doomed


def _is_candidate(path: str) -> bool:
    """Anything but the log and other hidden files; change data is the one hidden directory that is ours."""
    if path.startswith(CHANGE_DIRECTORY):
        return True
    # A partition column may start with an underscore: `_day=1/` is data.
    return not any(part.startswith(("_", ".")) and "=" not in part for part in path.split("/"))


def _needed(snapshot: Snapshot, horizon: int) -> Iterator[str]:
    live = snapshot.files.table(["path", "deletionVector"])
    tombstones = snapshot.tombstones()
    fresh = pc.greater_equal(pc.fill_null(tombstones.column("deletionTimestamp"), 0), horizon)
    recent = tombstones.filter(fresh).select(["path", "deletionVector"])
    for table in (live, recent):
        for path in table.column("path").to_pylist():
            yield _inside(snapshot, path) if is_absolute(path) else decode_path(path)
        yield from _vectors(snapshot, table)


def _inside(snapshot: Snapshot, path: str) -> str:
    """An absolute path, as a key of the table where it leads into it."""
    parent, name = locate(path, snapshot.storage.options)
    full, root = (_comparable(uri) for uri in (f"{parent.uri}/{name}", snapshot.storage.uri))
    return full.removeprefix(f"{root}/")


def _comparable(uri: str) -> str:
    """One spelling for addresses that mean the same: `s3a://` is `s3://`, `%20` a blank."""
    scheme, _, rest = unquote(uri).partition("://")
    return f"{'s3' if scheme in ('s3a', 's3n') else scheme}://{rest}"


def _vectors(snapshot: Snapshot, table: pa.Table) -> Iterator[str]:
    """Files of deletion vectors."""
    with_vector = table.filter(pc.is_valid(table.column("deletionVector")))
    padded = with_vector.append_column("size", pa.array([0] * with_vector.num_rows, pa.int64()))
    for add in as_adds(padded):
        assert add.deletion_vector is not None
        if add.deletion_vector.storage_type == "i":
            continue  # in the log itself
        path = vector_path(add.deletion_vector)
        yield _inside(snapshot, path) if is_absolute(path) else path
