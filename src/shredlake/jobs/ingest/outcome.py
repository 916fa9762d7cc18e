"""Checks the outcome of an ingest: no document lost, not too many bad, and the share of typed bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from shredlake.errors import NotJson, PipelineError, TooManyRejects, VerificationFailed
from shredlake.jobs.ingest.parse_task import TaskResult
from shredlake.jobs.ingest.rejects import LineNumbers, Places, first_rejects, guess


def check_json(places: Places, results: Sequence[TaskResult], lines: LineNumbers, table: str) -> None:
    """Raises if no document is JSON, with the first documents and a guess at their format."""
    if any(result.written for result in results):
        return
    staged = [result.staged for result in results if result.staged is not None]
    first = [row for row in first_rejects(places, staged, lines) if row["raw"].strip()]
    if not first:
        return
    reasons = "; ".join(
        ", ".join([*([f"{row['file']}, line {row['line']}"] if row["file"] else []), f"{row['reason']}"])
        for row in first
    )
    count = sum(result.rejected for result in results)
    limited = any(word in row["reason"] for row in first for word in ("duplicate_keys", "max_depth"))
    accepted = "accepted" if limited else "JSON"
    which = f"the document is not {accepted}" if count == 1 else f"none of {count:,} documents is {accepted}"
    advice = "" if limited else f"{guess(first[0]['raw'])}. "
    raise NotJson(
        f"{table}: {which} ({reasons}). {advice}Nothing was "
        "committed. Raise max_rejects to 100% to store them as rejects"
    )


def rejects_limit(text: str) -> int | float:
    """Parses `max_rejects` given as text: a number of documents, or a share of them.

    >>> rejects_limit("100"), rejects_limit("2%"), rejects_limit("0.02")
    (100, 0.02, 0.02)
    """
    try:
        if text.strip().endswith("%"):
            limit: int | float = float(text.strip().removesuffix("%")) / 100
        else:
            limit = float(text) if "." in text else int(text)
    except ValueError:
        limit = -1
    if not (limit >= 0 and (isinstance(limit, int) or limit <= 1)):
        raise PipelineError(
            f"max_rejects is {text!r}; expected a number of documents (100) or a share (0.02, 2%)"
        )
    return limit


def check_counts(results: Sequence[TaskResult], max_rejects: int | float | None, table: str) -> None:
    """Raises if a document is unaccounted for, or if too many are bad."""
    documents = sum(result.documents for result in results)
    rejected = sum(result.rejected for result in results)
    written = sum(result.written for result in results)
    if documents != written + rejected:
        raise VerificationFailed(
            f"{table}: {documents:,} documents were read, but {written:,} rows written and {rejected:,} "
            "rejected. Nothing was committed"
        )
    if max_rejects is None:
        return
    allowed = max_rejects * documents if isinstance(max_rejects, float) and max_rejects <= 1 else max_rejects
    if rejected > allowed:
        raise TooManyRejects(
            f"{table}: {rejected:,} of {documents:,} documents are invalid, more than "
            f"max_rejects={max_rejects} allows. Nothing was committed. Raise max_rejects or fix the source"
        )


class Shredded(Protocol):
    """The result of a task that counted the bytes of a Variant column."""

    @property
    def typed_bytes(self) -> int: ...
    @property
    def total_bytes(self) -> int: ...


def typed_share(results: Sequence[Shredded]) -> float | None:
    """The share of a Variant column's bytes that are in typed columns; None if there are no bytes."""
    total = sum(result.total_bytes for result in results)
    return sum(result.typed_bytes for result in results) / total if total else None
