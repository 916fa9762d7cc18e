"""The prompt of `shredlake sql`."""

from __future__ import annotations

from pathlib import Path

import pytest

from shredlake.cli.verbs.querying import prompt
from shredlake.cli.verbs.querying.prompt import history_file

pytest.importorskip("duckdb", reason="SQL needs DuckDB")


def test_history_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert history_file().parent.stat().st_mode & 0o077 == 0


def test_a_mistake_at_a_terminal_is_told_and_the_next_query_answered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr(
        prompt, "_lines", lambda tables: ["select nonsense;", "select 42 as answer;", "select 7"]
    )
    prompt.converse({}, strict=False, memory_limit=None)
    out, err = capsys.readouterr()
    assert "42" in out
    assert "Tables: none" in err, "the greeting is not data"
    assert "nonsense" in err
    assert "7" not in out, "Ctrl-D drops a query that has no end"
