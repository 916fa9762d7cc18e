"""The `shredlake` command, also as `python -m shredlake`."""

from __future__ import annotations

import sys

import shredlake
from shredlake.cli import interrupts


def main() -> None:
    """Loads and runs the command line. Until the verb is imported, Ctrl-C ends the process at once."""
    interrupts.end_process()
    if sys.argv[1:] == ["--version"]:  # needs no command line
        try:
            print(f"shredlake {shredlake.__version__}", flush=True)
        except BrokenPipeError:
            interrupts.end_after_closed_pipe()
        return
    from shredlake.cli.app import main as run

    run()


if __name__ == "__main__":
    main()
