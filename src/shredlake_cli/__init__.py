"""The `shredlake` command: answers Ctrl-C from its first moment, while the library is still being loaded.

A package of its own, because importing any part of `shredlake` takes the second in which this matters.
"""

from __future__ import annotations

import os
import signal


def main() -> None:
    """Loads the command line and runs it."""
    signal.signal(signal.SIGINT, _interrupted)
    from shredlake.cli.app import main as run

    signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


def _interrupted(number: int, frame: object) -> None:
    os.write(2, b"shredlake: interrupted\n")
    os._exit(130)
