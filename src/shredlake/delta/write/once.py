"""Exactly once: a commit carries the transaction ids of its work, and work whose id the table has is skipped.

A transaction id is Delta's idempotency key. Two commits that set the same id conflict, so of two jobs that do
the same work at a time only one is committed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Transaction, TransactionId


def is_committed(snapshot: Snapshot, transaction: TransactionId) -> bool:
    """Whether the table has this version of the application's work, or a later one."""
    application, version = transaction
    seen = snapshot.transactions.get(application)
    return seen is not None and seen.version >= version


def transaction_actions(transactions: Iterable[TransactionId]) -> list[Transaction]:
    """The actions that record work as done."""
    now = int(time.time() * 1000)
    return [Transaction(application, version, now) for application, version in transactions]
