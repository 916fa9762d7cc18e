"""Hints for paths that no file has."""

from __future__ import annotations

import shredlake as sl
from command_line import invoke as run


def test_hints(thirty: sl.Table) -> None:
    said = run("query", thirty.uri, "v:ss::string").stderr
    assert said.startswith("hint: no file has v:ss; did you mean v:s?\n")
    assert "hint" not in run("query", thirty.uri, "v:s::string", "-w", "v:a::int > 99").stderr
    for name, meant in (
        ("kind", "v:kind::string"),
        ("v.kind", "v:kind::string"),
        ("idd", "Did you mean id?"),
    ):
        assert meant in str(run("query", thirty.uri, name, code=1).exception)
