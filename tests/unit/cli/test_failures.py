"""Errors of the command line are one line that says what to do."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

import shredlake as sl
from command_line import EVIL
from shredlake.cli import failures


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("query ok.ndjson", "ok.ndjson is a file, not a table; use ingest or advise"),
        ("history ok.ndjson", "is a file, not a table"),
        ("stats ok.ndjson", "is a file, not a table"),
        ("report ok.ndjson", "is a file, not a table"),
        ("vacuum ok.ndjson", "is a file, not a table"),
        ("optimize ok.ndjson", "is a file, not a table"),
        ("ingest ok.ndjson ok.ndjson", "ok.ndjson is a file; name the folder of a table"),
        ("ingest ok.ndjson u --format delta", "is a file, not a table"),
        ("ingest ok.ndjson u --format parquet", "ok.ndjson can't be read as parquet"),
        ("ingest ok.ndjson .", "is not a table and not empty: it holds 'ok.ndjson'. Choose an empty folder"),
        ("ingest nowhere u", "nothing to ingest at nowhere"),
        ("inspect t", "t is a Delta table, not a Parquet file; name one of its files, such as t/part-"),
        ("check empty", "empty is not a Delta table: there is no _delta_log with a commit"),
        ("inspect empty", "empty is a folder, not a Parquet file; it has no Parquet files"),
        ("inspect .", "is a folder, not a Parquet file"),
        ("check nowhere.parquet", "nowhere.parquet can't be opened"),
        ("query t -o nowhere/x.csv", "nowhere/x.csv: there is no folder nowhere; create it first"),
        ("query t -o empty", "empty is a folder; name a file in it"),
        ("query t -o x.xlsx", "unknown format '.xlsx'; name it with --format"),
        ("query t -f parquet", "name it with --output FILE"),
        ("query t v:a.id,v:id", "two columns are named 'id'. Rename one with AS"),
        ("query t --version 7", "has no version 7"),
        ("query t v:seq:: ", "^"),
        ("query t --where v:seq>", "at character"),
        ("query t --where v:seq::bigint", ""),
        ("query t v:s::int --strict -f json", "without --strict it is null"),
        ("vacuum t --retention-hours 0", "Pass --force if no one else uses the table"),
        ("advise nowhere", "nowhere does not exist"),
        ("migrate ok.ndjson t/part.parquet", "ok.ndjson is not a Parquet file"),
    ],
)
def test_an_error_is_one_line(shredlake: Any, lake: Path, arguments: str, said: str) -> None:
    ran = shredlake(*arguments.split())
    assert ran.code == 1, ran.out
    assert ran.out == ""
    assert ran.err.startswith("shredlake: ")
    assert ran.err.count("\n") == 1, ran.err
    assert "Traceback" not in ran.err
    if said != "^":
        assert said in ran.err
    assert not re.search(r"enforce_retention|force=True|strict=True", ran.err), "names of Python"


@pytest.mark.parametrize(
    "arguments",
    [
        ["query", "t", "--limit", "-3"],
        ["query", "t", "--version", "-1"],
        ["query", "t", "--format", "xml"],
        ["query"],
        ["nothing"],
        ["vacuum", "t", "--retention-hours", "-5"],
        ["vacuum", "t", "--retention-hours", "nan"],
        ["history", "t", "--limit", "-1"],
        ["stats", "t", "--bars", "0"],
        ["check", "x.parquet", "--limit", "-1"],
        ["advise", "t", "--column", ""],
        ["advise", "t", "--max-leaves", "0"],
        ["ingest", "ok.ndjson"],
        ["ingest", "ok.ndjson", "u", "--column", " "],
        ["ingest", "ok.ndjson", "u", "--file-size", "-1"],
        ["ingest", "ok.ndjson", "u", "--max-rejects", "150%"],
        ["ingest", "ok.ndjson", "u", "--max-rejects", "nan%"],
        ["ingest", "ok.ndjson", "u", "--max-rejects", "-1"],
        ["ingest", "ok.ndjson", "u", "--with", "day"],
        ["optimize", "t", "--file-size", "0"],
        ["optimize", "t", "--column", ""],
        ["migrate", "a", "b", "--table", "--unshred"],
        ["report", "t", "--html", "u", "--json"],
        ["inspect", "x.parquet", "--html", "u", "--json"],
        ["demo", "--events", "-5"],
        ["demo", "--events", "0"],
        ["demo", "--engine", "foo"],
    ],
)
def test_options_that_make_no_sense_are_wrong_usage(shredlake: Any, lake: Path, arguments: list[str]) -> None:
    ran = shredlake(*arguments)
    assert ran.code == 2, ran.err
    assert "Usage: shredlake" in ran.err
    assert not (lake / "u").exists()


def test_a_folder_that_can_not_be_written(shredlake: Any, lake: Path) -> None:
    closed = lake / "closed"
    closed.mkdir(mode=0o555)
    if os.access(closed, os.W_OK):
        pytest.skip("this user may write everywhere")
    for arguments in (["query", "t", "-o", "closed/x.csv"], ["ingest", "ok.ndjson", "closed/t"]):
        ran = shredlake(*arguments)
        assert (ran.code, ran.err.count("\n")) == (1, 1)
        assert "ermission denied" in ran.err


def test_unexpected_errors_say_how_to_see_more(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise KeyError(f"slot0 {EVIL}")

    with pytest.raises(SystemExit) as left:
        failures.run(fail)
    said = capsys.readouterr().err
    assert left.value.code == 3
    assert said.startswith("shredlake: unexpected error: KeyError: ")
    log = Path(said.rstrip("\n").rpartition(" The log is ")[2])
    assert "Traceback (most recent call last)" in log.read_text()
    assert log.stat().st_mode & 0o077 == 0
    log.unlink()
    assert "\x1b" not in said
    monkeypatch.setenv("SHREDLAKE_DEBUG", "1")
    with pytest.raises(SystemExit):
        failures.run(fail)
    assert "Traceback (most recent call last)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (sl.InvalidPath("no key", path="$.a..b", position=4), "no key, at character 5 of '$.a..b'"),
        (PermissionError(13, "Permission denied", "/x/y"), "/x/y: permission denied"),
        (OSError(28, "No space left on device"), "no space left on device"),
        (MemoryError(), "out of memory"),
        (sl.TableError("first\n   second\n"), "first second"),
    ],
)
def test_errors_as_one_line(error: BaseException, line: str) -> None:
    assert failures.expected(error) == line
