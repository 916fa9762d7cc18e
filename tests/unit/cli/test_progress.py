"""A progress bar is drawn on terminals only, and leaves nothing behind."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from command_line import EVIL
from shredlake.cli import progress
from shredlake.cli.progress import rows_progress


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """The text that a terminal of 100 columns gets."""
    sent = io.StringIO()
    console = Console(file=sent, force_terminal=True, width=100, markup=False, color_system=None)
    monkeypatch.setattr(progress, "screen", lambda stderr: console if stderr else None)
    return sent


def test_a_bar_counts_rows(terminal: io.StringIO) -> None:
    with rows_progress("reading") as show:
        show(0, 2_000)
        show(1_500, 2_000)
    text = terminal.getvalue()
    assert "reading" in text
    assert "1,500 of 2,000 rows" in text
    assert text.rstrip().endswith("\x1b[2K"), "the line is erased at the end"


def test_one_file_is_not_files(terminal: io.StringIO) -> None:
    with rows_progress("checking", unit="file") as show:
        show(1, 1)
    assert "1 of 1 file " in terminal.getvalue()


def test_a_name_is_no_markup(terminal: io.StringIO) -> None:
    with rows_progress(f"[red]{EVIL}") as show:
        show(1, 2)
    text = terminal.getvalue()
    assert "[red]\\x1b]0;evil" in text
    assert "\x1b]0" not in text


def test_nothing_is_drawn_if_quiet(terminal: io.StringIO) -> None:
    with rows_progress("reading", quiet=True) as show:
        show(1, 2)
    assert terminal.getvalue() == ""


def test_nothing_is_written_to_a_pipe(capfd: pytest.CaptureFixture[str]) -> None:
    with rows_progress("reading") as show:
        show(1, 2)
    assert capfd.readouterr() == ("", "")


def test_a_bar_is_erased_after_an_error(terminal: io.StringIO) -> None:
    with pytest.raises(TypeError), rows_progress("reading") as show:
        show(1, None)  # type: ignore[arg-type]
    assert terminal.getvalue().rstrip().endswith("\x1b[2K")
