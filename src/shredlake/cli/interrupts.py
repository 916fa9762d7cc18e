"""Handles Ctrl-C: it ends the process while modules are imported, and raises KeyboardInterrupt later."""

from __future__ import annotations

import os
import signal


def end_process() -> None:
    """Lets Ctrl-C end the process with one line and exit code 130; there is nothing to clean up yet."""
    signal.signal(signal.SIGINT, _end)


def raise_exception() -> None:
    """Lets Ctrl-C raise KeyboardInterrupt after `end_process`, so that a verb can clean up."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(number: int, frame: object) -> None:
    os.write(2, b"shredlake: interrupted\n")
    os._exit(130)
