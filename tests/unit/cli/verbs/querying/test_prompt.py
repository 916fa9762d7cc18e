"""The prompt of `shredlake sql`."""

from __future__ import annotations

from pathlib import Path

import pytest

from shredlake.cli.verbs.querying.prompt import history_file

pytest.importorskip("duckdb", reason="SQL needs DuckDB")


def test_history_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert history_file().parent.stat().st_mode & 0o077 == 0
