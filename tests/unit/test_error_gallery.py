"""Every mistake of docs/error-gallery.md is run again, and has the message that the page shows."""

from __future__ import annotations

import re

import pytest

from error_gallery import COMMANDS, PAGE, PYTHON, cleaned, run_command, run_python, workshop

HINTS = {"query t v:kund::string -n 1", "sql \"select v:kund::string from 't'\""}
"""Commands that succeed with a hint."""


def on_page() -> dict[str, str]:
    """The message on the page for each mistake."""
    blocks = re.findall(r"```text\n(?:\$ shredlake |>>> )(.*?)\n(.*?)\n```", PAGE.read_text("utf-8"), re.S)
    return dict(blocks)


@pytest.mark.slow
@pytest.mark.parametrize("title", COMMANDS)
def test_commands(title: str) -> None:
    page = on_page()
    for line in COMMANDS[title]:
        with workshop() as folder:
            code, said = run_command(line)
            said = cleaned(said, folder)
        assert page[line] == f"{said}\n(exit code {code})", "run: python tests/error_gallery.py"
        assert "Traceback" not in said
        assert "unexpected error" not in said
        assert "\n" not in said, "one line"
        assert code == 0 if line in HINTS else code in (1, 2), line


def test_python() -> None:
    page = on_page()
    for line in (line for lines in PYTHON.values() for line in lines):
        with workshop() as folder:
            code, said = run_python(line)
            said = cleaned(said, folder)
        assert code == 1, line
        assert page[line] == said, "run: python tests/error_gallery.py"


def test_there_are_many() -> None:
    assert len(on_page()) == sum(map(len, COMMANDS.values())) + sum(map(len, PYTHON.values())) >= 80
