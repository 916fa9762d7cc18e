"""The `shredlake` command, also as `python -m shredlake`."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import shredlake
from shredlake.cli import interrupts


def main() -> None:
    """Loads and runs the command line. Until the verb is imported, Ctrl-C ends the process at once."""
    interrupts.end_process()
    open_closed_streams()
    if sys.argv[1:] == ["--version"]:  # needs no command line
        try:
            print(f"shredlake {shredlake.__version__}", flush=True)
        except BrokenPipeError:
            interrupts.end_after_closed_pipe()
        except OSError as error:
            sys.exit(f"shredlake: {str(error.strerror).lower()}")
        return
    from shredlake.cli.app import main as run

    run()


def open_closed_streams() -> None:
    """Connects standard streams that the shell closed (`>&-`) to the null device.

    Their numbers would go to the next files that are opened, and whatever a library prints into the data.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        with suppress(OSError):
            os.fstat(number)
            continue
        os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
        setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


if __name__ == "__main__":
    main()
