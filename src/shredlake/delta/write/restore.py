"""Restoring: the files, schema and properties of an older version become the newest version."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.log.files import as_adds, keys_of
from shredlake.delta.log.snapshot import CLUSTERING, Snapshot
from shredlake.delta.protocol.actions import Action, Add, DomainMetadata, Metadata
from shredlake.delta.protocol.features import require_writable, with_features, writer_features
from shredlake.delta.protocol.properties import OF_COMMIT_TIMES, TableProperties
from shredlake.delta.read.deletion_vectors import vector_path
from shredlake.delta.schema.column_mapping import MAX_ID
from shredlake.delta.stats.text import with_stats
from shredlake.delta.storage.storage import Storage, decode_path, is_absolute
from shredlake.delta.write.commit import commit
from shredlake.delta.write.transaction import WHOLE_VERSION, Operation
from shredlake.errors import TableError


def restore(current: Snapshot, target: Snapshot) -> int:
    """Commits the difference between the current version and the target, and returns the new version."""
    uri = current.storage.uri
    require_writable(current.protocol, uri)
    wanted_keys, have_keys = _keys(target), _keys(current)
    coming = ~pc.is_in(wanted_keys, value_set=_live(current, have_keys)).to_numpy(zero_copy_only=False)
    going = ~pc.is_in(have_keys, value_set=_live(target, wanted_keys)).to_numpy(zero_copy_only=False)
    back = with_stats(target, target.files.table(keep=coming), coming)
    gone = current.files.table(keep=going)
    adds = [replace(add, data_change=True) for add in as_adds(back)]
    missing = [path for add in adds for path in _paths(add) if _is_gone(current.storage, path)]
    if missing:
        raise TableError(
            f"{uri}: version {target.version} can't be restored, {len(missing)} of its files are gone "
            f"(vacuumed), the first {missing[0]}"
        )
    now = int(time.time() * 1000)
    actions: list[Action] = [*adds, *(add.removal(now) for add in as_adds(gone))]
    metadata = _restored(current.metadata, target.metadata)
    if metadata != current.metadata:
        actions.append(metadata)
    if (clustering := _restored_clustering(current, target)) is not None:
        actions.append(clustering)
    # The protocol is never downgraded: other files of the current version may need its features.
    protocol = with_features(current.protocol, writer_features(target.protocol))
    require_writable(protocol, uri)
    if protocol != current.protocol:
        actions.append(protocol)
    operation = Operation(
        "RESTORE",
        {"version": target.version, "timestamp": None},
        {
            "numRestoredFiles": len(adds),
            "numRemovedFiles": gone.num_rows,
            "restoredFilesSize": sum(add.size for add in adds),
            "removedFilesSize": pc.sum(gone.column("size")).as_py() or 0,
        },
    )
    # Any file added or removed concurrently would make the result differ from the restored version.
    return commit(current, actions, operation, WHOLE_VERSION)


def _paths(add: Add) -> Iterator[str]:
    """The files that an action needs: the data file, and the deletion vector if it is stored in a file."""
    yield decode_path(add.path)
    if add.deletion_vector is not None and add.deletion_vector.storage_type != "i":
        yield vector_path(add.deletion_vector)


def _is_gone(storage: Storage, path: str) -> bool:
    """Whether a file of the table is missing. Files outside the table's folder are not checked."""
    return not is_absolute(path) and storage.head(path) is None


def _restored(current: Metadata, target: Metadata) -> Metadata:
    """The target's metadata, apart from what describes the log rather than its rows.

    Column ids that were assigned since then are never reused. Whether commits record their own time, and
    since when, stays as it is: the commits in between have it or lack it.
    """
    kept = {name: text for name, text in current.configuration.items() if name in OF_COMMIT_TIMES}
    restored = {name: text for name, text in target.configuration.items() if name not in OF_COMMIT_TIMES}
    highest = [TableProperties(found.configuration).max_column_id for found in (current, target)]
    if highest[0] > highest[1]:
        kept[MAX_ID] = str(highest[0])
    return replace(target, configuration=restored | kept)


def _restored_clustering(current: Snapshot, target: Snapshot) -> DomainMetadata | None:
    """The clustering columns of the target, if others are recorded now: they must be columns of the table."""
    now, then = current.domains.get(CLUSTERING), target.domains.get(CLUSTERING)
    if now == then:
        return None
    return then or DomainMetadata(CLUSTERING, '{"clusteringColumns":[]}')


def _keys(snapshot: Snapshot) -> pa.Array:
    """The key of the file at each place."""
    keys = keys_of(snapshot.files.column("path"), snapshot.files.column("deletionVector"))
    return keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys


def _live(snapshot: Snapshot, keys: pa.Array) -> pa.Array:
    live = snapshot.files.live
    return keys if live is None else keys.filter(pa.array(live))
