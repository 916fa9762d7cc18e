"""The tour of the demo, on its own table: what it shows is what it found."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

import shredlake as sl
from shredlake.cli.verbs.demo_data import bluesky, write_lines
from shredlake.cli.verbs.demo_tour import QUERIES, show_heading, tour

ROWS = 500


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tour")
    write_lines(bluesky, made / "events.ndjson", ROWS)
    return made


def printed(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_tour_finds_the_rows_that_the_documents_have(folder: Path) -> None:
    console = Console(file=io.StringIO(), width=120)
    times = tour(console, None, str(folder / "events.ndjson"), str(folder / "t"))
    assert [one["query"] for one in times] == [name for name, _, _ in QUERIES]
    assert all(set(one) == {"query", "rows", "seconds"} and one["seconds"] > 0 for one in times)
    documents = [json.loads(line) for line in (folder / "events.ndjson").read_text().splitlines()]
    records = [one.get("commit", {}) for one in documents]
    rows = {one["query"]: one["rows"] for one in times}
    assert rows["likes"] == sum(one.get("collection") == "app.bsky.feed.like" for one in records)
    assert rows["posts in Japanese"] == sum(
        one.get("record", {}).get("langs", [])[:1] == ["ja"] for one in records
    )
    assert 0 < rows["the first percent"] < ROWS / 10
    assert sl.Table(folder / "t").scan().count() == ROWS
    text = printed(console)
    assert "500 rows + 0 rejects" in text
    assert "$['time_us']" in text
    assert text.count("--explain") == len(QUERIES)
    assert "Spark alone" not in text


def test_headings_are_not_wrapped() -> None:
    console = Console(file=io.StringIO(), width=20)
    show_heading(console, "$ shredlake " + "word " * 20)
    assert printed(console) == "\n$ shredlake " + "word " * 20 + "\n"
