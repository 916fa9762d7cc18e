"""The number of rows of a file, as its statistics in the log tell."""

from __future__ import annotations

import json

from shredlake.delta.protocol.action_types import LONG
from shredlake.delta.protocol.actions import Add


def recorded_rows(stats: str | None) -> int | None:
    """The `numRecords` of statistics; None if they are missing, damaged or not a count.

    >>> recorded_rows('{"numRecords":3}'), recorded_rows('{"numRecords":1e999}'), recorded_rows("[]")
    (3, None, None)
    """
    try:
        count = json.loads(stats or "{}")["numRecords"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    known = isinstance(count, int) and not isinstance(count, bool) and 0 <= count < LONG
    return count if known else None


def live_rows(add: Add) -> int | None:
    """The rows of a file that are not deleted; None if its statistics do not tell.

    >>> live_rows(Add("f", 1, 1, stats='{"numRecords":3}'))
    3
    """
    count = recorded_rows(add.stats)
    if count is None or add.deletion_vector is None:
        return count
    return max(count - add.deletion_vector.cardinality, 0)
