"""Runs the command line in this process or in another one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from shredlake.cli.app import app

EVIL = "\x1b]0;evil\x07\x9b31m\u202e"
"""Sets a terminal's title, its colour, and the direction of the text."""


class Ran:
    """The outcome of a run of the command line: exit code, standard output, standard error."""

    def __init__(self, code: Any, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


def documents(path: Path, *texts: str) -> Path:
    path.write_text("".join(text + "\n" for text in texts))
    return path


def command(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "shredlake", *arguments], **options)


def run(*arguments: object, fails: bool = False) -> str:
    """Runs the command line in this process and returns its standard output, or all of its output."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert (result.exit_code != 0) == fails, result.output
    return result.stdout if not fails else f"{result.output}{result.exception}"


def invoke(*arguments: str, code: int = 0) -> Any:
    """Runs a verb in this process; the result has its output and the exception that ended it."""
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output + repr(result.exception)
    return result
