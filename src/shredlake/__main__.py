"""The `shredlake` command, also as `python -m shredlake`."""

from __future__ import annotations

from shredlake.cli import interrupts


def main() -> None:
    """Loads and runs the command line. Until the verb is imported, Ctrl-C ends the process at once."""
    interrupts.end_process()
    from shredlake.cli.app import main as run

    run()


if __name__ == "__main__":
    main()
