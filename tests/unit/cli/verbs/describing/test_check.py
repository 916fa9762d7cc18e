"""`shredlake check`: the findings, and a summary that fits the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

import shredlake as sl
from command_line import invoke as run


@pytest.mark.parametrize("width", [30, 60, 200])
def test_the_summary_fits_the_width(thirty: sl.Table, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    path = thirty.files().column("path").to_pylist()[0]
    (Path(thirty.uri.removeprefix("file://")) / path).unlink()
    text = run("check", thirty.uri, code=1).stdout
    summary = text.partition("1 finding of 1 rule:\n")[2].splitlines()
    assert all(len(line) <= width for line in summary)
    assert " ".join(" ".join(summary).split()) == "1 file-missing: Every file that the log names is there."
    assert all(line.startswith(" " * 12) for line in summary[1:]), "continued under the text"
