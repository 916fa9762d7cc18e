"""Commits the files of a job at once, and creates the table if the job planned it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from shredlake.delta.log.snapshot import Snapshot, load_snapshot
from shredlake.delta.protocol.actions import Add, TransactionId
from shredlake.delta.stats.records import recorded_rows
from shredlake.delta.write.append import write_metrics
from shredlake.delta.write.cleanup import removed_unless_committed
from shredlake.delta.write.commit import commit, transaction_actions
from shredlake.delta.write.transaction import Operation
from shredlake.errors import CommitConflict
from shredlake.jobs.ingest.once import is_contested


def commit_adds(
    snapshot: Snapshot,
    adds: Sequence[Add],
    transactions: Sequence[TransactionId],
    source: str,
    metrics: Mapping[str, int] | None = None,
) -> int:
    """Commits all files of the job at once; `metrics` go to the commit beside the usual ones."""
    rows = sum(recorded_rows(add.stats) or 0 for add in adds)
    operation = Operation(
        "WRITE",
        {"mode": "Append", "partitionBy": list(snapshot.metadata.partition_columns), "source": source},
        {**write_metrics(adds, numOutputRows=rows), **(metrics or {})},
    )
    done = transaction_actions(transactions)
    with removed_unless_committed(snapshot.storage, adds):
        try:
            return commit(snapshot, [*done, *adds], operation)
        except CommitConflict:
            if snapshot.version >= 0:
                raise
            return commit(created_concurrently(snapshot, transactions), [*done, *adds], operation)


def created_concurrently(plan: Snapshot, transactions: Sequence[TransactionId]) -> Snapshot:
    """The table that another writer created while ours was only planned, if our files fit into it."""
    found = load_snapshot(plan.storage)
    same = replace(plan.metadata, id=found.metadata.id, created_time=found.metadata.created_time)
    if (found.protocol, found.metadata) != (plan.protocol, same) or is_contested(found, transactions):
        raise CommitConflict(
            f"{plan.storage.uri} was created by another writer meanwhile, with a different definition. "
            "Nothing was added to it. Run the job again"
        )
    return found
