"""Pages that verbs write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shredlake.cli.pages import write_page


def test_a_page_goes_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_page("<p>é</p>", str(tmp_path / "page.html"))
    assert (tmp_path / "page.html").read_bytes() == "<p>é</p>".encode()
    said = capsys.readouterr()
    assert said.out == ""
    assert "page.html: open it in a browser" in said.err


def test_a_page_goes_to_standard_output(capsysbinary: Any) -> None:
    write_page("<p>é</p>", "-")
    said = capsysbinary.readouterr()
    assert (said.out, said.err) == ("<p>é</p>".encode(), b"")
