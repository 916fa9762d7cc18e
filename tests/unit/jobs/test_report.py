"""Reports of jobs: progress, rates and rejects."""

from __future__ import annotations

import io
import re

import pytest

from shredlake.jobs.report import progress
from waiting import wait_until


def test_progress_tells_rows_rate_and_rejects(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with progress("ingest", 4, 8_000_000, True) as watch:
        watch(2, 1000, 3)
        said = re.compile(r"ingest.* 50%.*4.0 MB of 8.0 MB, [\d,.]+ .?B/s, 1,000 rows, 3 rejects")
        wait_until(lambda: said.search(screen.getvalue()), 30)
    assert said.search(screen.getvalue())
    with progress("ingest", 4, 8_000_000, False) as watch:
        watch(4, 2000, 3)
