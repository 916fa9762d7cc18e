"""The newest versions of the tables that queries and data sources of this process read.

Spark keeps the processes that plan data sources, so the versions that they read serve later queries as well.
"""

from __future__ import annotations

from typing import Final

from shredlake.caches import LruCache
from shredlake.delta.log.snapshot import Snapshot, load_snapshot, newest
from shredlake.delta.storage.storage import Storage

_snapshots: Final[LruCache[Storage, Snapshot]] = LruCache(16, "snapshots")


def latest(storage: Storage) -> Snapshot:
    """The newest version of a table. If it was read before, only the commits since then are read.

    >>> from shredlake.example import example_table
    >>> storage = example_table("latest").snapshot.storage
    >>> latest(storage).version, latest(storage) is latest(storage)
    (1, True)
    """
    known = _snapshots.find(storage)
    return _snapshots.put(storage, load_snapshot(storage) if known is None else newest(known))
