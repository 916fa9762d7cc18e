"""Committing: a version is added to the log, then a checkpoint is written if one is due.

Work is committed exactly once. A commit records the transaction ids of its work, and work whose id the table
has already recorded is skipped. A transaction id is Delta's idempotency key. Two commits that set the same id
conflict, so if two jobs do the same work concurrently, only one is committed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence

from shredlake.delta.log.snapshot import Snapshot, latest_snapshot, load_snapshot
from shredlake.delta.protocol.actions import Action, Transaction, TransactionId
from shredlake.delta.write.checkpoint import write_checkpoint
from shredlake.delta.write.transaction import NOTHING, Operation, Reads, add_version, properties_after
from shredlake.errors import CommitConflict

MAX_PLANS = 5
"""The number of times that an operation is planned before a conflict is raised."""

_log = logging.getLogger(__name__)


def commit(
    snapshot: Snapshot, actions: Sequence[Action], operation: Operation, reads: Reads = NOTHING
) -> int:
    """Adds a version to the table, does what follows a commit, and returns the version's number.

    Raises what `add_version` raises, in particular `CommitConflict`. Nothing is raised once the version is
    in the log: a checkpoint that fails is logged.

    >>> from shredlake.example import example_table
    >>> from shredlake.delta.protocol.actions import Transaction
    >>> snapshot = example_table("commit").snapshot
    >>> commit(snapshot, [Transaction("app", 1)], Operation("NOTE")), snapshot.version
    (2, 1)
    """
    version = add_version(snapshot, actions, operation, reads)
    interval = properties_after(snapshot, actions).checkpoint_interval
    if version > 0 and version % interval == 0:
        _checkpoint(snapshot, version)
    return version


def _checkpoint(snapshot: Snapshot, version: int) -> None:
    try:
        write_checkpoint(load_snapshot(snapshot.storage, version))
    except Exception as error:
        place = snapshot.storage.uri
        _log.warning("%s: version %d is committed, but its checkpoint failed: %s", place, version, error)


def retry_on_conflict(snapshot: Snapshot, plan: Callable[[Snapshot], int]) -> int:
    """Runs a plan that commits; after a conflict, runs it again on the latest snapshot, a few times."""
    for attempt in range(MAX_PLANS):
        try:
            return plan(snapshot)
        except CommitConflict:
            if attempt == MAX_PLANS - 1:
                raise
            snapshot = latest_snapshot(snapshot.storage, snapshot)
    raise AssertionError("unreachable")


def is_committed(snapshot: Snapshot, transaction: TransactionId) -> bool:
    """Whether the table has recorded this transaction of the application, or a later one."""
    application, version = transaction
    seen = snapshot.transactions.get(application)
    return seen is not None and seen.version >= version


def transaction_actions(transactions: Iterable[TransactionId]) -> list[Transaction]:
    """The actions that record work as done."""
    now = int(time.time() * 1000)
    return [Transaction(application, version, now) for application, version in transactions]
