"""What must hold before an ingest is committed: every document accounted for, not too many of them bad."""

from __future__ import annotations

from collections.abc import Sequence

from shredlake.errors import NotJson, TooManyRejects, VerificationFailed
from shredlake.spark.rejects import LineNumbers, Places, first_rejects, guess
from shredlake.spark.task import TaskResult


def check_json(places: Places, results: Sequence[TaskResult], lines: LineNumbers, table: str) -> None:
    """Refuses to commit if not one document is JSON: says what the first look like, and what it may be."""
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
    raise NotJson(
        f"{table}: none of {count:,} documents is JSON ({reasons}). {guess(first[0]['raw'])}. Nothing was "
        "committed; with max_rejects=1.0 (100%) the job goes on and keeps them as rejects"
    )


def check_counts(results: Sequence[TaskResult], max_rejects: int | float | None, table: str) -> None:
    """Refuses to commit if a document is unaccounted for, or too many were bad."""
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
            f"{table}: {rejected:,} of {documents:,} documents are bad, more than max_rejects={max_rejects} "
            "allows. Nothing was committed; run with more, or look at the source"
        )
