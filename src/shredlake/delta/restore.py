"""Going back: the files, schema and properties of an older version become the newest."""

from __future__ import annotations

import time

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.actions import Action
from shredlake.delta.commit import WHOLE_TABLE, Operation, commit
from shredlake.delta.features import require_writable, with_features, writer_features
from shredlake.delta.files import as_adds, keys_of
from shredlake.delta.snapshot import Snapshot
from shredlake.delta.stats_text import with_stats
from shredlake.delta.storage import decode_path, is_absolute
from shredlake.errors import TableError


def restore(current: Snapshot, target: Snapshot) -> int:
    """Commits what leads from the current state to the target's; returns the new version."""
    uri = current.storage.uri
    require_writable(current.protocol, uri)
    wanted_keys, have_keys = _keys(target), _keys(current)
    coming = ~pc.is_in(wanted_keys, value_set=_live(current, have_keys)).to_numpy(zero_copy_only=False)
    going = ~pc.is_in(have_keys, value_set=_live(target, wanted_keys)).to_numpy(zero_copy_only=False)
    back = with_stats(target, target.files.table(keep=coming), coming)
    gone = current.files.table(keep=going)
    adds = as_adds(back)
    missing = [
        add.path
        for add in adds
        if not is_absolute(add.path) and current.storage.head(decode_path(add.path)) is None
    ]
    if missing:
        raise TableError(
            f"{uri}: version {target.version} can't be restored, {len(missing)} of its files are gone "
            f"(vacuumed), the first {missing[0]}"
        )
    now = int(time.time() * 1000)
    actions: list[Action] = [*adds, *(add.removal(now) for add in as_adds(gone))]
    if target.metadata != current.metadata:
        actions.append(target.metadata)
    # The protocol only grows: other files of the current version may need what it has.
    protocol = with_features(current.protocol, writer_features(target.protocol))
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
    return commit(current, actions, operation, WHOLE_TABLE)


def _keys(snapshot: Snapshot) -> pa.Array:
    """What identifies the file at each place."""
    keys = keys_of(snapshot.files.column("path"), snapshot.files.column("deletionVector"))
    return keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys


def _live(snapshot: Snapshot, keys: pa.Array) -> pa.Array:
    live = snapshot.files.live
    return keys if live is None else keys.filter(pa.array(live))
