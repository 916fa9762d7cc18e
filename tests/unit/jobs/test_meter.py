"""Progress follows the bytes that tasks read."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import rich.console

import shredlake as sl
from shredlake.jobs import meter
from shredlake.jobs.report import progress
from waiting import wait_until


def test_progress_follows_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    output = io.StringIO()
    plain = rich.console.Console
    monkeypatch.setattr(
        rich.console, "Console", lambda **_: plain(file=output, force_terminal=True, width=120)
    )
    with progress("ingest", 2, 1000, True) as watch:
        meter.add(250)
        wait_until(lambda: "25%" in output.getvalue(), 30)  # the bar redraws itself a few times per second
        watch(1, 10, 1)
    said = output.getvalue()
    assert "25%" in said
    assert "50%" in said
    assert "500 B of 1.0 kB" in said
    assert "10 rows, 1 reject" in said


def test_tasks_count_what_they_read(tmp_path: Path) -> None:
    text = "".join(f'{{"id": {n}}}\n' for n in range(5000))
    (tmp_path / "a.ndjson").write_text(text)
    with meter.counting():
        sl.ingest(tmp_path / "a.ndjson", tmp_path / "t")
        read: Any = meter.bytes_read()
    assert len(text) * 0.8 <= read <= len(text) * 3
