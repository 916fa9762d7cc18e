"""Handles Ctrl-C, and pipes whose reader has left.

Ctrl-C ends the process while modules are imported, and raises KeyboardInterrupt later.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Final, NoReturn

PIPE_CLOSED: Final = 141
"""The exit code that shells give a command that writes to a closed pipe."""


def end_process() -> None:
    """Lets Ctrl-C end the process with one line and exit code 130; there is nothing to clean up yet."""
    signal.signal(signal.SIGINT, _end)


def raise_exception() -> None:
    """Lets Ctrl-C raise KeyboardInterrupt after `end_process`, so that a verb can clean up."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def end_after_closed_pipe() -> NoReturn:
    """Exits without a word. Python would complain about output that it can't write when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(PIPE_CLOSED)


def _end(number: int, frame: object) -> None:
    os.write(2, b"shredlake: interrupted\n")
    os._exit(130)
