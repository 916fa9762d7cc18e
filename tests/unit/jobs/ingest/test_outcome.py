"""The end of an ingest: every document counted, and no more rejects than allowed."""

from __future__ import annotations

import pytest

from shredlake.errors import PipelineError, TooManyRejects, VerificationFailed
from shredlake.jobs.ingest.outcome import check_counts, rejects_limit, typed_share
from shredlake.jobs.ingest.parse_task import TaskResult


def result(documents: int, written: int, rejected: int, typed: int = 0, total: int = 0) -> TaskResult:
    return TaskResult((), documents, written, rejected, typed_bytes=typed, total_bytes=total)


def test_a_document_that_is_neither_written_nor_rejected_stops_the_job() -> None:
    check_counts([result(5, 4, 1), result(2, 2, 0)], None, "t")
    with pytest.raises(VerificationFailed, match="7 documents were read, but 5 rows written and 1 rejected"):
        check_counts([result(5, 3, 1), result(2, 2, 0)], None, "t")


@pytest.mark.parametrize(("limit", "allowed"), [(1, 1), (0, 0), (0.1, 1), (1.0, 10), (3, 3)])
def test_the_limit_is_a_number_or_a_share(limit: int | float, allowed: int) -> None:
    check_counts([result(10, 10 - allowed, allowed)], limit, "t")
    if allowed < 10:
        with pytest.raises(TooManyRejects, match=f"{allowed + 1} of 10 documents are invalid"):
            check_counts([result(10, 9 - allowed, allowed + 1)], limit, "t")


@pytest.mark.parametrize("text", ["-1", "1.5", "120%", "many", "", "nan"])
def test_a_limit_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(PipelineError, match="expected a number of documents"):
        rejects_limit(text)


def test_the_typed_share_is_that_of_all_files() -> None:
    assert typed_share([result(1, 1, 0, 30, 40), result(1, 1, 0, 0, 20)]) == 0.5
    assert typed_share([result(0, 0, 0)]) is None
