"""What a Python worker of Spark's does once, before its first task of ours."""

from __future__ import annotations

import gc
import select
from collections.abc import Callable
from functools import cache
from typing import BinaryIO

Tell = Callable[[BaseException, BinaryIO], None]


@cache
def settle_in() -> None:
    """Makes a worker's next tasks cheap, and its end quiet."""
    _keep_modules()
    _leave_without_a_word()


def _keep_modules() -> None:
    """What is imported by now stays out of the sight of the garbage collector.

    Spark collects garbage after each task, and walking through all the modules takes as long as the ingest of
    five megabytes.
    """
    gc.collect()
    gc.freeze()


def _leave_without_a_word() -> None:
    """No traceback when Spark closes the socket of a worker that was idle for a minute.

    The worker takes it for an error and writes that into the socket, which fails at once if it is a Unix one.
    """
    try:
        from pyspark import worker
    except ImportError:  # over Connect there may be clients only
        return
    known = getattr(worker, "handle_worker_exception", None)
    if known is not None:
        worker.handle_worker_exception = unless_alone(known)


def unless_alone(
    tell: Callable[[BaseException, BinaryIO], None],
) -> Callable[[BaseException, BinaryIO], None]:
    """The function that tells of an error, but for a peer that is gone."""

    def told(error: BaseException, outfile: BinaryIO) -> None:
        if not _is_gone(outfile):
            tell(error, outfile)

    return told


def _is_gone(outfile: BinaryIO) -> bool:
    """Whether the other end of a socket is closed, for both directions."""
    watched = select.poll()
    watched.register(outfile.fileno(), select.POLLOUT)
    return any(event & (select.POLLHUP | select.POLLERR) for _, event in watched.poll(0))
