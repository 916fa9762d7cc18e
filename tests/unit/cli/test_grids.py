"""Output fits the width that COLUMNS asks for, also in a pipe."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.cells import cell_len

from command_line import documents, run

VERBS = {
    "advise": ["advise", "t"],
    "doctor": ["doctor", "t", "--rules-only"],
    "drift": ["drift", "t"],
    "environment": ["doctor"],
    "head": ["head", "t"],
    "history": ["history", "t"],
    "inspect": ["inspect", "FILE"],
    "query": ["query", "t", "v, v:user.address.city::string AS city"],
    "report": ["report", "t"],
    "schema": ["schema", "t"],
    "sql": ["sql", "select v:ts::string AS ts, v from './t' limit 3"],
    "stats": ["stats", "t"],
}
"""Verbs that draw tables. `check` prints one line per finding instead, which people search with grep."""

TO_COPY = ("  $ ", "struct<")
"""Lines that begin so are commands and schemas: they stay whole, because people copy them."""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with long paths, mixed types, drift and rejects."""
    root = tmp_path_factory.mktemp("widths")
    for name, ts in (("a", 17), ("b", "eighteen")):
        document = {
            "ts": ts,
            "user": {"address": {"city": "Llanfairpwllgwyngyll", f"postcode_{name}": "LL61"}},
            "commit": {"collection": "app.bsky.feed.like", "record": {"createdAt": "2026-01-01T00:00:00Z"}},
        }
        documents(root / f"{name}.ndjson", *[json.dumps(document)] * 50, '{"a": 1', '{"a": 1, "a": 2}')
        run("ingest", root / f"{name}.ndjson", root / "t")
    run("delete", root / "t", "--where", "v:user.address.postcode_a::string = 'none'")
    return root


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_no_line_is_wider_than_columns(lake: Path, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(lake)
    monkeypatch.setenv("COLUMNS", str(width))
    file = next(lake.glob("t/*.parquet"))
    for name, arguments in VERBS.items():
        lines = run(*(str(file) if one == "FILE" else one for one in arguments)).splitlines()
        wide = [line for line in lines if cell_len(line.rstrip()) > width and not line.startswith(TO_COPY)]
        assert not wide, (name, wide)
        assert lines, name


def test_nothing_is_cut_in_a_narrow_pipe(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    for verb in ("report", "history", "drift", "doctor"):
        assert "…" not in run(verb, lake / "t"), verb


@pytest.mark.parametrize("text", ["", "0", "wide", "-5"])
def test_a_pipe_is_wide_unless_columns_is_a_width(
    lake: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", text)
    assert "operation" in run("history", lake / "t").splitlines()[0]
