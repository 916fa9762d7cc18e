"""The operations on a table, newest first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from shredlake.delta.log.listing import commit_timestamps, list_log
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import raw_lines


def enabled_since(snapshot: Snapshot) -> int | None:
    """The version from which commits record their own time, or None."""
    settings = snapshot.settings
    return settings.commit_times_since if settings.commit_times else None


def history(snapshot: Snapshot, limit: int | None = None) -> Iterator[dict[str, Any]]:
    """One entry per commit that the log still has, up to the snapshot's version.

    >>> from shredlake.example import example_table
    >>> [entry["operation"] for entry in history(example_table("log").snapshot, limit=1)]
    ['WRITE']
    """
    storage = snapshot.storage
    listing = list_log(storage)
    times = commit_timestamps(storage, listing, enabled_since(snapshot))
    versions = sorted((v for v in listing.commits if v <= snapshot.version), reverse=True)
    for version in versions[:limit]:
        path = listing.commits[version].path
        lines = raw_lines(storage.get(path), path)
        info = next((fields for name, fields in lines if name == "commitInfo"), {})
        yield {
            "version": version,
            "timestamp": datetime.fromtimestamp(times[version] / 1000, UTC),
            "operation": info.get("operation"),
            "parameters": _object(info.get("operationParameters")),
            "metrics": _object(info.get("operationMetrics")),
            "engine": info.get("engineInfo"),
            "is_blind_append": info.get("isBlindAppend"),
            "read_version": info.get("readVersion"),
            "user_metadata": info.get("userMetadata"),
        }


def _object(found: Any) -> dict[str, Any]:
    """The fields of a commitInfo. They are free-form: anything but an object is left out."""
    return found if isinstance(found, dict) else {}
