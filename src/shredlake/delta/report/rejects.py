"""Refused documents by reason, from the table of rejects beside a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa

from shredlake.delta.log.listing import list_log
from shredlake.delta.log.snapshot import load_snapshot
from shredlake.delta.read.scan import TableScan
from shredlake.delta.storage.storage import Storage
from shredlake.errors import ShredlakeError
from shredlake.formatting import escaped

COLUMNS: Final = {"file": pa.string(), "line": pa.int64(), "reason": pa.string(), "raw": pa.binary()}
LONGEST = 120
"""Number of characters of a document that are shown."""
MOST_REASONS = 50
OTHER_REASONS: Final = "other reasons"

_POSITION: Final = re.compile(r",? at line \d+, column \d+ \(byte \d+\)")


@dataclass(frozen=True)
class RejectedFor:
    """Documents that were refused for one reason, and the first of them."""

    reason: str
    count: int
    file: str | None
    line: int | None
    raw: str
    """The beginning of the first document, as text."""


def general_reason(reason: str) -> str:
    """A reason without the position, which differs from document to document.

    >>> general_reason("'1', expected ':', at line 1, column 6 (byte 5)")
    "'1', expected ':'"
    """
    return _POSITION.sub("", reason)


def readable(raw: bytes | None) -> str:
    r"""The beginning of a refused document as text on one line.

    >>> readable(b'{"a": \xff\n'), readable(None)
    ('{"a": \\xff', '')
    """
    head = (raw or b"")[: 4 * (LONGEST + 1)].rstrip(b"\r\n").decode("utf-8", "backslashreplace")
    text = escaped(head)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def by_reason(rows: Iterable[Mapping[str, Any]]) -> tuple[RejectedFor, ...]:
    """Groups rejects by reason, the most frequent first; the first of each is kept.

    >>> [one] = by_reason([{"file": "a", "line": 3, "reason": "bad", "raw": b"x"}] * 2)
    >>> one.count, one.line, one.raw
    (2, 3, 'x')
    """
    found: dict[str, RejectedFor] = {}
    for row in rows:
        reason = general_reason(str(row["reason"]))
        if reason not in found and len(found) >= MOST_REASONS:
            reason = OTHER_REASONS
        known = found.get(reason)
        if known is not None:
            found[reason] = replace(known, count=known.count + 1)
        else:
            found[reason] = RejectedFor(reason, 1, row["file"], row["line"], readable(row["raw"]))
    return tuple(sorted(found.values(), key=lambda one: -one.count))


def rejects_beside(storage: Storage) -> tuple[str, tuple[RejectedFor, ...]] | None:
    """The table of rejects beside a table (`TABLE_rejects`) and its content by reason; None without one."""
    rejects = Storage(f"{storage.uri.rstrip('/')}_rejects", storage.options)
    try:
        if list_log(rejects).latest is None:
            return None
        snapshot = load_snapshot(rejects)
        found = {item.name: item.type for item in snapshot.arrow_schema}
        if any(found.get(name) != kind for name, kind in COLUMNS.items()):
            return None  # an unrelated table of this name
        batches = TableScan(snapshot, list(COLUMNS), "reason IS NOT NULL").to_batches()
        return rejects.uri, by_reason(row for batch in batches for row in batch.to_pylist())
    except ShredlakeError:
        return None  # the folder may be something other than a table of rejects
