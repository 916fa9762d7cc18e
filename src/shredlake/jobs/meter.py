"""Counts the bytes that tasks of this process have read, for progress bars.

A task on another machine counts there, and its counts are not used.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_read = 0


@contextmanager
def counting() -> Iterator[None]:
    """Starts at zero."""
    global _read
    with _lock:
        _read = 0
    yield


def add(count: int) -> None:
    """Adds bytes that a task has read.

    >>> with counting():
    ...     add(5)
    ...     bytes_read()
    5
    """
    global _read
    with _lock:
        _read += count


def bytes_read() -> int:
    """The bytes read since the last start."""
    return _read
