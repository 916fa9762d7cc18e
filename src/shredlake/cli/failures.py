"""Reports failures as one line on stderr and an exit code, without a traceback."""

from __future__ import annotations

import errno
import os
import re
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, Final

from typer import BadParameter
from typer.core import TyperGroup

import shredlake
from shredlake.cli import interrupts
from shredlake.cli.messages import say
from shredlake.errors import ShredlakeError
from shredlake.formatting import escaped

DEBUG: Final = "SHREDLAKE_DEBUG"
"""The environment variable that turns tracebacks on."""

FAILED, UNEXPECTED, INTERRUPTED = 1, 3, 130
"""Exit codes; 2 is wrong usage. An unexpected error is a defect of shredlake or of a library."""

ISSUES: Final = "https://github.com/shredlake/shredlake/issues"

_OPTIONS: Final = {
    r"enforce_retention=False": "--force",
    r"force=True": "--force",
    r"(?<=without )strict=True": "--strict",
    r"more than max_rejects=\S+ allows": "more than --max-rejects allows",
    r"\bmax_rejects\b": "--max-rejects",
    r"\bpartition_by\b": "--partition-by",
    r"\bsort_by\b": "--sort-by",
    r"\bjob_id\b": "--job-id",
    r"\brange_partition\b": "--range-partition",
    r"\brejects='": "--rejects '",
    r"history\(\)": "shredlake history",
    r"^sql\(\) runs": "shredlake sql runs",
    r"sql\(\) runs whole queries": "shredlake sql runs whole queries",
    r"use Table or ingest$": "use ingest, delete or optimize",
    r"a name, as in events=path": "a name with --table events=path",
    r"duplicate_keys='last_wins'": "--duplicate-keys last_wins",
    r"schema_mode='merge'": "--schema-mode merge",
    r"scan\(\)\.count\(\)": "shredlake count",
    r"\(shredlake\.sql, or shredlake\.spark\.sql on Spark\)": "(shredlake sql)",
}
"""Names of the library's parameters, as regular expressions, and the command line's options for them."""


_WORDS: Final = {
    r"^Value error, ": "",
    r"^Input should be greater than or equal to (\S+)$": r"expected \1 or more",
    r"^Input should be less than or equal to (\S+)$": r"expected at most \1",
    r"^Input should be a valid integer, .*$": "expected a whole number",
    r"^Input should be a valid number, .*$": "expected a number",
    r"^Got unexpected extra argument\(s\) \((.*)\)$": r"unexpected: \1. An argument with spaces needs quotes",
    r"^No such command '(help|version)'\.$": r"No such command '\1'. Did you mean '--\1'?",
}
"""How pydantic, which Typer uses, words wrong options, and how we word them."""


@contextmanager
def plain_usage_errors() -> Iterator[None]:
    """Rewords errors about options and arguments."""
    try:
        yield
    except USAGE_ERROR as error:
        if possible := getattr(error, "possibilities", None):
            similar = get_close_matches(error.option_name, possible, 1)
            error.message += f". Did you mean {similar[0]}?" if similar else ""
            error.possibilities = None
        for found, wording in _WORDS.items():
            error.message = re.sub(found, wording, error.message)
        raise


USAGE_ERROR: Final[Any] = BadParameter.__mro__[1]
"""Wrong usage of any kind, an exception that Typer does not export."""


class Interrupted(Exception):
    """Ctrl-C. Typer passes this exception on, where it would turn KeyboardInterrupt into 'Aborted!'."""


class Interruptible(TyperGroup):
    """A group of commands that reports Ctrl-C as `Interrupted`."""

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        with plain_usage_errors():
            return super().make_context(info_name, args, parent=parent, **extra)

    def invoke(self, ctx: Any) -> Any:
        try:
            with plain_usage_errors():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted from None


_LINE_OF_DUCKDB: Final = re.compile(r"\n+LINE \d+: .*\n *\^+", re.S)
"""DuckDB repeats the query, which the user has just typed, and points into it from the next line."""

_POINTING: Final = re.compile(r"(?P<problem>[^\n]+)\n  (?P<text>[^\n]*)\n  (?P<before> *)\^+")


def run(command: Callable[[], object]) -> None:
    """Runs the command line. Wrong usage exits with code 2; any other failure prints one line."""
    warnings.showwarning = _warn
    try:
        command()
    except (Interrupted, KeyboardInterrupt):
        say("shredlake: interrupted", err=True)
        sys.exit(INTERRUPTED)
    except SystemExit as left:
        if _reader_left(left.__context__):
            interrupts.end_after_closed_pipe()
        raise
    except BaseException as error:  # a panic in compiled code is not an Exception
        if _reader_left(error):
            interrupts.end_after_closed_pipe()
        if os.environ.get(DEBUG):
            traceback.print_exc()
        line = expected(error)
        if line is not None:
            say(f"shredlake: {line}", err=True)
            sys.exit(FAILED)
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        say(f"shredlake: unexpected error: {_one_line(what)}. The log is {logged(error)}", err=True)
        sys.exit(UNEXPECTED)


def _reader_left(error: BaseException | None) -> bool:
    """Whether the reader of a pipe, such as `head -1`, closed it. Typer and rich then exit with code 1."""
    return isinstance(error, OSError) and error.errno == errno.EPIPE


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    """Prints a warning as one line, without the source line that Python adds."""
    say(f"shredlake: warning: {_one_line(str(message))}", err=True)


def logged(error: BaseException) -> str:
    """Writes an unexpected error with its traceback to a file that only this user can read."""
    try:
        handle, path = tempfile.mkstemp(prefix="shredlake-", suffix=".log")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"shredlake {shredlake.__version__}, Python {sys.version}, {sys.platform}\n")
            file.write(f"Please report this at {ISSUES}\n\n")
            traceback.print_exception(error, file=file)
    except OSError as problem:
        return f"not written ({problem.strerror}); set {DEBUG}=1 to see the traceback"
    return path


def expected(error: BaseException) -> str | None:
    """Describes an error in one line; None if it is not one that users cause.

    >>> expected(FileNotFoundError(2, "No such file or directory", "out/rows.csv"))
    'out/rows.csv: no such file or directory'
    """
    match error:
        case ShredlakeError():
            return _one_line(_in_words_of_the_command_line(str(error)))
        case OSError() if error.strerror:
            where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
            return _one_line(f"{where}{error.strerror[:1].lower()}{error.strerror[1:]}")
        case MemoryError():
            return "out of memory"
    from obstore.exceptions import BaseError  # takes a while to import

    match error:
        case BaseError():
            return _one_line(str(error).partition("\n")[0])
    return None


def _in_words_of_the_command_line(message: str) -> str:
    for name, option in _OPTIONS.items():
        message = re.sub(name, option, message)
    return message


def _one_line(message: str) -> str:
    """Joins lines; a caret under a character of the line above becomes that character's number.

    >>> _one_line("an operand is missing\\n  a >\\n     ^")
    "an operand is missing, at character 4 of 'a >'"
    """
    message = _LINE_OF_DUCKDB.sub("", message)
    if (found := _POINTING.fullmatch(message.strip("\n"))) is not None:
        at = len(found["before"]) + 1
        message = f"{found['problem']}, at character {at} of {found['text']!r}"
    return escaped(" ".join(part.strip() for part in message.strip().splitlines() if part.strip()))
