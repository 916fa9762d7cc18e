"""Prepares a Python worker of Spark once per process."""

from __future__ import annotations

import gc
import select
from collections.abc import Callable
from functools import cache
from typing import BinaryIO

Tell = Callable[[BaseException, BinaryIO], None]


@cache
def prepare_worker() -> None:
    """Makes the worker's next tasks cheaper, and prevents a traceback when Spark disconnects it."""
    _freeze_modules()
    _suppress_idle_disconnect()


def _freeze_modules() -> None:
    """Exempts everything imported so far from garbage collection.

    Spark collects garbage after each task. Traversing all modules takes as long as ingesting five megabytes.
    """
    gc.collect()
    gc.freeze()


def _suppress_idle_disconnect() -> None:
    """Prevents a traceback when Spark closes the socket of a worker that was idle for a minute.

    The worker treats this as an error and reports it to the closed socket, which fails on a Unix socket.
    """
    try:
        from pyspark import worker
    except ImportError:  # only the Connect client is installed
        return
    known = getattr(worker, "handle_worker_exception", None)
    if known is not None:
        worker.handle_worker_exception = unless_disconnected(known)


def unless_disconnected(tell: Tell) -> Tell:
    """Reports an error unless the peer has disconnected."""

    def told(error: BaseException, outfile: BinaryIO) -> None:
        if not _is_disconnected(outfile):
            tell(error, outfile)

    return told


def _is_disconnected(outfile: BinaryIO) -> bool:
    """Whether the other end of a socket is closed in both directions."""
    watched = select.poll()
    watched.register(outfile.fileno(), select.POLLOUT)
    return any(event & (select.POLLHUP | select.POLLERR) for _, event in watched.poll(0))
