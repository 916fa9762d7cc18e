"""Leaves out the messages of a starting JVM that say nothing about the user's work.

The JVM and Spark's launcher write them before any log level applies, so they are removed from the stream:

```
JVM  ──stderr──▶  pipe  ──▶  thread: drops known lines until the start is over  ──▶  stderr of this process
```
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import BinaryIO, Final

STARTED: Final = b"\0shredlake: the JVM has started\n"
"""The line in the pipe that ends the start."""

KNOWN: Final = re.compile(
    rb"WARNING: Using incubator modules"
    rb"|Using Spark's default log4j profile"
    rb"|Setting default log level to"
    rb"|To adjust logging level use"
    rb"|Setting Spark log level to"
    rb"|\S+ \S+ WARN (NativeCodeLoader|Utils): "
)
"""How the lines begin that are dropped. Those of `Utils` are about host names and ports that are in use."""


@contextmanager
def without_start_messages() -> Iterator[None]:
    """Filters the stderr of a process that starts inside; afterwards it writes to our stderr as before."""
    try:
        ours = os.dup(2)
    except OSError:  # this process has no stderr
        yield
        return
    outgoing, incoming = os.pipe()
    Thread(target=_forward, args=(os.fdopen(outgoing, "rb"), ours), daemon=True).start()
    os.dup2(incoming, 2)
    try:
        yield
    finally:
        os.dup2(ours, 2)
        os.write(incoming, STARTED)
        os.close(incoming)


def _forward(lines: BinaryIO, target: int) -> None:
    """Copies lines until the last writer has closed the pipe."""
    starting = True
    with lines:
        for line in lines:
            if line == STARTED:
                starting = False
            elif not (starting and KNOWN.match(line)):
                os.write(target, line)
    os.close(target)
