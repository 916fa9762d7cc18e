"""The `shredlake` command, also as `python -m shredlake`.

It answers Ctrl-C from its first moment, while the command line is still loading.
"""

from __future__ import annotations

import os
import signal


def main() -> None:
    """Loads and runs the command line."""
    signal.signal(signal.SIGINT, _interrupted)
    from shredlake.cli.app import main as run

    signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


def _interrupted(number: int, frame: object) -> None:
    os.write(2, b"shredlake: interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    main()
