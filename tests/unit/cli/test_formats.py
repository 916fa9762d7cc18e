"""Formats of rows: chosen by option or by the suffix of the output."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from shredlake.cli.formats import format_of


def test_the_format_follows_the_suffix(shredlake: Any, lake: Path) -> None:
    for name in ("out.parquet", "out.csv", "out.json", "out.ndjson", "out.txt", "out"):
        assert shredlake("query", "t", "v:seq::int AS n", "-o", name).code == 0
    assert pq.read_table("out.parquet")["n"].to_pylist() == [1, 2]
    assert Path("out.csv").read_text() == '"n"\n1\n2\n'
    assert Path("out.json").read_text() == Path("out.ndjson").read_text() == '{"n": 1}\n{"n": 2}\n'
    assert Path("out.txt").read_text() == Path("out").read_text()
    assert "┃" in Path("out").read_text()
    assert format_of("json", "out.parquet") == "json", "what is asked for goes before the name"
